//! Answers those who collect the metrics.
//!
//! As much of HTTP/1.1 as that takes, one request a connection, by blocking reads and writes on a
//! thread for each: there is no async runtime beside calls that are timed. Who sends no request within
//! a second, or one that is too long, is cut off, and so is the oldest where there are too many.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::Metrics;
use crate::exit::Failure;

/// How long a request may take to come, and its answer to go.
const PATIENCE: Duration = Duration::from_secs(1);

/// Connections at a time, at most: each takes a thread.
const MOST_CONNECTIONS: usize = 32;

/// Bytes of a request, at most.
const MOST_BYTES: usize = 8 * 1024;

/// How long to wait where the system gives no connection: it is out of descriptors, say.
const REST: Duration = Duration::from_millis(100);

const PATH: &str = "/metrics";

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Where metrics are collected.
#[derive(Debug)]
pub(crate) struct Endpoint {
    listener: TcpListener,
    address: SocketAddr,
    patience: Duration,
}

impl Endpoint {
    /// Takes an address, `HOST:PORT`.
    pub(crate) fn bind(given: &str) -> Result<Self, Failure> {
        let addresses = given.to_socket_addrs().map_err(|_| {
            Failure::input(format!(
                "--metrics {given}: is no address to listen at; write HOST:PORT, as in \
                 127.0.0.1:9464, with port 0 for any that is free"
            ))
        })?;
        let addresses: Vec<SocketAddr> = addresses.collect();
        let listening = TcpListener::bind(addresses.as_slice()).and_then(|listener| {
            let address = listener.local_addr()?;
            Ok(Self {
                listener,
                address,
                patience: PATIENCE,
            })
        });
        listening.map_err(|error| {
            Failure::input(format!(
                "--metrics {given}: cannot listen there: {error}; give another port, or 0 for any \
                 that is free"
            ))
        })
    }

    /// Answers with `metrics` from now on, until the program ends.
    pub(crate) fn serve(self, metrics: Metrics) -> io::Result<()> {
        let accepting = thread::Builder::new().name("metrics".to_owned());
        accepting.spawn(move || {
            // The last ones that came, be they answered by now or not.
            let mut last: VecDeque<Weak<TcpStream>> = VecDeque::new();
            for connection in self.listener.incoming() {
                if last.len() == MOST_CONNECTIONS
                    && let Some(oldest) = last.pop_front().and_then(|oldest| oldest.upgrade())
                {
                    // It may have gone away by itself.
                    let _ = oldest.shutdown(Shutdown::Both);
                }
                let started = connection.and_then(|stream| {
                    let (stream, metrics) = (Arc::new(stream), metrics.clone());
                    last.push_back(Arc::downgrade(&stream));
                    let answering = thread::Builder::new().name("metrics-answer".to_owned());
                    // Who went away is no concern of the others.
                    answering.spawn(move || drop(answer(&stream, &metrics, self.patience)))
                });
                if started.is_err() {
                    thread::sleep(REST);
                }
            }
        })?;
        Ok(())
    }

    /// Where to collect them.
    pub(crate) fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }
}

/// Reads one request and answers it.
fn answer(mut stream: &TcpStream, metrics: &Metrics, patience: Duration) -> io::Result<()> {
    let head = read_head(stream, patience)?;
    let mut answer = Answer::to(&head);
    if answer.status == FOUND {
        answer.body = metrics.text();
    }
    stream.set_write_timeout(Some(patience))?;
    stream.write_all(answer.bytes().as_bytes())
}

/// Reads up to the empty line that ends a request's head.
fn read_head(mut stream: &TcpStream, patience: Duration) -> io::Result<Vec<u8>> {
    let end = Instant::now() + patience;
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !is_whole(&head) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > MOST_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => head.extend_from_slice(&buffer[..read]),
        }
    }
    Ok(head)
}

fn is_whole(head: &[u8]) -> bool {
    head.windows(4).any(|window| window == b"\r\n\r\n")
}

const FOUND: &str = "200 OK";

/// An answer.
struct Answer {
    status: &'static str,
    content_type: &'static str,
    /// Whether the body is only told of.
    is_head: bool,
    body: String,
}

