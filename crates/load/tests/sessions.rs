//! A closed loop that is measured one slice at a time.

mod support;

use std::cell::RefCell;
use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rpcgauge_load::{Hooks, LoadError, Session, Settling, Trial, WarmupBounds};
use rpcgauge_trial::{Address, Ending, Schedule, Slice, TrialFigures};
use support::{
    assert_sums_hold, elapsed, hooks, ok, ok_after, only_read, prepared, read_request,
    respond_with, serve, traffic, trial, warmup,
};

/// Slices of at least 10 measured calls after 3 skipped ones.
const SLICE: Slice = Slice {
    skip_calls: 3,
    skip_us: 0,
    least_calls: 10,
    time_us: 0,
};

fn measured(
    trial: &Trial,
    slices: u32,
    between: impl Fn(&Session<'_, '_, '_>),
) -> Result<TrialFigures, LoadError> {
    let stop = AtomicBool::new(false);
    let mut session = Session::open(trial, prepared(&[b"x"]), hooks(), &stop)?;
    while !session.warm_up_turn(&stop)? {}
    for _ in 0..slices {
        session.slice(&SLICE, 10, &stop)?;
        between(&session);
    }
    Ok(session.finish()?.figures)
}

#[test]
fn only_the_calls_of_slices_count() {
    for in_flight in [1, 4] {
        let answered = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&answered);
        let mut trial = trial(serve(respond_with(move |body: &[u8]| {
            answered.fetch_add(1, Ordering::SeqCst);
            ok(body)
        })));
        trial.connections = in_flight;
        trial.schedule = Schedule::Closed { in_flight };
        trial.warmup = Some(warmup(10));
        let m = measured(&trial, 5, |session| {
            assert_eq!(session.counted().answered % 10, 0);
        })
        .unwrap();
        assert_sums_hold(&m);
        assert_eq!((m.calls.started, m.calls.answered), (50, 50));
        assert_eq!(m.latency.count(), 50);
        let slices = m.slices.unwrap();
        assert_eq!(slices.count, 5);
        assert!(slices.skipped >= 15, "{slices:?}");
        // Each call of a slice has one byte each way.
        let of_slices = 50 + slices.skipped;
        assert_eq!(traffic(&m).sent.bodies, of_slices, "{in_flight} in flight");
        assert_eq!(
            traffic(&m).received.bodies,
            of_slices,
            "{in_flight} in flight"
        );
        // In addition to these, the server received only the warm-up.
        let all = seen.load(Ordering::SeqCst);
        assert_eq!(all, of_slices + m.warmup.calls, "{in_flight} in flight");
        assert_eq!(m.late.ended, 0);
    }
}

#[test]
fn a_warm_up_pauses_between_its_turns_until_it_is_over() {
    let answered = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&answered);
    let mut trial = trial(serve(respond_with(move |body: &[u8]| {
        answered.fetch_add(1, Ordering::SeqCst);
        ok(body)
    })));
    trial.warmup = Some(warmup(4));
    let medians = RefCell::new(0);
    let settling = Box::new(|_| {
        *medians.borrow_mut() += 1;
        match *medians.borrow() {
            25 => Settling::Settled,
            _ => Settling::GoOn,
        }
    });
    let hooks = Hooks {
        settling,
        ..hooks()
    };
    let stop = AtomicBool::new(false);
    let mut session = Session::open(&trial, prepared(&[b"x"]), hooks, &stop).unwrap();
    assert_eq!(seen.load(Ordering::SeqCst), 0, "opening makes no calls");
    let pause = Duration::from_millis(50);
    let mut over = Vec::new();
    for _ in 0..4 {
        over.push(session.warm_up_turn(&stop).unwrap());
        std::thread::sleep(pause);
    }
    assert_eq!(over, [false, false, true, true]);
    assert_eq!(
        seen.load(Ordering::SeqCst),
        25 * 4,
        "no calls once it is over"
    );
    session.slice(&SLICE, 10, &stop).unwrap();
    let m = session.finish().unwrap().figures;
    assert_sums_hold(&m);
    assert_eq!((m.warmup.calls, m.warmup.settled), (25 * 4, true));
    assert!(
        Duration::from_nanos(m.warmup.elapsed_ns) < pause,
        "pauses are left out: {:?}",
        m.warmup
    );
    assert_eq!(m.calls.started, 10);
}

