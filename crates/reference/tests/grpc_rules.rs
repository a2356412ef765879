//! The rules of gRPC: statuses, trailers, negotiation, deadlines, limits.
//!
//! The codes are those in the gRPC project's doc/statuscodes.md and doc/compression.md.

mod common;

use bytes::Bytes;
use common::{Http, InFrames, Response, Running, framed, gzip, post, request};
use http::{HeaderMap, Method, Request};
use hyper::body::Frame;
use rpcgauge_message::{Compression, Encoding, WorkloadSpec};
use rpcgauge_reference::ServerOptions;

const INVALID_ARGUMENT: &str = "3";
const DEADLINE_EXCEEDED: &str = "4";
const RESOURCE_EXHAUSTED: &str = "8";
const UNIMPLEMENTED: &str = "12";
const INTERNAL: &str = "13";

fn hello() -> Vec<u8> {
    let workload = rpcgauge_message::Workload::new(&WorkloadSpec::Hello {}).expect("a workload");
    workload
        .request(0)
        .to_bytes(Encoding::Protobuf)
        .expect("encoded")
}

fn call_with(server: &Running, more: &[(&str, &str)], body: Vec<u8>) -> Response {
    let mut headers = vec![("content-type", "application/grpc"), ("te", "trailers")];
    headers.extend_from_slice(more);
    server.call(
        Http::Two,
        post(server.workload.method_path(), &headers, body),
    )
}

/// Checks a failed call: it has HTTP status 200, a gRPC status and no message, all in one header block.
fn assert_failed(response: &Response, code: &str, message: &str) {
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), "application/grpc");
    assert_eq!(
        response.header("grpc-status"),
        code,
        "{}",
        response.grpc_message()
    );
    assert!(
        response.grpc_message().contains(message),
        "{}",
        response.grpc_message()
    );
    assert!(response.body.is_empty() && response.trailers.is_empty());
}

#[test]
fn a_call_ends_with_its_status_in_the_trailers() {
    let server = Running::hello();
    let response = call_with(&server, &[], framed(false, &hello()));
    assert_eq!(response.trailers["grpc-status"], "0");
    assert_eq!(response.header("content-type"), "application/grpc");
    assert!(!response.headers.contains_key("content-length"));
}

#[test]
fn a_call_without_a_subtype_has_the_encoding_of_the_settings() {
    for encoding in [Encoding::Hybrid, Encoding::Msgpack, Encoding::Cbor] {
        let mut settings = ServerOptions::new(WorkloadSpec::Hello {});
        settings.encoding = encoding;
        let server = Running::start(&settings);
        let bytes = |message: rpcgauge_message::Message| message.to_bytes(encoding);
        let request = bytes(server.workload.request(0)).expect("encoded");
        let response = call_with(&server, &[], framed(false, &request));
        assert_eq!(response.grpc_status(), "0", "{}", response.grpc_message());
        assert_eq!(response.header("content-type"), "application/grpc");
        let expected = bytes(server.workload.expected(0)).expect("encoded");
        assert_eq!(response.body[5..], expected);
    }
}

#[test]
fn an_unknown_method_is_unimplemented() {
    let server = Running::hello();
    let headers = [("content-type", "application/grpc"), ("te", "trailers")];
    for path in [
        "/hello.Hello/SayBye",
        "/",
        "/hello.Hello",
        server.workload.rest_path(),
    ] {
        if path == server.workload.method_path() {
            continue;
        }
        let response = server.call(Http::Two, post(path, &headers, framed(false, &hello())));
        assert_failed(&response, UNIMPLEMENTED, "unknown method");
    }
}

#[test]
fn a_unary_call_has_exactly_one_message() {
    let server = Running::hello();
    assert_failed(
        &call_with(&server, &[], Vec::new()),
        UNIMPLEMENTED,
        "no message arrived",
    );
    let two = [framed(false, &hello()), framed(false, &hello())].concat();
    assert_failed(
        &call_with(&server, &[], two),
        UNIMPLEMENTED,
        "more than one message arrived",
    );
}

