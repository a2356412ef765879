//! gRPC methods in addition to the workload's.

mod common;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use common::{Http, Running, framed, gzip, post};
use http::{HeaderMap, HeaderValue};
use rpcgauge_message::{Compression, Encoding, WorkloadSpec};
use rpcgauge_reference::ServerOptions;
use rpcgauge_reference::grpc::{Code, MethodCall, MethodResponse, Methods, Status};

const PATH: &str = "/test.Test/Call";
const GRPC: [(&str, &str); 2] = [("content-type", "application/grpc"), ("te", "trailers")];

fn method<A>(response: impl Fn(MethodCall) -> A + Send + Sync + 'static) -> Methods
where
    A: Future<Output = MethodResponse> + Send + 'static,
{
    Methods::from([(PATH.to_owned(), Arc::new(response) as _)])
}

fn answered(result: Result<Vec<u8>, Status>) -> MethodResponse {
    let fields = |name: &'static str| {
        HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_static("a"))])
    };
    MethodResponse {
        initial_metadata: fields("x-first"),
        result,
        trailing_metadata: fields("x-last"),
    }
}

/// Responds with the request's bytes in reverse order.
fn reversed() -> Methods {
    method(|call| async {
        let mut message = call.message;
        message.reverse();
        answered(Ok(message))
    })
}

fn hello() -> ServerOptions {
    ServerOptions::new(WorkloadSpec::Hello {})
}

#[test]
fn a_method_is_served_besides_the_workload() {
    let server = Running::start_with(&hello(), &reversed());
    let response = server.call(Http::Two, post(PATH, &GRPC, framed(false, b"abc")));
    assert_eq!(response.body, framed(false, b"cba"));
    assert_eq!(response.header("content-type"), "application/grpc");
    assert_eq!(response.header("x-first"), "a");
    assert_eq!(response.trailers["x-last"], "a");
    assert_eq!(response.trailers["grpc-status"], "0");

    let path = server.workload.method_path();
    let message = server.workload.request(0).to_bytes(Encoding::Protobuf);
    let body = framed(false, &message.unwrap());
    let response = server.call(Http::Two, post(path, &GRPC, body));
    assert_eq!(response.grpc_status(), "0");
    assert!(!response.headers.contains_key("x-first"));
}

#[test]
fn a_method_sees_the_fields_and_the_timeout_of_its_call() {
    let methods = method(|call| async move {
        let asked: Vec<_> = call.fields.get_all("x-asked").iter().collect();
        let told = format!("{asked:?} {:?} {:?}", call.timeout, call.encoding);
        answered(Ok(told.into_bytes()))
    });
    let server = Running::start_with(&hello(), &methods);
    let headers = [
        ("content-type", "application/grpc+json"),
        ("x-asked", "b"),
        ("x-asked", "c"),
        ("grpc-timeout", "15S"),
    ];
    let response = server.call(Http::Two, post(PATH, &headers, framed(false, b"")));
    assert_eq!(response.header("content-type"), "application/grpc+json");
    let want = r#"["b", "c"] Some(15s) Json"#;
    assert_eq!(response.body, framed(false, want.as_bytes()));
}

#[test]
fn messages_are_decompressed_and_compressed_for_a_method() {
    let mut settings = hello();
    settings.response_compression = Compression::GZIP;
    let server = Running::start_with(&settings, &reversed());
    let headers = [
        ("content-type", "application/grpc"),
        ("grpc-encoding", "gzip"),
        ("grpc-accept-encoding", "gzip"),
    ];
    let body = framed(true, &gzip(b"abc"));
    let response = server.call(Http::Two, post(PATH, &headers, body));
    assert_eq!(response.header("grpc-encoding"), "gzip");
    assert_eq!(response.body, framed(true, &gzip(b"cba")));
}

#[test]
fn a_failure_has_its_details_and_metadata() {
    let methods = method(|_| async {
        let status = Status::new(Code::DataLoss, "lost: 100%");
        answered(Err(status.with_details(vec![0, 1, 2, 3])))
    });
    let server = Running::start_with(&hello(), &methods);
    let response = server.call(Http::Two, post(PATH, &GRPC, framed(false, b"")));
    assert_eq!(response.status, 200);
    assert!(response.body.is_empty());
    assert_eq!(response.header("x-first"), "a");
    for (name, value) in [
        ("grpc-status", "15"),
        ("grpc-message", "lost: 100%25"),
        ("grpc-status-details-bin", "AAECAw"),
        ("x-last", "a"),
    ] {
        assert_eq!(response.trailers[name], value);
    }
}

#[test]
fn a_method_that_exceeds_the_deadline_of_its_call_fails() {
    let methods = method(|_| async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        answered(Ok(Vec::new()))
    });
    let server = Running::start_with(&hello(), &methods);
    let headers = [GRPC[0], ("grpc-timeout", "20m")];
    let response = server.call(Http::Two, post(PATH, &headers, framed(false, b"")));
    assert_eq!(response.grpc_status(), "4");
}

#[test]
fn a_methods_path_accepts_no_other_content_type() {
    let server = Running::start_with(&hello(), &reversed());
    for path in [PATH, server.workload.method_path()] {
        for headers in [&[("content-type", "application/json")][..], &[]] {
            let response = server.call(Http::Two, post(path, headers, "{}"));
            assert_eq!(response.status, 415, "{path}");
        }
    }
}
