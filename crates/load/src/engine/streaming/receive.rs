//! Applies a connection's events to streaming calls.

use rpcgauge_trial::{FailureKind, Pace, StreamForm};
use rpcgauge_wire::{Client, Event, Fields, Sink};

use super::reader::{Part, StreamReader, Unreadable};
use super::{Alarm, CallStream, Pairing, Sends, Streams};
use crate::Histogram;
use crate::engine::Engine;
use crate::engine::failure_kinds::TOO_LATE;
use crate::engine::ledger::{Call, CallEnd, CallEvents, Ledger, Seen};
use crate::engine::messages::{Messages, Unread};
use crate::engine::response::{Held, Response};
use crate::engine::stall::Stall;
use crate::error::LoadError;
use crate::histogram::record;
use crate::message_recorder::MessageRecorder;
use crate::trial::CallStyle;

/// Receives the events of one connection, like [`CallEvents`], and takes the messages out of bodies.
pub(in crate::engine) struct StreamEvents<'l, 'b, 'r> {
    calls: CallEvents<'l>,
    streams: &'l mut Streams,
    messages: &'l mut Messages<'b, 'r>,
    figures: &'l mut MessageRecorder,
    /// The last stall of this process. Times that it is part of are left out.
    stall: Stall,
}

impl Sink for StreamEvents<'_, '_, '_> {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Head {
                token,
                status,
                fields,
                end,
            } => {
                if !self.head(token, (status, fields, end)) {
                    self.calls.take(event);
                    self.refuse_compressed_text(token);
                }
            }
            Event::Body { token, data } if self.body(token, data) => {}
            Event::Message { token, data } => {
                self.body(token, data);
                self.end_message(token);
            }
            Event::Trailers { token, fields } => {
                let call = self.calls.calls.get(token);
                let stream = call.and_then(|call| call.stream.as_mut());
                if let Some(reader) = stream.and_then(|stream| stream.reader.as_mut()) {
                    reader.trailers(&fields);
                }
                self.calls.take(event);
            }
            Event::Complete { token } => {
                if self.ends_message(token) {
                    self.end_message(token);
                }
                self.calls.ended.push((token, CallEnd::StreamComplete));
            }
            event => self.calls.take(event),
        }
    }
}

impl StreamEvents<'_, '_, '_> {
    /// Processes the head of a gRPC response with several messages. Returns false for other responses.
    fn head(&mut self, token: u64, head: (u16, Fields<'_>, bool)) -> bool {
        let trial = self.calls.trial;
        let (Some(call), CallStyle::Grpc { subtype }) =
            (self.calls.calls.get(token), &trial.request.style)
        else {
            return false;
        };
        let reader = call.stream.as_mut().and_then(|it| it.reader.as_mut());
        let names_encoding = reader.and_then(|it| it.head(head, subtype.as_deref()));
        if let Some(names_encoding) = names_encoding {
            let (status, fields, _) = head;
            let response = &mut call.response;
            response.stream_head(trial, (status, fields), names_encoding);
        }
        names_encoding.is_some()
    }

    /// Ends a call whose stream of text is compressed: its messages cannot be found.
    fn refuse_compressed_text(&mut self, token: u64) {
        let Some(call) = self.calls.calls.get(token) else {
            return;
        };
        let streams = call.stream.as_mut().filter(|it| it.reader.is_some());
        if let Some(stream) = streams
            && call.response.refuse_compressed()
        {
            stream.is_over = true;
            self.calls.ended.push((token, CallEnd::GivenUp));
        }
    }

    /// Takes the messages out of a piece of a body. Returns false for a response with one message, and for one
    /// that has failed, whose body is a text.
    fn body(&mut self, token: u64, mut data: &[u8]) -> bool {
        let CallEvents {
            calls,
            ended,
            held,
            at,
            seen,
            ..
        } = &mut self.calls;
        let Some(call) = calls.get(token) else {
            return true;
        };
        let Some(mut stream) = call.stream.take() else {
            return false;
        };
        self.streams.release(stream.exchange, data.len());
        let has_messages = stream.reader.is_some() && !call.response.has_failed();
        if has_messages && !stream.is_over {
            let before = stream.prefix_bytes();
            let end = loop {
                match stream.next_message(&mut call.response, &mut data, held) {
                    Ok(false) => break None,
                    Ok(true) => {}
                    Err(end) => break Some(end),
                }
                let (done, read) = self.messages.read_of_stream(call, stream.received, *at);
                let figures = (&mut *self.figures, self.stall);
                let key = self.messages.response_key(call);
                let of = (token, &mut *call, &mut *stream);
                let end = self.streams.message(of, (read, key), done, figures);
                call.response.end_message(held);
                // A message for which there was no room may have changed it.
                call.response.keep = self.messages.keep(call);
                if end.is_some() {
                    break end;
                }
            };
            seen.prefixes += stream.prefix_bytes() - before;
            stream.is_over = end.is_some();
            ended.extend(end.map(|end| (token, end)));
        }
        let is_taken = has_messages || stream.is_over;
        call.stream = Some(stream);
        is_taken
    }

    /// Whether the end of a body completes a message.
    fn ends_message(&mut self, token: u64) -> bool {
        let call = self.calls.calls.get(token);
        let stream = call.and_then(|call| call.stream.as_ref());
        let reader = stream.and_then(|stream| stream.reader.as_ref());
        reader.is_some_and(StreamReader::ends_message)
    }

    /// Takes a message whose bytes do not tell where it ends.
    fn end_message(&mut self, token: u64) {
        let Some(call) = self.calls.calls.get(token) else {
            return;
        };
        let Some(mut stream) = call.stream.take() else {
            return;
        };
        if !stream.is_over && !call.response.has_failed() {
            let at = self.calls.at;
            let (done, read) = self.messages.read_of_stream(call, stream.received, at);
            let key = self.messages.response_key(call);
            let of = (token, &mut *call, &mut *stream);
            let figures = (&mut *self.figures, self.stall);
            let end = self.streams.message(of, (read, key), done, figures);
            call.response.end_message(self.calls.held);
            call.response.keep = self.messages.keep(call);
            stream.is_over = end.is_some();
            self.calls.ended.extend(end.map(|end| (token, end)));
        }
        call.stream = Some(stream);
    }
}

