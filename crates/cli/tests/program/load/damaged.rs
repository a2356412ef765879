//! Services whose responses violate the protocol or have invalid compression.

use std::io::{Read as _, Result, Write as _};
use std::net::{SocketAddr, TcpStream};

use super::{HELLO, Service, answering, figures, serving, short};
use crate::common::{Place, report};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

const EMPTY_MESSAGE: [u8; 5] = [0; 5];

/// An HTTP/2 frame without its stream: type, flags, payload.
type Frame = (u8, u8, Vec<u8>);

/// The head of a gRPC response, with additional fields as literals without indexing.
fn head(flags: u8, more: &[(&str, &str)]) -> Frame {
    const OK: u8 = 0x88;
    let mut block = vec![OK];
    for (name, value) in [&[("content-type", "application/grpc")], more].concat() {
        block.extend(literal(name, value));
    }
    (HEADERS, END_HEADERS | flags, block)
}

fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut field = vec![0];
    for text in [name, value] {
        field.push(text.len() as u8);
        field.extend(text.bytes());
    }
    field
}

fn trailers(status: &str) -> Frame {
    let field = literal("grpc-status", status);
    (HEADERS, END_HEADERS | END_STREAM, field)
}

/// A server that answers every request with the same frames.
fn saying(frames: Vec<Frame>) -> SocketAddr {
    serving(move |stream| {
        // The client may close the connection at any time.
        let _ = play(stream, &frames);
    })
}

fn play(mut stream: TcpStream, frames: &[Frame]) -> Result<()> {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    stream.write_all(&[0, 0, 0, SETTINGS, 0, 0, 0, 0, 0])?;
    stream.read_exact(&mut vec![0; PREFACE.len()])?;
    loop {
        let mut header = [0; 9];
        stream.read_exact(&mut header)?;
        let [high, middle, low, kind, flags, id @ ..] = header;
        let length = u32::from_be_bytes([0, high, middle, low]);
        stream.read_exact(&mut vec![0; length as usize])?;
        if !matches!(kind, DATA | HEADERS) || flags & END_STREAM == 0 {
            continue;
        }
        for (kind, flags, payload) in frames {
            let length = (payload.len() as u32).to_be_bytes();
            let id = if *kind == SETTINGS { [0; 4] } else { id };
            stream.write_all(&[length[1], length[2], length[3], *kind, *flags])?;
            stream.write_all(&[&id[..], payload].concat())?;
        }
    }
}

#[test]
fn what_is_wrong_with_an_answer_is_said() {
    let place = Place::new();
    let by_grpc = saying(vec![head(0, &[]), trailers("0")]);
    let finished = place.run(&short(&format!("grpc://{by_grpc}/{HELLO}"), &[]));
    assert!(!finished.stderr.contains("HTTP/1.1"), "{}", finished.stderr);
    finished.refused(&[
        "violates the rules of gRPC",
        "has no message",
        "check the server",
    ]);
    let by_http =
        answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\nok");
    let finished = place.run(&short(&format!("http://{}/", by_http.address), &[]));
    assert!(!finished.stderr.contains("HTTP/2"), "{}", finished.stderr);
    finished.refused(&[
        "both content-length and transfer-encoding",
        "check the server",
    ]);
}

#[test]
fn reflection_that_ends_without_an_answer_is_no_other_protocol() {
    let place = Place::new();
    let empty = saying(vec![head(END_STREAM, &[("grpc-status", "0")])]);
    let target = format!("grpc://{empty}/{HELLO}");
    let finished = place.run(&short(&target, &["--data", "{}"]));
    assert!(!finished.stderr.contains("HTTP/1.1"), "{}", finished.stderr);
    finished.refused(&[
        "does not respond to server reflection",
        "has no message",
        "give --proto FILE",
    ]);
}

#[test]
fn an_answer_whose_compression_is_damaged_is_no_answer() {
    let place = Place::new();
    let server =
        answering("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\nok");
    let target = format!("http://{}/", server.address);
    let more = ["--response-compression", "gzip", "--warmup", "0s"];
    let finished = place.run(&short(&target, &more));
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    let report = report(&place.path().join("run"));
    assert_eq!(figures(&report)["calls"]["failed"]["decompress"], 50);
    // A response without a body has nothing to decompress, even if its head names a compression.
    let place = Place::new();
    let empty = answering("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n");
    let target = format!("http://{}/", empty.address);
    let more = ["-X", "HEAD", "--response-compression", "gzip"];
    place.run(&short(&target, &more)).well();
}

#[test]
fn what_cannot_be_sent_is_said_as_it_is() {
    let place = Place::new();
    let service = Service::start(&place, &[]);
    let (grpc, http) = (service.grpc(), service.http());
    let no_base64 = ["-H", "x-trace-bin: {secret}"];
    let refused = place.run(&short(&grpc, &no_base64));
    assert!(!refused.stderr.contains("secret"), "{}", refused.stderr);
    refused.refused(&["\"x-trace-bin\" is not base64"]);
    place.run(&short(&grpc, &["-H", "x-trace-bin: YWI"])).well();
    let tunnel = ["-X", "CONNECT"];
    place
        .run(&short(&http, &tunnel))
        .refused(&["CONNECT opens a tunnel"]);
}

#[test]
fn calls_that_are_never_sent_are_in_no_rate() {
    let place = Place::new();
    let no_more_heads = (SETTINGS, 0, vec![0, 6, 0, 0, 0, 0]);
    let service = saying(vec![
        no_more_heads,
        head(0, &[]),
        (DATA, 0, EMPTY_MESSAGE.to_vec()),
        trailers("0"),
    ]);
    let target = format!("grpc://{service}/{HELLO}");
    let shown = place.run(&short(&target, &["--warmup", "0s"])).well();
    let told = "50 started (49 of them never sent): 1 succeeded, 49 failed";
    assert!(shown.contains(told), "{shown}");
    assert!(shown.contains("49 × head-too-large"), "{shown}");
    let report = report(&place.path().join("run"));
    assert_eq!(figures(&report)["calls"]["never_sent"], 49);
}
