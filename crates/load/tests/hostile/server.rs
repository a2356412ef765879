//! Servers that follow a script.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rpcgauge_trial::Address;

pub(crate) use crate::support::frames::*;
use crate::support::{read_request, respond_with, serve};

/// Ends the output, and reads until the client closes too. Closing with unread input would cause a reset.
pub(crate) fn end(mut stream: TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
}

/// Resets the connection.
pub(crate) fn reset_connection(stream: TcpStream) {
    let now = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    // SAFETY: the descriptor is open, and the option's value has the right type and length.
    let result = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const now).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        )
    };
    assert_eq!(result, 0);
    drop(stream);
}

/// Reads an HTTP/1.1 request, sends these bytes, and then does `then`.
pub(crate) fn says_and(
    bytes: impl Into<Vec<u8>>,
    then: fn(TcpStream),
) -> impl Fn() -> Address + Send + 'static {
    let bytes: Vec<u8> = bytes.into();
    move || {
        let bytes = bytes.clone();
        serve(move |mut stream| {
            if read_request(&mut stream).is_some() && stream.write_all(&bytes).is_ok() {
                then(stream);
            }
        })
    }
}

/// Reads an HTTP/1.1 request, sends these bytes, and closes.
pub(crate) fn says(bytes: impl Into<Vec<u8>>) -> impl Fn() -> Address + Send + 'static {
    says_and(bytes, end)
}

/// Answers each HTTP/1.1 request with these bytes.
pub(crate) fn keeps_saying(bytes: &'static str) -> impl Fn() -> Address + Send + 'static {
    move || serve(respond_with(|_| bytes.into()))
}

/// Reads an HTTP/1.1 request, sends `first`, and repeats `then` until the client closes.
pub(crate) fn says_for_ever(
    first: &'static str,
    then: &'static str,
) -> impl Fn() -> Address + Send + 'static {
    let many = then.repeat(4096_usize.div_ceil(then.len()));
    move || {
        let many = many.clone();
        serve(move |mut stream| {
            if read_request(&mut stream).is_some() && stream.write_all(first.as_bytes()).is_ok() {
                while stream.write_all(many.as_bytes()).is_ok() {}
            }
        })
    }
}

/// Sends bytes one by one. Returns whether all of them were sent.
pub(crate) fn drip(stream: &mut TcpStream, bytes: &[u8], gap: Duration) -> bool {
    let _ = stream.set_nodelay(true);
    bytes.iter().all(|byte| {
        thread::sleep(gap);
        stream.write_all(&[*byte]).is_ok()
    })
}

/// What a server does after a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    GoOn,
    Close,
    Reset,
}

/// A request, identified by its stream and connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) stream: u32,
    /// The index of its connection, from 0.
    pub(crate) connection: usize,
}

/// Sends `hello` on every connection, and calls `response` for each complete request.
pub(crate) fn http2(
    hello: impl Into<Vec<u8>>,
    response: impl Fn(Request, &mut TcpStream) -> Then + Send + Sync + 'static,
) -> impl Fn() -> Address + Send + 'static {
    let (hello, response): (Vec<u8>, _) = (hello.into(), Arc::new(response));
    move || {
        let (hello, response) = (hello.clone(), Arc::clone(&response));
        let connections = Arc::new(AtomicUsize::new(0));
        serve(move |mut stream| {
            let connection = connections.fetch_add(1, Ordering::Relaxed);
            if stream.write_all(&hello).is_err() || !read_preface(&mut stream) {
                return;
            }
            while let Some(sent) = next(&mut stream) {
                let request = Request {
                    stream: sent.stream,
                    connection,
                };
                if !sent.ends_request() {
                    continue;
                }
                match response(request, &mut stream) {
                    Then::GoOn => {}
                    Then::Close => return end(stream),
                    Then::Reset => return reset_connection(stream),
                }
            }
        })
    }
}

/// Answers each request with what `response` returns for its stream.
pub(crate) fn responds(
    response: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static,
) -> impl Fn() -> Address + Send + 'static {
    http2(settings(), move |request, stream| {
        match stream.write_all(&response(request.stream)) {
            Ok(()) => Then::GoOn,
            Err(_) => Then::Close,
        }
    })
}

