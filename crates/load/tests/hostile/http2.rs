//! HTTP/2 connections and streams that are cut off, reset, flooded, or invalid, one of each kind. The unit
//! tests of rpcgauge-wire cover every rule.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rpcgauge_trial::Schedule;

use super::case::{Case, Outcome, Over, fail};
use super::floods;
use super::server::*;
use crate::support::serve;

const NO_ERROR: u32 = 0;
const REFUSED_STREAM: u32 = 7;
const HTTP_1_1_REQUIRED: u32 = 0xd;

pub(crate) fn case(name: &'static str, outcome: Outcome) -> Case {
    Case::new(name, Over::Grpc, outcome)
}

pub(crate) fn cases() -> Vec<Case> {
    [
        cuts(),
        resets(),
        goaways(),
        floods::cases(),
        rules(),
        others(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Adds servers that answer a request with these bytes and close.
fn cut(case: Case, responses: Vec<fn(u32) -> Vec<u8>>) -> Case {
    responses.into_iter().fold(case, |case, response| {
        case.server(responds_and_closes(response))
    })
}

/// Adds servers that answer each request with these bytes.
pub(crate) fn saying(case: Case, sayings: Vec<fn(u32) -> Vec<u8>>) -> Case {
    sayings
        .into_iter()
        .fold(case, |case, response| case.server(responds(response)))
}

/// The first `n` bytes.
fn first(bytes: Vec<u8>, n: usize) -> Vec<u8> {
    bytes[..n].to_vec()
}

fn cuts() -> Vec<Case> {
    vec![
        cut(
            case("cut", fail(&["connection-closed"])),
            vec![
                |_| vec![],
                |id| frame(HEADERS, 0, id, &[0x88]),
                |id| [head(id), first(data(id, 0, b"body"), 11)].concat(),
                |id| first(grpc(id), grpc(id).len() - 1),
            ],
        )
        .server(http2(b"", |_, _| Then::Close)),
        every_cut(),
        case("reset", fail(&["connection-reset"])).server(http2(settings(), |request, stream| {
            let _ = stream.write_all(&head(request.stream));
            // The bytes must arrive before the reset.
            std::thread::sleep(Duration::from_millis(20));
            Then::Reset
        })),
    ]
}

/// A response, cut off after each of its bytes. The first request on each connection is answered completely.
fn every_cut() -> Case {
    let calls = 2 * grpc(1).len() as u64;
    let cuts = AtomicUsize::new(0);
    case(
        "cut at every byte, each second response",
        Outcome::Half("connection-closed"),
    )
    .server(http2(settings(), move |request, stream| {
        let mut response = grpc(request.stream);
        if request.stream > 1 {
            response.truncate(cuts.fetch_add(1, Ordering::SeqCst));
        }
        let _ = stream.write_all(&response);
        if request.stream > 1 {
            Then::Close
        } else {
            Then::GoOn
        }
    }))
    .kept()
    .with(move |trial| trial.stop.calls = Some(calls))
}

fn resets() -> Vec<Case> {
    let many = |case: Case, n: usize| case.server(responds(move |id| reset(id, 8).repeat(n)));
    vec![
        saying(
            case("RST_STREAM", fail(&["stream-reset"])),
            vec![|id| reset(id, 2), |id| reset(id, 0xff), |id| {
                [head(id), data(id, 0, &[0, 0]), reset(id, 2)].concat()
            }],
        ),
        saying(
            case("RST_STREAM with REFUSED_STREAM", fail(&["not-processed"])),
            vec![|id| reset(id, REFUSED_STREAM), |id| {
                [head(id), reset(id, REFUSED_STREAM)].concat()
            }],
        ),
        case(
            "RST_STREAM with REFUSED_STREAM, for each second send",
            Outcome::Retried,
        )
        .server({
            let sends = Arc::new(AtomicUsize::new(0));
            responds(move |id| match sends.fetch_add(1, Ordering::SeqCst) % 2 {
                0 => reset(id, REFUSED_STREAM),
                _ => grpc(id),
            })
        }),
        saying(
            case("HTTP_1_1_REQUIRED", fail(&["wrong-protocol"])),
            vec![|id| reset(id, HTTP_1_1_REQUIRED), |_| {
                goaway(0, HTTP_1_1_REQUIRED)
            }],
        )
        .saying("HTTP_1_1_REQUIRED"),
        saying(
            case("RST_STREAM after the whole response", Outcome::Answered),
            vec![|id| [grpc(id), reset(id, NO_ERROR)].concat()],
        ),
        many(
            case(
                "RST_STREAM for every call, rapidly",
                fail(&["stream-reset"]),
            ),
            1,
        )
        .kept()
        .with(|trial| {
            trial.schedule = Schedule::Closed { in_flight: 100 };
            trial.stop.calls = Some(2000);
        }),
        many(case("RST_STREAM flood", fail(&["stream-reset"])), 20_000),
    ]
}

fn goaways() -> Vec<Case> {
    vec![
        saying(
            case("GOAWAY without calls in flight", Outcome::Answered),
            vec![|id| [grpc(id), goaway(id, NO_ERROR)].concat()],
        ),
        case("GOAWAY with calls in flight", Outcome::Retried)
            // Of the two calls on the first connection, one is processed, and answered after the GOAWAY.
            .server(http2(settings(), |request, stream| {
                let response = match (request.connection, request.stream) {
                    (0, 1) => vec![],
                    (0, _) => [goaway(1, NO_ERROR), grpc(1)].concat(),
                    (_, stream) => grpc(stream),
                };
                let _ = stream.write_all(&response);
                Then::GoOn
            }))
            // No call is processed.
            .server(http2(settings(), |request, stream| {
                let response = match request.connection {
                    0 => goaway(0, NO_ERROR),
                    _ => grpc(request.stream),
                };
                let _ = stream.write_all(&response);
                Then::GoOn
            }))
            .kept()
            .with(|trial| trial.schedule = Schedule::Closed { in_flight: 2 }),
        saying(
            case(
                "GOAWAY that leaves every call out",
                fail(&["not-processed"]),
            ),
            vec![|_| goaway(0, NO_ERROR), |_| goaway(0, 0xb)],
        ),
        cut(
            case(
                "GOAWAY and close before the response",
                fail(&["connection-closed"]),
            ),
            vec![|id| goaway(id, NO_ERROR)],
        ),
    ]
}

/// Violations of HTTP/2's rules.
fn rules() -> Vec<Case> {
    vec![
        saying(
            case(
                "frames and fields that break HTTP/2's rules",
                fail(&["protocol"]),
            ),
            vec![
                |_| frame(PING, 0, 0, b"short"),
                |id| frame(HEADERS, END_HEADERS, id, &[0xff; 8]),
                |id| window_update(id, 0),
                |id| headers(id, END_STREAM, &[OK, OK]),
            ],
        ),
        saying(
            case("DATA on a closed stream", Outcome::Answered),
            vec![|id| [grpc(id), data(id, 0, b"more")].concat()],
        ),
    ]
}

fn others() -> Vec<Case> {
    vec![
        case("HTTP/1.1 in place of HTTP/2", fail(&["wrong-protocol"]))
            .server(http2(
                "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n",
                |_, _| Then::Close,
            ))
            .saying("speaks only HTTP/1.x"),
        case("not HTTP", fail(&["wrong-protocol"]))
            .server(http2("SSH-2.0-OpenSSH_9.6\r\n", |_, _| Then::Close)),
        case("response byte by byte", Outcome::Answered).server(http2(
            settings(),
            |request, stream| {
                let gap = Duration::from_micros(200);
                if drip(stream, &grpc(request.stream), gap) {
                    Then::GoOn
                } else {
                    Then::Close
                }
            },
        )),
        case("response byte by byte, without an end", fail(&["deadline"]))
            .server(|| {
                serve(|mut stream| {
                    let gap = Duration::from_millis(1);
                    let mut going =
                        read_preface(&mut stream) && drip(&mut stream, &settings(), gap);
                    while going {
                        going = drip(&mut stream, &frame(0x42, 0, 0, &[0; 100]), gap);
                    }
                })
            })
            .until_the_deadline(),
        case("good responses", Outcome::Answered).server(responds(grpc)),
    ]
}
