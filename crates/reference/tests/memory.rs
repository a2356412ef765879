//! The memory budget shared by all calls: calls beyond it are rejected, and released memory can be reused.

mod common;

use std::convert::Infallible;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use bytes::Bytes;
use common::{InFrames, PATIENCE, Running, block_on, framed, post, read_to_close};
use http::Request;
use http_body_util::Full;
use hyper::body::Body;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rpcgauge_message::{Encoding, WorkloadSpec};
use rpcgauge_reference::ServerOptions;
use tokio::sync::mpsc;

const MESSAGE_BYTES: usize = 1 << 20;

/// Number of concurrent calls, and how many of them fit into the server's memory budget.
const CALLS: usize = 8;
const ROOM_FOR: usize = 3;

fn cramped(workload: WorkloadSpec) -> Running {
    let mut settings = ServerOptions::new(workload);
    settings.memory = 4 * MESSAGE_BYTES;
    Running::start(&settings)
}

/// A JSON request of this length whose response is short.
fn padded() -> Vec<u8> {
    let (start, end) = (r#"{"name":"a""#, "}");
    let spaces = " ".repeat(MESSAGE_BYTES - start.len() - end.len());
    [start, &spaces, end].concat().into_bytes()
}

/// Returns what has arrived on a connection so far.
fn come(stream: &TcpStream) -> Vec<u8> {
    let mut start = vec![0; 16];
    stream.set_nonblocking(true).expect("set");
    let read = (&*stream).read(&mut start);
    stream.set_nonblocking(false).expect("set");
    match read {
        Ok(length) => start.truncate(length),
        Err(error) if error.kind() == ErrorKind::WouldBlock => start.clear(),
        Err(error) => panic!("{error}"),
    }
    start
}

#[test]
fn rest_bodies_beyond_the_budget_are_refused() {
    let server = cramped(WorkloadSpec::Hello {});
    let body = padded();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        server.workload.rest_path(),
        body.len()
    );
    let (first, rest) = body.split_at(body.len() / 2);
    let mut waiting: Vec<TcpStream> = Vec::new();
    for _ in 0..CALLS {
        let mut stream = server.raw();
        stream.write_all(head.as_bytes()).expect("sent");
        // The server may close a rejected connection before it has read everything.
        let _ = stream.write_all(first);
        waiting.push(stream);
    }
    let began = Instant::now();
    while waiting.len() > ROOM_FOR && began.elapsed() < PATIENCE {
        waiting.retain(|stream| {
            let start = come(stream);
            assert!(start.is_empty() || start.starts_with(b"HTTP/1.1 503"));
            start.is_empty()
        });
        std::thread::yield_now();
    }
    assert_eq!(waiting.len(), ROOM_FOR);
    // Calls that do not have to wait are still served.
    server.assert_alive();
    let ended = |mut stream: TcpStream| {
        stream.write_all(rest).expect("sent");
        let response = read_to_close(stream);
        assert!(response.starts_with(b"HTTP/1.1 200"));
    };
    waiting.into_iter().for_each(ended);
    let mut stream = server.raw();
    stream.write_all(head.as_bytes()).expect("sent");
    stream.write_all(first).expect("sent");
    ended(stream);
}

/// An HTTP/2 connection with a receive window of `window` bytes per stream.
async fn connected<B>(server: &Running, window: u32) -> SendRequest<B>
where
    B: Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static,
{
    let stream = tokio::net::TcpStream::connect(server.tcp())
        .await
        .expect("listening");
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(window)
        .handshake(TokioIo::new(stream))
        .await
        .expect("connected");
    tokio::spawn(connection);
    sender
}

fn grpc<B>(server: &Running, body: B) -> Request<B> {
    let headers = [("content-type", "application/grpc"), ("te", "trailers")];
    post(server.workload.method_path(), &headers, Bytes::new()).map(|_| body)
}

const RESOURCE_EXHAUSTED: &str = "8";

#[test]
fn grpc_messages_beyond_the_budget_are_refused() {
    let server = cramped(WorkloadSpec::Hello {});
    let message = Bytes::from(framed(false, &vec![b'x'; MESSAGE_BYTES]));
    block_on(async {
        let mut sender = connected(&server, 1 << 20).await;
        let (tell, mut told) = mpsc::unbounded_channel();
        for _ in 0..CALLS {
            let pieces = [message.slice(..10_000), message.slice(10_000..20_000)];
            let response = sender.send_request(grpc(&server, InFrames::without_end(pieces)));
            let tell = tell.clone();
            tokio::spawn(async move {
                let _ = tell.send(response.await.expect("a response"));
            });
        }
        for _ in ROOM_FOR..CALLS {
            let response = told.recv().await.expect("a response");
            assert_eq!(response.headers()["grpc-status"], RESOURCE_EXHAUSTED);
            let said = response.headers()["grpc-message"].to_str().expect("text");
            assert!(said.contains("--max-memory"), "{said}");
        }
    });
}

#[test]
fn unread_responses_are_within_the_budget() {
    let server = cramped(WorkloadSpec::List { n: 10_000 });
    let request = server.workload.request(0).to_bytes(Encoding::Protobuf);
    let request = Bytes::from(framed(false, &request.expect("encoded")));
    block_on(async {
        let mut sender = connected(&server, 1).await;
        let mut call = async || {
            let request = grpc(&server, Full::new(request.clone()));
            sender.send_request(request).await.expect("a response")
        };
        let refused = |response: &http::Response<_>| {
            let status = response.headers().get("grpc-status");
            status.is_some_and(|status| status == RESOURCE_EXHAUSTED)
        };
        let mut untaken = Vec::new();
        loop {
            let response = call().await;
            if refused(&response) {
                break;
            }
            untaken.push(response);
        }
        assert!(!untaken.is_empty());
        // The client cancels its calls, which makes their memory available again.
        drop(untaken);
        while refused(&call().await) {}
    });
}
