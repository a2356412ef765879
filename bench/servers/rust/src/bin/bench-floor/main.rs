//! The floor: what no client can beat on this machine. Two bare loops exchange the bytes of a call without
//! framing, parsing or waiting for events.
//!
//! - `bench-floor answer connections=N request=BYTES response=BYTES` prints its address as a line of JSON, and
//!   serves until its standard input closes.
//! - `bench-floor call ADDRESS connections=N request=BYTES response=BYTES calls=N` prints the number of calls,
//!   the elapsed time and the mean latency as a line of JSON.
//!
//! Both halves use their connections in turn with blocking reads and writes, so a call costs the client one
//! write and one read and nothing else. The calling half resembles the one with which a run calibrates its
//! floor (docs/method.md): its reads and writes have timeouts, which cost the kernel some time, and it times
//! each call.
//!
//! With `stream=server` or `stream=bidirectional` for both, the bytes are those of a stream's messages, `calls`
//! of them over one connection, in HTTP/2 frames.

mod stream;

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use bench_servers::arguments::Arguments;
use bench_servers::clock;

use self::stream::Form;

/// The timeout of each connect, read and write.
const TIMEOUT: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("bench-floor: {reason}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let mut arguments = Arguments::of_process();
    match arguments.word("answer or call")?.as_str() {
        "answer" => {
            let shape = Shape::read(&mut arguments)?;
            let form = Form::read(&mut arguments, &shape)?;
            arguments.end()?;
            answer(&shape, form).map_err(|error| error.to_string())
        }
        "call" => {
            let address = arguments.word("the address")?;
            let address: SocketAddr = address
                .parse()
                .map_err(|_| format!("{address} is not an address: write 127.0.0.1:PORT"))?;
            let calls = arguments.required("calls")?;
            let shape = Shape::read(&mut arguments)?;
            let form = Form::read(&mut arguments, &shape)?;
            arguments.end()?;
            let called = match form {
                None => call(&address, &shape, calls),
                Some(form) => stream::call(&address, &shape, form, calls as u64),
            };
            called.map_err(|error| error.to_string())
        }
        other => Err(format!("unknown mode {other}: it must be answer or call")),
    }
}

/// The parameters on which both halves must agree.
struct Shape {
    connections: usize,
    request: usize,
    response: usize,
}

impl Shape {
    fn read(arguments: &mut Arguments) -> Result<Self, String> {
        let shape = Self {
            connections: arguments.required("connections")?,
            request: arguments.required("request")?,
            response: arguments.required("response")?,
        };
        match shape.connections.min(shape.request).min(shape.response) {
            0 => Err("connections, request and response must each be 1 or more".to_owned()),
            _ => Ok(shape),
        }
    }
}

fn answer(shape: &Shape, form: Option<Form>) -> io::Result<()> {
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(0);
    });
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    println!(r#"{{"http":"{address}","grpc":"{address}"}}"#);
    match form {
        None => respond(&listener, shape),
        Some(form) => stream::answer(&listener, shape, form),
    }
}

fn respond(listener: &TcpListener, shape: &Shape) -> io::Result<()> {
    let (mut request, response) = (vec![0; shape.request], vec![0; shape.response]);
    loop {
        let mut streams = Vec::with_capacity(shape.connections);
        for _ in 0..shape.connections {
            let (stream, _) = listener.accept()?;
            stream.set_nodelay(true)?;
            streams.push(stream);
        }
        // Ends when the client has completed its calls and closes its connections.
        while streams.iter_mut().all(|stream| {
            stream.read_exact(&mut request).is_ok() && stream.write_all(&response).is_ok()
        }) {}
    }
}

fn connect(address: &SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(address, TIMEOUT)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

fn call(address: &SocketAddr, shape: &Shape, calls: usize) -> io::Result<()> {
    let (request, mut response) = (vec![0; shape.request], vec![0; shape.response]);
    let mut streams = Vec::with_capacity(shape.connections);
    for _ in 0..shape.connections {
        // Each stream, with the start time of its last call.
        streams.push((connect(address)?, clock::now()));
    }
    let rounds = calls.div_ceil(shape.connections).max(1);
    let (start, mut latencies) = (clock::now(), 0);
    for (stream, begun) in &mut streams {
        *begun = clock::now();
        stream.write_all(&request)?;
    }
    for round in 1..=rounds {
        for (stream, begun) in &mut streams {
            stream.read_exact(&mut response)?;
            let now = clock::now();
            latencies += now - *begun;
            *begun = now;
            if round < rounds {
                stream.write_all(&request)?;
            }
        }
    }
    let (elapsed, calls) = (clock::now() - start, (rounds * shape.connections) as u64);
    report(calls, elapsed, Some(latencies / calls));
    Ok(())
}

/// Prints the number of calls, or of a stream's messages, the elapsed time, and the mean latency of calls, in ns.
fn report(calls: u64, elapsed: u64, mean: Option<u64>) {
    let mean = mean.map_or("null".to_owned(), |mean| mean.to_string());
    println!(r#"{{"calls":{calls},"elapsed_ns":{elapsed},"mean_ns":{mean}}}"#);
}
