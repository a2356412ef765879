//! Calls with several messages: gRPC's streams, and streams of responses over REST.

mod common;

use std::convert::Infallible;
use std::io::{Read as _, Write as _};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use common::{
    GRPC, Http, InFrames, Response, Running, block_on, compress, framed, gzip, messages, open, post,
};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rpcgauge_contract::Stream;
use rpcgauge_message::{Compression, Encoding, WorkloadSpec};
use rpcgauge_reference::{ServerOptions, Timeouts};
use serde_json::{Value, json};

const LIST: &str = "/ItemService/ListItems";
const PUT: &str = "/ItemService/PutItems";
const EXCHANGE: &str = "/ItemService/ExchangeItems";

const OK: &str = "0";
const CANCELLED: &str = "1";
const INVALID_ARGUMENT: &str = "3";
const DEADLINE_EXCEEDED: &str = "4";
const RESOURCE_EXHAUSTED: &str = "8";
const UNIMPLEMENTED: &str = "12";
const INTERNAL: &str = "13";

fn items() -> ServerOptions {
    ServerOptions::new(WorkloadSpec::Items {})
}

/// A stream of a form, as settings specify it.
fn stream(form: &str, messages: u32) -> Option<Stream> {
    let stream = json!({"form": form, "messages": messages});
    Some(serde_json::from_value(stream).expect("a stream"))
}

/// The request for an item, as protobuf.
fn item(id: u8) -> Vec<u8> {
    assert!(id < 0x80, "one byte");
    vec![0x08, id]
}

/// Requests for items, with their prefixes.
fn asked(ids: &[u8]) -> Vec<u8> {
    let requests = ids.iter().map(|id| framed(false, &item(*id)));
    requests.collect::<Vec<_>>().concat()
}

/// The ids of the items in a body of uncompressed messages. `id` is the first field of an item.
fn ids(body: &[u8]) -> Vec<u64> {
    let id = |(compressed, message): (bool, Vec<u8>)| {
        assert!(!compressed && message[0] == 0x08);
        let low = u64::from(message[1] & 0x7F);
        if message[1] < 0x80 {
            low
        } else {
            low + (u64::from(message[2]) << 7)
        }
    };
    messages(body).into_iter().map(id).collect()
}

fn call(server: &Running, path: &str, more: &[(&str, &str)], body: Vec<u8>) -> Response {
    let headers = [&GRPC[..], more].concat();
    server.call(Http::Two, post(path, &headers, body))
}

#[test]
fn methods_of_every_kind_are_served_without_a_stream_in_the_settings() {
    let server = Running::start(&items());
    for (path, requests, want) in [
        ("/ItemService/GetItem", &[7][..], vec![7]),
        (LIST, &[7], (7..107).collect()),
        (PUT, &[7, 9, 8], vec![8]),
        (EXCHANGE, &[7, 9, 8], vec![7, 9, 8]),
        (EXCHANGE, &[], vec![]),
    ] {
        let response = call(&server, path, &[], asked(requests));
        assert_eq!(response.grpc_status(), OK, "{path}");
        assert_eq!(response.header("content-type"), "application/grpc");
        assert!(response.trailers.contains_key("grpc-status"));
        assert_eq!(ids(&response.body), want, "{path}");
    }
    let response = call(&server, "/ItemService/DropItems", &[], asked(&[7]));
    assert_eq!(response.grpc_status(), UNIMPLEMENTED);
    assert!(response.grpc_message().contains(EXCHANGE));
    let response = server.call(Http::Two, post(LIST, &[], "{}"));
    assert_eq!(response.status, 415);
}

#[test]
fn the_settings_say_how_many_messages_a_server_sends() {
    for messages in [1, 3] {
        let server = Running::start(&ServerOptions {
            stream: stream("server", messages),
            marks: true,
            ..items()
        });
        let response = call(&server, LIST, &[], asked(&[5]));
        assert_eq!(ids(&response.body).len() as u32, messages);
        assert!(response.marks().is_empty(), "streams have no marks");
    }
}

