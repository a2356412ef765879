//! Opens exchanges and sends their messages.

use rpcgauge_trial::{FailureKind, Pace, StreamForm};
use rpcgauge_wire::Exchange;

use super::{Alarm, Sends};
use crate::engine::Engine;
use crate::engine::event_loop::LATE_BODY_REST_NS;
use crate::engine::failure_kinds::{MESSAGE_TIMEOUT, NOTHING_IN_TIME};
use crate::engine::ledger::CallEnd;
use crate::engine::messages::Next;
use crate::engine::outgoing::Key;
use crate::error::LoadError;

/// Maximum number of messages that a call sends in one turn of the loop, so that other calls take turns.
const MAX_PER_TURN: usize = 64;

/// What became of a call's next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// It was sent, and another one may follow.
    Sent,
    /// There is no room for it.
    Blocked,
    /// Nothing can be sent until an alarm or an event.
    Waits,
}

impl Engine<'_, '_, '_> {
    /// Notes that a call was opened with its first message, which has this key, at `now`.
    pub(in crate::engine) fn note_opened(
        &mut self,
        token: u64,
        exchange: Exchange,
        key: Option<Key>,
        now: u64,
    ) {
        let call = self.ledger.calls.get(token);
        if let (Some(streams), Some(call)) = (&mut self.streams, call) {
            let stream = streams.opened(exchange, token, key, (call.due, now));
            call.stream = Some(Box::new(stream));
            self.ledger.recorder.message_sent(call.measured);
        }
    }

    /// Sends the messages that are due, and ends the calls whose time is over.
    #[inline(never)]
    pub(in crate::engine) fn send_messages(&mut self, now: u64) -> Result<(), LoadError> {
        while let Some((token, alarm)) = self.take_alarm(now) {
            match alarm {
                Alarm::Message => self.make_ready(token),
                Alarm::TimeOver => self.end_time(token, now)?,
                Alarm::Silence => self.check_silence(token, now),
            }
        }
        let Some(streams) = &mut self.streams else {
            return Ok(());
        };
        streams.forget_alarms(&self.ledger.calls);
        let blocked = std::mem::take(&mut streams.blocked);
        streams.ready.extend(blocked);
        for _ in 0..streams.ready.len() {
            let next = self.streams.as_mut().and_then(|s| s.ready.pop_front());
            let Some(token) = next else {
                break;
            };
            let mut attempt = Attempt::Sent;
            for _ in 0..MAX_PER_TURN {
                attempt = self.send_message(token, now);
                if attempt != Attempt::Sent {
                    break;
                }
            }
            let Some(streams) = &mut self.streams else {
                break;
            };
            match attempt {
                Attempt::Sent => streams.ready.push_back(token),
                Attempt::Blocked => streams.blocked.push(token),
                Attempt::Waits => {}
            }
        }
        Ok(())
    }

    /// When the loop must send messages next, ns: `now` if there are some that can be sent.
    #[inline(never)]
    pub(in crate::engine) fn next_message_at(&self, now: u64) -> u64 {
        let Some(streams) = &self.streams else {
            return u64::MAX;
        };
        let has_room = |token: &u64| {
            let call = self.ledger.calls.peek(*token)?;
            let exchange = call.stream.as_ref()?.exchange;
            let client = self.pool.client(call.connection)?;
            Some(!client.is_waiting(exchange))
        };
        let has_room = |token| has_room(token).unwrap_or(false);
        if !streams.ready.is_empty() || streams.blocked.iter().any(has_room) {
            now
        } else {
            streams.next_at()
        }
    }

    fn take_alarm(&mut self, now: u64) -> Option<(u64, Alarm)> {
        self.streams.as_mut()?.take_alarm(now)
    }

    fn make_ready(&mut self, token: u64) {
        if let Some(streams) = &mut self.streams {
            streams.ready.push_back(token);
        }
    }

    /// Sends the next message of a call, or the end of its request, if it is due and there is room.
    fn send_message(&mut self, token: u64, now: u64) -> Attempt {
        let call = self.ledger.calls.get(token);
        let (Some(streams), Some(call)) = (&mut self.streams, call) else {
            return Attempt::Waits;
        };
        let (index, call_due, measured) = (call.connection, call.due, call.measured);
        let Some((open, stream)) = self.pool.open(index).zip(call.stream.as_mut()) else {
            return Attempt::Waits;
        };
        let exchange = stream.exchange;
        if stream.sends == Sends::Nothing {
            return Attempt::Waits;
        }
        if open.client.is_waiting(exchange) {
            return Attempt::Blocked;
        }
        let mut ends = stream.sends == Sends::End;
        if !ends && stream.next_due > now {
            streams.set_alarm(stream.next_due, token, Alarm::Message);
            return Attempt::Waits;
        }
        if !ends {
            match self.messages.next() {
                Next::Ready => stream.waits_for_body = false,
                Next::Late => {
                    if !std::mem::replace(&mut stream.waits_for_body, true) && measured {
                        self.ledger.recorder.bodies_late += 1;
                    }
                    streams.set_alarm(now + LATE_BODY_REST_NS, token, Alarm::Message);
                    return Attempt::Waits;
                }
                Next::UsedUp => ends = true,
            }
        }
        let due = match streams.settings.pace {
            Pace::Unpaced => now,
            Pace::Rate(_) | Pace::InTurn(_) => stream.next_due,
        };
        let sent = if ends {
            stream.sends = Sends::Nothing;
            if streams.ends_when_answered() {
                if stream.unanswered.is_empty() {
                    streams.set_alarm(now, token, Alarm::TimeOver);
                }
                return Attempt::Waits;
            }
            open.client.end(exchange)
        } else {
            let number = call.number + stream.sent;
            let last = stream.is_next_last(streams) && !streams.is_closed_by_receiving();
            match self.messages.message(number, measured) {
                Ok((body, key)) => open
                    .client
                    .send(exchange, &body, last)
                    .map(|()| stream.note_sent(streams, key, due, call_due)),
                Err(error) => {
                    self.pool.cancel(index, token);
                    self.end_call(token, now, Err((FailureKind::Encode, &error.0)));
                    return Attempt::Waits;
                }
            }
        };
        // If the server has ended the call, its events say so.
        if sent.is_err() {
            return Attempt::Waits;
        }
        if !ends {
            self.ledger.recorder.message_sent(measured);
        }
        self.pool.mark_to_write(index);
        match streams.settings.pace {
            Pace::InTurn(_) => Attempt::Waits,
            Pace::Unpaced | Pace::Rate(_) => Attempt::Sent,
        }
    }

    /// Ends a call whose time is over: its request if it is still sending and a request can end, otherwise the call.
    fn end_time(&mut self, token: u64, now: u64) -> Result<(), LoadError> {
        let streams = self.streams.as_ref();
        let has_request_end = streams.is_none_or(|streams| !streams.ends_when_answered());
        let Some(call) = self.ledger.calls.get(token) else {
            return Ok(());
        };
        let index = call.connection;
        let has_begun = call.stamps.first_byte != 0;
        let Some(stream) = &mut call.stream else {
            return Ok(());
        };
        // A call that was sent again has two of these alarms.
        if std::mem::replace(&mut stream.time_is_over, true) {
            return Ok(());
        }
        let streams = self
            .trial
            .streaming
            .is_some_and(|of| of.form.server_streams());
        if stream.sends == Sends::Messages && has_request_end {
            stream.sends = Sends::End;
            self.make_ready(token);
        } else if has_begun && streams {
            self.ended.push((token, CallEnd::Enough));
            return self.end_calls(index, now, None);
        } else if streams {
            self.pool.cancel(index, token);
            self.end_call(token, now, Err(NOTHING_IN_TIME));
        }
        // A single response is awaited until the deadline.
        Ok(())
    }

    /// Fails a call that has waited too long for a message.
    fn check_silence(&mut self, token: u64, now: u64) {
        let call = self.ledger.calls.get(token);
        let (Some(streams), Some(call)) = (&mut self.streams, call) else {
            return;
        };
        let timeout_ms = streams.settings.message_timeout_ms;
        let (Some(stream), Some(timeout_ms)) = (&call.stream, timeout_ms) else {
            return;
        };
        let timeout = timeout_ms.saturating_mul(1_000_000);
        // Between the messages of a client that pauses, the server has nothing to respond to.
        let is_bidirectional = streams.settings.form == StreamForm::Bidirectional;
        let waits_since = match stream.unanswered.oldest() {
            None if is_bidirectional && !stream.out_of_turn => now,
            Some(due) => stream.last_at.max(due),
            None => stream.last_at,
        };
        let expires = waits_since.saturating_add(timeout);
        if expires > now {
            streams.set_alarm(expires, token, Alarm::Silence);
            return;
        }
        let index = call.connection;
        self.pool.cancel(index, token);
        self.end_call(token, now, Err(MESSAGE_TIMEOUT));
    }
}
