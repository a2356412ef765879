//! Calls that end after their deadline, and the end of a trial's time.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rpcgauge_load::{Bodies, Protocol};
use rpcgauge_trial::Stop;
use support::frames::{Came, reset, serve_frames};
use support::*;

const DEADLINE: Duration = Duration::from_millis(100);

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Ordering::SeqCst) {
        thread::sleep(Duration::from_millis(1));
    }
}

/// The server resets the first call while the client encodes the second one. The client reads the reset after
/// the first call's deadline, so that call fails because of its deadline.
#[test]
fn a_failure_after_the_deadline_is_a_call_out_of_time() {
    let encoding = Arc::new(AtomicBool::new(false));
    let was_reset = Arc::new(AtomicBool::new(false));
    let (begun, done) = (Arc::clone(&encoding), Arc::clone(&was_reset));
    let mut trial = trial(serve_frames(move |came: Came| match came.before {
        0 => {
            wait_for(&begun);
            // Set before the reset is written. The client sleeps long enough for the write to happen.
            done.store(true, Ordering::SeqCst);
            reset(came.stream, 2)
        }
        _ => Vec::new(),
    }));
    trial.endpoint.protocol = Protocol::Http2;
    trial.expect.content_type = None;
    trial.deadline = DEADLINE;
    trial.schedule = constant_rate(2.0 / DEADLINE.as_secs_f64());
    trial.stop = Stop {
        calls: Some(2),
        time_ms: None,
    };
    // Keeps the loop from checking anything until the deadline of the previous call has passed.
    let mut codec = Lenient(|call, out: &mut Vec<u8>| {
        out.push(b'x');
        if call == 1 {
            encoding.store(true, Ordering::SeqCst);
            wait_for(&was_reset);
            thread::sleep(2 * DEADLINE);
        }
    });
    let measurement = run_with(&trial, Bodies::PerCall(&mut codec)).unwrap();
    assert_sums_hold(&measurement);
    assert_eq!(measurement.calls.answered, 0);
    let failed = failures(&measurement);
    // On a busy machine, even the second call may not be sent in time.
    let of_time = |kind: &str| kind.starts_with("deadline");
    assert!(failed.iter().all(|(kind, _)| of_time(kind)), "{failed:?}");
}

#[test]
fn without_a_drain_calls_in_flight_are_abandoned_when_the_time_is_up() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let mut trial = trial(match protocol {
            Protocol::Http1 => serve(only_read),
            Protocol::Http2 => serve_frames(|_| Vec::new()),
        });
        trial.endpoint.protocol = protocol;
        trial.drain = Duration::ZERO;
        trial.stop = Stop {
            calls: None,
            time_ms: Some(50),
        };
        let measurement = run(&trial, &[b"x"]);
        assert_sums_hold(&measurement);
        assert_eq!(measurement.calls.abandoned, 1, "{protocol:?}");
        assert!(measurement.calls.failed.is_empty(), "{protocol:?}");
        // The silent time is included, although no call ended during it.
        assert!(
            elapsed(&measurement) >= Duration::from_millis(50),
            "{protocol:?}: {:?}",
            elapsed(&measurement)
        );
    }
}
