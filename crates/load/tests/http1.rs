//! Trials against real HTTP/1.1 servers that answer well.

mod support;

use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_load::{
    Arrivals, Bodies, Body, ConnectionUse, Ending, Hooks, LoadError, Schedule, Settling, Stage,
    Stop, Timing, Trial, WarmupBounds, measure, measure_with,
};
use support::*;

/// A warm-up whose slices have this many calls.
fn warmup(slice_calls: u64) -> WarmupBounds {
    WarmupBounds {
        max_calls: 1_000_000,
        max_time: Duration::from_secs(60),
        slice_calls,
        slice_time: Duration::ZERO,
    }
}

#[test]
fn every_call_is_answered_and_every_byte_counted() {
    let address = serve(answer_with(ok));
    let measurement = run(&trial(address), &[b"hello", b"longer text"]);
    assert_sums_hold(&measurement);
    assert_eq!(
        (measurement.calls.started, measurement.calls.answered),
        (100, 100)
    );
    assert_eq!(measurement.ending, Ending::Complete);
    // 50 bodies of 5 and 50 of 11 bytes, both ways.
    assert_eq!(measurement.traffic.sent.body, 800);
    assert_eq!(measurement.traffic.received.body, 800);
    assert_eq!(measurement.payload.request, 8.0);
    assert_eq!(measurement.payload.response, Some(8.0));
    let head = b"POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\n\
                 content-length: 5\r\n\r\n";
    assert_eq!(
        measurement.traffic.sent.header,
        (100 * head.len() + 50) as u64
    );
    assert_eq!(
        measurement.connections_opened, 0,
        "opened before the measured part"
    );
    assert!(measurement.cpu.total_ns > 0);
    assert!(measurement.elapsed.as_nanos() as u64 >= measurement.latency.max() / 1001 * 1000);
}

#[test]
fn more_calls_than_connections_wait_for_one() {
    let address = serve(answer_with(ok));
    let mut trial = trial(address);
    trial.connections = 3;
    trial.schedule = Schedule::Closed { in_flight: 8 };
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(measurement.calls.answered, 100);
}

#[test]
fn a_rate_starts_every_call_of_its_schedule() {
    let address = serve(answer_with(ok));
    for arrivals in [Arrivals::Constant, Arrivals::Poisson { seed: 3 }] {
        let mut trial = trial(address.clone());
        trial.connections = 4;
        trial.schedule = Schedule::Rate {
            per_second: 2000.0,
            arrivals,
        };
        let measurement = run(&trial, &[b"x"]);
        assert_sums_hold(&measurement);
        assert_eq!(measurement.calls.answered, 100, "{arrivals:?}");
    }
}

#[test]
fn a_rate_ends_with_its_time_and_not_with_its_calls() {
    let address = serve(answer_with(ok));
    let mut trial = trial(address);
    trial.schedule = Schedule::Rate {
        per_second: 1000.0,
        arrivals: Arrivals::Constant,
    };
    trial.stop = Stop {
        calls: None,
        time: Some(Duration::from_millis(50)),
    };
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(measurement.calls.started, 50, "due from 0 ms to 49 ms");
}

#[test]
fn a_connection_for_every_call() {
    let folder = tempfile::tempdir().unwrap();
    let unix = serve_unix(folder.path().join("socket"), answer_with(ok));
    for address in [serve(answer_with(ok)), unix] {
        let mut trial = trial(address);
        trial.connection_use = ConnectionUse::PerCall;
        let measurement = run(&trial, &[b"x"]);
        assert_sums_hold(&measurement);
        assert_eq!(
            measurement.calls.answered,
            100,
            "{:?}",
            failures(&measurement)
        );
        assert_eq!(measurement.connections_opened, 100);
        assert_eq!(measurement.traffic.sent.body, 100);
    }
}

#[test]
fn a_connection_for_every_call_several_at_once() {
    let address = serve(answer_with(ok));
    let mut trial = trial(address);
    trial.connection_use = ConnectionUse::PerCall;
    trial.schedule = Schedule::Closed { in_flight: 5 };
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(
        (measurement.calls.answered, measurement.connections_opened),
        (100, 100)
    );
}