#[test]
fn damaged_messages_are_internal_errors() {
    let server = Running::hello();
    // Field 1, length-delimited, with a length that exceeds the message.
    let damaged = framed(false, &[0x0A, 0x7F, b'x']);
    assert_failed(
        &call_with(&server, &[], damaged),
        INTERNAL,
        "not a hello.HelloRequest",
    );
    let half = framed(false, &hello())[..7].to_vec();
    assert_failed(
        &call_with(&server, &[], half),
        INTERNAL,
        "ends inside its message",
    );
    let flag = [vec![9], framed(false, &hello())[1..].to_vec()].concat();
    assert_failed(
        &call_with(&server, &[], flag),
        INTERNAL,
        "compressed flag is 9",
    );
}

#[test]
fn compressed_messages_need_a_known_and_named_coding() {
    let server = Running::hello();
    let compressed = framed(true, &gzip(&hello()));
    let response = call_with(&server, &[("grpc-encoding", "gzip")], compressed.clone());
    assert_eq!(response.grpc_status(), "0", "{}", response.grpc_message());

    let response = call_with(&server, &[], compressed.clone());
    assert_failed(&response, INTERNAL, "compressed flag is set");
    let response = call_with(
        &server,
        &[("grpc-encoding", "identity")],
        compressed.clone(),
    );
    assert_failed(&response, INTERNAL, "compressed flag is set");

    let response = call_with(&server, &[("grpc-encoding", "snappy")], compressed);
    assert_failed(&response, UNIMPLEMENTED, "grpc-encoding snappy");
    assert_eq!(
        response.header("grpc-accept-encoding"),
        "identity,gzip,zstd"
    );

    let damaged = framed(true, &hello());
    let response = call_with(&server, &[("grpc-encoding", "gzip")], damaged);
    assert_failed(&response, INTERNAL, "not gzip");

    // The flag, not the header, decides whether this message is compressed.
    let response = call_with(
        &server,
        &[("grpc-encoding", "gzip")],
        framed(false, &hello()),
    );
    assert_eq!(response.grpc_status(), "0", "{}", response.grpc_message());
}

#[test]
fn a_response_is_compressed_only_if_the_client_accepts_it() {
    let mut settings = ServerOptions::new(WorkloadSpec::List { n: 50 });
    settings.response_compression = Compression::ZSTD;
    let server = Running::start(&settings);
    let bytes = server
        .workload
        .request(0)
        .to_bytes(Encoding::Protobuf)
        .expect("encoded");
    for (accept, compressed) in [
        (None, false),
        (Some("identity"), false),
        (Some("gzip"), false),
        (Some("gzip, zstd"), true),
        (Some("ZSTD"), true),
    ] {
        let more: Vec<_> = accept
            .map(|value| ("grpc-accept-encoding", value))
            .into_iter()
            .collect();
        let response = call_with(&server, &more, framed(false, &bytes));
        assert_eq!(response.grpc_status(), "0", "{}", response.grpc_message());
        assert_eq!(response.body[0], u8::from(compressed), "{accept:?}");
        assert_eq!(
            response.header("grpc-encoding"),
            if compressed { "zstd" } else { "" }
        );
    }
}

#[test]
fn too_large_messages_exhaust_resources() {
    let mut settings = ServerOptions::new(WorkloadSpec::Echo { n: 1 });
    settings.limits.max_message_bytes = 1000;
    let server = Running::start(&settings);
    let response = call_with(&server, &[], framed(false, &[0; 1001]));
    assert_failed(&response, RESOURCE_EXHAUSTED, "the limit is 1000");
    // The announced length alone causes the rejection, before its bytes arrive.
    let response = call_with(&server, &[], vec![0, 0xFF, 0xFF, 0xFF, 0xFF]);
    assert_failed(&response, RESOURCE_EXHAUSTED, "the limit is 1000");
    // Small when compressed, too large when decompressed.
    let mut echo = server
        .workload
        .request(0)
        .to_bytes(Encoding::Protobuf)
        .expect("encoded");
    for _ in 0..300 {
        echo.extend_from_slice(&[0x42, 4, b'a', b'a', b'a', b'a']);
    }
    assert!(echo.len() > 1000 && gzip(&echo).len() < 500);
    let response = call_with(
        &server,
        &[("grpc-encoding", "gzip")],
        framed(true, &gzip(&echo)),
    );
    assert_failed(&response, RESOURCE_EXHAUSTED, "1000");
}

