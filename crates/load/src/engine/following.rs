//! What the bytes that came mean for the calls.

use std::io;
use std::ops::Range;

use rpcgauge_wire::{Closing, Event, Failure, Sink};

use super::Engine;
use super::answer::Rules;
use super::calls::Calls;
use super::checking::Held;
use super::connection::State;
use super::inbox::{Arrival, Content};
use super::kinds::{TOO_LATE, is_lost};
use crate::error::LoadError;
use crate::failure::FailureKind;
use crate::trial::ConnectionUse;

/// A call that the input just read has ended.
#[derive(Debug)]
pub(super) struct Ended {
    token: u64,
    how: End,
}

/// How the input ends a call.
#[derive(Debug)]
enum End {
    /// The answer is complete.
    Complete,
    /// The rest of the answer is not waited for: what came of it fails the call.
    GivenUp,
    Failed(Failure),
}

impl Engine<'_, '_, '_> {
    /// Follows what came, unless its connection is gone by now.
    pub(super) fn follow(&mut self, arrival: Arrival) -> Result<(), LoadError> {
        let index = arrival.origin.index;
        let connection = &mut self.connections[index];
        if connection.generation != arrival.origin.generation {
            return Ok(());
        }
        if let Some(open) = connection.open() {
            open.waiting -= u32::from(!arrival.has_rest);
        }
        match arrival.content {
            Content::Bytes(range) => self.take_input(index, range, arrival.at),
            Content::End(error) => self.lose(index, error, arrival.at),
        }
    }

    /// Gives bytes of the inbox, read at `at`, to the connection's client.
    fn take_input(&mut self, index: usize, bytes: Range<usize>, at: u64) -> Result<(), LoadError> {
        let State::Open(open) = &mut self.connections[index].state else {
            return Ok(());
        };
        let was_over = open.client.is_closed();
        let rules = &self.rules;
        let mut following =
            Following::new(&mut self.calls, &mut self.ended, rules, &mut self.held, at);
        open.client.input(self.inbox.bytes(bytes), &mut following);
        let Following {
            prefixes,
            marks,
            going_away,
            ..
        } = following;
        // At once, whatever becomes of the calls: bytes that are counted must never become fewer.
        open.client.count_received_prefix(prefixes);
        open.client.count_received_marks(marks);
        let replies = !open.client.is_all_sent() || open.stream.holds_output();
        let is_over = open.client.is_closed();
        if going_away {
            self.note_going_away(index);
        }
        if is_over && !was_over {
            self.connections[index].ended_by_server();
        }
        self.end_calls(index, at, None)?;
        if replies {
            self.mark_dirty(index);
        }
        self.queue(index);
        if is_over {
            self.end_connection(index, at);
        }
        Ok(())
    }

    /// The transport ended (`error` none, and writing never failed) or broke: the calls on it end.
    pub(super) fn lose(
        &mut self,
        index: usize,
        error: Option<io::Error>,
        at: u64,
    ) -> Result<(), LoadError> {
        let State::Open(open) = &mut self.connections[index].state else {
            return Ok(());
        };
        let error = error.or(open.broken.take());
        let rules = &self.rules;
        let mut following =
            Following::new(&mut self.calls, &mut self.ended, rules, &mut self.held, at);
        open.client.end_of_input(error.is_none(), &mut following);
        self.connections[index].ended_by_server();
        self.end_calls(index, at, error.as_ref())?;
        self.end_connection(index, at);
        Ok(())
    }

    /// Ends the calls that the last input ended.
    fn end_calls(
        &mut self,
        index: usize,
        at: u64,
        broken: Option<&io::Error>,
    ) -> Result<(), LoadError> {
        let mut ended = std::mem::take(&mut self.ended);
        for Ended { token, how } in ended.drain(..) {
            match how {
                End::Complete => self.complete(token, at)?,
                End::GivenUp => {
                    self.complete(token, at)?;
                    self.cancel(index, token);
                }
                End::Failed(failure) => self.fail_or_retry(token, at, &failure, broken),
            }
            if self.trial.connection_use == ConnectionUse::PerCall {
                self.close_after_call(index);
            }
        }
        self.ended = ended;
        Ok(())
    }

    /// Ends a call that its connection failed, or has it sent again.
    #[cold]
    fn fail_or_retry(
        &mut self,
        token: u64,
        at: u64,
        failure: &Failure,
        broken: Option<&io::Error>,
    ) {
        if self.is_too_late(token, at) {
            return self.end_call(token, at, Err(TOO_LATE));
        }
        // What was silent for long may have the call all the same.
        let lost = broken.is_some_and(is_lost);
        if !lost && self.retry(token, failure) {
            return;
        }
        self.take_back_unsent(token);
        let kind = FailureKind::of_wire(failure, broken);
        let text = match broken {
            Some(error) => format!("{failure}: {error}"),
            None => failure.to_string(),
        };
        self.end_call(token, at, Err((kind, &text)));
    }

    /// A call was not sent where its connection ended before a byte of any request left.
    fn take_back_unsent(&mut self, token: u64) {
        let Some(call) = self.calls.get(token) else {
            return;
        };
        let sent = self.connections[call.connection].traffic().sent;
        if call.measured && call.retries == 0 && sent.header == 0 {
            self.recorder.not_sent(call.due);
        }
    }

    /// Closes a connection that takes no more calls and has none, unless that is done already.
    fn end_connection(&mut self, index: usize, at: u64) {
        if self.connections[index].open().is_some() {
            self.say_goodbye(index);
            self.close(index, at);
        }
    }
}

/// Follows the events of one connection into its calls.
struct Following<'f> {
    calls: &'f mut Calls,
    ended: &'f mut Vec<Ended>,
    rules: &'f Rules<'f>,
    held: &'f mut Held,
    /// When what they tell of was read, ns.
    at: u64,
    /// Bytes of bodies that are gRPC's message prefixes, and so framing.
    prefixes: u64,
    /// Bytes of headers that are the server's marks, which are there for the trial alone.
    marks: u64,
    /// The server said that it ends the connection.
    going_away: bool,
}

impl<'f> Following<'f> {
    fn new(
        calls: &'f mut Calls,
        ended: &'f mut Vec<Ended>,
        rules: &'f Rules<'f>,
        held: &'f mut Held,
        at: u64,
    ) -> Following<'f> {
        Following {
            calls,
            ended,
            rules,
            held,
            at,
            prefixes: 0,
            marks: 0,
            going_away: false,
        }
    }
}

impl Sink for Following<'_> {
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
                    self.marks += call.answer.head(self.rules, status, fields, end);
                }
            }
            Event::Body { token, data } => {
                if let Some(call) = self.calls.get(token) {
                    let (prefixes, too_large) = call.answer.body(data, self.held);
                    self.prefixes += prefixes;
                    if too_large {
                        self.ended.push(Ended {
                            token,
                            how: End::GivenUp,
                        });
                    }
                }
            }
            Event::Trailers { token, fields } => {
                if let Some(call) = self.calls.get(token) {
                    self.marks += call.answer.trailers(self.rules, fields);
                }
            }
            Event::Complete { token } => self.ended.push(Ended {
                token,
                how: End::Complete,
            }),
            Event::Failed { token, failure } => self.ended.push(Ended {
                token,
                how: End::Failed(failure),
            }),
            Event::Closing { reason } => {
                self.going_away |= matches!(reason, Closing::GoAway { .. });
            }
            Event::Interim { .. } => {}
        }
    }
}