#[test]
fn a_connection_that_the_server_closes_is_opened_again() {
    let address = serve(|mut stream| {
        for _ in 0..10 {
            let Some((_, body)) = read_request(&mut stream) else {
                return;
            };
            stream.write_all(&ok(&body)).unwrap();
        }
        // The eleventh says that it is the last.
        if read_request(&mut stream).is_some() {
            let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\nx";
            stream.write_all(head).unwrap();
        }
    });
    let measurement = run(&trial(address), &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(
        measurement.calls.answered,
        100,
        "{:?}",
        failures(&measurement)
    );
    assert_eq!(
        measurement.connections_opened, 9,
        "after every 11th of 100 calls"
    );
}

#[test]
fn large_bodies_go_both_ways_in_many_writes() {
    let address = serve(answer_with(ok));
    let body = vec![b'x'; 5 << 20];
    let mut trial = trial(address);
    trial.stop.calls = Some(4);
    let measurement = run(&trial, &[&body]);
    assert_sums_hold(&measurement);
    assert_eq!(
        measurement.calls.answered,
        4,
        "{:?}",
        failures(&measurement)
    );
    assert_eq!(measurement.traffic.received.body, 4 * (5 << 20));
}

/// Answers as `answer_with(ok)` does, with the handler's marks from this host's clock.
fn answer_with_marks(mut stream: std::net::TcpStream) {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    while let Some((_, body)) = read_request(&mut stream) {
        let start = now();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: turned\r\n\
             rpcgauge-handler-start: {start}\r\nrpcgauge-handler-end: {}\r\n\
             content-length: {}\r\n\r\n",
            now(),
            body.len()
        );
        stream
            .write_all(&[answer.as_bytes(), &body].concat())
            .unwrap();
    }
}

#[test]
fn stages_are_timed_and_lie_inside_the_call() {
    for connection_use in [ConnectionUse::Reuse, ConnectionUse::PerCall] {
        let mut trial = trial(serve(answer_with_marks));
        trial.timing = Timing::Stages;
        trial.connection_use = connection_use;
        trial.expect.encoding = Some("turned".to_owned());
        let mut echo = Echo {
            compresses: true,
            ..Echo::default()
        };
        let measurement = run_with(&trial, Bodies::PerCall(&mut echo)).unwrap();
        assert_sums_hold(&measurement);
        assert_eq!(
            measurement.calls.answered,
            100,
            "{:?}",
            failures(&measurement)
        );
        let mut expected = Stage::ALL.to_vec();
        if connection_use == ConnectionUse::Reuse {
            expected.retain(|stage| *stage != Stage::Connect);
        }
        assert_eq!(
            measurement.stages.keys().copied().collect::<Vec<_>>(),
            expected
        );
        assert!(measurement.stages.values().all(|stage| stage.len() == 100));
        assert_eq!(measurement.marks.used, 100);
        let own = measurement
            .stages
            .iter()
            .filter(|(stage, _)| **stage <= Stage::Decode);
        let total: f64 = own.map(|(_, histogram)| histogram.mean() * 100.0).sum();
        let latency = measurement.latency.mean() * 100.0;
        // Histograms are right to 0.1%, and a stage is at least counted as 0.
        assert!(
            total <= latency * 1.002,
            "stages {total} ns of {latency} ns"
        );
        assert_eq!(measurement.uncompressed_answers, 0);
        // "call 0" to "call 99".
        assert_eq!(measurement.payload.request, 6.9);
        assert_eq!(measurement.payload.response, Some(6.9));
    }
}

