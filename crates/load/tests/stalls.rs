//! The client itself does not run for a while, because a hook sleeps on its thread.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rpcgauge_load::{Hooks, ProgressHook, Session, Trial};
use rpcgauge_trial::{Address, Ending, FailureKind, Schedule, Slice, Stop, TrialFigures};
use support::{
    assert_sums_hold, constant_rate, elapsed, failures, hooks, measure_with, ok, only_read,
    prepared, respond_with, serve, trial,
};

/// Far longer than the deadlines here, and than an accidental stall on a busy host.
const STALL: Duration = Duration::from_secs(2);

/// Hooks that sleep once, at this snapshot. Snapshots are 20 ms apart.
fn stalling_after(snapshots: u64) -> Hooks<'static> {
    let mut seen = 0;
    Hooks {
        progress: Some(ProgressHook {
            every: Duration::from_millis(20),
            sample: Box::new(move |progress| {
                seen += 1;
                if seen == snapshots {
                    thread::sleep(STALL);
                }
                progress.times
            }),
        }),
        ..hooks()
    }
}

fn stalled(trial: &Trial) -> TrialFigures {
    let bodies = prepared(&[b"x"]);
    let measurement =
        measure_with(trial, bodies, stalling_after(5), &AtomicBool::new(false)).unwrap();
    assert_sums_hold(&measurement);
    assert!(measurement.stalls.count >= 1, "{:?}", measurement.stalls);
    assert!(measurement.stalls.longest_ns > STALL.as_nanos() as u64 / 2);
    measurement
}

/// A trial of three seconds, two of which are stalled. Each call has a deadline of 200 ms.
fn at_a_rate(address: Address) -> Trial {
    Trial {
        schedule: constant_rate(500.0),
        connections: 4,
        stop: Stop {
            calls: None,
            time_ms: Some(3_000),
        },
        deadline: Duration::from_millis(200),
        drain: Duration::from_millis(200),
        patience: Duration::from_secs(1),
        ..trial(address)
    }
}

#[test]
fn calls_that_the_client_slept_through_are_no_failures_of_the_server() {
    let received = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&received);
    let trial = at_a_rate(serve(respond_with(move |body| {
        counter.fetch_add(1, Ordering::SeqCst);
        ok(body)
    })));
    let m = stalled(&trial);
    assert_eq!(m.ending, Ending::Complete);
    let kinds: Vec<String> = failures(&m).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["client-stalled"], "{:?}", m.error_samples);
    assert!(m.calls.stalled() > 500, "{:?}", m.calls);
    assert_eq!(m.calls.answered + m.calls.stalled(), m.calls.started);
    assert!(u128::from(m.latency.unpack().counts().max()) < STALL.as_nanos() / 2);
    // The stall is excluded from the elapsed time, and calls that became due during it do not follow as a
    // burst.
    assert!(
        elapsed(&m) < Duration::from_secs(3) - STALL / 2,
        "{:?}",
        elapsed(&m)
    );
    let sent = m.calls.started - m.calls.never_sent;
    assert_eq!(sent, received.load(Ordering::SeqCst));
    assert!(sent < 1_000, "{sent} of {} were sent", m.calls.started);
}

#[test]
fn calls_after_a_stall_are_judged_as_usual() {
    // The stall is at least as long as the patience, and all calls before and after it fail.
    let m = stalled(&at_a_rate(serve(only_read)));
    let unserved = m.calls.failed.get(&FailureKind::Deadline).copied();
    assert!(unserved > Some(100), "{:?}", m.calls);
    assert!(m.calls.stalled() > 0, "{:?}", m.calls);

    let unavailable = b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";
    let trial = at_a_rate(serve(respond_with(|_| unavailable.to_vec())));
    let m = stalled(&Trial {
        patience: Duration::from_secs(60),
        ..trial
    });
    let busy = m.calls.failed.get(&FailureKind::HttpStatus(503)).copied();
    assert_eq!(
        busy.unwrap_or(0) + m.calls.stalled(),
        m.calls.started,
        "{:?}",
        m.calls
    );
}

#[test]
fn a_closed_loop_loses_the_calls_in_flight_and_no_time() {
    let mut trial = trial(serve(respond_with(ok)));
    trial.connections = 4;
    trial.schedule = Schedule::Closed { in_flight: 4 };
    trial.stop = Stop {
        calls: None,
        time_ms: Some(3_000),
    };
    let m = stalled(&trial);
    assert!((1..=40).contains(&m.calls.stalled()), "{:?}", m.calls);
    assert_eq!(m.calls.answered + m.calls.stalled(), m.calls.started);
    assert!(
        elapsed(&m) < Duration::from_secs(3) - STALL / 2,
        "{:?}",
        elapsed(&m)
    );
}

#[test]
fn a_stall_in_a_slice_is_no_time_of_it_and_one_between_slices_is_none() {
    let trial = trial(serve(respond_with(ok)));
    let slice = Slice {
        skip_calls: 1,
        skip_us: 0,
        least_calls: 10,
        time_us: 200_000,
    };
    let stop = AtomicBool::new(false);
    let open = |hooks| Session::open(&trial, prepared(&[b"x"]), hooks, &stop).unwrap();
    let mut session = open(stalling_after(5));
    session.slice(&slice, u64::MAX, &stop).unwrap();
    let m = session.finish().unwrap().figures;
    assert_eq!(m.stalls.count, 1, "{:?}", m.stalls);
    assert!(elapsed(&m) < STALL, "{:?}", elapsed(&m));

    let mut session = open(stalling_after(u64::MAX));
    for _ in 0..2 {
        session.slice(&slice, u64::MAX, &stop).unwrap();
        thread::sleep(STALL);
    }
    let m = session.finish().unwrap().figures;
    assert_eq!((m.stalls.count, m.calls.stalled()), (0, 0));
}
