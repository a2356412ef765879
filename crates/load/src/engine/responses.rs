//! A call on its way back: from the input on its connection until it succeeds, fails, or is sent again.

use std::io;
use std::ops::Range;

use rpcgauge_trial::{ConnectionUse, FailureKind};
use rpcgauge_wire::Failure;

use super::Engine;
use super::failure_kinds::{self, TOO_LATE, is_lost};
use super::inbox::{Arrival, Content};
use super::ledger::CallEnd;
use super::messages::Unread;
use super::streaming;
use crate::clock;
use crate::error::LoadError;
use crate::secrets::without_values;

impl Engine<'_, '_, '_> {
    pub(super) fn process(&mut self, arrival: Arrival) -> Result<(), LoadError> {
        let index = arrival.origin.index;
        let Some(open) = self.pool.origin(arrival.origin) else {
            return Ok(());
        };
        if !arrival.has_rest {
            open.unprocessed -= 1;
        }
        match arrival.content {
            Content::Bytes(range) => self.take_input(index, range, arrival.at),
            Content::End(error) => self.lose(index, error, arrival.at),
        }
    }

    /// Passes bytes of the inbox, read at `at`, to the connection's HTTP client.
    fn take_input(&mut self, index: usize, bytes: Range<usize>, at: u64) -> Result<(), LoadError> {
        let Some(open) = self.pool.open(index) else {
            return Ok(());
        };
        let was_over = open.client.is_closed();
        let bytes = self.inbox.bytes(bytes);
        let seen = match &mut self.streams {
            None => {
                let mut events = self.ledger.events(&mut self.ended, at);
                open.client.input(bytes, &mut events);
                events.seen
            }
            Some(streams) => {
                let (ledger, messages) = (&mut self.ledger, &mut self.messages);
                let events = streams.events(ledger, messages, &mut self.ended, at);
                streaming::take_input(bytes, events, &mut open.client)
            }
        };
        // Counted immediately, whether calls succeed or fail, because the counts of bytes must never
        // decrease.
        open.client.count_received_prefix(seen.prefixes);
        open.client.count_received_marks(seen.marks);
        let has_output = open.has_output();
        let is_over = open.client.is_closed();
        if seen.going_away {
            self.pool.note_going_away(index);
        }
        if is_over && !was_over {
            self.pool.note_end_by_server(index);
        }
        self.end_calls(index, at, None)?;
        if has_output {
            self.pool.mark_to_write(index);
        }
        self.pool.queue(index);
        if is_over {
            self.pool.end(index, at);
        }
        Ok(())
    }

    /// Ends the calls on a connection whose transport ended (`error` is `None`, and no write failed) or
    /// failed.
    pub(super) fn lose(
        &mut self,
        index: usize,
        error: Option<io::Error>,
        at: u64,
    ) -> Result<(), LoadError> {
        let Some(open) = self.pool.open(index) else {
            return Ok(());
        };
        let error = error.or(open.write_error.take());
        let orderly = error.is_none();
        match &mut self.streams {
            None => {
                let mut events = self.ledger.events(&mut self.ended, at);
                open.client.end_of_input(orderly, &mut events);
            }
            Some(streams) => {
                let (ledger, messages) = (&mut self.ledger, &mut self.messages);
                let events = streams.events(ledger, messages, &mut self.ended, at);
                streaming::end_input(orderly, events, &mut open.client);
            }
        }
        self.pool.note_end_by_server(index);
        self.end_calls(index, at, error.as_ref())?;
        self.pool.end(index, at);
        Ok(())
    }

    pub(super) fn end_calls(
        &mut self,
        index: usize,
        at: u64,
        broken: Option<&io::Error>,
    ) -> Result<(), LoadError> {
        let mut ended = std::mem::take(&mut self.ended);
        for (token, end) in ended.drain(..) {
            match end {
                CallEnd::Complete => self.complete(token, at)?,
                CallEnd::StreamComplete => self.complete_stream(token, at, false)?,
                CallEnd::Enough => {
                    self.complete_stream(token, at, true)?;
                    self.pool.cancel(index, token);
                }
                CallEnd::GivenUp => {
                    self.complete(token, at)?;
                    self.pool.cancel(index, token);
                }
                CallEnd::Failed(failure) => self.fail_or_retry(token, at, &failure, broken),
            }
            if self.trial.connection_use == ConnectionUse::PerCall {
                self.pool.close_after_call(index);
            }
        }
        self.ended = ended;
        Ok(())
    }

    /// Reads a complete response and ends its call.
    pub(super) fn complete(&mut self, token: u64, read_at: u64) -> Result<(), LoadError> {
        let Some(call) = self.ledger.calls.get(token) else {
            return Ok(());
        };
        self.pool.note_response(call.connection);
        if call.is_out_of_time(read_at) {
            self.end_call(token, read_at, Err(TOO_LATE));
            return Ok(());
        }
        if self.timed {
            call.stamps.received = clock::now();
        }
        if let Err(kind) = call.response.finish() {
            self.fail_response(token, read_at, kind);
            return Ok(());
        }
        let call_number = call.number;
        let (done, read) = self.messages.read(call, read_at);
        self.beat(done);
        match read {
            Ok(()) => self.end_call(token, done, Ok(())),
            Err(Unread::Failed(kind, error)) => {
                let call = self.ledger.calls.get(token);
                let own = call.map_or(&[][..], |call| self.messages.own_fields(call));
                let text = without_values(&error.0, own);
                self.end_call(token, done, Err((kind, &text)));
            }
            Err(Unread::Wrong(error)) => {
                let call = call_number;
                return Err(LoadError::WrongResponse { call, error });
            }
        }
        Ok(())
    }

    /// Ends a call whose response [`Response::finish`](super::response::Response::finish) rejected.
    #[cold]
    pub(super) fn fail_response(&mut self, token: u64, at: u64, kind: FailureKind) {
        let call = self.ledger.calls.get(token);
        let text =
            call.map(|call| without_values(&call.response.text, self.messages.own_fields(call)));
        self.end_call(token, at, Err((kind, &text.unwrap_or_default())));
    }

    /// Ends a call that failed with its connection, or arranges for it to be sent again.
    #[cold]
    fn fail_or_retry(
        &mut self,
        token: u64,
        at: u64,
        failure: &Failure,
        broken: Option<&io::Error>,
    ) {
        let Some(call) = self.ledger.calls.get(token) else {
            return;
        };
        // After the deadline, the reason does not matter, and it is too late for a retry.
        if call.is_out_of_time(at) {
            return self.end_call(token, at, Err(TOO_LATE));
        }
        let index = call.connection;
        // A server that was silent for a long time may still have received the call.
        let lost = broken.is_some_and(is_lost);
        let traffic = self.pool.traffic_of(index);
        let proved = traffic.received.header > 0;
        if !lost && self.ledger.retry(token, failure, proved) {
            return;
        }
        // If the connection ended before any request byte left, this request was never sent.
        if traffic.sent.header == 0 {
            self.ledger.take_back_sent(token);
        }
        let kind = failure_kinds::of_wire(failure, broken);
        let text = match broken {
            Some(error) => format!("{failure}: {error}"),
            None => failure.to_string(),
        };
        self.end_call(token, at, Err((kind, &text)));
    }
}