#[test]
fn many_calls_in_flight_leave_enough_slices_to_settle() {
    let mut trial = trial(serve(respond_with(ok)));
    trial.connections = 16;
    trial.schedule = Schedule::Closed { in_flight: 16 };
    trial.warmup = Some(WarmupBounds {
        max_calls: 400,
        ..warmup(4)
    });
    let medians = RefCell::new(0);
    let settling = Box::new(|_| {
        *medians.borrow_mut() += 1;
        Settling::GoOn
    });
    let hooks = Hooks {
        settling,
        ..hooks()
    };
    let stop = AtomicBool::new(false);
    let mut session = Session::open(&trial, prepared(&[b"x"]), hooks, &stop).unwrap();
    while !session.warm_up_turn(&stop).unwrap() {}
    // A turn of 10 slices has 40 calls, and those that are still in flight.
    let slices = *medians.borrow();
    assert!((60..=100).contains(&slices), "{slices} of 100 slices");
}

#[test]
fn a_warm_up_in_which_all_calls_fail_ends_when_the_patience_is_over() {
    let mut trial = trial(serve(respond_with(|_: &[u8]| {
        b"HTTP/1.1 500 Broken\r\ncontent-length: 0\r\n\r\n".to_vec()
    })));
    trial.patience = Duration::from_millis(200);
    trial.warmup = Some(warmup(1));
    let settling = Box::new(|_| Settling::GoOn);
    let hooks = Hooks {
        settling,
        ..hooks()
    };
    let stop = AtomicBool::new(false);
    let mut session = Session::open(&trial, prepared(&[b"x"]), hooks, &stop).unwrap();
    let mut turns = 0;
    while !session.warm_up_turn(&stop).unwrap() {
        turns += 1;
    }
    assert!(turns > 1, "the failures of {turns} turns add up");
    let m = session.finish().unwrap().figures;
    assert_eq!((m.warmup.failed, m.warmup.settled), (m.warmup.calls, false));
}

#[test]
fn time_between_slices_is_no_time_of_the_trial() {
    let pause = Duration::from_millis(200);
    let trial = trial(serve(respond_with(ok)));
    let m = measured(&trial, 3, |_| std::thread::sleep(pause)).unwrap();
    // Calls are made one after another, so their latencies add up to the elapsed time.
    let sum = m.latency.unpack().counts().mean() * m.latency.count() as f64;
    let elapsed = elapsed(&m).as_nanos() as f64;
    assert!(elapsed < 2.0 * pause.as_nanos() as f64, "{elapsed}");
    assert!(sum <= elapsed * 1.01, "{sum} in {elapsed}");
    let longest = m
        .latency
        .unpack()
        .counts()
        .max()
        .max(m.send_delay.unpack().counts().max());
    assert!(u128::from(longest) < pause.as_nanos(), "{longest}");
    // The timeline spans the slices and the pauses.
    let spanned = m.timeline.slice_ns * m.timeline.slices.len() as u64;
    assert!(u128::from(spanned) >= 2 * pause.as_nanos(), "{spanned}");
}

#[test]
fn a_slice_by_time_ends_with_the_call_that_is_in_flight() {
    let trial = trial(serve(respond_with(ok_after(Duration::from_millis(20)))));
    let stop = AtomicBool::new(false);
    let mut session = Session::open(&trial, prepared(&[b"x"]), hooks(), &stop).unwrap();
    let by_time = Slice {
        least_calls: 1,
        skip_calls: 0,
        time_us: 1_000,
        ..SLICE
    };
    for slices in 1..=3 {
        session.slice(&by_time, u64::MAX, &stop).unwrap();
        assert_eq!(session.counted().answered, slices);
    }
    let m = session.finish().unwrap().figures;
    assert!(
        elapsed(&m) >= Duration::from_millis(60),
        "{:?}",
        elapsed(&m)
    );
    assert_eq!(m.slices.map(|s| s.skipped), Some(0));
}

#[test]
fn a_connection_that_the_server_closed_in_between_is_opened_again_outside_the_figures() {
    // The server closes after every 13 responses, which is one slice.
    let trial = trial(serve(|mut stream| {
        for _ in 0..13 {
            let Some((_, body)) = read_request(&mut stream) else {
                return;
            };
            stream.write_all(&ok(&body)).unwrap();
        }
    }));
    let m = measured(&trial, 4, |_| std::thread::sleep(Duration::from_millis(50))).unwrap();
    assert_sums_hold(&m);
    assert_eq!(m.calls.answered, 40);
    assert_eq!(m.connections_reopened, 3);
    assert_eq!(m.connections_opened.unwrap(), 0, "none while calls counted");
}

