//! Calls that fail. tests/hostile covers each kind.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::{Bytes, Incoming};

use super::grpc_trial;
use super::server::{grpc, serve_http2};
use super::support::*;

#[test]
fn a_status_is_reported_with_its_message_if_it_has_one() {
    let table = [
        ("14", "try %3Cagain%3E", "grpc-unavailable", "try <again>"),
        (
            "13",
            "",
            "grpc-internal",
            "the server sent no message with the status",
        ),
        ("42", "", "grpc-invalid", "grpc-status 42"),
        ("42", "why", "grpc-invalid", "grpc-status 42: why"),
    ];
    for (status, message, kind, text) in table {
        let address = serve_http2(move |_| async move { grpc(Bytes::new(), status, message) });
        let measurement = run(&grpc_trial(address), &[b"x"]);
        assert_sums_hold(&measurement);
        assert_eq!(failures(&measurement), [(kind.to_owned(), 100)]);
        assert_eq!(measurement.error_samples[0].text, text);
    }
}

#[test]
fn a_call_out_of_time_is_cancelled_and_the_connection_goes_on() {
    let address = serve_http2(|request: Request<Incoming>| async {
        let body = request
            .into_body()
            .collect()
            .await
            .map(|body| body.to_bytes());
        let body = body.unwrap_or_default();
        if body.ends_with(b"slow") {
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        grpc(body, "0", "")
    });
    let mut trial = grpc_trial(address);
    trial.deadline = Duration::from_millis(500);
    trial.stop.calls = Some(4);
    let measurement = run(&trial, &[b"fast", b"slow"]);
    assert_sums_hold(&measurement);
    assert_eq!(
        measurement.calls.answered, 2,
        "{:?}",
        measurement.error_samples
    );
    assert_eq!(failures(&measurement), [("deadline".to_owned(), 2)]);
    assert_eq!(
        measurement.connections_opened.unwrap(),
        0,
        "RST_STREAM, not a new connection"
    );
}