#[test]
fn a_users_own_method_streams_in_its_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.proto");
    let proto = r#"syntax = "proto3"; package a;
        service B { rpc Get(M) returns (M); rpc List(M) returns (stream M); }
        message M { string text = 1; }"#;
    std::fs::write(&file, proto).expect("written");
    let schema = rpcgauge_message::Schema::compile(&[file], &[]).expect("compiled");
    for (method, form) in [
        ("a.B/List", "server"),
        ("a.B/List", "sse"),
        ("a.B/Get", "ndjson"),
    ] {
        let own = rpcgauge_message::workload::OwnWorkload::new(
            &schema,
            method,
            r#"{"text":"a"}"#,
            r#"{"text":"b\n"}"#,
        );
        let server = Running::start(&ServerOptions {
            stream: stream(form, 2),
            ..ServerOptions::new(WorkloadSpec::Own(Box::new(own.expect("a workload"))))
        });
        let path = format!("/{method}");
        if form == "server" {
            let response = call(&server, &path, &[], framed(false, b"\x0a\x01a"));
            assert_eq!(response.body, framed(false, b"\x0a\x02b\n").repeat(2));
            continue;
        }
        let (accept, body) = match form {
            "sse" => (SSE, "data: {\"text\":\"b\\n\"}\n\n"),
            _ => (NDJSON, "{\"text\":\"b\\n\"}\n"),
        };
        let response = server.post(&path, &[JSON, accept], r#"{"text":"a"}"#);
        assert_eq!(response.body, body.repeat(2), "{form}");
    }
}

#[test]
fn each_message_has_its_own_compression() {
    for (compression, name) in [(Compression::GZIP, "gzip"), (Compression::ZSTD, "zstd")] {
        let server = Running::start(&ServerOptions {
            response_compression: compression,
            ..items()
        });
        let mixed = [
            asked(&[1]),
            framed(true, &compress(compression, &item(2))),
            asked(&[3]),
        ]
        .concat();
        let accept = [("grpc-encoding", name), ("grpc-accept-encoding", name)];
        for (path, requests, count) in [
            (EXCHANGE, &mixed, 3),
            (PUT, &mixed, 1),
            (LIST, &asked(&[1]), 100),
        ] {
            let response = call(&server, path, &accept, requests.clone());
            assert_eq!(response.grpc_status(), OK, "{}", response.grpc_message());
            assert_eq!(response.header("grpc-encoding"), name);
            let messages = messages(&response.body);
            assert_eq!(messages.len(), count, "{path}");
            for (number, (compressed, message)) in messages.into_iter().enumerate() {
                assert!(compressed);
                let id = if path == PUT { 3 } else { number as u64 + 1 };
                let want = server.workload.expected(id - 1);
                let want = want.to_bytes(Encoding::Protobuf).expect("encoded");
                assert_eq!(message, compress(compression, &want), "{path}");
            }
            let response = call(&server, path, &accept[..1], requests.clone());
            assert_eq!(ids(&response.body).len(), count, "not accepted");
            assert_eq!(response.header("grpc-encoding"), "");
        }
    }
}

#[test]
fn an_error_in_the_middle_ends_a_stream_with_its_status() {
    let mut settings = items();
    settings.limits.max_message_bytes = 1000;
    let server = Running::start(&settings);
    let good = asked(&[1, 2]);
    let cases: [(Vec<u8>, &str, &str); 7] = [
        (asked(&[0]), INVALID_ARGUMENT, "id is 0"),
        (framed(false, b"\xff\xff"), INTERNAL, "not a ExampleRequest"),
        (framed(true, &gzip(&item(1))), INTERNAL, "compressed flag"),
        (vec![7, 0, 0, 0, 0], INTERNAL, "compressed flag is 7"),
        (asked(&[1])[..4].to_vec(), INTERNAL, "inside a message"),
        (asked(&[1])[..6].to_vec(), INTERNAL, "inside a message"),
        (
            vec![0, 0xFF, 0xFF, 0xFF, 0xFF],
            RESOURCE_EXHAUSTED,
            "the limit is 1000",
        ),
    ];
    for (damage, status, message) in cases {
        let body = [good.clone(), damage.clone(), good.clone()].concat();
        let cut_off = message == "inside a message";
        let body = if cut_off {
            [&good, &damage[..]].concat()
        } else {
            body
        };
        let response = call(&server, EXCHANGE, &[], body.clone());
        assert_eq!(ids(&response.body), [1, 2], "those before it");
        assert_eq!(response.trailers["grpc-status"], status);
        let detail = response.trailers["grpc-message"].to_str().expect("text");
        assert!(detail.contains(message), "{detail}");

        let response = call(&server, PUT, &[], body);
        // Only the last request is handled, but all are read.
        let want = if status == INVALID_ARGUMENT {
            OK
        } else {
            status
        };
        assert_eq!(response.grpc_status(), want, "{message}");
    }
    server.assert_alive();
}

#[test]
fn requests_without_a_response_are_refused_before_it_begins() {
    let server = Running::start(&items());
    for (path, body, status, message) in [
        (PUT, vec![], INVALID_ARGUMENT, "no requests"),
        (PUT, asked(&[1, 0]), INVALID_ARGUMENT, "id is 0"),
        (LIST, asked(&[0]), INVALID_ARGUMENT, "id is 0"),
        (LIST, vec![], UNIMPLEMENTED, "no message arrived"),
        (LIST, asked(&[1, 2]), UNIMPLEMENTED, "more than one message"),
    ] {
        let response = call(&server, path, &[], body);
        assert_eq!(response.header("grpc-status"), status, "{path}");
        assert!(response.grpc_message().contains(message), "{path}");
        assert!(response.body.is_empty() && response.trailers.is_empty());
    }
}