#[test]
fn the_measuring_hook_is_called_at_the_edges_of_the_measured_parts() {
    let edges = RefCell::new(Vec::new());
    let trial = trial(serve(respond_with(ok)));
    let stop = AtomicBool::new(false);
    let hooks = Hooks {
        measuring: Box::new(|begins| edges.borrow_mut().push(begins)),
        ..hooks()
    };
    let mut session = Session::open(&trial, prepared(&[b"x"]), hooks, &stop).unwrap();
    for _ in 0..2 {
        session.slice(&SLICE, 10, &stop).unwrap();
    }
    session.finish().unwrap();
    assert_eq!(edges.into_inner(), [true, false, true, false]);
}

#[test]
fn what_the_last_call_of_a_slice_takes_counts_until_its_response_is_read() {
    // The response ends long after it begins.
    let ended = Arc::new(AtomicU64::new(0));
    let answered = Arc::clone(&ended);
    let trial = trial(serve(move |mut stream| {
        while let Some((_, body)) = read_request(&mut stream) {
            let response = ok(&body);
            let (begin, end) = response.split_at(response.len() - 1);
            stream.write_all(begin).unwrap();
            std::thread::sleep(Duration::from_millis(30));
            answered.fetch_add(1, Ordering::SeqCst);
            stream.write_all(end).unwrap();
        }
    }));
    let begun_and_ended = RefCell::new(Vec::new());
    let hooks = Hooks {
        measuring: Box::new(|_| {
            begun_and_ended
                .borrow_mut()
                .push(ended.load(Ordering::SeqCst))
        }),
        ..hooks()
    };
    let one_call = Slice {
        skip_calls: 0,
        least_calls: 1,
        ..SLICE
    };
    let stop = AtomicBool::new(false);
    let mut session = Session::open(&trial, prepared(&[b"x"]), hooks, &stop).unwrap();
    for _ in 0..3 {
        session.slice(&one_call, 1, &stop).unwrap();
    }
    session.finish().unwrap();
    assert_eq!(begun_and_ended.into_inner(), [0, 1, 1, 2, 2, 3]);
}

#[test]
fn a_connection_that_cannot_be_made_holds_up_no_slice() {
    // The listener closes once the first of two connections is open.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        drop(listener);
        respond_with(ok)(stream);
    });
    let mut trial = trial(Address::Tcp(address));
    trial.connections = 2;
    trial.deadline = Duration::from_secs(3_600);
    let m = measured(&trial, 5, |_| ()).unwrap();
    assert_sums_hold(&m);
    assert_eq!(m.calls.started, 50);
    assert_eq!(m.slices.map(|s| s.count), Some(5));
}

#[test]
fn a_server_that_only_fails_ends_the_session_and_not_the_caller() {
    let mut trial = trial(serve(only_read));
    trial.deadline = Duration::from_millis(30);
    trial.drain = trial.deadline;
    trial.patience = Duration::from_millis(200);
    let stop = AtomicBool::new(false);
    let mut session = Session::open(&trial, prepared(&[b"x"]), hooks(), &stop).unwrap();
    for _ in 0..20 {
        session.slice(&SLICE, 10, &stop).unwrap();
    }
    assert!(session.is_over());
    let m = session.finish().unwrap().figures;
    assert_sums_hold(&m);
    assert_eq!((m.ending, m.calls.answered), (Ending::GaveUp, 0));
}

#[test]
fn only_a_closed_loop_can_be_sliced() {
    let mut trial = trial(support::unused_address());
    trial.schedule = Schedule::Rate {
        per_second: 10.0,
        arrivals: rpcgauge_trial::Arrivals::Constant,
    };
    let refused = measured(&trial, 1, |_| ());
    assert!(matches!(refused, Err(LoadError::Setting { .. })));
}

#[test]
fn after_a_skipped_call_that_fails_the_next_ones_are_measured() {
    // The server answers the first call on each connection with 503, as some servers do after a pause, and
    // closes after 11 calls.
    let trial = trial(serve(|mut stream| {
        for call in 0..11 {
            let Some((_, body)) = read_request(&mut stream) else {
                return;
            };
            let busy = b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";
            let response = if call == 0 { busy.to_vec() } else { ok(&body) };
            stream.write_all(&response).unwrap();
        }
    }));
    let m = measured(&trial, 4, |_| ()).unwrap();
    assert_sums_hold(&m);
    let slices = m.slices.unwrap();
    assert!(slices.skipped_failed >= 3, "{slices:?}");
    assert_eq!(slices.count, 4);
}
