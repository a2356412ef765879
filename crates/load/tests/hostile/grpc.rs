//! Invalid gRPC responses in valid HTTP/2, one of each kind. The unit tests of rpcgauge-wire cover every
//! form.

use rpcgauge_trial::{Fault, Schedule};

use super::case::{Case, Outcome, fail};
use super::http2::{case, saying};
use super::server::*;

/// A valid head, this body, and valid trailers.
fn with_body(stream: u32, body: &[u8]) -> Vec<u8> {
    let end = trailers(stream, &[("grpc-status", "0")]);
    [head(stream), data(stream, 0, body), end].concat()
}

/// A head that contains a status but does not end the stream.
fn open_head(stream: u32, status: &'static str) -> Vec<u8> {
    headers(stream, 0, &[OK, GRPC, ("grpc-status", status)])
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = statuses();
    cases.extend(messages());
    cases
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
            case("grpc-status that does not exist", fail(&["grpc-invalid"])),
            vec![|id| grpc_with(id, &[("grpc-status", "17")])],
        ),
        saying(
            case(
                "grpc-status in a head that does not end the stream",
                fail(&["protocol"]),
            ),
            vec![|id| [open_head(id, "5"), data(id, END_STREAM, &[])].concat()],
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
            case("response that breaks gRPC's rules", fail(&["protocol"])),
            vec![
                |id| headers(id, END_STREAM, &[OK, GRPC, ("grpc-status", "0")]),
                |id| with_body(id, &[0, 0, 0, 0, 9, b'x']),
                |id| grpc_with(id, &[("x-a", "b")]),
            ],
        ),
        saying(
            case(
                "giant message that is announced and never sent",
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
            case(
                "compression that was not requested",
                fail(&["content-encoding"]),
            ),
            vec![|id| {
                let head = headers(id, 0, &[OK, GRPC, ("grpc-encoding", "br")]);
                let end = trailers(id, &[("grpc-status", "0")]);
                [head, data(id, 0, &[1, 0, 0, 0, 1, b'x']), end].concat()
            }],
        ),
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
                |id| headers(id, END_STREAM, &[OK]),
            ],
        ),
        saying(
            case("status 502 of a proxy", fail(&["http-502"])),
            vec![|id| {
                let html = ("content-type", "text/html");
                let head = headers(id, 0, &[(":status", "502"), html]);
                [head, data(id, END_STREAM, b"<html>")].concat()
            }],
        ),
    ]
}