#[test]
fn a_response_is_sent_before_the_next_request() {
    let server = Running::start(&items());
    block_on(async {
        let (sender, response) = open(&server, EXCHANGE, &GRPC).await;
        let mut body = response.into_body();
        for id in [3, 1, 2] {
            for piece in asked(&[id]).chunks(4) {
                sender.send(piece.to_vec()).await.expect("sent");
            }
            let frame = body.frame().await.expect("a frame").expect("whole");
            assert_eq!(ids(&frame.into_data().expect("data")), [u64::from(id)]);
        }
        drop(sender);
        let frame = body.frame().await.expect("a frame").expect("whole");
        assert_eq!(frame.trailers_ref().expect("trailers")["grpc-status"], OK);
    });
}

#[test]
fn a_stream_ends_at_its_deadline_and_if_no_request_arrives() {
    let server = Running::start(&ServerOptions {
        timeouts: Timeouts {
            request_body: Duration::from_millis(100),
            ..Timeouts::DEFAULT
        },
        stream: stream("server", 1_000_000),
        ..items()
    });
    for path in [PUT, EXCHANGE] {
        for (timeout, status) in [("20m", DEADLINE_EXCEEDED), ("1H", CANCELLED)] {
            let headers = [&GRPC[..], &[("grpc-timeout", timeout)]].concat();
            // A part of a message is no request.
            let pieces = [asked(&[1]), asked(&[2])[..6].to_vec()].map(Bytes::from);
            let body = InFrames::without_end(pieces);
            let request = post(path, &headers, Bytes::new()).map(|_| body);
            let response = common::call(&server.address, Http::Two, request);
            assert_eq!(response.grpc_status(), status, "{path}");
        }
    }
    let timeout = [("grpc-timeout", "50m")];
    let response = call(&server, LIST, &timeout, asked(&[1]));
    assert_eq!(response.trailers["grpc-status"], DEADLINE_EXCEEDED);
    let expired = [("grpc-timeout", "0n")];
    let response = call(&server, LIST, &expired, asked(&[1]));
    assert_eq!(response.grpc_status(), DEADLINE_EXCEEDED);
}

/// The memory budget of the tests below: room for a few streams, and less than a long stream.
const MEMORY: usize = 1 << 20;

fn long_streams() -> Running {
    Running::start(&ServerOptions {
        memory: MEMORY,
        stream: stream("server", 20_000),
        ..items()
    })
}

#[test]
fn a_long_stream_is_produced_as_it_is_read() {
    let server = long_streams();
    // The body arrives after the client has read the head; a server that produced all of it ahead would exceed its
    // budget.
    let response = call(&server, LIST, &[], asked(&[1]));
    assert_eq!(response.grpc_status(), OK);
    assert!(response.body.len() > MEMORY);
    assert_eq!(messages(&response.body).len(), 20_000);
    for http in [Http::One, Http::Two] {
        let request = post("/items", &[JSON, NDJSON], r#"{"id":1}"#);
        let response = server.call(http, request);
        assert!(response.body.len() > MEMORY);
        assert_eq!(lines(&response.body).len(), 20_000);
    }
}

#[test]
fn unread_streams_are_within_the_budget_and_free_it_when_they_are_cancelled() {
    let server = long_streams();
    block_on(async {
        let mut unread = Vec::new();
        loop {
            let (sender, response) = open(&server, EXCHANGE, &GRPC).await;
            if response.headers().contains_key("grpc-status") {
                assert_eq!(response.headers()["grpc-status"], RESOURCE_EXHAUSTED);
                break;
            }
            unread.push((sender, response));
        }
        assert!(unread.len() > 4, "{}", unread.len());
        drop(unread);
        loop {
            let (_sender, response) = open(&server, EXCHANGE, &GRPC).await;
            if !response.headers().contains_key("grpc-status") {
                break;
            }
        }
    });
}

/// Requests without end. Counts the bytes that the connection has accepted.
struct Flood(Arc<AtomicUsize>);

impl Body for Flood {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let requests = Bytes::from(asked(&[1; 100]));
        self.0.fetch_add(requests.len(), Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(requests))))
    }
}

