//! `load`: calls to a running service.

mod addresses;
mod beside;
mod bounded;
mod coming_from;
mod damaged;
mod dashboard;
mod expected;
mod exports;
mod headers;
mod keepalive;
mod messages;
mod mixed;
mod pushed;
mod refused;
mod result;
mod stalled;
mod streaming;
mod threads;
mod tls;
mod unwritten;
mod watched;
mod websocket;

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Place, json};

/// The embedded server, started as a user would start it.
pub(crate) struct Service {
    child: Child,
    pub(crate) address: String,
    /// Path of its REST method.
    rest: String,
}

impl Service {
    pub(crate) fn start(place: &Place, more: &[&str]) -> Self {
        let mut child = place.start(&[&["serve", "--json"], more].concat());
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

/// The embedded server's gRPC method.
pub(crate) const HELLO: &str = "hello.Hello/SayHello";

pub(crate) fn proto() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/proto/hello.proto");
    path.canonicalize()
        .expect("it")
        .to_string_lossy()
        .into_owned()
}

/// A server that handles each connection on its own thread.
pub(crate) fn serving(each: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let each = each.clone();
            thread::spawn(move || each(stream));
        }
    });
    address
}

/// A server that answers every request with the same bytes.
pub(crate) struct Fixed {
    pub(crate) address: String,
    pub(crate) calls: Arc<AtomicU64>,
}

pub(crate) fn answering(answer: &'static str) -> Fixed {
    answering_after(answer, Duration::ZERO)
}

/// Like [`answering`], but with a pause before each answer, so that the client has little to do
/// even on a slow machine.
pub(crate) fn answering_after(answer: &'static str, pause: Duration) -> Fixed {
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    let address = serving(move |stream| {
        answer_each(stream, |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            thread::sleep(pause);
            answer
        });
    });
    Fixed {
        address: address.to_string(),
        calls,
    }
}

/// A server that records every request, and answers all of them or none. Returns its URL and the
/// requests.
pub(crate) fn keeping(answers: bool) -> (String, Arc<Mutex<Vec<String>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&requests);
    let address = serving(move |stream| {
        answer_each(stream, |request| {
            kept.lock().expect("no panic").push(request.to_owned());
            if answers { OK } else { "" }
        });
    });
    (format!("http://{address}/"), requests)
}

/// The bodies of recorded requests.
pub(crate) fn bodies(requests: &Mutex<Vec<String>>) -> Vec<String> {
    let requests = requests.lock().expect("no panic");
    let body = |request: &String| request.split("\r\n\r\n").nth(1).map(str::to_owned);
    requests.iter().filter_map(body).collect()
}

/// Answers every read, since requests this short arrive in a single read.
pub(crate) fn answer_each(
    mut stream: impl Read + Write,
    mut answer: impl FnMut(&str) -> &'static str,
) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        let request = String::from_utf8_lossy(&buffer[..read]);
        if stream.write_all(answer(&request).as_bytes()).is_err() {
            return;
        }
    }
}

pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
pub(crate) const BUSY: &str = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n";
pub(crate) const ABSENT: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";

/// A port on which nothing listens.
pub(crate) fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").to_string()
}

/// The command line of a short load that writes to `run`.
pub(crate) fn short<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["load", target, "--calls", "50", "--out", "run", "--quiet"];
    words.extend(more);
    words
}

/// The figures of the first variant.
pub(crate) fn figures(report: &Value) -> &Value {
    &report["variants"][0]["cells"][0]["figures"]
}
