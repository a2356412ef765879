//! HTTP/1.1 responses that are cut off, wrong, or too large, one of each kind. The unit tests of
//! rpcgauge-wire cover every form.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rpcgauge_trial::Fault;

use super::case::{Case, Outcome, Over, fail};
use super::server::*;
use crate::support::{constant_rate, ok, read_request, respond_with, serve};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n";

const CHUNKED: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n";

fn case(name: &'static str, outcome: Outcome) -> Case {
    Case::new(name, Over::Http1, outcome)
}

/// Adds servers that send these bytes and close.
fn saying(case: Case, responses: &[&str]) -> Case {
    responses
        .iter()
        .fold(case, |case, response| case.server(says(*response)))
}

/// Adds servers that send the usual head and then these bytes.
fn after_head(case: Case, rests: &[&str]) -> Case {
    rests.iter().fold(case, |case, rest| {
        case.server(says(format!("{HEAD}{rest}")))
    })
}

/// Adds servers that answer each request with these bytes.
fn repeating(case: Case, responses: &[&'static str]) -> Case {
    responses
        .iter()
        .fold(case, |case, response| case.server(keeps_saying(response)))
}

pub(crate) fn cases() -> Vec<Case> {
    [ends(), lengths(), too_much(), others()]
        .into_iter()
        .flatten()
        .collect()
}

fn ends() -> Vec<Case> {
    vec![
        saying(
            case("cut", fail(&["connection-closed"])),
            &["", "HTTP/1.1 200 OK\r\ncont"],
        )
        .server(says(format!("{HEAD}content-length: 10\r\n\r\nhalf")))
        .server(says(format!("{CHUNKED}5\r\nhal"))),
        every_cut(),
        after_head(
            case("body that ends with the connection", Outcome::Answered),
            &["\r\nall that there is"],
        ),
        [String::new(), format!("{HEAD}\r\nhalf a bo")]
            .into_iter()
            .fold(
                case("reset", fail(&["connection-reset"])),
                |case, response| {
                    case.server(says_and(response, |stream| {
                        // The bytes must arrive before the reset.
                        thread::sleep(Duration::from_millis(20));
                        reset_connection(stream);
                    }))
                },
            ),
    ]
}

/// A response with every kind of part, cut off after each of its bytes.
fn every_cut() -> Case {
    const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\
        transfer-encoding: chunked\r\n\r\n3;x\r\nabc\r\n2\r\nde\r\n0\r\nx-t: u\r\n\r\n";
    // Each connection begins with a valid response. Without it, the client would back off.
    let server = || {
        let next = Arc::new(AtomicUsize::new(0));
        serve(move |mut stream| {
            let at = next.fetch_add(1, Ordering::SeqCst);
            let cut = &RESPONSE[..at.min(RESPONSE.len() - 1)];
            for response in [&ok(b"yes")[..], cut] {
                if read_request(&mut stream).is_none() || stream.write_all(response).is_err() {
                    return;
                }
            }
            end(stream);
        })
    };
    case(
        "cut at every byte, each second response",
        Outcome::Half("connection-closed"),
    )
    .server(server)
    .kept()
    .with(|trial| trial.stop.calls = Some(2 * RESPONSE.len() as u64))
}

fn lengths() -> Vec<Case> {
    vec![
        case(
            "body shorter than its length, never ended",
            fail(&["deadline"]),
        )
        .server(says_and(
            format!("{HEAD}content-length: 4\r\n\r\nyes"),
            |mut stream| {
                let _ = read_request(&mut stream);
            },
        ))
        .until_the_deadline(),
        after_head(
            case("body longer than its length", Outcome::Answered),
            &["content-length: 3\r\n\r\nyesHTTP/1.1 200 OK\r\n\r\n"],
        ),
        // The first response is as large as the portion that the engine processes at a time. The second one
        // is read together with it, but has not been processed when the call ends and the next call is due.
        case("response that no call asked for", Outcome::Answered)
            .server(says([long_response(8 << 10), BUSY.into()].concat()))
            .with(|trial| {
                trial.schedule = constant_rate(1e5);
                trial.stop.calls = Some(500);
            }),
        after_head(
            case("framing that parsers read differently", fail(&["protocol"])),
            &[
                "content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n3\r\nyes\r\n0\r\n\r\n",
                "transfer-encoding: chunked\r\n\r\n0x3\r\nyes\r\n0\r\n\r\n",
                "content-length: 3\n\nyes",
            ],
        ),
    ]
}

/// A valid response of `length` bytes, including its head.
fn long_response(length: usize) -> Vec<u8> {
    let head = |body: usize| format!("{HEAD}content-length: {body}\r\n\r\n");
    // Both lengths have the same number of digits.
    let body = length - head(length - HEAD.len()).len();
    let response = [head(body).into_bytes(), vec![b'x'; body]].concat();
    assert_eq!(response.len(), length);
    response
}

const BUSY: &str = "HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy";

fn too_much() -> Vec<Case> {
    let too_large = || Outcome::Fail(&["too-large"], Fault::Instrument);
    vec![
        case("head without an end", too_large())
            .server(says_for_ever("HTTP/1.1 200 OK\r\n", "x-a: b\r\n"))
            .server(says_for_ever("HTTP/1.1 200 OK\r\nx-a: ", "b")),
        case("body without an end", too_large())
            .server(says_for_ever(
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n",
                "more",
            ))
            .server(says_for_ever(CHUNKED, "4\r\nmore\r\n"))
            .with(|trial| trial.expect.max_response_bytes = 1 << 20),
        case("endless 1xx", fail(&["flood"])).server(says_for_ever(
            "",
            "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n",
        )),
    ]
}

fn others() -> Vec<Case> {
    vec![
        saying(
            case("not HTTP", fail(&["protocol"])),
            &["SSH-2.0-OpenSSH_9.6\r\n"],
        ),
        saying(
            case("HTTP/2 in place of HTTP/1.1", fail(&["wrong-protocol"])),
            &["\0\0\0\x04\0\0\0\0\0"],
        ),
        repeating(
            case("wrong content type", fail(&["content-type"])),
            &[
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 3\r\n\r\nyes",
                "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nyes",
            ],
        ),
        repeating(
            case(
                "content coding that was not requested",
                fail(&["content-encoding"]),
            ),
            &[
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: br\r\ncontent-length: 3\r\n\r\nyes",
            ],
        ),
        repeating(case("status 503", fail(&["http-503"])), &[BUSY]).saying("HTTP status 503: busy"),
        case("response byte by byte", Outcome::Answered).server(|| {
            serve(|mut stream| {
                while let Some((_, body)) = read_request(&mut stream) {
                    if !drip(&mut stream, &ok(&body), Duration::from_micros(200)) {
                        return;
                    }
                }
            })
        }),
        case("response byte by byte, without an end", fail(&["deadline"]))
            .server(|| {
                serve(|mut stream| {
                    let _ = read_request(&mut stream);
                    while drip(&mut stream, HEAD.as_bytes(), Duration::from_millis(1)) {}
                })
            })
            .until_the_deadline(),
        case("good responses", Outcome::Answered).server(|| serve(respond_with(ok))),
    ]
}
