//! Trials whose bodies are generated while they run.

mod support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rpcgauge_load::{Bodies, Body, CodecError, Protocol, Trial, WarmupBounds};
use rpcgauge_trial::{ConnectionUse, Ending, FailureKind, Fault, Schedule, Stop, TrialFigures};
use support::frames::{Came, ok_frame, reset, serve_frames};
use support::*;

fn body(bytes: Vec<u8>) -> Body {
    Body {
        compressed: false,
        plain_len: bytes.len() as u64,
        fields: Vec::new(),
        bytes,
    }
}

/// Bodies that contain their number, counted from 0.
fn numbered() -> impl Iterator<Item = Result<Body, CodecError>> + Send {
    (0u64..).map(|number| Ok(body(format!("row {number}").into_bytes())))
}

fn streamed(
    trial: &Trial,
    bodies: impl Iterator<Item = Result<Body, CodecError>> + Send + 'static,
) -> TrialFigures {
    let measurement = run_with(trial, Bodies::Streamed(Box::new(bodies))).unwrap();
    assert_sums_hold(&measurement);
    measurement
}

#[test]
fn each_call_has_the_next_body() {
    for connection_use in [ConnectionUse::Reuse, ConnectionUse::PerCall] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&seen);
        let mut trial = trial(serve(respond_with(move |body| {
            keep.lock()
                .unwrap()
                .push(String::from_utf8(body.to_vec()).unwrap());
            ok(body)
        })));
        trial.connection_use = connection_use;
        // The warm-up's calls also use up bodies.
        trial.warmup = Some(WarmupBounds {
            max_calls: 5,
            ..warmup(5)
        });
        let measurement = streamed(&trial, numbered());
        assert_eq!(measurement.calls.answered, 100);
        assert_eq!(measurement.bodies_late, 0);
        assert_eq!(measurement.ending, Ending::Complete);
        let expected: Vec<String> = (0..105).map(|number| format!("row {number}")).collect();
        assert_eq!(*seen.lock().unwrap(), expected);
        // Rows 5 to 104: 5 of 5 bytes, 90 of 6, and 5 of 7.
        assert_eq!(measurement.payload.request, Some(6.0));
    }
}

#[test]
fn more_bodies_than_lie_ready_keep_up() {
    let mut trial = trial(serve(respond_with(ok)));
    trial.schedule = Schedule::Closed { in_flight: 4 };
    trial.connections = 4;
    trial.stop.calls = Some(20_000);
    let large = || Ok(body(vec![b'x'; 2000]));
    let measurement = streamed(&trial, std::iter::repeat_with(large));
    assert_eq!(measurement.calls.answered, 20_000);
    assert_eq!(traffic(&measurement).sent.bodies, 40_000_000);
}

#[test]
fn bodies_that_come_late_are_counted_and_not_hidden() {
    let answered = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&answered);
    let mut trial = trial(serve(respond_with(move |body| {
        count.fetch_add(1, Ordering::Relaxed);
        ok(body)
    })));
    trial.schedule = constant_rate(1000.0);
    // Two batches of 8 bodies are ready immediately. The third waits until they are answered, and then takes
    // a while.
    let bodies = || {
        let answered = Arc::clone(&answered);
        answered.store(0, Ordering::Relaxed);
        (0..40).map(move |number| {
            if number == 20 {
                while answered.load(Ordering::Relaxed) < 16 {
                    thread::sleep(Duration::from_millis(1));
                }
                thread::sleep(Duration::from_millis(300));
            }
            Ok(body(vec![b'x'; 1 << 17]))
        })
    };
    trial.stop.calls = Some(40);
    let measurement = streamed(&trial, bodies());
    assert_eq!(
        measurement.calls.answered,
        40,
        "{:?}",
        failures(&measurement)
    );
    assert!(measurement.bodies_late >= 1);
    let delay = measurement.send_delay.unpack().counts().max();
    assert!(delay >= 290_000_000, "{delay} ns");

    // With a shorter deadline the calls fail, and the client is at fault.
    trial.deadline = Duration::from_millis(100);
    let measurement = streamed(&trial, bodies());
    let failed = &measurement.calls.failed;
    assert!(failed[&FailureKind::BodyLate] >= 1, "{failed:?}");
    assert!(measurement.bodies_late >= failed[&FailureKind::BodyLate]);
    assert_eq!(FailureKind::BodyLate.fault(), Fault::Instrument);
}

#[test]
fn the_end_of_the_bodies_ends_the_trial() {
    let address = serve(respond_with(ok));
    let schedules = [Schedule::Closed { in_flight: 2 }, constant_rate(2000.0)];
    for schedule in schedules {
        let mut trial = trial(address.clone());
        trial.connections = 2;
        trial.schedule = schedule;
        trial.stop = Stop {
            calls: None,
            time_ms: Some(600_000),
        };
        let measurement = streamed(&trial, numbered().take(30));
        assert_eq!(measurement.ending, Ending::Complete);
        assert_eq!(measurement.calls.answered, 30);
        assert_eq!(measurement.calls.started, 30);
        assert_eq!(measurement.bodies_late, 0);
        // The bodies are used up during the warm-up.
        trial.warmup = Some(warmup(1000));
        let measurement = streamed(&trial, numbered().take(30));
        assert_eq!(measurement.ending, Ending::Complete);
        assert_eq!(
            (measurement.warmup.calls, measurement.calls.started),
            (30, 0)
        );
    }
}

#[test]
fn a_body_that_cannot_be_made_fails_its_call_alone() {
    for connection_use in [ConnectionUse::Reuse, ConnectionUse::PerCall] {
        let mut trial = trial(serve(respond_with(ok)));
        trial.connection_use = connection_use;
        trial.stop.calls = Some(50);
        let bodies = numbered()
            .enumerate()
            .map(|(number, body)| match number % 10 {
                3 => Err(CodecError(format!("line {number}: no JSON"))),
                _ => body,
            });
        let measurement = streamed(&trial, bodies);
        assert_eq!(measurement.calls.answered, 45);
        assert_eq!(failures(&measurement), [("encode".to_owned(), 5)]);
        assert_eq!(measurement.error_samples[0].text, "line 3: no JSON");
    }
}

#[test]
fn a_call_that_is_sent_again_has_the_same_body() {
    for connection_use in [ConnectionUse::Reuse, ConnectionUse::PerCall] {
        let mut trial = trial(serve_frames(|came: Came| match came.before % 3 {
            1 => reset(came.stream, 7),
            _ => ok_frame(came.stream),
        }));
        trial.endpoint.protocol = Protocol::Http2;
        trial.expect.content_type = None;
        trial.connection_use = connection_use;
        trial.stop.calls = Some(20);
        // There are as many bodies as calls. If a retry took another body, one would be missing.
        let measurement = streamed(&trial, numbered().take(20));
        assert_eq!(
            (measurement.calls.answered, measurement.ending),
            (20, Ending::Complete)
        );
        assert!(
            measurement.calls.retried >= 5,
            "{}",
            measurement.calls.retried
        );
    }
}
