//! A server on a thread of this process, and clients that call it over real sockets.

#![allow(dead_code, reason = "each test program uses some of these")]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::mpsc as threads;
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rpcgauge_contract::Address;
use rpcgauge_message::{Compression, Compressor, Workload, WorkloadSpec};
use rpcgauge_reference::grpc::Methods;
use rpcgauge_reference::{ListenOn, Server, ServerOptions};
use tokio::sync::mpsc;

/// Maximum time to wait for the server. A test that reaches it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A running server. It stops when this value is dropped.
pub(crate) struct Running {
    pub(crate) address: Address,
    pub(crate) workload: Workload,
    stop: Option<threads::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn start(settings: &ServerOptions) -> Self {
        Self::start_with(settings, &Methods::new())
    }

    /// Like [`Self::start`], but with methods in addition to the workload's.
    pub(crate) fn start_with(settings: &ServerOptions, methods: &Methods) -> Self {
        let server = Server::bind_with(settings, methods).expect("the server can run");
        let workload = Workload::new(&settings.workload).expect("a workload");
        let address = server.address().clone();
        let (stop, stopped) = threads::channel::<()>();
        let wait = move || {
            // An error means that the sender was dropped, which also stops the server.
            let _ = stopped.recv();
        };
        let thread = std::thread::spawn(move || server.serve_until(wait).expect("served"));
        Self {
            address,
            workload,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// The smallest workload on the loopback interface, with the default settings.
    pub(crate) fn hello() -> Self {
        Self::start(&ServerOptions::new(WorkloadSpec::Hello {}))
    }

    pub(crate) fn tcp(&self) -> SocketAddr {
        match &self.address {
            Address::Tcp(address) => *address,
            Address::Unix(path) => panic!("{} is not a TCP address", path.display()),
        }
    }

    /// Stops the server and waits until it has stopped.
    pub(crate) fn end(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server ended well");
        }
    }

    /// Makes a call over a new connection.
    pub(crate) fn call(&self, http: Http, request: Request<Full<Bytes>>) -> Response {
        call(&self.address, http, request)
    }

    /// Posts over HTTP/1.1 and over HTTP/2, and checks that the responses are equal.
    pub(crate) fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Response {
        let body = body.into();
        let response = self.call(Http::One, post(path, headers, body.clone()));
        let again = self.call(Http::Two, post(path, headers, body));
        assert_eq!(
            (response.status, &response.body),
            (again.status, &again.body),
            "HTTP/1.1 and HTTP/2"
        );
        response
    }

    /// A raw TCP connection.
    pub(crate) fn raw(&self) -> TcpStream {
        let stream = TcpStream::connect(self.tcp()).expect("listening");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream
    }

    /// Sends bytes, and reads until the server closes the connection.
    pub(crate) fn send_raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.raw();
        // The server may reject the bytes and close the connection before it has read them all.
        let _ = stream.write_all(bytes);
        read_to_close(stream)
    }

    /// Checks that the server still responds.
    pub(crate) fn assert_alive(&self) {
        let mut stream = self.raw();
        stream
            .write_all(b"GET /x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
            .expect("sent");
        let response = read_to_close(stream);
        assert!(
            response.starts_with(b"HTTP/1.1 404"),
            "{}",
            String::from_utf8_lossy(&response)
        );
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(
                std::thread::panicking() || ended.is_ok(),
                "the server panicked"
            );
        }
    }
}

/// Reads all bytes until the other side closes or resets the connection.
pub(crate) fn read_to_close(mut stream: impl Read) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return all,
            Ok(n) => all.extend_from_slice(&buffer[..n]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return all,
            Err(error) => panic!("after {} bytes: {error}", all.len()),
        }
    }
}

/// The HTTP version of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Http {
    One,
    Two,
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) trailers: HeaderMap,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("text"))
    }

    /// `grpc-status`, from the trailers or from a trailers-only response.
    pub(crate) fn grpc_status(&self) -> &str {
        let value = self
            .trailers
            .get("grpc-status")
            .or_else(|| self.headers.get("grpc-status"));
        value.map_or("", |value| value.to_str().expect("text"))
    }

    pub(crate) fn grpc_message(&self) -> &str {
        self.header("grpc-message")
    }

    pub(crate) fn problem(&self) -> serde_json::Value {
        assert_eq!(self.header("content-type"), "application/problem+json");
        serde_json::from_slice(&self.body).expect("a problem is JSON")
    }

    /// The handler marks in the response, in order.
    pub(crate) fn marks(&self) -> Vec<u64> {
        let mark = |value: &HeaderValue| {
            let text = value.to_str().expect("text");
            text.parse().expect("decimal nanoseconds")
        };
        ["rpcgauge-handler-start", "rpcgauge-handler-end"]
            .iter()
            .filter_map(|name| self.headers.get(*name).map(mark))
            .collect()
    }
}

/// A `POST` with a body.
pub(crate) fn post(
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Request<Full<Bytes>> {
    request(Method::POST, path, headers, body)
}

pub(crate) fn request(
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body.into()));
    *request.method_mut() = method;
    *request.uri_mut() = format!("http://localhost{path}").parse().expect("a URI");
    for (name, value) in headers {
        let name: http::HeaderName = name.parse().expect("a header name");
        request
            .headers_mut()
            .append(name, value.parse().expect("a header value"));
    }
    request
}