#[test]
fn marks_of_another_clock_are_not_used() {
    let address = serve(answer_with(|_| {
        b"HTTP/1.1 200 OK\r\nrpcgauge-handler-start: 5\r\nrpcgauge-handler-end: 7\r\n\
          content-type: text/plain\r\ncontent-length: 6\r\n\r\ncall 1"
            .to_vec()
    }));
    let mut trial = trial(address);
    trial.timing = Timing::Stages;
    let measurement = run_with(&trial, Bodies::PerCall(&mut Echo::default())).unwrap();
    assert_eq!(measurement.marks.implausible, 100);
    assert!(!measurement.stages.contains_key(&Stage::HandlerTime));
    assert!(measurement.stages.contains_key(&Stage::Wait));
}

#[test]
fn without_stamps_the_codec_still_works_inside_the_call() {
    let mut trial = trial(serve(answer_with(ok)));
    trial.expect.encoding = Some("gzip".to_owned());
    let mut echo = Echo::default();
    let measurement = run_with(&trial, Bodies::PerCall(&mut echo)).unwrap();
    assert!(measurement.stages.is_empty());
    assert_eq!(measurement.calls.answered, 100);
    assert_eq!(echo.decoded, b"call 99");
    assert_eq!(
        measurement.uncompressed_answers, 100,
        "gzip was named and not used"
    );
}

#[test]
fn a_warm_up_ends_when_the_rule_says_so() {
    let mut trial = trial(serve(answer_with(ok)));
    trial.warmup = Some(warmup(10));
    let mut slices = Vec::new();
    let mut rule = |slice| {
        slices.push(slice);
        match slices.len() {
            5 => Settling::Settled,
            _ => Settling::GoOn,
        }
    };
    let stop = AtomicBool::new(false);
    let measurement = measure(&trial, prepared(&[b"xy"]), &mut rule, &stop).unwrap();
    assert_sums_hold(&measurement);
    assert!(measurement.warmup.settled);
    assert_eq!(
        (measurement.warmup.calls, measurement.warmup.failed),
        (50, 0)
    );
    assert_eq!((slices.len(), slices[0].calls), (5, 10));
    assert!(
        slices
            .windows(2)
            .all(|pair| pair[0].elapsed < pair[1].elapsed)
    );
    assert_eq!(measurement.calls.started, 100);
    assert_eq!(
        measurement.traffic.sent.body, 200,
        "of the measured part alone"
    );
    assert_eq!(measurement.traffic.received.body, 200);
}

#[test]
fn calls_in_flight_at_the_switch_belong_to_the_warm_up() {
    let mut trial = trial(serve(answer_with(ok)));
    trial.connections = 4;
    trial.schedule = Schedule::Closed { in_flight: 4 };
    trial.warmup = Some(warmup(25));
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(measurement.calls.answered, 100);
    let calls = measurement.warmup.calls;
    assert!(
        (25..=28).contains(&calls),
        "25 ended, up to 3 were in flight: {calls}"
    );
    // Each call of the measured part has one byte either way, and nothing else is in it.
    assert_eq!(measurement.traffic.sent.body, 100);
    assert_eq!(measurement.traffic.received.body, 100);
}

#[test]
fn what_the_hooks_do_is_no_lateness_of_the_first_call() {
    const PAUSE: Duration = Duration::from_millis(300);
    for in_flight in [1, 4] {
        let mut trial = trial(serve(answer_with(ok)));
        trial.connections = in_flight;
        trial.schedule = Schedule::Closed { in_flight };
        trial.warmup = Some(warmup(10));
        let mut measuring = 0;
        let hooks = Hooks {
            settling: &mut |_| {
                std::thread::sleep(PAUSE);
                Settling::Settled
            },
            measuring: &mut || {
                std::thread::sleep(PAUSE);
                measuring += 1;
            },
            progress: None,
        };
        let stop = AtomicBool::new(false);
        let measurement = measure_with(&trial, prepared(&[b"x"]), hooks, &stop).unwrap();
        assert_sums_hold(&measurement);
        assert_eq!(measuring, 1);
        assert!(measurement.warmup.elapsed >= 2 * PAUSE);
        // No bound on a time that was measured: the pause is in it, or it is not.
        let longest = measurement.latency.max().max(measurement.send_delay.max());
        assert!(u128::from(longest) < PAUSE.as_nanos(), "{longest} ns");
    }
}