impl Answer {
    /// The answer to a request with this head, without the metrics.
    fn to(head: &[u8]) -> Self {
        let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let words: Vec<&str> = line.split(' ').collect();
        let (status, body) = match words.as_slice() {
            ["GET" | "HEAD", target, "HTTP/1.1" | "HTTP/1.0"] if is_metrics(target) => (FOUND, ""),
            ["GET" | "HEAD", _, "HTTP/1.1" | "HTTP/1.0"] => {
                ("404 Not Found", "The metrics are at /metrics.\n")
            }
            [_, _, "HTTP/1.1" | "HTTP/1.0"] => ("405 Method Not Allowed", ""),
            _ => ("400 Bad Request", ""),
        };
        Self {
            status,
            content_type: match status {
                FOUND => OPEN_METRICS,
                _ => "text/plain; charset=utf-8",
            },
            is_head: words.first() == Some(&"HEAD"),
            body: body.to_owned(),
        }
    }

    fn bytes(&self) -> String {
        let allow = match self.status.starts_with("405") {
            true => "allow: GET, HEAD\r\n",
            false => "",
        };
        format!(
            "HTTP/1.1 {}\r\ncontent-type: {}\r\ncontent-length: {}\r\n{allow}connection: close\r\n\r\n{}",
            self.status,
            self.content_type,
            self.body.len(),
            if self.is_head { "" } else { &self.body }
        )
    }
}

/// A path may come with a query, which says nothing here.
fn is_metrics(target: &str) -> bool {
    target.split('?').next() == Some(PATH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(request: &[u8]) -> String {
        let endpoint = Endpoint::bind("127.0.0.1:0").expect("a port");
        let address = endpoint.address;
        let metrics = Metrics::new([("a".to_owned(), "http://x/".to_owned())]);
        endpoint.serve(metrics).expect("a thread");
        let mut stream = TcpStream::connect(address).expect("it listens");
        // It may be cut off before everything is sent.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).expect("text")
    }

    #[test]
    fn metrics_are_answered_with_their_type_and_length() {
        let answer = ask(b"GET /metrics?x=1 HTTP/1.1\r\nhost: x\r\n\r\n");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains(OPEN_METRICS), "{head}");
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())));
        assert!(body.ends_with("# EOF\n"), "{body}");
    }

    #[test]
    fn the_head_alone_is_told_when_it_is_asked_for() {
        let answer = ask(b"HEAD /metrics HTTP/1.1\r\n\r\n");
        assert!(answer.ends_with("\r\n\r\n"), "{answer}");
        assert!(!answer.contains("content-length: 0"), "{answer}");
    }

    #[test]
    fn anything_else_is_refused() {
        let cases: [(&[u8], &str); 5] = [
            (b"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405"),
            (b"PRI * HTTP/2.0\r\n\r\n", "HTTP/1.1 400"),
            (b"\x16\x03\x01\xff\xff\r\n\r\n", "HTTP/1.1 400"),
            (b"\r\n\r\n", "HTTP/1.1 400"),
        ];
        for (request, status) in cases {
            let answer = ask(request);
            assert!(answer.starts_with(status), "{request:?}: {answer}");
        }
    }

    #[test]
    fn who_sends_too_much_or_nothing_is_cut_off() {
        assert_eq!(ask(&[b'x'; 3 * MOST_BYTES]), "");
        assert_eq!(ask(b""), "");
    }

    #[test]
    fn nobody_waits_for_those_who_are_silent() {
        let mut endpoint = Endpoint::bind("127.0.0.1:0").expect("a port");
        let address = endpoint.address;
        endpoint.patience = Duration::from_secs(3600);
        endpoint.serve(Metrics::default()).expect("a thread");
        let connect = || TcpStream::connect(address).expect("it listens");
        let _silent: Vec<_> = (0..3 * MOST_CONNECTIONS).map(|_| connect()).collect();
        let mut stream = connect();
        let long = Some(Duration::from_secs(20));
        stream.set_read_timeout(long).expect("set");
        stream
            .write_all(b"GET /metrics HTTP/1.0\r\n\r\n")
            .expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
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