pub(crate) fn compress(compression: Compression, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut compressor = Compressor::new(compression).expect("a level");
    compressor.compress(bytes, &mut out).expect("compressed");
    out
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    compress(Compression::GZIP, bytes)
}

/// A gRPC message: its prefix, then its bytes.
pub(crate) fn framed(compressed: bool, message: &[u8]) -> Vec<u8> {
    let mut bytes = vec![u8::from(compressed)];
    bytes.extend_from_slice(&u32::try_from(message.len()).expect("short").to_be_bytes());
    bytes.extend_from_slice(message);
    bytes
}

/// The header fields of a gRPC call.
pub(crate) const GRPC: [(&str, &str); 2] =
    [("content-type", "application/grpc"), ("te", "trailers")];

/// The gRPC messages in a body, each with its compressed flag.
pub(crate) fn messages(mut body: &[u8]) -> Vec<(bool, Vec<u8>)> {
    let mut messages = Vec::new();
    while let Some((prefix, rest)) = body.split_first_chunk::<5>() {
        let length = u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]) as usize;
        let (message, rest) = rest.split_at(length);
        messages.push((prefix[0] == 1, message.to_vec()));
        body = rest;
    }
    assert!(body.is_empty(), "a whole number of messages");
    messages
}

/// Requests that are sent at times chosen by the test.
struct Requests(mpsc::Receiver<Vec<u8>>);

impl Body for Requests {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let request = self.0.poll_recv(context);
        request.map(|request| request.map(|bytes| Ok(Frame::data(bytes.into()))))
    }
}

/// Opens a stream over a new connection and leaves it open. Returns the sender of requests and the response.
pub(crate) async fn open(
    server: &Running,
    path: &str,
    headers: &[(&str, &str)],
) -> (mpsc::Sender<Vec<u8>>, http::Response<Incoming>) {
    let (sender, requests) = mpsc::channel(1);
    let stream = tokio::net::TcpStream::connect(server.tcp()).await;
    let io = TokioIo::new(stream.expect("listening"));
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await;
    let (mut client, connection) = handshake.expect("connected");
    tokio::spawn(connection);
    let request = post(path, headers, Bytes::new()).map(|_| Requests(requests));
    let response = client.send_request(request).await;
    (sender, response.expect("a response"))
}

/// A body consisting of prepared frames.
pub(crate) struct InFrames {
    frames: VecDeque<Frame<Bytes>>,
    ends: bool,
}

impl InFrames {
    pub(crate) fn new(frames: impl IntoIterator<Item = Frame<Bytes>>) -> Self {
        Self {
            frames: frames.into_iter().collect(),
            ends: true,
        }
    }

    /// A body that stays open after these pieces.
    pub(crate) fn without_end(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        Self {
            ends: false,
            ..Self::new(pieces.into_iter().map(Frame::data))
        }
    }
}

impl Body for InFrames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.frames.pop_front() {
            None if !self.ends => Poll::Pending,
            frame => Poll::Ready(frame.map(Ok)),
        }
    }
}

/// Runs a future on this thread, for at most [`PATIENCE`].
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(async {
            tokio::time::timeout(PATIENCE, future)
                .await
                .expect("in time")
        })
}

pub(crate) fn call<B>(address: &Address, http: Http, request: Request<B>) -> Response
where
    B: Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static,
{
    block_on(async {
        match address {
            Address::Tcp(address) => {
                let stream = tokio::net::TcpStream::connect(address)
                    .await
                    .expect("listening");
                // A test must measure only the server's delays, not the client's.
                stream.set_nodelay(true).expect("set");
                exchange(TokioIo::new(stream), http, request).await
            }
            Address::Unix(path) => {
                let stream = tokio::net::UnixStream::connect(path)
                    .await
                    .expect("listening");
                exchange(TokioIo::new(stream), http, request).await
            }
        }
    })
}

async fn exchange<I, B>(io: I, http: Http, mut request: Request<B>) -> Response
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
    B: Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static,
{
    let response = match http {
        Http::One => {
            request
                .headers_mut()
                .insert("host", "localhost".parse().expect("a value"));
            let path = request.uri().path().parse().expect("a path");
            *request.uri_mut() = path;
            let (mut sender, connection) = hyper::client::conn::http1::handshake(io)
                .await
                .expect("connected");
            tokio::spawn(connection);
            sender.send_request(request).await
        }
        Http::Two => {
            let (mut sender, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
                    .await
                    .expect("connected");
            tokio::spawn(connection);
            sender.send_request(request).await
        }
    };
    let (head, body) = response.expect("a response").into_parts();
    let body = body.collect().await.expect("a whole body");
    let trailers = body.trailers().cloned().unwrap_or_default();
    Response {
        status: head.status,
        headers: head.headers,
        body: body.to_bytes(),
        trailers,
    }
}

/// One address for each transport. The folder must outlive the servers.
pub(crate) fn both_transports(folder: &tempfile::TempDir) -> [ListenOn; 2] {
    [
        ListenOn::loopback(),
        ListenOn::Unix(folder.path().join("s")),
    ]
}

/// A connected Unix stream, for raw bytes.
pub(crate) fn unix(address: &Address) -> UnixStream {
    match address {
        Address::Unix(path) => UnixStream::connect(path).expect("listening"),
        Address::Tcp(address) => panic!("{address} is not a Unix socket"),
    }
}
