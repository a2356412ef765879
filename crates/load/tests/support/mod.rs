//! Real servers for the tests: small, on threads, on the loopback interface.
#![allow(dead_code, reason = "each test program uses some of these")]

pub(crate) mod frames;
pub(crate) mod memory;
pub(crate) mod tls;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use rpcgauge_load::{
    Bodies, Body, CallStyle, Codec, CodecError, Endpoint, Expect, Hooks, LoadError, Measurement,
    Protocol, Request, Settling, Trial, WarmupBounds,
};
use rpcgauge_trial::{Address, Arrivals, Bytes, Histogram, Schedule, Step, Stop, TrialFigures};

/// Serves every connection of a new listener on its own thread.
pub(crate) fn serve(each: impl Fn(TcpStream) + Send + Clone + 'static) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let each = each.clone();
            thread::spawn(move || each(stream));
        }
    });
    Address::Tcp(address)
}

/// Like [`serve`], but on a Unix socket at `path`.
pub(crate) fn serve_unix<S>(path: PathBuf, each: S) -> Address
where
    S: Fn(std::os::unix::net::UnixStream) + Send + Clone + 'static,
{
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let each = each.clone();
            thread::spawn(move || each(stream));
        }
    });
    Address::Unix(path)
}

/// Serves every connection of a new listener as a task, all on one thread.
pub(crate) fn serve_tasks<F, T>(each: F) -> Address
where
    F: Fn(tokio::net::TcpStream) -> T + Send + 'static,
    T: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                tokio::spawn(each(stream));
            }
        });
    });
    address
}

/// An address on which nothing listens.
pub(crate) fn unused_address() -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    Address::Tcp(address)
}

/// Reads one HTTP/1.1 request and returns its head and body; `None` at the end of the connection.
pub(crate) fn read_request(stream: &mut impl Read) -> Option<(String, Vec<u8>)> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// The head that accepts the opening handshake of a WebSocket.
pub(crate) fn accept_websocket(request: &str) -> String {
    let mut lines = request.lines();
    let key = lines.find_map(|line| line.strip_prefix("sec-websocket-key: "));
    let salted = format!("{}258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key.unwrap());
    let accept = STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, salted.as_bytes()));
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
         sec-websocket-accept: {accept}\r\n\r\n"
    )
}

/// Answers every request with what `response` returns for its body.
pub(crate) fn respond_with<S: Read + Write>(
    response: impl Fn(&[u8]) -> Vec<u8> + Clone,
) -> impl Fn(S) + Clone {
    move |mut stream: S| {
        while let Some((_, body)) = read_request(&mut stream) {
            if stream.write_all(&response(&body)).is_err() {
                break;
            }
        }
    }
}

/// Reads until the connection ends and never answers.
pub(crate) fn only_read(mut stream: impl Read) {
    let mut sink = [0; 1000];
    while stream.read(&mut sink).is_ok_and(|n| n > 0) {}
}

/// A 200 response with this body.
pub(crate) fn ok(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// The same after a pause. It acts like a slow server, which answers the requests of a connection one by one.
pub(crate) fn ok_after(pause: Duration) -> impl Fn(&[u8]) -> Vec<u8> + Clone {
    move |body| {
        thread::sleep(pause);
        ok(body)
    }
}

/// A trial of 100 calls, one after another, without a warm-up.
pub(crate) fn trial(address: Address) -> Trial {
    let endpoint = Endpoint {
        address,
        protocol: Protocol::Http1,
        more_addresses: Vec::new(),
        tls: None,
    };
    let request = Request {
        style: CallStyle::Http {
            method: "POST".to_owned(),
        },
        path: "/echo".to_owned(),
        authority: "localhost".to_owned(),
        headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
    };
    Trial {
        expect: Expect {
            content_type: Some("text/plain".to_owned()),
            ..Expect::default()
        },
        stop: Stop {
            calls: Some(100),
            time_ms: None,
        },
        ..Trial::new(endpoint, request)
    }
}

/// A trial of ten calls.
pub(crate) fn short(address: Address) -> Trial {
    let mut trial = trial(address);
    trial.stop.calls = Some(10);
    trial
}

/// A constant rate with even arrivals.
pub(crate) fn constant_rate(per_second: f64) -> Schedule {
    Schedule::Rate {
        per_second,
        arrivals: Arrivals::Constant,
    }
}

/// A warm-up with slices of this many calls, whose bounds are never reached in a test.
pub(crate) fn warmup(slice_calls: u64) -> WarmupBounds {
    WarmupBounds {
        max_calls: 1_000_000,
        max_time: Duration::from_secs(60),
        least_calls: 0,
        slice_calls,
        slice_time: Duration::ZERO,
    }
}

/// Prepared bodies of these bytes, without a verifier.
pub(crate) fn prepared(bodies: &[&[u8]]) -> Bodies<'static> {
    let bodies = bodies.iter().map(|bytes| Body {
        bytes: bytes.to_vec(),
        compressed: false,
        plain_len: bytes.len() as u64,
        fields: Vec::new(),
    });
    Bodies::Prepared {
        bodies: bodies.collect(),
        verifier: None,
    }
}

/// Hooks that settle immediately and do nothing else.
pub(crate) fn hooks<'r>() -> Hooks<'r> {
    Hooks {
        settling: Box::new(|_| Settling::Settled),
        measuring: Box::new(|_| ()),
        checks: Vec::new(),
        progress: None,
    }
}

/// Runs a trial with prepared bodies and a rule that settles immediately.
pub(crate) fn run(trial: &Trial, bodies: &[&[u8]]) -> TrialFigures {
    run_with(trial, prepared(bodies)).unwrap()
}

