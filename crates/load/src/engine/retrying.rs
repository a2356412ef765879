//! Sending calls again that the server did not process.
//!
//! A call is sent again where that cannot make the server do its work twice, or where doing it
//! twice is the same as once. It stays the same call: due when it was due, out of time when it was
//! to be, and in the end answered or failed once. Only the number of sends tells of it.

use rpcgauge_wire::{ErrorCode, Failure, Protocol, Stage};

use super::Engine;
use super::stamps::Stamps;
use crate::error::LoadError;
use crate::failure::FailureKind;
use crate::trial::{CallStyle, ConnectionUse};

/// How often a call is sent again at most. A server that takes none of so many sends takes no call.
const MOST_RETRIES: u32 = 3;

/// Methods whose effect is the same once and twice (RFC 9110 §9.2.2).
const IDEMPOTENT: [&str; 6] = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"];

/// What is known of a call that failed, beside how.
#[derive(Debug, Clone, Copy)]
struct Sent<'a> {
    protocol: Protocol,
    style: &'a CallStyle,
    /// How often it was sent again already.
    retries: u32,
    /// Whether a byte of an answer to it came.
    answer_begun: bool,
    /// Whether its connection had brought an answer before.
    connection_proved: bool,
}

/// Whether a call that failed so may be sent again.
fn may_retry(failure: &Failure, sent: Sent<'_>) -> bool {
    if sent.retries >= MOST_RETRIES || sent.answer_begun {
        return false;
    }
    match failure {
        // What the server will not do over this protocol it will not do at the second time.
        Failure::Reset { code } | Failure::GoneAway { code }
            if *code == ErrorCode::HTTP_1_1_REQUIRED =>
        {
            false
        }
        // A server may close a connection that it believes idle while a request is on its way. In
        // HTTP/1.1 nothing tells whether it saw the request, so that only a method whose effect is
        // the same twice is sent again (RFC 9110 §9.2.2), and on a new connection not even that:
        // no server believes it idle. HTTP/2 has GOAWAY to tell.
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

impl Engine<'_, '_, '_> {
    /// Whether a call that its connection failed is sent again. It then waits for a connection that
    /// has room: one that is going away has none.
    pub(super) fn retry(&mut self, token: u64, failure: &Failure) -> bool {
        let Some(call) = self.calls.get(token) else {
            return false;
        };
        let connection = &self.connections[call.connection];
        let sent = Sent {
            protocol: self.trial.target.protocol,
            style: &self.trial.request.style,
            retries: call.retries,
            answer_begun: call.stamps.first_byte != 0,
            connection_proved: connection.has_answered(),
        };
        if !may_retry(failure, sent) {
            return false;
        }
        call.retries += 1;
        // What was stamped is of a send that came to nothing.
        call.stamps = Stamps {
            begun: call.stamps.begun,
            ..Stamps::default()
        };
        call.answer.begin_again();
        self.unsent = None;
        self.to_retry.push_back(token);
        true
    }

    /// Sends calls again for which there is room now.
    #[cold]
    pub(super) fn send_again(&mut self, now: u64) -> Result<(), LoadError> {
        while let Some(&token) = self.to_retry.front() {
            // One whose deadline has passed meanwhile is over.
            if let Some(failed_on) = self.calls.get(token).map(|call| call.connection) {
                let Some(index) = self.place_for_retry(failed_on, now) else {
                    return Ok(());
                };
                self.send_on(token, index, now)?;
            }
            self.to_retry.pop_front();
        }
        Ok(())
    }

    /// Where a call is sent again: on any other open connection that takes one, else on the same if
    /// that still does. The schedule's share of each connection does not count here: the call has
    /// one already.
    fn place_for_retry(&mut self, failed_on: usize, now: u64) -> Option<usize> {
        match self.trial.connection_use {
            ConnectionUse::PerCall => self.next_with_room(now),
            ConnectionUse::Reuse => {
                let places = self.connections.len();
                (1..=places)
                    .map(|step| (failed_on + step) % places)
                    .find(|index| self.connections[*index].takes_calls())
            }
        }
    }

    fn send_on(&mut self, token: u64, index: usize, now: u64) -> Result<(), LoadError> {
        let Some(call) = self.calls.get(token) else {
            return Ok(());
        };
        call.connection = index;
        match self.trial.connection_use {
            ConnectionUse::Reuse => {
                self.send(token);
                self.queue(index);
                Ok(())
            }
            ConnectionUse::PerCall => self.connect(index, Some(token), now),
        }
    }

    /// Fails the calls that wait to be sent again, none of which can have a connection.
    pub(super) fn fail_retries(&mut self, kind: FailureKind, text: &str, now: u64) {
        while let Some(token) = self.to_retry.pop_front() {
            self.end_call(token, now, Err((kind, text)));
        }
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
                answer_begun: false,
                connection_proved: true,
            };
            assert_eq!(may_retry(&failure, sent), again, "{failure} {style:?}");
            let last = Sent {
                retries: MOST_RETRIES - 1,
                ..sent
            };
            assert_eq!(may_retry(&failure, last), again, "{failure} {style:?}");
            let often = Sent {
                retries: MOST_RETRIES,
                ..sent
            };
            let begun = Sent {
                answer_begun: true,
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
