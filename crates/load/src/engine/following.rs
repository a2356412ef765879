//! What the bytes that came mean for the calls.

use std::io;
use std::ops::Range;

use rpcgauge_wire::{Closing, Event, Failure};

use super::Engine;
use super::answer::Rules;
use super::calls::Calls;
use super::connection::State;
use super::inbox::{Arrival, Content};
use super::kinds::{TOO_LATE, is_lost};
use crate::error::LoadError;
use crate::failure::FailureKind;

/// A call that the input just read has ended.
#[derive(Debug)]
pub(super) struct Ended {
    token: u64,
    /// `None` when the answer is complete.
    failure: Option<Failure>,
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
        let (calls, ended, rules) = (&mut self.calls, &mut self.ended, &self.rules);
        let mut apart = CountedApart::default();
        let mut going_away = false;
        let was_over = open.client.is_closed();
        open.client.input(self.inbox.bytes(bytes), &mut |event| {
            going_away |= is_goaway(&event);
            apart += follow_event(calls, ended, rules, at, event);
        });
        // At once, whatever becomes of the calls: bytes that are counted must never become fewer.
        open.client.count_received_prefix(apart.prefixes);
        open.client.count_received_marks(apart.marks);
        let replies = !open.client.is_all_sent() || open.stream.holds_output();
        let ends = !was_over && open.client.is_closed();
        if going_away {
            self.note_going_away(index);
        }
        if ends {
            self.connections[index].ended_by_server();
        }
        self.end_calls(index, at, None)?;
        if replies {
            self.mark_dirty(index);
        }
        self.queue(index);
        self.close_if_over(index, at);
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
        let (calls, ended, rules) = (&mut self.calls, &mut self.ended, &self.rules);
        open.client.end_of_input(error.is_none(), &mut |event| {
            follow_event(calls, ended, rules, at, event);
        });
        self.connections[index].ended_by_server();
        self.end_calls(index, at, error.as_ref())?;
        if self.connections[index].open().is_some() {
            self.close(index, at);
        }
        Ok(())
    }

    /// Ends the calls that the last input ended.
    fn end_calls(
        &mut self,
        index: usize,
        at: u64,
        broken: Option<&io::Error>,
    ) -> Result<(), LoadError> {
        let lost = broken.is_some_and(is_lost);
        let mut ended = std::mem::take(&mut self.ended);
        for Ended { token, failure } in ended.drain(..) {
            match failure {
                None => self.complete(token, at)?,
                Some(_) if self.is_too_late(token, at) => self.end_call(token, at, Err(TOO_LATE)),
                // What was silent for long may have the call all the same.
                Some(failure) if !lost && self.retry(token, &failure) => {}
                Some(failure) => {
                    let kind = FailureKind::of_wire(&failure, broken);
                    let text = match broken {
                        Some(error) => format!("{failure}: {error}"),
                        None => failure.to_string(),
                    };
                    self.end_call(token, at, Err((kind, &text)));
                }
            }
            self.close_after_call(index);
        }
        self.ended = ended;
        Ok(())
    }

    fn close_if_over(&mut self, index: usize, at: u64) {
        let over = self.connections[index]
            .open()
            .is_some_and(|open| open.client.is_closed());
        if over {
            self.say_goodbye(index);
            self.close(index, at);
        }
    }
}

fn is_goaway(event: &Event<'_>) -> bool {
    matches!(
        event,
        Event::Closing {
            reason: Closing::GoAway { .. }
        }
    )
}

/// Received bytes that are not what HTTP takes them for.
#[derive(Debug, Clone, Copy, Default)]
struct CountedApart {
    /// Of bodies: gRPC's message prefixes, which are framing.
    prefixes: u64,
    /// Of headers: the server's marks, which are there for the trial alone.
    marks: u64,
}

impl std::ops::AddAssign for CountedApart {
    fn add_assign(&mut self, other: CountedApart) {
        self.prefixes += other.prefixes;
        self.marks += other.marks;
    }
}

/// Follows one event into its call. Returns which of its bytes are to be counted apart.
fn follow_event(
    calls: &mut Calls,
    ended: &mut Vec<Ended>,
    rules: &Rules<'_>,
    at: u64,
    event: Event<'_>,
) -> CountedApart {
    let mut apart = CountedApart::default();
    match event {
        Event::FirstByte { token } => {
            if let Some(call) = calls.get(token) {
                call.stamps.first_byte = at;
            }
        }
        Event::Head {
            token,
            status,
            fields,
            end,
        } => {
            if let Some(call) = calls.get(token) {
                apart.marks = call.answer.head(rules, status, fields, end);
            }
        }
        Event::Body { token, data } => {
            if let Some(call) = calls.get(token) {
                let before = call.answer.prefix_bytes();
                call.answer.body(data);
                apart.prefixes = call.answer.prefix_bytes() - before;
            }
        }
        Event::Trailers { token, fields } => {
            if let Some(call) = calls.get(token) {
                apart.marks = call.answer.trailers(rules, fields);
            }
        }
        Event::Complete { token } => ended.push(Ended {
            token,
            failure: None,
        }),
        Event::Failed { token, failure } => ended.push(Ended {
            token,
            failure: Some(failure),
        }),
        Event::Interim { .. } | Event::Closing { .. } => {}
    }
    apart
}