/// Runs a trial with a rule that settles immediately.
pub(crate) fn run_with(trial: &Trial, bodies: Bodies<'_>) -> Result<TrialFigures, LoadError> {
    Ok(run_in_full(trial, bodies)?.figures)
}

/// Like [`run_with`], with what figures do not contain.
pub(crate) fn run_in_full(trial: &Trial, bodies: Bodies<'_>) -> Result<Measurement, LoadError> {
    rpcgauge_load::measure_with(trial, bodies, hooks(), &AtomicBool::new(false))
}

/// The figures of [`rpcgauge_load::measure`].
pub(crate) fn measure(
    trial: &Trial,
    bodies: Bodies<'_>,
    rule: &mut dyn FnMut(u64) -> Settling,
    stop: &AtomicBool,
) -> Result<TrialFigures, LoadError> {
    Ok(rpcgauge_load::measure(trial, bodies, rule, stop)?.figures)
}

/// The figures of [`rpcgauge_load::measure_with`].
pub(crate) fn measure_with(
    trial: &Trial,
    bodies: Bodies<'_>,
    hooks: Hooks<'_>,
    stop: &AtomicBool,
) -> Result<TrialFigures, LoadError> {
    Ok(rpcgauge_load::measure_with(trial, bodies, hooks, stop)?.figures)
}

/// The kinds of failures with their counts, as text.
pub(crate) fn failures(measurement: &TrialFigures) -> Vec<(String, u64)> {
    let failed = measurement.calls.failed.iter();
    failed
        .map(|(kind, count)| (kind.to_string(), *count))
        .collect()
}

/// Checks what must be true of every measurement, regardless of the server.
pub(crate) fn assert_sums_hold(measurement: &TrialFigures) {
    assert_eq!(measurement.check(), Ok(()));
    let calls = &measurement.calls;
    let failed = measurement.failed_latency.as_ref();
    assert_eq!(failed.map_or(0, Histogram::count), calls.failed_total());
    let begun = calls.started - calls.never_begun;
    assert_eq!(measurement.send_delay.count(), begun);
    let slices = &measurement.timeline.slices;
    assert!(slices.len() <= 200, "{} slices", slices.len());
    assert!(measurement.elapsed_ns < 100 || slices.len() >= 100);
    let sent = calls.started - calls.never_sent;
    if !measurement.mix.is_empty() {
        let of_each = measurement.mix.iter();
        let sent_of_each = of_each.map(|call| call.started - call.never_sent);
        assert_eq!(sent_of_each.sum::<u64>(), sent);
    }
    let steps = &measurement.steps;
    if !steps.is_empty() {
        let sum = |of: fn(&Step) -> u64| steps.iter().map(of).sum::<u64>();
        assert_eq!(sum(|step| step.started), calls.started);
        assert_eq!(sum(|step| step.started - step.never_sent), sent);
        assert_eq!(sum(|step| step.answered), calls.answered);
        assert_eq!(sum(|step| step.failed), calls.failed_total());
        assert_eq!(sum(|step| step.send_delay.count()), begun);
    }
}

/// The bytes on the connections.
pub(crate) fn traffic(measurement: &TrialFigures) -> Bytes {
    measurement.bytes.expect("the engine counts them")
}

/// The denominator of calls per second.
pub(crate) fn elapsed(measurement: &TrialFigures) -> Duration {
    Duration::from_nanos(measurement.elapsed_ns)
}

/// A codec that encodes with a function and accepts any response.
pub(crate) struct Lenient<E>(pub(crate) E);

impl<E: FnMut(u64, &mut Vec<u8>)> Codec for Lenient<E> {
    fn encode(&mut self, call: u64, out: &mut Vec<u8>) -> Result<(), CodecError> {
        (self.0)(call, out);
        Ok(())
    }

    fn decompress(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<(), CodecError> {
        Ok(())
    }

    fn decode(&mut self, _: &[u8]) -> Result<(), CodecError> {
        Ok(())
    }

    fn verify(&mut self, _: u64, _: u64) -> Result<(), CodecError> {
        Ok(())
    }
}

/// Checks that exactly `calls` calls succeeded and that the sums hold.
#[track_caller]
pub(crate) fn assert_answered(measurement: &TrialFigures, calls: u64) {
    assert_sums_hold(measurement);
    assert_eq!(
        measurement.calls.answered, calls,
        "{:?}",
        measurement.error_samples
    );
}

/// A codec that sends the call's number and expects it to be echoed. "Compression" reverses the bytes.
#[derive(Debug, Default)]
pub(crate) struct Echo {
    pub(crate) compresses: bool,
    pub(crate) verified: Vec<u64>,
    pub(crate) decoded: Vec<u8>,
}

impl Codec for Echo {
    fn encode(&mut self, call: u64, out: &mut Vec<u8>) -> Result<(), CodecError> {
        write!(out, "call {call}").map_err(|error| CodecError(error.to_string()))
    }

    fn compresses(&self) -> bool {
        self.compresses
    }

    fn compress(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend(plain.iter().rev());
        Ok(())
    }

    fn decompress(&mut self, carried: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend(carried.iter().rev());
        Ok(())
    }

    fn decode(&mut self, plain: &[u8]) -> Result<(), CodecError> {
        self.decoded.clear();
        self.decoded.extend_from_slice(plain);
        if plain.starts_with(b"call ") {
            Ok(())
        } else {
            Err(CodecError(format!(
                "{:?} is not a call",
                String::from_utf8_lossy(plain)
            )))
        }
    }

    fn verify(&mut self, call: u64, message: u64) -> Result<(), CodecError> {
        self.verified.push(call + message);
        let right = format!("call {}", call + message);
        if self.decoded != right.as_bytes() {
            return Err(CodecError(format!("expected {right:?}")));
        }
        Ok(())
    }
}
