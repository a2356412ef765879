//! Successful calls, and their counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::header::HeaderValue;
use rpcgauge_load::{Bodies, WarmupBounds};
use rpcgauge_trial::{Address, Arrivals, Schedule, Stop, Timing};

use super::grpc_trial;
use super::server::{echo, serve_http2};
use super::support::*;

#[test]
fn grpc_calls_one_after_the_other() {
    let trial = grpc_trial(serve_http2(echo));
    let measurement = run(&trial, &[b"hello"]);
    assert_answered(&measurement, 100);
    assert_eq!(
        traffic(&measurement).sent.bodies,
        500,
        "the prefix is overhead"
    );
    assert_eq!(traffic(&measurement).received.bodies, 500);
    assert_eq!(measurement.payload.response_compressed, Some(5.0));
}

#[test]
fn messages_without_bytes_have_no_body_whenever_the_warm_up_ends() {
    let mut trial = grpc_trial(serve_http2(echo));
    trial.schedule = Schedule::Closed { in_flight: 16 };
    trial.warmup = Some(warmup(50));
    let measurement = run(&trial, &[b""]);
    assert_answered(&measurement, 100);
    let (sent, received) = (traffic(&measurement).sent, traffic(&measurement).received);
    assert_eq!((sent.bodies, received.bodies), (0, 0));
    // Two frame headers and a prefix per call; responses have a third frame header for the trailers.
    assert_eq!((sent.overhead, received.overhead), (2300, 3200));

    // At a rate, the warm-up's calls are not awaited.
    trial.schedule = constant_rate(20_000.0);
    let measurement = run(&trial, &[b""]);
    assert_sums_hold(&measurement);
    assert_eq!(traffic(&measurement).received.bodies, 0);
}

#[test]
fn a_rate_over_one_connection() {
    let mut trial = grpc_trial(serve_http2(echo));
    trial.schedule = Schedule::Rate {
        per_second: 2000.0,
        arrivals: Arrivals::Poisson,
    };
    trial.stop = Stop {
        calls: Some(200),
        time_ms: None,
    };
    let measurement = run(&trial, &[b"hello"]);
    assert_answered(&measurement, 200);
}

#[test]
fn marks_that_are_never_indexed_leave_the_other_headers_as_they_are() {
    const CALLS: u64 = 300;
    let received = |address: Address| {
        let mut trial = grpc_trial(address);
        trial.timing = Timing::Stages;
        trial.stop.calls = Some(CALLS);
        let measurement = run_with(&trial, Bodies::PerCall(&mut Echo::default())).unwrap();
        assert_eq!(measurement.calls.answered, CALLS);
        traffic(&measurement).received
    };
    let plain = received(serve_http2(echo));
    let number = Arc::new(AtomicU64::new(100_000));
    let marked = received(serve_http2(move |request| {
        let number = number.fetch_add(1, Ordering::Relaxed);
        async move {
            let mut response = echo(request).await;
            for name in ["rpcgauge-handler-start", "rpcgauge-handler-end"] {
                let mut value = HeaderValue::from(number);
                value.set_sensitive(true);
                response.headers_mut().insert(name, value);
            }
            response
        }
    }));
    assert_eq!(plain.marks, 0);
    assert!(marked.marks > CALLS * 30, "two names each: {marked:?}");
    // `date` adds a new table entry every second, independent of the rest.
    assert!(
        plain.headers.abs_diff(marked.headers) < CALLS,
        "{plain:?} {marked:?}"
    );
}

#[test]
fn large_messages_pass_flow_control_both_ways() {
    let mut trial = grpc_trial(serve_http2(echo));
    trial.stop.calls = Some(3);
    let message = vec![7; 3 << 20];
    let measurement = run(&trial, &[&message]);
    assert_answered(&measurement, 3);
    assert_eq!(traffic(&measurement).received.bodies, 9 << 20);
}

#[test]
fn a_codec_reads_the_message_without_its_prefix() {
    let mut trial = grpc_trial(serve_http2(echo));
    trial.warmup = Some(WarmupBounds {
        max_calls: 10,
        ..warmup(10)
    });
    let mut codec = Echo::default();
    let measurement = run_with(&trial, Bodies::PerCall(&mut codec)).unwrap();
    assert_answered(&measurement, 100);
    assert_eq!(
        (codec.verified.as_slice(), codec.decoded.as_slice()),
        (&[0, 109][..], &b"call 109"[..]),
        "the first of the warm-up and the last of all"
    );
}
