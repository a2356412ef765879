//! Connections and streams of HTTP/2 that are cut, reset, flooded, or against the rules.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rpcgauge_trial::Schedule;

use super::case::{Case, Outcome, Over, fail};
use super::floods;
use super::server::*;
use crate::support::frames::{frame, goaway, reset, settings};
use crate::support::serve;

const NO_ERROR: u32 = 0;
const REFUSED_STREAM: u32 = 7;
const HTTP_1_1_REQUIRED: u32 = 0xd;
const PUSH_PROMISE: u8 = 5;

fn case(name: &'static str, outcome: Outcome) -> Case {
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

/// Servers that say this of each request and close.
fn cut(case: Case, responses: Vec<fn(u32) -> Vec<u8>>) -> Case {
    responses.into_iter().fold(case, |case, response| {
        case.server(responds_and_closes(response))
    })
}

/// Servers that say this of each request.
fn saying(case: Case, sayings: Vec<fn(u32) -> Vec<u8>>) -> Case {
    sayings
        .into_iter()
        .fold(case, |case, response| case.server(responds(response)))
}

/// The first bytes.
fn first(bytes: Vec<u8>, n: usize) -> Vec<u8> {
    bytes[..n].to_vec()
}

fn cuts() -> Vec<Case> {
    let closed = || fail(&["connection-closed"]);
    vec![
        case("cut before SETTINGS", closed())
            .server(http2(b"", |_, _| Then::Close))
            .server(http2(first(settings(), 5), |_, _| Then::Close)),
        cut(
            case("cut before the head", closed()),
            vec![|_| vec![], |id| first(head(id), 3), |id| first(head(id), 9)],
        ),
        cut(
            case("cut in the head", closed()),
            vec![
                |id| first(head(id), 12),
                |id| frame(HEADERS, 0, id, &[0x88]),
                |id| {
                    [
                        frame(HEADERS, 0, id, &[0x88]),
                        frame(CONTINUATION, 0, id, &[]),
                    ]
                    .concat()
                },
            ],
        ),
        cut(case("cut after the head", closed()), vec![head]),
        cut(
            case("cut in the body", closed()),
            vec![
                |id| [head(id), first(data(id, 0, b"body"), 9)].concat(),
                |id| [head(id), first(data(id, 0, b"body"), 11)].concat(),
                |id| [head(id), data(id, 0, &[0, 0, 0])].concat(),
            ],
        ),
        cut(
            case("cut before or in the trailers", closed()),
            vec![
                |id| [head(id), data(id, 0, &message(b"yes"))].concat(),
                |id| {
                    let whole = grpc(id);
                    let length = whole.len();
                    first(whole, length - 1)
                },
            ],
        ),
        every_cut(),
        case("reset", fail(&["connection-reset"])).server(http2(settings(), |request, stream| {
            let _ = stream.write_all(&head(request.stream));
            // What was said is to arrive before.
            std::thread::sleep(Duration::from_millis(20));
            Then::Reset
        })),
    ]
}

/// A whole response, cut after each of its bytes; the request before it on each connection has it
/// whole.
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
    let codes = (0..=0xf).filter(|code| ![REFUSED_STREAM, HTTP_1_1_REQUIRED].contains(code));
    let many = |case: Case, n: usize| case.server(responds(move |id| reset(id, 8).repeat(n)));
    vec![
        codes.fold(
            case("RST_STREAM, any other code", fail(&["stream-reset"])),
            |case, code| case.server(responds(move |id| reset(id, code))),
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
            case(
                "RST_STREAM with HTTP_1_1_REQUIRED",
                fail(&["wrong-protocol"]),
            ),
            vec![|id| reset(id, HTTP_1_1_REQUIRED)],
        ),
        saying(
            case(
                "RST_STREAM after the head or in the body",
                fail(&["stream-reset"]),
            ),
            vec![|id| [head(id), reset(id, 2)].concat(), |id| {
                [head(id), data(id, 0, &[0, 0]), reset(id, 2)].concat()
            }],
        ),
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
            // Of the two on the first connection one is processed, and answered after GOAWAY.
            .server(http2(settings(), |request, stream| {
                let response = match (request.connection, request.stream) {
                    (0, 1) => vec![],
                    (0, _) => [goaway(1, NO_ERROR), grpc(1)].concat(),
                    (_, stream) => grpc(stream),
                };
                let _ = stream.write_all(&response);
                Then::GoOn
            }))
            // None is processed.
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
        saying(
            case("GOAWAY with HTTP_1_1_REQUIRED", fail(&["wrong-protocol"])),
            vec![|_| goaway(0, HTTP_1_1_REQUIRED)],
        ),
        saying(
            case("GOAWAY that takes back another", fail(&["protocol"])),
            vec![|id| [goaway(id, NO_ERROR), goaway(id + 2, NO_ERROR)].concat()],
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

fn rules() -> Vec<Case> {
    let refused = || fail(&["protocol"]);
    vec![
        case("settings with values they cannot have", refused())
            .server(responds(|_| settings_of(&[(2, 2)])))
            .server(responds(|_| settings_of(&[(4, 1 << 31)])))
            .server(responds(|_| settings_of(&[(5, 16_383)])))
            .server(responds(|_| settings_of(&[(5, 1 << 24)]))),
        case("WINDOW_UPDATE beyond the largest window", refused())
            .server(responds(|id| window_update(id, (1 << 31) - 1)))
            .server(responds(|_| window_update(0, (1 << 31) - 1)))
            .server(responds(|_| {
                settings_of(&[(4, (1 << 31) - 1)])
                    .into_iter()
                    .chain(window_update(0, (1 << 31) - 1))
                    .collect()
            })),
        case("WINDOW_UPDATE by 0", refused())
            .server(responds(|id| window_update(id, 0)))
            .server(responds(|_| window_update(0, 0))),
        case("more DATA than the window", refused())
            .server(responds(|id| {
                let acknowledged = frame(SETTINGS, ACK, 0, &[]);
                [acknowledged, head(id), data(id, 0, &[0; 200])].concat()
            }))
            .server(responds(|id| {
                [head(id), data(id, 0, &[0; 70_000])].concat()
            }))
            .with(|trial| {
                trial.limits.stream_window = 100;
                trial.limits.connection_window = 65_535;
                trial.limits.max_frame_size = 1 << 17;
            }),
        saying(
            case("DATA on a closed stream", Outcome::Answered),
            vec![|id| [grpc(id), data(id, 0, b"more")].concat()],
        ),
        saying(
            case("frames on streams that are not open", refused()),
            vec![
                |id| head(id + 2),
                |id| data(id + 2, 0, b"x"),
                |id| window_update(id + 2, 1),
                |_| head(2),
                |_| head(0),
                |_| reset(0, 8),
            ],
        ),
        saying(
            case("frames out of order", refused()),
            vec![
                |id| data(id, 0, b"before the head"),
                |id| [frame(HEADERS, 0, id, &[0x88]), frame(PING, 0, 0, &[0; 8])].concat(),
                |id| frame(CONTINUATION, END_HEADERS, id, &[0x88]),
                |id| [head(id), headers(id, 0, &[("a", "b")])].concat(),
                |id| frame(PUSH_PROMISE, END_HEADERS, id, &[0, 0, 0, 2]),
            ],
        ),
        saying(
            case("frames of a wrong length", refused()),
            vec![
                |_| frame(PING, 0, 0, b"short"),
                |_| frame(SETTINGS, 0, 0, b"12345"),
                |_| frame(SETTINGS, ACK, 0, b"123456"),
                |_| frame(7, 0, 0, b"short"),
                |id| frame(3, 0, id, b"123"),
                |id| frame(WINDOW_UPDATE, 0, id, b"123"),
                |id| frame(HEADERS, END_HEADERS | 8, id, &[9, 0x88]),
                |id| [head(id), frame(DATA, 8, id, &[9, b'x'])].concat(),
                |id| [head(id), data(id, 0, &[0; 16_385])].concat(),
            ],
        ),
    ]
}

fn others() -> Vec<Case> {
    vec![
        case("HTTP/1.1 in place of HTTP/2", fail(&["wrong-protocol"])).server(http2(
            "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n",
            |_, _| Then::Close,
        )),
        case("no HTTP", fail(&["wrong-protocol"]))
            .server(http2("SSH-2.0-OpenSSH_9.6\r\n", |_, _| Then::Close))
            .server(http2([0xff; 100], |_, _| Then::Close)),
        case("response byte by byte", Outcome::Answered).server(http2(
            settings(),
            |request, stream| {
                let gap = Duration::from_micros(200);
                match drip(stream, &grpc(request.stream), gap) {
                    true => Then::GoOn,
                    false => Then::Close,
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