impl Streams {
    /// A sink for the events of bytes that were read at `at` (ns).
    pub(in crate::engine) fn events<'l, 'b, 'r>(
        &'l mut self,
        ledger: &'l mut Ledger<'_>,
        messages: &'l mut Messages<'b, 'r>,
        ended: &'l mut Vec<(u64, CallEnd)>,
        at: u64,
    ) -> Option<StreamEvents<'l, 'b, 'r>> {
        let stall = ledger.last_stall;
        let (calls, figures) = ledger.stream_events(ended, at);
        Some(StreamEvents {
            calls,
            streams: self,
            messages,
            figures: figures?,
            stall,
        })
    }

    /// Counts a message with this key that arrived, or was decoded, at `at` (ns) and was `read`. Returns how it ends its
    /// call, if it does.
    fn message(
        &mut self,
        (token, call, stream): (u64, &mut Call, &mut CallStream),
        (read, key): (Result<(), Unread>, Option<String>),
        at: u64,
        (figures, stall): (&mut MessageRecorder, Stall),
    ) -> Option<CallEnd> {
        if let Err(Unread::Failed(kind, error)) = read {
            call.response.refuse(kind, error.0);
            return Some(CallEnd::GivenUp);
        }
        let answered = stream.unanswered.take(key.as_deref());
        if call.measured {
            stream.count(answered, at, call.due, (figures, stall));
        }
        stream.received += 1;
        stream.last_at = at;
        stream.has_pair |= answered.is_some();
        stream.out_of_turn |= answered.is_none() && !self.by_key;
        let is_answered = answered.is_some() && stream.unanswered.is_empty();
        if let (Pace::InTurn(pause_ms), Sends::Messages, true) =
            (self.settings.pace, stream.sends, is_answered)
        {
            stream.next_due = at.saturating_add(pause_ms.saturating_mul(1_000_000));
            self.set_alarm(stream.next_due, token, Alarm::Message);
        }
        let is_answered = stream.sends == Sends::Nothing && stream.unanswered.is_empty();
        let is_enough = match self.settings.receive {
            Some(receive) => stream.received == receive,
            None => self.ends_when_answered() && is_answered,
        };
        is_enough.then_some(CallEnd::Enough)
    }
}

impl CallStream {
    fn prefix_bytes(&self) -> u64 {
        self.reader.as_ref().map_or(0, StreamReader::prefix_bytes)
    }