/// Answers a request with what `response` returns for its stream, and closes.
pub(crate) fn responds_and_closes(
    response: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static,
) -> impl Fn() -> Address + Send + 'static {
    http2(settings(), move |request, stream| {
        let _ = stream.write_all(&response(request.stream));
        Then::Close
    })
}

/// Answers a request with `response`, repeated endlessly. If `reads` is set, it also reads from the client.
pub(crate) fn responds_without_end(
    response: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static,
    reads: bool,
) -> impl Fn() -> Address + Send + 'static {
    http2(settings(), move |request, stream| {
        if reads {
            let mut reader = stream.try_clone().expect("another handle");
            thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
        }
        let one = response(request.stream);
        let many = one.repeat(4096_usize.div_ceil(one.len()));
        while stream.write_all(&many).is_ok() {}
        Then::Close
    })
}

/// A field block of literals that leave the dynamic table unchanged.
pub(crate) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        out.push(0);
        for text in [name, value] {
            integer(&mut out, text.len());
            out.extend(text.bytes());
        }
    }
    out
}

/// An integer with a prefix of seven bits (RFC 7541, 5.1).
fn integer(out: &mut Vec<u8>, number: usize) {
    let Some(mut rest) = number.checked_sub(127) else {
        return out.push(number as u8);
    };
    out.push(127);
    while rest >= 128 {
        out.push((rest % 128) as u8 | 128);
        rest /= 128;
    }
    out.push(rest as u8);
}

/// A HEADERS frame with these fields.
pub(crate) fn headers(stream: u32, flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | flags, stream, &block(fields))
}

/// A field block in as many frames as it requires.
pub(crate) fn long_headers(stream: u32, block: &[u8]) -> Vec<u8> {
    let mut parts = block.chunks(16_384).peekable();
    let (mut kind, mut out) = (HEADERS, Vec::new());
    while let Some(part) = parts.next() {
        let flags = if parts.peek().is_none() {
            END_HEADERS
        } else {
            0
        };
        out.extend(frame(kind, flags, stream, part));
        kind = CONTINUATION;
    }
    out
}

pub(crate) const OK: (&str, &str) = (":status", "200");
pub(crate) const GRPC: (&str, &str) = ("content-type", "application/grpc");

/// The head of a gRPC response.
pub(crate) fn head(stream: u32) -> Vec<u8> {
    headers(stream, 0, &[OK, GRPC])
}

/// A DATA frame.
pub(crate) fn data(stream: u32, flags: u8, bytes: &[u8]) -> Vec<u8> {
    frame(DATA, flags, stream, bytes)
}

/// A gRPC message with its prefix.
pub(crate) fn message(bytes: &[u8]) -> Vec<u8> {
    [&[0], &(bytes.len() as u32).to_be_bytes()[..], bytes].concat()
}

/// Trailers with these fields.
pub(crate) fn trailers(stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    headers(stream, END_STREAM, fields)
}

/// A gRPC response with these trailers.
pub(crate) fn grpc_with(stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    let message = data(stream, 0, &message(b"yes"));
    [head(stream), message, trailers(stream, fields)].concat()
}

/// A valid gRPC response.
pub(crate) fn grpc(stream: u32) -> Vec<u8> {
    grpc_with(stream, &[("grpc-status", "0")])
}

/// A response that reports what the client did wrong.
pub(crate) fn blames(stream: u32, why: &str) -> Vec<u8> {
    let fields = [OK, GRPC, ("grpc-status", "13"), ("grpc-message", why)];
    trailers(stream, &fields)
}

/// A SETTINGS frame with these identifiers and values.
pub(crate) fn settings_of(settings: &[(u16, u32)]) -> Vec<u8> {
    let one = |(id, value): &(u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
    let payload: Vec<u8> = settings.iter().flat_map(one).collect();
    frame(SETTINGS, 0, 0, &payload)
}

/// A WINDOW_UPDATE frame.
pub(crate) fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}
