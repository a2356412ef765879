//! Serves the metrics over HTTP/1.1, on its own thread.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};
use std::thread;
use std::time::Duration;

use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::Metrics;
use crate::exit::Failure;

/// Maximum lifetime of a connection, which serves a single request.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum number of concurrent connections. A new connection closes the oldest, so that idle
/// connections cannot block scrapes.
const MAX_CONNECTIONS: usize = 32;

/// Maximum size of a request head.
const MAX_HEAD_BYTES: usize = 8 * 1024;

/// How long to wait after a failed accept, for example when no file descriptor is free.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);

const PATH: &str = "/metrics";

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug)]
pub(crate) struct Endpoint {
    listener: TcpListener,
    address: SocketAddr,
    connection_timeout: Duration,
}

impl Endpoint {
    /// Binds to an address in the form `HOST:PORT`.
    pub(crate) fn bind(given: &str) -> Result<Self, Failure> {
        let addresses = given.to_socket_addrs().map_err(|_| {
            Failure::input(format!(
                "--metrics {given}: is not an address to listen on; write HOST:PORT, such as \
                 127.0.0.1:9464; port 0 picks a free port"
            ))
        })?;
        let addresses: Vec<SocketAddr> = addresses.collect();
        let listening = TcpListener::bind(addresses.as_slice()).and_then(|listener| {
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok(Self {
                listener,
                address,
                connection_timeout: CONNECTION_TIMEOUT,
            })
        });
        listening.map_err(|error| {
            Failure::input(format!(
                "--metrics {given}: cannot listen there: {error}; use another port, or 0 for a \
                 free port"
            ))
        })
    }

    /// Starts serving `metrics`. Serves until the program exits.
    pub(crate) fn serve(self, metrics: Metrics) -> io::Result<()> {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build()?;
        let thread = thread::Builder::new().name("metrics".to_owned());
        thread.spawn(move || runtime.block_on(self.accept(metrics)))?;
        Ok(())
    }

    async fn accept(self, metrics: Metrics) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let mut http = http1::Builder::new();
        http.keep_alive(false).max_buf_size(MAX_HEAD_BYTES);
        // The most recently accepted connections, including closed ones.
        let mut connections: VecDeque<AbortHandle> = VecDeque::new();
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                sleep(ACCEPT_BACKOFF).await;
                continue;
            };
            if connections.len() == MAX_CONNECTIONS
                && let Some(oldest) = connections.pop_front()
            {
                oldest.abort();
            }
            let metrics = metrics.clone();
            let service = service_fn(move |request| {
                let response = respond(&request, &metrics);
                async { Ok::<_, Infallible>(response) }
            });
            let connection = http.serve_connection(TokioIo::new(stream), service);
            let connection = tokio::spawn(timeout(self.connection_timeout, connection));
            connections.push_back(connection.abort_handle());
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }
}

fn respond<B>(request: &Request<B>, metrics: &Metrics) -> Response<String> {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let (status, field, body): (_, (HeaderName, _), _) = match request.uri().path() {
        _ if !is_read => (
            StatusCode::METHOD_NOT_ALLOWED,
            (ALLOW, "GET, HEAD"),
            String::new(),
        ),
        PATH => (StatusCode::OK, (CONTENT_TYPE, OPEN_METRICS), metrics.text()),
        _ => (
            StatusCode::NOT_FOUND,
            (CONTENT_TYPE, "text/plain; charset=utf-8"),
            format!("The metrics are at {PATH}.\n"),
        ),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let (name, value) = field;
    response
        .headers_mut()
        .insert(name, HeaderValue::from_static(value));
    response
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use super::*;

    fn ask(request: &[u8]) -> String {
        let endpoint = Endpoint::bind("127.0.0.1:0").expect("a port");
        let address = endpoint.address;
        let metrics = Metrics::new([("a".to_owned(), "http://x/".to_owned())]);
        endpoint.serve(metrics).expect("a thread");
        let mut stream = TcpStream::connect(address).expect("it listens");
        // The server may close the connection before the whole request is sent.
        let _ = stream.write_all(request);
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        String::from_utf8(response).expect("text")
    }

    #[test]
    fn metrics_come_with_their_type_and_length() {
        let response = ask(b"GET /metrics?x=1 HTTP/1.1\r\nhost: x\r\n\r\n");
        let (head, body) = response.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains(OPEN_METRICS), "{head}");
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())));
        assert!(body.ends_with("# EOF\n"), "{body}");
    }

    #[test]
    fn a_head_request_gets_only_the_head() {
        let response = ask(b"HEAD /metrics HTTP/1.1\r\n\r\n");
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        assert!(response.ends_with("\r\n\r\n"), "{response}");
        assert!(response.contains("content-length: "), "{response}");
        assert!(!response.contains("content-length: 0"), "{response}");
    }

    #[test]
    fn anything_else_is_refused() {
        let cases: [(&[u8], &str); 3] = [
            (b"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405"),
            (b"\x16\x03\x01\xff\xff\r\n\r\n", "HTTP/1.1 400"),
        ];
        for (request, status) in cases {
            let response = ask(request);
            assert!(response.starts_with(status), "{request:?}: {response}");
        }
    }

    #[test]
    fn a_head_that_is_too_long_or_never_comes_ends_the_connection() {
        let long = [
            b"GET /metrics HTTP/1.1\r\nx: ",
            &[b'x'; 3 * MAX_HEAD_BYTES][..],
        ]
        .concat();
        for request in [&long[..], b"PRI * HTTP/2.0\r\n\r\n", b"GET /metrics", b""] {
            let response = ask(request);
            assert!(!response.contains("200 OK"), "{response}");
        }
    }

    #[test]
    fn silent_connections_do_not_block_a_scrape() {
        let mut endpoint = Endpoint::bind("127.0.0.1:0").expect("a port");
        let address = endpoint.address;
        endpoint.connection_timeout = Duration::from_secs(3600);
        endpoint.serve(Metrics::new([])).expect("a thread");
        let connect = || TcpStream::connect(address).expect("it listens");
        let _silent: Vec<_> = (0..3 * MAX_CONNECTIONS).map(|_| connect()).collect();
        let mut stream = connect();
        let long = Some(Duration::from_secs(20));
        stream.set_read_timeout(long).expect("set");
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\n\r\n")
            .expect("it is sent");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        assert!(response.starts_with("HTTP/1.1 200 OK"), "{response}");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for given in [
            "",
            "9464",
            "nowhere.invalid:1",
            "127.0.0.1:x",
            "127.0.0.1:99999",
        ] {
            assert!(Endpoint::bind(given).is_err(), "{given}");
        }
    }
}