#[test]
fn a_flood_of_requests_is_slowed_down_until_the_responses_are_read() {
    let server = Running::start(&items());
    block_on(async {
        let stream = tokio::net::TcpStream::connect(server.tcp()).await;
        let io = TokioIo::new(stream.expect("listening"));
        let handshake = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(1 << 16)
            .max_send_buf_size(1 << 16)
            .handshake(io);
        let (mut client, connection) = handshake.await.expect("connected");
        tokio::spawn(connection);
        let accepted = Arc::new(AtomicUsize::new(0));
        let flood = Flood(Arc::clone(&accepted));
        let request = post(EXCHANGE, &GRPC, Bytes::new()).map(|_| flood);
        let response = client.send_request(request).await.expect("a response");
        let stalled = async || {
            let mut before = 0;
            loop {
                tokio::time::sleep(Duration::from_millis(50)).await;
                let now = accepted.load(Ordering::Relaxed);
                if now == before {
                    return now;
                }
                before = now;
            }
        };
        // What fits into the windows and buffers of both sides.
        let most = 4 << 20;
        let first = stalled().await;
        assert!(first < most, "{first} bytes");
        let mut body = response.into_body();
        while accepted.load(Ordering::Relaxed) <= first {
            body.frame().await.expect("a frame").expect("whole");
        }
        let more = stalled().await;
        assert!(more < 2 * most, "{more} bytes");
    });
    server.assert_alive();
}

const JSON: (&str, &str) = ("content-type", "application/json");
const NDJSON: (&str, &str) = ("accept", "application/x-ndjson");
const SSE: (&str, &str) = ("accept", "text/event-stream");

fn lines(body: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(body).expect("UTF-8");
    assert!(text.ends_with('\n'));
    let line = |line| serde_json::from_str(line).expect("JSON");
    text.lines().map(line).collect()
}

#[test]
fn rest_clients_get_lines_or_events() {
    let server = Running::start(&ServerOptions {
        response_compression: Compression::GZIP,
        marks: true,
        ..items()
    });
    let accept_gzip = ("accept-encoding", "gzip");
    for accept in [NDJSON, SSE] {
        let response = server.post("/items", &[JSON, accept, accept_gzip], r#"{"id":3}"#);
        assert_eq!(response.status, 200);
        assert_eq!(response.header("content-type"), accept.1);
        assert!(!response.headers.contains_key("content-encoding"));
        assert!(!response.headers.contains_key("content-length"));
        assert!(response.marks().is_empty(), "streams have no marks");
        let body = std::str::from_utf8(&response.body).expect("UTF-8");
        let lines = match accept {
            NDJSON => lines(body.as_bytes()),
            _ => {
                let events = body
                    .strip_suffix("\n\n")
                    .expect("an empty line")
                    .split("\n\n");
                let data = events.map(|event| event.strip_prefix("data: ").expect("data"));
                let data = data.map(|data| serde_json::from_str(data).expect("JSON"));
                data.collect()
            }
        };
        let ids: Vec<_> = lines.iter().map(|item| item["id"].as_u64()).collect();
        assert_eq!(ids, (3..103).map(Some).collect::<Vec<_>>());
        assert_eq!(lines[0]["message"]["string"], "string3");
    }
    let protobuf = ("content-type", "application/protobuf");
    let gzipped = ("content-encoding", "gzip");
    let response = server.post("/items", &[protobuf, gzipped, NDJSON], gzip(&item(9)));
    assert_eq!(lines(&response.body)[0]["id"], 9, "any request is accepted");
}

#[test]
fn a_rest_stream_that_cannot_be_is_refused_before_it_begins() {
    let server = Running::start(&items());
    let response = server.post("/items", &[JSON, SSE], r#"{"id":0}"#);
    assert_eq!(response.status, 400);
    let detail = &response.problem()["detail"];
    assert!(
        detail.as_str().expect("text").contains("id is 0"),
        "{detail}"
    );
    let never = ("accept-encoding", "identity;q=0, gzip");
    let response = server.post("/items", &[JSON, SSE, never], r#"{"id":1}"#);
    assert_eq!(response.status, 406);
    let hello = Running::hello();
    let response = hello.post("/hello", &[JSON, SSE], r#"{"name":"a"}"#);
    assert_eq!(response.status, 406);
}

#[test]
fn a_rest_client_that_leaves_early_costs_nothing() {
    let server = long_streams();
    let request = "POST /items HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n\
                   accept: text/event-stream\r\ncontent-length: 8\r\n\r\n{\"id\":1}";
    for _ in 0..30 {
        let mut stream = server.raw();
        stream.write_all(request.as_bytes()).expect("sent");
        let mut start = [0; 15];
        stream.read_exact(&mut start).expect("a response");
        assert_eq!(&start, b"HTTP/1.1 200 OK");
    }
    server.assert_alive();
}