#[test]
fn each_call_at_a_rate_has_its_gap_in_the_elapsed_time() {
    let mut trial = trial(serve(answer_with(ok)));
    trial.schedule = Schedule::Rate {
        per_second: 50.0,
        arrivals: Arrivals::Constant,
    };
    for (calls, time) in [(Some(5), None), (None, Some(Duration::from_millis(90)))] {
        trial.stop = Stop { calls, time };
        let measurement = run(&trial, &[b"x"]);
        assert_eq!(measurement.calls.answered, 5);
        let least = Duration::from_millis(100);
        assert!(measurement.elapsed >= least, "{:?}", measurement.elapsed);
    }
}

#[test]
fn a_warm_up_that_never_settles_says_so() {
    let mut by_rule = trial(serve(answer_with(ok)));
    by_rule.warmup = Some(warmup(10));
    let stop = AtomicBool::new(false);
    let never = &mut |_| Settling::NeverSettled;
    let measurement = measure(&by_rule, prepared(&[b"x"]), never, &stop).unwrap();
    assert!(!measurement.warmup.settled);
    assert_eq!(
        (measurement.warmup.calls, measurement.calls.answered),
        (10, 100)
    );

    let mut by_calls = by_rule;
    by_calls.warmup = Some(WarmupBounds {
        max_calls: 30,
        ..warmup(10)
    });
    let go_on = &mut |_| Settling::GoOn;
    let measurement = measure(&by_calls, prepared(&[b"x"]), go_on, &stop).unwrap();
    assert!(!measurement.warmup.settled);
    assert_eq!(
        (measurement.warmup.calls, measurement.calls.answered),
        (30, 100)
    );
}

fn verified(verifier: &mut Echo) -> Bodies<'_> {
    let body = |text: &str| Body {
        bytes: text.as_bytes().to_vec(),
        compressed: false,
        plain_len: text.len() as u64,
    };
    Bodies::Prepared {
        bodies: vec![body("call 0"), body("call 1")],
        verifier: Some(verifier),
    }
}

#[test]
fn answers_are_verified_on_the_warm_up() {
    let mut trial = trial(serve(answer_with(ok)));
    trial.warmup = Some(warmup(10));
    let mut echo = Echo::default();
    run_with(&trial, verified(&mut echo)).unwrap();
    assert_eq!(echo.verified, [0, 1], "once for each body");

    let mut echo = Echo {
        wrong: Some(1),
        ..Echo::default()
    };
    let error = run_with(&trial, verified(&mut echo)).unwrap_err();
    assert!(
        matches!(error, LoadError::WrongAnswer { call: 1, .. }),
        "{error}"
    );
}

type Change<'a> = &'a dyn Fn(&mut Trial);

#[test]
fn what_cannot_be_carried_out_is_refused() {
    let good = trial(nobody());
    let refused = |change: Change<'_>| {
        let mut trial = good.clone();
        change(&mut trial);
        run_with(&trial, prepared(&[b"x"])).unwrap_err().to_string()
    };
    let table: [(Change<'_>, &str); 5] = [
        (
            &|t| t.connections = 0,
            "the number of connections must be at least 1",
        ),
        (
            &|t| t.stop = Stop::default(),
            "the end of the trial must be a number of calls, a time, or both",
        ),
        (
            &|t| t.schedule = Schedule::Closed { in_flight: 0 },
            "calls in flight must be at least 1",
        ),
        (
            &|t| {
                t.timing = Timing::Stages;
                t.schedule = Schedule::Closed { in_flight: 2 };
            },
            "stage timing must be a closed loop with one call in flight",
        ),
        (
            &|t| t.request.path = "no slash".to_owned(),
            "the request cannot be sent: path \"no slash\" must start with / and hold no spaces, \
             # or control characters",
        ),
    ];
    for (change, text) in table {
        assert_eq!(refused(change), text);
    }
    assert!(run_with(&good, prepared(&[])).is_err());
}
