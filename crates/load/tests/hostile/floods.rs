//! Servers that send endlessly, or send more than a response may contain.

use std::io::Write;

use rpcgauge_trial::Fault;

use super::case::{Case, Outcome, fail};
use super::http2::case;
use super::server::*;

/// Memory for replies that a server does not read, plus the same amount while their buffer grows.
const QUEUED_REPLIES: i64 = 5 << 20;

pub(crate) fn cases() -> Vec<Case> {
    endless().into_iter().chain([giant_head()]).collect()
}

fn endless() -> Vec<Case> {
    let flood = || fail(&["flood"]);
    vec![
        case("CONTINUATION flood", flood()).server(responds_without_end_after(
            |id| frame(HEADERS, 0, id, &[0x88]),
            |id| frame(CONTINUATION, 0, id, &[]),
        )),
        case(
            "CONTINUATION flood with fields",
            Outcome::Fail(&["too-large"], Fault::Instrument),
        )
        .server(responds_without_end_after(
            |id| frame(HEADERS, 0, id, &[0x88]),
            |id| frame(CONTINUATION, 0, id, &block(&[("x-a", "b")]).repeat(1000)),
        )),
        case("PING flood whose acknowledgements are not read", flood())
            .server(responds_without_end(
                |_| frame(PING, 0, 0, b"12345678"),
                false,
            ))
            .holding(QUEUED_REPLIES),
        case(
            "SETTINGS flood whose acknowledgements are not read",
            flood(),
        )
        .server(responds_without_end(|_| settings_of(&[(4, 65_535)]), false))
        .holding(QUEUED_REPLIES),
        // One turn of the client's loop may read more of these frames than it can answer.
        case("PING flood", fail(&["deadline", "flood"]))
            .server(responds_without_end(
                |_| frame(PING, 0, 0, b"12345678"),
                true,
            ))
            .until_the_deadline()
            .holding(QUEUED_REPLIES),
        case("SETTINGS flood", fail(&["deadline", "flood"]))
            .server(responds_without_end(|_| settings_of(&[(4, 65_535)]), true))
            .until_the_deadline()
            .holding(QUEUED_REPLIES),
        case("flood of empty DATA", fail(&["deadline"]))
            .server(responds_without_end_after(head, |id| data(id, 0, b"")))
            .until_the_deadline(),
        // In the next two cases, only the call ends. Further calls on the connection would wait for a server
        // that never reads them.
        case("endless 1xx", flood())
            .server(responds_without_end(
                |id| headers(id, 0, &[(":status", "103")]),
                true,
            ))
            .per_call(),
        case(
            "body without an end",
            Outcome::Fail(&["too-large"], Fault::Instrument),
        )
        .server(responds_without_end_after(
            |id| [head(id), data(id, 0, &[0, 0x7f, 0, 0, 0])].concat(),
            |id| data(id, 0, &[7; 10_000]),
        ))
        .with(|trial| trial.expect.max_response_bytes = 1 << 20)
        .per_call(),
    ]
}

/// Answers each request with `before`, followed by `then` repeated endlessly.
fn responds_without_end_after(
    before: fn(u32) -> Vec<u8>,
    then: fn(u32) -> Vec<u8>,
) -> impl Fn() -> rpcgauge_trial::Address + Send + 'static {
    http2(settings(), move |request, stream| {
        if stream.write_all(&before(request.stream)).is_ok() {
            let many = then(request.stream).repeat(100);
            while stream.write_all(&many).is_ok() {}
        }
        Then::Close
    })
}

fn giant_head() -> Case {
    case(
        "giant head",
        Outcome::Fail(&["too-large"], Fault::Instrument),
    )
    .server(responds(|id| {
        long_headers(id, &block(&[OK, ("x-large", &"x".repeat(1 << 20))]))
    }))
    // An HPACK bomb: a field of 4,000 bytes is added to the table and then referenced 10,000 times, using one
    // byte each.
    .server(responds(|id| {
        let mut block = vec![0x88, 0x40, 1, b'x'];
        block.extend([0x7f, 0xa1, 0x1e]);
        block.extend([b'y'; 4000]);
        block.extend([0xbe; 10_000]);
        long_headers(id, &block)
    }))
}
