//! gRPC responses that HTTP/2 has nothing against.

use rpcgauge_trial::{Fault, Schedule};

use super::case::{Case, Outcome, Over, fail};
use super::server::*;
use crate::support::frames::frame;

fn case(name: &'static str, outcome: Outcome) -> Case {
    Case::new(name, Over::Grpc, outcome)
}

/// Servers that say this of each request.
fn saying(case: Case, sayings: Vec<fn(u32) -> Vec<u8>>) -> Case {
    sayings
        .into_iter()
        .fold(case, |case, response| case.server(responds(response)))
}

/// Servers whose responses have these trailers, in place of `grpc-status: 0`.
fn ending(case: Case, ends: &[&'static [(&'static str, &'static str)]]) -> Case {
    ends.iter().fold(case, |case, &fields| {
        case.server(responds(move |id| grpc_with(id, fields)))
    })
}

/// A good head, these bytes of body, and a good end.
fn with_body(stream: u32, body: &[u8]) -> Vec<u8> {
    let end = trailers(stream, &[("grpc-status", "0")]);
    [head(stream), data(stream, 0, body), end].concat()
}

/// A head with a status that does not end the stream.
fn open_head(stream: u32, status: &'static str) -> Vec<u8> {
    headers(stream, 0, &[OK, GRPC, ("grpc-status", status)])
}

/// A good response but for its end.
fn with_open_trailers(stream: u32) -> Vec<u8> {
    let end = headers(stream, 0, &[("grpc-status", "0")]);
    [head(stream), data(stream, 0, &message(b"yes")), end].concat()
}

pub(crate) fn cases() -> Vec<Case> {
    [statuses(), messages(), heads()]
        .into_iter()
        .flatten()
        .collect()
}

fn statuses() -> Vec<Case> {
    vec![
        saying(
            case(
                "trailers-only response with a status",
                fail(&["grpc-not-found"]),
            ),
            vec![|id| headers(id, END_STREAM, &[OK, GRPC, ("grpc-status", "5")])],
        ),
        saying(
            case("trailers-only response that is OK", fail(&["protocol"])),
            vec![|id| headers(id, END_STREAM, &[OK, GRPC, ("grpc-status", "0")])],
        ),
        saying(
            case("grpc-status absent", fail(&["protocol"])),
            vec![
                |id| grpc_with(id, &[("x-a", "b")]),
                |id| [head(id), data(id, END_STREAM, &message(b"yes"))].concat(),
                |id| headers(id, END_STREAM, &[OK, GRPC]),
            ],
        ),
        saying(
            case(
                "grpc-status in a head that does not end the stream",
                fail(&["protocol"]),
            ),
            vec![
                |id| {
                    let body = data(id, END_STREAM, &message(b"yes"));
                    [open_head(id, "0"), body].concat()
                },
                |id| [open_head(id, "5"), data(id, END_STREAM, &[])].concat(),
            ],
        )
        .saying("grpc-status is in a head without END_STREAM"),
        saying(
            case(
                "grpc-status in a head that does not end the stream, and no end",
                fail(&["deadline"]),
            ),
            vec![|id| open_head(id, "5")],
        )
        .until_the_deadline()
        .saying("grpc-status is in a head without END_STREAM"),
        saying(
            case(
                "grpc-status in trailers that do not end the stream",
                fail(&["protocol"]),
            ),
            vec![with_open_trailers, |id| {
                [with_open_trailers(id), data(id, END_STREAM, &[])].concat()
            }],
        )
        .saying("trailers without END_STREAM"),
        ending(
            case("grpc-status that is not a number", fail(&["protocol"])),
            &[
                &[("grpc-status", "OK")],
                &[("grpc-status", "-1")],
                &[("grpc-status", "")],
                &[("grpc-status", "99999999999")],
            ],
        ),
        ending(
            case("grpc-status that does not exist", fail(&["grpc-invalid"])),
            &[&[("grpc-status", "17")], &[("grpc-status", "4294967295")]],
        ),
        ending(
            case("grpc-status twice, the same", Outcome::Answered),
            &[&[("grpc-status", "0"), ("grpc-status", "0")]],
        ),
        ending(
            case(
                "grpc-status twice, OK and then another",
                fail(&["protocol"]),
            ),
            &[&[("grpc-status", "0"), ("grpc-status", "13")]],
        ),
        ending(
            case("grpc-status twice, and then OK", fail(&["grpc-internal"])),
            &[&[("grpc-status", "13"), ("grpc-status", "0")]],
        ),
        case("grpc-message of 60,000 bytes", fail(&["grpc-internal"]))
            .server(|| {
                let words = "x".repeat(60_000);
                let said = [("grpc-status", "13"), ("grpc-message", words.as_str())];
                let end = block(&said);
                responds(move |id| {
                    let end = frame(HEADERS, END_HEADERS | END_STREAM, id, &end);
                    [head(id), end].concat()
                })()
            })
            .kept()
            .with(|trial| {
                trial.limits.max_frame_size = 1 << 16;
                trial.schedule = Schedule::Closed { in_flight: 100 };
                trial.stop.calls = Some(400);
            }),
    ]
}

fn messages() -> Vec<Case> {
    vec![
        saying(
            case(
                "message longer or shorter than its prefix says",
                fail(&["protocol"]),
            ),
            vec![
                |id| with_body(id, &[0, 0, 0, 0, 9, b'x']),
                |id| with_body(id, &[0, 0, 0, 0, 1, b'x', b'y']),
                |id| with_body(id, &[0, 0, 0]),
            ],
        ),
        saying(
            case("two messages, or none", fail(&["protocol"])),
            vec![|id| with_body(id, &message(b"yes").repeat(2)), |id| {
                with_body(id, &[])
            }],
        ),
        saying(
            case(
                "prefix of a giant message",
                Outcome::Fail(&["too-large"], Fault::Instrument),
            ),
            vec![|id| with_body(id, &[0, 0xff, 0xff, 0xff, 0xff, b'x'])],
        ),
        saying(
            case(
                "giant message that is stated and never sent",
                Outcome::Fail(&["too-large"], Fault::Instrument),
            ),
            vec![
                |id| [head(id), data(id, 0, &[0, 0xff, 0xff, 0xff, 0xff])].concat(),
                |id| {
                    let length = ("content-length", "18446744073709551615");
                    headers(id, 0, &[OK, GRPC, length])
                },
            ],
        ),
        saying(
            case("flag that no message has", fail(&["protocol"])),
            vec![|id| with_body(id, &[7, 0, 0, 0, 1, b'x'])],
        ),
        saying(
            case("compression that is not named", fail(&["protocol"])),
            vec![|id| with_body(id, &[1, 0, 0, 0, 1, b'x'])],
        ),
        saying(
            case(
                "compression that was not asked for",
                fail(&["content-encoding"]),
            ),
            vec![|id| {
                let head = headers(id, 0, &[OK, GRPC, ("grpc-encoding", "br")]);
                let end = trailers(id, &[("grpc-status", "0")]);
                [head, data(id, 0, &[1, 0, 0, 0, 1, b'x']), end].concat()
            }],
        ),
        saying(
            case("content-length that is wrong", fail(&["protocol"])),
            vec![|id| stated(id, "7"), |id| stated(id, "9"), |id| {
                stated(id, "-8")
            }],
        ),
    ]
}

/// A response of eight bytes that states another number.
fn stated(stream: u32, length: &str) -> Vec<u8> {
    let head = headers(stream, 0, &[OK, GRPC, ("content-length", length)]);
    let end = trailers(stream, &[("grpc-status", "0")]);
    [head, data(stream, 0, &message(b"yes")), end].concat()
}

fn heads() -> Vec<Case> {
    vec![
        saying(
            case("wrong content type", fail(&["content-type"])),
            vec![
                |id| headers(id, END_STREAM, &[OK, ("content-type", "text/html")]),
                |id| {
                    headers(
                        id,
                        END_STREAM,
                        &[OK, ("content-type", "application/grpc+json")],
                    )
                },
                |id| {
                    headers(
                        id,
                        END_STREAM,
                        &[OK, ("content-type", "application/grpcish")],
                    )
                },
                |id| headers(id, END_STREAM, &[OK]),
            ],
        ),
        saying(
            case("status 502 of something in between", fail(&["http-502"])),
            vec![|id| {
                let html = ("content-type", "text/html");
                let head = headers(id, 0, &[(":status", "502"), html]);
                [head, data(id, END_STREAM, b"<html>")].concat()
            }],
        ),
    ]
}
