//! Servers that break WebSocket's rules, one of each kind. The unit tests of rpcgauge-wire cover every form.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rpcgauge_trial::{Address, Fault};

use super::case::{Case, Outcome, Over, fail};
use super::server::{drip, end, says, says_and};
use crate::support::{accept_websocket, only_read, read_request, serve};

/// The bytes of the client's message: a header, a mask and three bytes.
const MESSAGE_BYTES: usize = 9;

/// A close frame with the code 1000.
const CLOSE: &[u8] = b"\x88\x02\x03\xe8";

fn case(name: &'static str, outcome: Outcome) -> Case {
    Case::new(name, Over::WebSocket, outcome).per_call()
}

/// Accepts the handshake, and then does `then`.
fn accepts(then: fn(TcpStream)) -> impl Fn() -> Address + Send + 'static {
    move || {
        serve(move |mut stream| {
            let Some((head, _)) = read_request(&mut stream) else {
                return;
            };
            if stream.write_all(accept_websocket(&head).as_bytes()).is_ok() {
                then(stream);
            }
        })
    }
}

/// Adds servers that accept the handshake, read the client's message, send these bytes, and close when the client has
/// closed.
fn sending(case: Case, frames: &[&'static [u8]]) -> Case {
    frames.iter().fold(case, |case, &frames| {
        case.server(move || {
            let each = move |mut stream: TcpStream| {
                let Some((head, _)) = read_request(&mut stream) else {
                    return;
                };
                let written = stream.write_all(accept_websocket(&head).as_bytes());
                let read = written.and_then(|()| stream.read_exact(&mut [0; MESSAGE_BYTES]));
                if read.and_then(|()| stream.write_all(frames)).is_ok() {
                    only_read(stream);
                }
            };
            serve(each)
        })
    })
}

/// Sends these bytes until the client closes.
fn forever(mut stream: TcpStream, bytes: &[u8]) {
    let many = bytes.repeat(1_000);
    while stream.write_all(&many).is_ok() {}
}

pub(crate) fn cases() -> Vec<Case> {
    [handshakes(), frames(), too_much(), good()]
        .into_iter()
        .flatten()
        .collect()
}

fn handshakes() -> Vec<Case> {
    vec![
        case("response that is no handshake", fail(&["http-200"]))
            .server(says("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")),
        case("handshake that is not accepted", fail(&["protocol"]))
            .server(says("HTTP/1.1 101 x\r\nupgrade: h2c\r\n\r\n"))
            .server(says(
                "HTTP/1.1 101 x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
                 sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
            )),
        case("handshake that never ends", fail(&["deadline"]))
            .server(says_and("HTTP/1.1 101 x\r\nupgrade: w", only_read))
            .until_the_deadline(),
    ]
}

fn frames() -> Vec<Case> {
    vec![
        case("cut", fail(&["connection-closed"]))
            .server(accepts(end))
            .server(accepts(|mut stream| {
                let _ = stream.write_all(b"\x81\x05hal");
                end(stream);
            })),
        sending(
            case("frames that break WebSocket's rules", fail(&["protocol"])),
            &[
                b"\x81\x81\0\0\0\0a",
                b"\xc1\x00",
                b"\x83\x00",
                b"\x80\x00",
                b"\x09\x00",
                b"\x88\x02\x03\xed",
                b"\x81\x01\xff",
            ],
        ),
        sending(
            case("close frame with another code", fail(&["websocket-1011"])),
            &[b"\x88\x05\x03\xf3bad"],
        )
        .saying("closed the WebSocket with 1011: bad"),
        sending(
            case("close frame without a message", Outcome::Answered),
            &[CLOSE, b"\x88\x00"],
        ),
        sending(
            case("data after the close frame", Outcome::Answered),
            &[b"\x81\x01a\x88\x00\x81\x01b"],
        ),
    ]
}

fn too_much() -> Vec<Case> {
    vec![
        sending(
            case(
                "giant message that is announced and never sent",
                Outcome::Fail(&["too-large"], Fault::Instrument),
            ),
            &[b"\x82\x7f\x00\x00\x00\x01\0\0\0\0"],
        ),
        sending(
            case(
                "message that is announced and never sent",
                fail(&["deadline"]),
            ),
            &[b"\x82\x7f\0\0\0\0\x03\0\0\0"],
        )
        .until_the_deadline(),
        case(
            "message without an end",
            Outcome::Fail(&["too-large"], Fault::Instrument),
        )
        .server(accepts(|mut stream| {
            let _ = stream.write_all(b"\x01\x01a");
            forever(stream, b"\x00\x01a");
        }))
        .with(|trial| trial.expect.max_response_bytes = 100_000),
        case("PING flood whose PONGs are not read", fail(&["flood"]))
            .server(accepts(|stream| forever(stream, b"\x89\x04ping")))
            .holding(5 << 20),
    ]
}

fn good() -> Vec<Case> {
    vec![
        case("message byte by byte", Outcome::Answered).server(accepts(|mut stream| {
            let message = b"\x01\x01a\x89\x00\x80\x01b\x88\x02\x03\xe8";
            drip(&mut stream, message, Duration::from_millis(1));
            only_read(stream);
        })),
        case("good responses", Outcome::Answered).server(accepts(|mut stream| {
            let read = stream.read_exact(&mut [0; MESSAGE_BYTES]);
            // The client's close frame: a header, a mask and the code.
            let read = read
                .and_then(|()| stream.write_all(b"\x81\x02hi"))
                .and_then(|()| stream.read_exact(&mut [0; 8]));
            if read.and_then(|()| stream.write_all(CLOSE)).is_ok() {
                only_read(stream);
            }
        })),
    ]
}