    /// Stores the bytes of the next message in `response`. Returns whether it is complete, or how the call ends if
    /// something else follows.
    fn next_message(
        &mut self,
        response: &mut Response,
        data: &mut &[u8],
        held: &mut Held,
    ) -> Result<bool, CallEnd> {
        let Some(reader) = &mut self.reader else {
            return Ok(false);
        };
        loop {
            match reader.next(data) {
                Ok(Some(Part::Start { compressed })) => {
                    response.begin_message(compressed);
                    if response.has_failed() {
                        return Err(CallEnd::GivenUp);
                    }
                }
                Ok(Some(Part::Bytes(payload))) => response.store(payload, held),
                Ok(Some(Part::End)) => return Ok(true),
                Ok(None) => return Ok(false),
                Err(Unreadable::Grpc) => {
                    if let Some(outcome) = reader.finish() {
                        response.finish_stream(&outcome);
                    }
                    return Err(CallEnd::GivenUp);
                }
                Err(Unreadable::Text(limit)) => {
                    response.refuse(FailureKind::TooLarge, limit.to_string());
                    return Err(CallEnd::GivenUp);
                }
            }
        }
    }

    /// Counts a message of a measured call that was due at `call_due`. It is the response to the message that was due at
    /// `answered`, if to any (ns).
    fn count(
        &self,
        answered: Option<u64>,
        at: u64,
        call_due: u64,
        (figures, stall): (&mut MessageRecorder, Stall),
    ) {
        figures.received += 1;
        let note = |times: &mut Histogram, from: u64| {
            if !stall.hit(from, at) {
                record(times, at.saturating_sub(from));
            }
        };
        if self.received == 0 {
            note(&mut figures.first, call_due);
        } else {
            note(&mut figures.gap, self.last_at);
        }
        match answered {
            Some(due) => note(&mut figures.latency, due),
            None => figures.unmatched += u64::from(self.unanswered.keyed().is_some()),
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
        let Some(stream) = &mut call.stream else {
            return Ok(());
        };
        stream.is_complete = !has_enough;
        let is_short = self.trial.expect.all_sent && stream.was_ended_early();
        if !streams.settings.form.server_streams() && !is_short {
            return self.complete(token, read_at);
        }
        let outcome = stream.reader.as_mut().and_then(StreamReader::finish);
        if let Some(outcome) = outcome.filter(|_| !has_enough) {
            call.response.finish_stream(&outcome);
        }
        let (sent, received) = (stream.sent, stream.received);
        self.pool.note_response(call.connection);
        let read_at = self.messages.decoded_at(read_at);
        if call.is_out_of_time(read_at) {
            self.end_call(token, read_at, Err(TOO_LATE));
        } else if let Err(kind) = call.response.finish() {
            self.fail_response(token, read_at, kind);
        } else if is_short {
            let text = format!("the server ended the call after {sent} of its messages");
            self.end_call(token, read_at, Err((FailureKind::Check, &text)));
        } else if let Some(expected) = self.trial.expect.messages.filter(|n| *n != received) {
            let text = format!("the number of messages is {received} instead of {expected}");
            self.end_call(token, read_at, Err((FailureKind::Check, &text)));
        } else {
            self.end_call(token, read_at, Ok(()));
        }
        Ok(())
    }
}

impl MessageRecorder {
    /// Counts the messages that have no response when their call ends or is retried.
    pub(crate) fn count_unanswered(&mut self, stream: &CallStream) {
        self.unanswered += stream.unanswered.keyed().unwrap_or(0);
    }

    /// Counts how a measured call ended.
    pub(crate) fn count_call(&mut self, stream: &CallStream, pace: Pace, succeeded: bool) {
        let is_early = succeeded && stream.is_complete && stream.was_ended_early();
        self.ended_early += u64::from(is_early);
        if self.form == StreamForm::Bidirectional {
            self.count_unanswered(stream);
            match stream.pairing(pace, succeeded) {
                Pairing::Paired => self.paired += 1,
                Pairing::Unpaired => self.unpaired += 1,
                Pairing::Unknown => {}
            }
        }
    }
}

/// Passes bytes to an HTTP client, and returns what the events revealed. What was processed is returned to the windows of
/// the exchanges.
#[inline(never)]
pub(in crate::engine) fn take_input(
    bytes: &[u8],
    events: Option<StreamEvents<'_, '_, '_>>,
    client: &mut Client,
) -> Seen {
    let Some(mut events) = events else {
        return Seen::default();
    };
    client.input(bytes, &mut events);
    for (exchange, bytes) in events.streams.released.drain(..) {
        client.release(exchange, bytes);
    }
    events.calls.seen
}

/// Notes that an HTTP client's input ends.
#[inline(never)]
pub(in crate::engine) fn end_input(
    orderly: bool,
    events: Option<StreamEvents<'_, '_, '_>>,
    client: &mut Client,
) {
    if let Some(mut events) = events {
        client.end_of_input(orderly, &mut events);
    }
}
