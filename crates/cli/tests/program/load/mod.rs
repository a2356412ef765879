//! `load`: a service that is there already.

mod beside;
mod bounded;
mod damaged;
mod exports;
mod keepalive;
mod messages;
mod refused;
mod result;
mod stalled;
mod tls;
mod unwritten;
mod watched;

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::common::{Place, json};

/// The embedded server, started as a user would start it.
pub(crate) struct Service {
    child: Child,
    address: String,
    /// Its path for REST.
    rest: String,
}

impl Service {
    pub(crate) fn start(place: &Place, listen: &str) -> Self {
        let mut child = place.start(&["serve", "--json", "--listen", listen]);
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let mut text = String::new();
        output.read_line(&mut text).expect("the ready line");
        let announced = json(&text);
        let text = |key: &str| announced[key].as_str().expect("a text").to_owned();
        Self {
            child,
            address: text("address"),
            rest: text("rest"),
        }
    }

    pub(crate) fn grpc(&self) -> String {
        format!("grpc://{}/{HELLO}", self.address)
    }

    pub(crate) fn http(&self) -> String {
        format!("http://{}{}", self.address, self.rest)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The embedded server's method.
pub(crate) const HELLO: &str = "hello.Hello/SayHello";

pub(crate) fn proto() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/proto/hello.proto");
    path.canonicalize()
        .expect("it")
        .to_string_lossy()
        .into_owned()
}

/// A server that reads a request and answers every one with the same bytes.
pub(crate) struct Fixed {
    pub(crate) address: String,
    pub(crate) calls: Arc<AtomicU64>,
}

pub(crate) fn answering(answer: &'static str) -> Fixed {
    answering_after(answer, Duration::ZERO)
}

/// The same after a pause: with it the client has little to do, however slow this machine is.
pub(crate) fn answering_after(answer: &'static str, pause: Duration) -> Fixed {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let counted = Arc::clone(&counted);
            std::thread::spawn(move || answer_all(Pausing(stream, pause), answer, &counted));
        }
    });
    Fixed { address, calls }
}

/// A connection that pauses before it is written to.
struct Pausing<S>(S, Duration);

impl<S: Read> Read for Pausing<S> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<S: Write> Write for Pausing<S> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if !self.1.is_zero() {
            std::thread::sleep(self.1);
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Answers every read: a request without a body comes in one.
pub(crate) fn answer_all(mut stream: impl Read + Write, answer: &str, calls: &AtomicU64) {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|read| read > 0) {
        calls.fetch_add(1, Ordering::Relaxed);
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
pub(crate) const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n";
pub(crate) const ABSENT: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";

/// A port at which nothing listens.
pub(crate) fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").to_string()
}

/// The command line of a short load into `run`.
pub(crate) fn short<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["load", target, "--calls", "50", "--out", "run", "--quiet"];
    words.extend(more);
    words
}

/// The figures of the first variant.
pub(crate) fn figures(report: &Value) -> &Value {
    &report["variants"][0]["cells"][0]["figures"]
}
