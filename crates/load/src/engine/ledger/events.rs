//! What a connection's events mean for its calls.

use rpcgauge_wire::{Closing, Event, Failure, Sink};

use super::in_flight::InFlight;
use crate::engine::response::Held;
use crate::trial::Trial;

/// How input ends a call.
#[derive(Debug)]
pub(crate) enum CallEnd {
    Complete,
    /// The rest of the response is not waited for: what came of it fails the call.
    GivenUp,
    Failed(Failure),
}

/// Takes the events of one connection and notes in its calls what they say.
pub(crate) struct CallEvents<'l> {
    pub(super) calls: &'l mut InFlight,
    /// Calls that the input has ended, by their tokens.
    pub(super) ended: &'l mut Vec<(u64, CallEnd)>,
    pub(super) trial: &'l Trial,
    pub(super) held: &'l mut Held,
    /// When the bytes were read, ns.
    pub(super) at: u64,
    pub(crate) seen: Seen,
}

/// What events say about the connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// Bytes of bodies that are gRPC's message prefixes, and so framing.
    pub(crate) prefixes: u64,
    /// Bytes of headers that are the server's marks, which are there for the trial alone.
    pub(crate) marks: u64,
    /// The server said that it ends the connection.
    pub(crate) going_away: bool,
}

impl Sink for CallEvents<'_> {
    /// Always inlined: where an event is made its kind is known, and nothing is left of the `match`.
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
                    self.seen.marks += call.response.head(self.trial, status, fields, end);
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
            Event::Interim { .. } => {}
        }
    }
}
