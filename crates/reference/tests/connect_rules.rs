//! The rules of the Connect protocol for unary calls (connectrpc.com/docs/protocol).

mod common;

use bytes::Bytes;
use common::{Http, Response, Running, post, request};
use http::Method;
use rpcgauge_message::{Compression, Limits, WorkloadSpec};
use rpcgauge_reference::ServerOptions;

const JSON: (&str, &str) = ("content-type", "application/json");
const VERSION: (&str, &str) = ("connect-protocol-version", "1");
const HELLO: &str = r#"{"name":"name_0"}"#;

fn call(server: &Running, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Response {
    server.post(server.workload.method_path(), headers, body)
}

/// Checks that a response is an error with this code, and that its message contains `names`.
fn assert_error(response: &Response, status: u16, code: &str, names: &str) {
    assert_eq!(response.status, status, "{response:?}");
    assert_eq!(response.header("content-type"), "application/json");
    let error: serde_json::Value = serde_json::from_slice(&response.body).expect("JSON");
    assert_eq!(error["code"], code);
    let message = error["message"].as_str().expect("text");
    assert!(message.contains(names), "{message}");
}

#[test]
fn errors_have_connects_code_and_its_status() {
    let server = Running::hello();
    let wrong = call(&server, &[JSON, VERSION], r#"{"name":7}"#);
    assert_error(&wrong, 400, "invalid_argument", "$.name");
    let coded = call(&server, &[JSON, VERSION, ("content-encoding", "br")], HELLO);
    assert_error(&coded, 501, "unimplemented", "use gzip, zstd or none");
    let path = "/hello.Hello/SayNothing";
    let unknown = server.call(Http::Two, post(path, &[JSON, VERSION], HELLO));
    assert_error(&unknown, 501, "unimplemented", "/hello.Hello/SayHello");
    let other = call(&server, &[JSON, ("connect-protocol-version", "2")], HELLO);
    assert_error(&other, 400, "invalid_argument", "connect-protocol-version");

    let small = Running::start(&ServerOptions {
        limits: Limits {
            max_message_bytes: 8,
            ..Limits::DEFAULT
        },
        ..ServerOptions::new(WorkloadSpec::Hello {})
    });
    let large = call(&small, &[JSON, VERSION], HELLO);
    assert_error(&large, 429, "resource_exhausted", "larger than 8 bytes");
}

#[test]
fn a_refusal_by_http_has_only_a_status() {
    let server = Running::hello();
    for content_type in ["application/protobuf", "application/connect+proto", ""] {
        let response = call(&server, &[("content-type", content_type), VERSION], HELLO);
        assert_eq!(response.status, 415);
        assert_eq!(response.body, "");
        assert!(response.header("accept").contains("application/proto"));
    }
    let path = server.workload.method_path();
    let response = server.call(Http::One, request(Method::GET, path, &[VERSION], ""));
    assert_eq!(response.status, 405);
    assert_eq!(response.header("allow"), "POST");
}

#[test]
fn a_call_has_its_clients_timeout() {
    let server = Running::hello();
    let within = |ms: &str| call(&server, &[JSON, VERSION, ("connect-timeout-ms", ms)], HELLO);
    assert_eq!(within("9999999999").status, 200);
    assert_error(&within("0"), 504, "deadline_exceeded", "connect-timeout-ms");
    for malformed in ["1s", "-1", "12345678901"] {
        let response = within(malformed);
        assert_error(&response, 400, "invalid_argument", "connect-timeout-ms");
    }
}

#[test]
fn plain_bytes_are_sent_if_no_coding_is_known() {
    let server = Running::start(&ServerOptions {
        response_compression: Compression::GZIP,
        ..ServerOptions::new(WorkloadSpec::Hello {})
    });
    for (accepted, coding) in [("gzip", "gzip"), ("br, gzip", "gzip"), ("br", ""), ("", "")] {
        let headers = [JSON, VERSION, ("accept-encoding", accepted)];
        let response = call(&server, &headers, HELLO);
        assert_eq!(response.status, 200);
        assert_eq!(response.header("content-encoding"), coding, "{accepted}");
    }
}

#[test]
fn an_empty_body_is_not_decompressed() {
    let server = Running::hello();
    let proto = ("content-type", "application/proto");
    let headers = [proto, VERSION, ("content-encoding", "gzip")];
    assert_eq!(call(&server, &headers, "").status, 200);
}

#[test]
fn the_version_distinguishes_connect_from_rest_on_the_same_path() {
    let own = rpcgauge_message::workload::OwnWorkload::new(
        rpcgauge_message::Schema::workloads(),
        "hello.Hello/SayHello",
        HELLO,
        r#"{"message":"m"}"#,
    );
    let own = WorkloadSpec::Own(Box::new(own.expect("a workload")));
    let server = Running::start(&ServerOptions::new(own));
    let accept = ("accept", "application/cbor");
    let rest = call(&server, &[JSON, accept], HELLO);
    assert_eq!(rest.header("content-type"), "application/cbor");
    let connect = call(&server, &[JSON, accept, VERSION], HELLO);
    assert_eq!(connect.header("content-type"), "application/json");
}
