//! Decides which calls may be sent again: those that the server has certainly not processed, and those that
//! are idempotent.

use rpcgauge_wire::{ErrorCode, Failure, Protocol, Stage};

use crate::trial::CallStyle;

/// Maximum number of retries of a call. A server that processed none of these attempts will not process the
/// next one either.
const MAX_RETRIES: u32 = 3;

/// Idempotent methods (RFC 9110 §9.2.2).
const IDEMPOTENT: [&str; 6] = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"];

/// Everything except the failure that affects whether a call may be retried.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent<'a> {
    pub(super) protocol: Protocol,
    pub(super) style: &'a CallStyle,
    pub(super) retries: u32,
    /// Whether any byte of its response arrived.
    pub(super) response_begun: bool,
    /// Whether its connection had carried a response before.
    pub(super) connection_proved: bool,
}

pub(super) fn may_retry(failure: &Failure, sent: Sent<'_>) -> bool {
    if sent.retries >= MAX_RETRIES || sent.response_begun {
        return false;
    }
    match failure {
        // A server that rejects this HTTP version will reject it again.
        Failure::Reset { code } | Failure::GoneAway { code }
            if *code == ErrorCode::HTTP_1_1_REQUIRED =>
        {
            false
        }
        // A server may close an idle connection just as a request is sent on it. HTTP/1.1 does not reveal
        // whether the server received the request, so only an idempotent method is sent again (RFC 9110
        // §9.2.2), and only on a connection that has carried a response: no server considers a new connection
        // idle. HTTP/2 has GOAWAY for this.
        Failure::Closed {
            stage: Stage::BeforeHead,
        } => {
            let CallStyle::Http { method } = sent.style else {
                return false;
            };
            sent.protocol == Protocol::Http1
                && sent.connection_proved
                && IDEMPOTENT.contains(&method.as_str())
        }
        failure => failure.not_processed(),
    }
}

#[cfg(test)]
mod tests {
    use rpcgauge_wire::LimitExceeded;

    use super::*;

    #[test]
    fn what_may_be_sent_again() {
        let reset = |code| Failure::Reset { code };
        let refused = reset(ErrorCode::REFUSED_STREAM);
        let gone = |code| Failure::GoneAway { code };
        let closed = |stage| Failure::Closed { stage };
        let before = closed(Stage::BeforeHead);
        let post = CallStyle::Http {
            method: "POST".to_owned(),
        };
        let put = CallStyle::Http {
            method: "PUT".to_owned(),
        };
        let grpc = CallStyle::Grpc { subtype: None };
        let table = [
            (refused, &post, true),
            (refused, &grpc, true),
            (gone(ErrorCode::NO_ERROR), &grpc, true),
            (gone(ErrorCode::ENHANCE_YOUR_CALM), &post, true),
            (gone(ErrorCode::HTTP_1_1_REQUIRED), &grpc, false),
            (reset(ErrorCode::HTTP_1_1_REQUIRED), &grpc, false),
            (reset(ErrorCode::CANCEL), &put, false),
            (reset(ErrorCode::INTERNAL_ERROR), &grpc, false),
            (before, &put, true),
            (before, &post, false),
            (before, &grpc, false),
            (closed(Stage::InHead), &put, false),
            (closed(Stage::InBody), &put, false),
            (LimitExceeded::BodyBytes(1).into(), &put, false),
        ];
        for (failure, style, again) in table {
            let sent = Sent {
                protocol: Protocol::Http1,
                style,
                retries: 0,
                response_begun: false,
                connection_proved: true,
            };
            assert_eq!(may_retry(&failure, sent), again, "{failure} {style:?}");
            let last = Sent {
                retries: MAX_RETRIES - 1,
                ..sent
            };
            assert_eq!(may_retry(&failure, last), again, "{failure} {style:?}");
            let often = Sent {
                retries: MAX_RETRIES,
                ..sent
            };
            let begun = Sent {
                response_begun: true,
                ..sent
            };
            assert!(!may_retry(&failure, often) && !may_retry(&failure, begun));
            let new = Sent {
                connection_proved: false,
                ..sent
            };
            assert_eq!(may_retry(&failure, new), again && failure.not_processed());
            let http2 = Sent {
                protocol: Protocol::Http2,
                ..sent
            };
            assert_eq!(may_retry(&failure, http2), again && failure.not_processed());
        }
    }
}
