//! Applies a connection's events to streaming calls.

use rpcgauge_trial::{FailureKind, Pace, StreamForm};
use rpcgauge_wire::{Client, Event, Sink};

use super::{Alarm, CallStream, Sends, Streams};
use crate::engine::Engine;
use crate::engine::failure_kinds::TOO_LATE;
use crate::engine::ledger::{Call, CallEnd, CallEvents, Ledger, Seen};
use crate::engine::messages::{Messages, Unread};
use crate::engine::response::NextMessage;
use crate::error::LoadError;
use crate::measurement::MessageFigures;

/// Receives the events of one connection, like [`CallEvents`], and takes the messages out of bodies.
pub(in crate::engine) struct StreamEvents<'l, 'b, 'r> {
    calls: CallEvents<'l>,
    streams: &'l mut Streams,
    messages: &'l mut Messages<'b, 'r>,
    figures: &'l mut MessageFigures,
}

impl Sink for StreamEvents<'_, '_, '_> {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Body { token, data } => self.body(token, data),
            Event::Complete { token } => {
                self.last_line(token);
                self.calls.ended.push((token, CallEnd::StreamComplete));
            }
            event => self.calls.take(event),
        }
    }
}

impl StreamEvents<'_, '_, '_> {
    /// Returns what was processed to the windows of the exchanges, and what the events revealed.
    pub(in crate::engine) fn release(self, client: &mut Client) -> Seen {
        for (exchange, bytes) in self.streams.released.drain(..) {
            client.release(exchange, bytes);
        }
        self.calls.seen
    }

    /// Takes the messages out of a piece of a body.
    fn body(&mut self, token: u64, mut data: &[u8]) {
        let Self {
            calls,
            streams,
            messages,
            figures,
        } = self;
        let Some(call) = calls.calls.get(token) else {
            return;
        };
        if let Some(stream) = &call.stream {
            streams.released.push((stream.exchange, data.len()));
            if stream.is_over {
                return;
            }
        }
        if !streams.settings.form.server_streams() {
            return calls.take(Event::Body { token, data });
        }
        let before = call.response.prefix_bytes();
        let end = loop {
            match call.response.next_message(&mut data, calls.held) {
                NextMessage::Incomplete => break None,
                NextMessage::Unreadable => break Some(CallEnd::GivenUp),
                NextMessage::Complete => {}
            }
            let end = streams.message((token, call), calls.at, messages, figures);
            call.response.end_message(calls.held);
            if end.is_some() {
                break end;
            }
        };
        calls.seen.prefixes += call.response.prefix_bytes() - before;
        if let Some(stream) = &mut call.stream {
            stream.is_over = end.is_some();
        }
        calls.ended.extend(end.map(|end| (token, end)));
    }

    /// Takes the last line of a body that ends without a line feed.
    fn last_line(&mut self, token: u64) {
        let Some(call) = self.calls.calls.get(token) else {
            return;
        };
        let is_over = call.stream.as_ref().is_none_or(|stream| stream.is_over);
        if !is_over && call.response.ends_message() {
            let at = self.calls.at;
            let end = self
                .streams
                .message((token, call), at, self.messages, self.figures);
            self.calls.ended.extend(end.map(|end| (token, end)));
        }
    }
}

impl Streams {
    /// Checks and counts a message that was read at `at` (ns). Returns how it ends its call, if it does.
    fn message(
        &mut self,
        (token, call): (u64, &mut Call),
        at: u64,
        messages: &mut Messages<'_, '_>,
        figures: &mut MessageFigures,
    ) -> Option<CallEnd> {
        let (_, read) = messages.read(call, at);
        if let Err(Unread::Failed(kind, error)) = read {
            call.response.refuse(kind, error.0);
            return Some(CallEnd::GivenUp);
        }
        let (due, measured) = (call.due, call.measured);
        let stream = call.stream.as_mut()?;
        if measured {
            stream.count(at, due, figures);
        }
        stream.received += 1;
        stream.last_at = at;
        let answered = stream.unanswered.pop_front();
        stream.out_of_turn |= answered.is_none();
        if let (Pace::InTurn(pause_ms), Sends::Messages) = (self.settings.pace, stream.sends) {
            stream.next_due = at.saturating_add(pause_ms.saturating_mul(1_000_000));
            self.set_alarm(stream.next_due, token, Alarm::Message);
        }
        (self.settings.receive == Some(stream.received)).then_some(CallEnd::Enough)
    }
}

impl CallStream {
    /// Counts a message of a measured call that was due at `call_due` (ns).
    fn count(&self, at: u64, call_due: u64, figures: &mut MessageFigures) {
        figures.received += 1;
        if self.received == 0 {
            figures.note_first(at.saturating_sub(call_due));
        } else {
            figures.note_gap(at.saturating_sub(self.last_at));
        }
        if let Some(due) = self.unanswered.front() {
            figures.note_latency(at.saturating_sub(*due));
        }
    }
}

impl Engine<'_, '_, '_> {
    /// Ends a call whose response the server has completed. If the call `has_enough`, it is ended without that.
    pub(in crate::engine) fn complete_stream(
        &mut self,
        token: u64,
        read_at: u64,
        has_enough: bool,
    ) -> Result<(), LoadError> {
        let call = self.ledger.calls.get(token);
        let (Some(call), Some(streams)) = (call, &self.streams) else {
            return Ok(());
        };
        let Some(stream) = &call.stream else {
            return Ok(());
        };
        let figures = self.ledger.recorder.messages.as_mut();
        if let Some(figures) = figures.filter(|_| call.measured) {
            let is_paired = !stream.out_of_turn && (has_enough || stream.sent == stream.received);
            let is_bidirectional = streams.settings.form == StreamForm::Bidirectional;
            figures.unpaired += u64::from(is_bidirectional && !is_paired);
            figures.ended_early += u64::from(!has_enough && stream.was_ended_early());
        }
        if !streams.settings.form.server_streams() && !has_enough {
            return self.complete(token, read_at);
        }
        let received = stream.received;
        self.pool.note_response(call.connection);
        if call.is_out_of_time(read_at) {
            self.end_call(token, read_at, Err(TOO_LATE));
        } else if !has_enough && let Err(kind) = call.response.finish() {
            self.fail_response(token, read_at, kind);
        } else if let Some(expected) = self.trial.expect.messages.filter(|n| *n != received) {
            let text = format!("the number of messages is {received} instead of {expected}");
            self.end_call(token, read_at, Err((FailureKind::Check, &text)));
        } else {
            self.end_call(token, read_at, Ok(()));
        }
        Ok(())
    }
}

/// Returns a sink for the events of bytes that were read at `at` (ns), if calls stream.
pub(in crate::engine) fn events<'l, 'b, 'r>(
    streams: &'l mut Option<Streams>,
    ledger: &'l mut Ledger<'_>,
    messages: &'l mut Messages<'b, 'r>,
    ended: &'l mut Vec<(u64, CallEnd)>,
    at: u64,
) -> Option<StreamEvents<'l, 'b, 'r>> {
    let streams = streams.as_mut()?;
    let (calls, figures) = ledger.stream_events(ended, at);
    Some(StreamEvents {
        calls,
        streams,
        messages,
        figures: figures?,
    })
}
