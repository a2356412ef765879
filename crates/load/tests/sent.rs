//! A call counts as sent once it was passed to the transport.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rpcgauge_load::{Bodies, Body, CodecError, Protocol};
use rpcgauge_trial::{Arrivals, ConnectionUse, RampPart, Schedule};
use support::frames::{frame, ok_frame, serve_frames};
use support::*;

#[test]
fn a_call_without_a_connection_is_not_sent() {
    for connection_use in [ConnectionUse::Reuse, ConnectionUse::PerCall] {
        let mut trial = short(unused_address());
        trial.connection_use = connection_use;
        trial.schedule = constant_rate(2000.0);
        let calls = run(&trial, &[b"x"]).calls;
        assert_eq!((calls.failed_total(), calls.never_sent), (10, 10));
        trial.stop.calls = None;
        trial.schedule = Schedule::Ramp {
            parts: vec![RampPart {
                from: 200.0,
                to: 200.0,
                time_ms: 50,
            }],
            arrivals: Arrivals::Constant,
        };
        let measurement = run(&trial, &[b"x"]);
        assert_sums_hold(&measurement);
        let step = &measurement.steps[0];
        assert_eq!(
            (step.started, step.never_sent),
            (10, 10),
            "{connection_use:?}"
        );
    }
}

/// A SETTINGS_MAX_HEADER_LIST_SIZE of 0.
const NO_HEADS: [u8; 6] = [0, 6, 0, 0, 0, 0];

#[test]
fn a_call_whose_head_the_server_does_not_accept_is_not_sent() {
    let seen = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&seen);
    let mut trial = trial(serve_frames(move |came| {
        count.fetch_add(1, Ordering::Relaxed);
        [frame(4, 0, 0, &NO_HEADS), ok_frame(came.stream)].concat()
    }));
    trial.endpoint.protocol = Protocol::Http2;
    trial.expect.content_type = None;
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    let calls = &measurement.calls;
    assert!(calls.answered > 0 && calls.failed_total() > 0, "{calls:?}");
    let sent = calls.started - calls.never_sent;
    assert_eq!(sent, seen.load(Ordering::Relaxed), "{calls:?}");
}

#[test]
fn a_call_without_a_body_is_not_sent() {
    let mut trial = trial(serve(respond_with(ok)));
    trial.stop.calls = Some(10);
    let bodies = (0..10).map(|number| match number {
        0..4 => Ok(Body {
            bytes: vec![b'x'],
            compressed: false,
            plain_len: 1,
            fields: Vec::new(),
        }),
        _ => Err(CodecError("the file was cut short".to_owned())),
    });
    let measurement = run_with(&trial, Bodies::Streamed(Box::new(bodies))).unwrap();
    assert_sums_hold(&measurement);
    let calls = &measurement.calls;
    assert_eq!((calls.answered, calls.never_sent), (4, 6));
}
