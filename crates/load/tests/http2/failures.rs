//! Calls that fail, each by its kind.

use std::io::{Read, Write};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use rpcgauge_trial::{Address, ConnectionUse};

use super::grpc_trial;
use super::server::{grpc, serve_http2};
use super::support::frames::frame;
use super::support::*;

#[test]
fn a_status_is_counted_by_its_name_with_its_message() {
    let address = serve_http2(|_| async { grpc(Bytes::new(), "14", "try %3Cagain%3E") });
    let measurement = run(&grpc_trial(address), &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(
        failures(&measurement),
        [("grpc-unavailable".to_owned(), 100)]
    );
    assert_eq!(measurement.error_samples[0].text, "try <again>");
}

#[test]
fn a_status_without_a_message_or_a_name_is_told_all_the_same() {
    let table = [
        (
            "13",
            "",
            "grpc-internal",
            "the server sent no message with it",
        ),
        ("42", "", "grpc-invalid", "grpc-status 42"),
        ("42", "why", "grpc-invalid", "grpc-status 42: why"),
    ];
    for (status, message, kind, text) in table {
        let address = serve_http2(move |_| async move { grpc(Bytes::new(), status, message) });
        let measurement = run(&grpc_trial(address), &[b"x"]);
        assert_eq!(failures(&measurement), [(kind.to_owned(), 100)]);
        assert_eq!(measurement.error_samples[0].text, text);
    }
}

#[test]
fn an_answer_that_is_no_grpc_is_counted_as_what_it_is() {
    let table = [
        (502, "text/html", "http-502"),
        (200, "text/html", "content-type"),
        (200, "application/grpc", "protocol"),
    ];
    for (status, content_type, kind) in table {
        let address = serve_http2(move |_| async move {
            let body = Full::new(Bytes::from_static(b"<html>")).boxed();
            Response::builder()
                .status(status)
                .header("content-type", content_type)
                .body(body)
                .unwrap()
        });
        let measurement = run(&grpc_trial(address), &[b"x"]);
        assert_sums_hold(&measurement);
        assert_eq!(failures(&measurement), [(kind.to_owned(), 100)]);
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
        measurement.connections_opened, 0,
        "RST_STREAM, not a new connection"
    );
}

#[test]
fn a_server_of_the_other_protocol_is_a_kind_of_its_own() {
    let address = serve(|mut stream: std::net::TcpStream| {
        let mut sink = [0; 100];
        let _ = stream.read(&mut sink);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    });
    let mut trial = grpc_trial(address);
    trial.stop.calls = Some(5);
    let measurement = run(&trial, &[b"x"]);
    assert_sums_hold(&measurement);
    assert_eq!(failures(&measurement), [("wrong-protocol".to_owned(), 5)]);
    let text = &measurement.error_samples[0].text;
    assert!(text.contains("HTTP/1.x only"), "{text}");
}

#[test]
fn a_server_that_wants_http1_is_a_kind_of_its_own() {
    let settings = frame(4, 0, 0, &[]);
    let wants_http1 = [0, 0, 0, 0, 0, 0, 0, 0xd];
    for response in [
        frame(3, 0, 1, &wants_http1[4..]),
        frame(7, 0, 0, &wants_http1),
    ] {
        let mut trial = grpc_trial(says(&[settings.clone(), response]));
        trial.connection_use = ConnectionUse::PerCall;
        trial.stop.calls = Some(2);
        let measurement = run(&trial, &[b"x"]);
        assert_sums_hold(&measurement);
        assert_eq!(failures(&measurement), [("wrong-protocol".to_owned(), 2)]);
        let text = &measurement.error_samples[0].text;
        assert!(text.contains("HTTP_1_1_REQUIRED"), "{text}");
    }
}

/// Sends these frames once something came, and closes.
fn says(frames: &[Vec<u8>]) -> Address {
    let bytes = frames.concat();
    serve(move |mut stream: std::net::TcpStream| {
        let mut sink = [0; 10_000];
        let _ = stream.read(&mut sink);
        let _ = stream.write_all(&bytes);
        // Until the client closes, so that nothing is cut short by a reset.
        while stream.read(&mut sink).is_ok_and(|n| n > 0) {}
    })
}

#[test]
fn what_breaks_a_stream_is_counted_by_its_kind() {
    let settings = frame(4, 0, 0, &[]);
    let table = [
        (frame(3, 0, 1, &[0, 0, 0, 2]), "stream-reset"),
        (frame(3, 0, 1, &[0, 0, 0, 7]), "not-processed"),
        (frame(7, 0, 0, &[0; 8]), "not-processed"),
        (frame(0, 1, 1, b"body without a head"), "protocol"),
        (frame(1, 4, 1, &[0xff; 8]), "protocol"),
    ];
    for (response, kind) in table {
        let mut trial = grpc_trial(says(&[settings.clone(), response]));
        // One call a connection: the next would be on a stream that the script does not know.
        trial.connection_use = ConnectionUse::PerCall;
        trial.stop.calls = Some(3);
        let measurement = run(&trial, &[b"x"]);
        assert_sums_hold(&measurement);
        assert_eq!(
            failures(&measurement),
            [(kind.to_owned(), 3)],
            "{:?}",
            measurement.error_samples
        );
    }
}