#[test]
fn requests_without_a_response_are_invalid() {
    let mut settings = ServerOptions::new(WorkloadSpec::List { n: 3 });
    settings.limits.max_message_bytes = 1 << 20;
    let server = Running::start(&settings);
    // ExampleRequest.id = -1: no list can have this number of items.
    let negative = framed(
        false,
        &[
            0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01,
        ],
    );
    assert_failed(&call_with(&server, &[], negative), INVALID_ARGUMENT, "");
}

#[test]
fn a_request_that_is_not_grpc_gets_an_http_status() {
    let server = Running::hello();
    let path = server.workload.method_path();
    for kind in [
        "application/grpc-web",
        "application/grpc+thrift",
        "application/grpcx",
    ] {
        let response = server.call(
            Http::Two,
            post(path, &[("content-type", kind)], framed(false, &hello())),
        );
        assert_eq!(response.status, 415, "{kind}");
    }
    let headers = [("content-type", "application/grpc")];
    let response = server.call(
        Http::Two,
        request(Method::GET, path, &headers, Bytes::new()),
    );
    assert_eq!(response.status, 405);
    assert_eq!(response.header("allow"), "POST");
    let response = server.call(Http::One, post(path, &headers, framed(false, &hello())));
    assert_eq!(response.status, 505);
}

fn with_body<B>(server: &Running, more: &[(&str, &str)], body: B) -> Request<B> {
    let mut headers = vec![("content-type", "application/grpc"), ("te", "trailers")];
    headers.extend_from_slice(more);
    post(server.workload.method_path(), &headers, Bytes::new()).map(|_| body)
}

#[test]
fn a_deadline_ends_a_call_whose_message_does_not_arrive() {
    let server = Running::hello();
    for sent in [Bytes::new(), Bytes::from_static(&[0, 0, 0, 0, 9, 1])] {
        let request = with_body(
            &server,
            &[("grpc-timeout", "50m")],
            InFrames::without_end([sent]),
        );
        let response = common::call(&server.address, Http::Two, request);
        assert_failed(&response, DEADLINE_EXCEEDED, "grpc-timeout");
    }
}

#[test]
fn a_deadline_that_has_passed_fails_the_call_and_a_long_one_does_not() {
    let server = Running::hello();
    let response = call_with(&server, &[("grpc-timeout", "0n")], framed(false, &hello()));
    assert_failed(&response, DEADLINE_EXCEEDED, "grpc-timeout");
    for long in ["1H", "99999999H"] {
        let response = call_with(&server, &[("grpc-timeout", long)], framed(false, &hello()));
        assert_eq!(response.grpc_status(), "0", "{}", response.grpc_message());
    }
    let response = call_with(
        &server,
        &[("grpc-timeout", "soon")],
        framed(false, &hello()),
    );
    assert_failed(&response, INTERNAL, "grpc-timeout");
}

#[test]
fn a_message_in_pieces_is_put_together() {
    let server = Running::hello();
    let whole = Bytes::from(framed(false, &hello()));
    let mut trailers = HeaderMap::new();
    trailers.insert("x-note", "ignored".parse().expect("a value"));
    for size in [1, 3, 5, 6] {
        let mut frames: Vec<_> = whole
            .chunks(size)
            .map(|piece| Frame::data(Bytes::copy_from_slice(piece)))
            .collect();
        frames.push(Frame::trailers(trailers.clone()));
        let request = with_body(&server, &[], InFrames::new(frames));
        let response = common::call(&server.address, Http::Two, request);
        assert_eq!(response.grpc_status(), "0", "{}", response.grpc_message());
    }
}

#[test]
fn a_second_message_is_refused_without_waiting_for_its_end() {
    let server = Running::hello();
    let more = [framed(false, &hello()), vec![0]].concat();
    let request = with_body(&server, &[], InFrames::without_end([more.into()]));
    let response = common::call(&server.address, Http::Two, request);
    assert_failed(&response, UNIMPLEMENTED, "more than one message");
}

#[test]
fn messages_with_line_breaks_stay_one_header() {
    let server = Running::hello();
    let headers = [
        ("content-type", "application/grpc+json"),
        ("te", "trailers"),
    ];
    let body = framed(false, "{\"na\nme\u{1F600}".as_bytes());
    let response = server.call(
        Http::Two,
        post(server.workload.method_path(), &headers, body),
    );
    assert_eq!(response.grpc_status(), INTERNAL);
    assert!(
        response
            .grpc_message()
            .bytes()
            .all(|byte| (b' '..=b'~').contains(&byte))
    );
}
