//! Server reflection as used by other projects' clients: several requests on one stream.

mod common;

use std::time::Duration;

use common::{GRPC, Http, Response, Running, block_on, framed, gzip, messages, post};
use http_body_util::BodyExt as _;
use rpcgauge_message::WorkloadSpec;
use rpcgauge_message::reflection::{METHOD_PATHS, ReflectionRequest, ReflectionResponse};
use rpcgauge_reference::{ServerOptions, Timeouts};
use tokio::sync::mpsc;

fn settings() -> ServerOptions {
    ServerOptions {
        reflection: true,
        ..ServerOptions::new(WorkloadSpec::Hello {})
    }
}

fn asked(question: ReflectionRequest<'_>) -> Vec<u8> {
    framed(false, &question.to_bytes())
}

/// Parses the responses in a body.
fn responses(body: &[u8]) -> Vec<ReflectionResponse> {
    let response = |(compressed, message): (bool, Vec<u8>)| {
        assert!(!compressed);
        ReflectionResponse::from_bytes(&message).expect("a response")
    };
    messages(body).into_iter().map(response).collect()
}

fn call(server: &Running, path: &str, body: Vec<u8>) -> Response {
    server.call(Http::Two, post(path, &GRPC, body))
}

#[test]
fn every_request_of_a_stream_gets_a_response_in_both_versions() {
    let server = Running::start(&settings());
    for path in METHOD_PATHS {
        let questions = [
            asked(ReflectionRequest::Services),
            asked(ReflectionRequest::FileContaining("hello.Hello")),
            asked(ReflectionRequest::FileContaining("a.B")),
        ];
        let response = call(&server, path, questions.concat());
        assert_eq!(response.header("content-type"), "application/grpc");
        assert_eq!(response.grpc_status(), "0");
        match &responses(&response.body)[..] {
            [
                ReflectionResponse::Services(names),
                ReflectionResponse::Files(files),
                ReflectionResponse::Error { code: 5, .. },
            ] => {
                let wanted = ["grpc.reflection.v1.ServerReflection", "hello.Hello"];
                assert_eq!(names, &wanted);
                assert_eq!(files.len(), 1);
            }
            other => panic!("{path}: {other:?}"),
        }
    }
}

#[test]
fn a_stream_without_a_request_succeeds() {
    let server = Running::start(&settings());
    let response = call(&server, METHOD_PATHS[0], Vec::new());
    assert_eq!((response.grpc_status(), response.body.len()), ("0", 0));
}

#[test]
fn compressed_requests_get_a_response() {
    let server = Running::start(&settings());
    let compressed = gzip(&ReflectionRequest::Services.to_bytes());
    let headers = [&GRPC[..], &[("grpc-encoding", "gzip")]].concat();
    let request = post(METHOD_PATHS[0], &headers, framed(true, &compressed));
    let response = server.call(Http::Two, request);
    assert!(matches!(
        &responses(&response.body)[..],
        [ReflectionResponse::Services(_)]
    ));
}

#[test]
fn a_malformed_request_ends_the_stream_with_a_status() {
    let server = Running::start(&settings());
    let good = asked(ReflectionRequest::Services);
    let cases: [(Vec<u8>, &str); 4] = [
        (framed(false, b"\xff\xff"), "13"),
        (vec![7, 0, 0, 0, 0], "13"),
        (good[..good.len() - 1].to_vec(), "13"),
        (vec![0, 0xff, 0xff, 0xff, 0xff], "8"),
    ];
    for (damage, status) in cases {
        let response = call(&server, METHOD_PATHS[0], [good.clone(), damage].concat());
        assert_eq!(responses(&response.body).len(), 1, "the request before it");
        assert_eq!(response.grpc_status(), status);
    }
    server.assert_alive();
}

#[test]
fn reflection_is_unimplemented_unless_it_is_enabled() {
    let server = Running::hello();
    for path in METHOD_PATHS {
        let response = call(&server, path, asked(ReflectionRequest::Services));
        assert_eq!(response.grpc_status(), "12");
    }
}

async fn open(server: &Running) -> (mpsc::Sender<Vec<u8>>, hyper::body::Incoming) {
    let (sender, response) = common::open(server, METHOD_PATHS[0], &GRPC).await;
    (sender, response.into_body())
}

#[test]
fn a_response_is_sent_before_the_next_request() {
    let server = Running::start(&settings());
    block_on(async {
        let (sender, mut body) = open(&server).await;
        for question in [
            ReflectionRequest::Services,
            ReflectionRequest::File("hello.proto"),
        ] {
            sender.send(asked(question)).await.expect("sent");
            let frame = body.frame().await.expect("a frame").expect("whole");
            let data = frame.into_data().expect("a response");
            assert_eq!(responses(&data).len(), 1);
        }
        drop(sender);
        let frame = body.frame().await.expect("a frame").expect("whole");
        assert_eq!(frame.trailers_ref().expect("trailers")["grpc-status"], "0");
    });
}

#[test]
fn an_idle_stream_times_out() {
    let server = Running::start(&ServerOptions {
        timeouts: Timeouts {
            request_body: Duration::from_millis(50),
            ..Timeouts::DEFAULT
        },
        ..settings()
    });
    block_on(async {
        let (_sender, mut body) = open(&server).await;
        let frame = body.frame().await.expect("a frame").expect("whole");
        assert_eq!(frame.trailers_ref().expect("trailers")["grpc-status"], "1");
    });
}
