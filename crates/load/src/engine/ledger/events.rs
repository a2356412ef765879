//! Applies a connection's events to its calls.

use rpcgauge_trial::{ErrorSample, FailureKind};
use rpcgauge_wire::{Closing, Event, Failure, Sink};

use super::in_flight::InFlight;
use crate::engine::response::Held;
use crate::trial::Trial;

/// How input ended a call.
#[derive(Debug)]
pub(crate) enum CallEnd {
    Complete,
    /// The server completed the response of a streaming call.
    StreamComplete,
    /// The streaming call has received all that it wanted; the rest is not awaited.
    Enough,
    /// The call failed because of the received part of the response; the rest is not awaited.
    GivenUp,
    Failed(Failure),
}

/// Receives the events of one connection and records them in its calls.
pub(crate) struct CallEvents<'l> {
    pub(in crate::engine) calls: &'l mut InFlight,
    /// Calls that the input has ended, by token.
    pub(in crate::engine) ended: &'l mut Vec<(u64, CallEnd)>,
    pub(in crate::engine) trial: &'l Trial,
    pub(in crate::engine) held: &'l mut Held,
    /// When the bytes were read, ns.
    pub(in crate::engine) at: u64,
    pub(crate) seen: Seen,
}

/// What some input's events reveal about the connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// Bytes of gRPC message prefixes in bodies; they count as framing.
    pub(crate) prefixes: u64,
    /// Bytes of the server's marks in headers, which exist only for the trial.
    pub(crate) marks: u64,
    /// Whether the server announced that it will close the connection.
    pub(crate) going_away: bool,
}

/// Why the server closed a WebSocket, in its own words.
#[cold]
fn closed_with(code: u16, reason: &str) -> String {
    match reason {
        "" => format!("the server closed the WebSocket with {code}"),
        reason => {
            let reason = ErrorSample::shortened(reason);
            format!("the server closed the WebSocket with {code}: {reason}")
        }
    }
}

impl Sink for CallEvents<'_> {
    /// Always inlined: wherever an event is created, its kind is known, so the `match` disappears.
    #[inline(always)]
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::FirstByte { token } => {
                if let Some(call) = self.calls.get(token) {
                    call.stamps.first_byte = self.at;
                }
            }
            Event::Head {
                token,
                status,
                fields,
                end,
            } => {
                if let Some(call) = self.calls.get(token) {
                    let expected = self.trial.status_of(call.mix_call);
                    let head = (status, fields, end);
                    self.seen.marks += call.response.head(self.trial, expected, head);
                }
            }
            Event::Body { token, data } => {
                if let Some(call) = self.calls.get(token) {
                    let (prefixes, too_large) = call.response.body(data, self.held);
                    self.seen.prefixes += prefixes;
                    if too_large {
                        self.ended.push((token, CallEnd::GivenUp));
                    }
                }
            }
            Event::Trailers { token, fields } => {
                if let Some(call) = self.calls.get(token) {
                    self.seen.marks += call.response.trailers(self.trial, fields);
                }
            }
            Event::Complete { token } => self.ended.push((token, CallEnd::Complete)),
            Event::Failed { token, failure } => self.ended.push((token, CallEnd::Failed(failure))),
            Event::Closing { reason } => {
                self.seen.going_away |= matches!(reason, Closing::GoAway { .. });
            }
            Event::ClosedWith {
                token,
                code,
                reason,
            } => {
                // A call that has received enough has ended, however the server then closes.
                let open = self.calls.get(token).filter(|call| !call.has_enough());
                if let Some(call) = open {
                    let kind = FailureKind::WebSocketClosed(code);
                    call.response.refuse(kind, closed_with(code, reason));
                    self.ended.push((token, CallEnd::GivenUp));
                }
            }
            // Only of WebSockets, whose messages are those of a streaming call.
            Event::Interim { .. } | Event::Message { .. } => {}
        }
    }
}
