//! A call on its way to its connection: it is due, begun, sent, and perhaps sent again.

use rpcgauge_trial::{ConnectionUse, FailureKind};
use rpcgauge_wire::StartError;

use super::Engine;
use super::failure_kinds::{NO_BODY, NOT_SENT, STALLED};
use super::ledger::{Beginning, CallFailure};
use super::messages::Next;
use super::phases::Phase;
use crate::clock;
use crate::error::LoadError;

/// Maximum number of calls taken from the schedule in one turn of the loop. At a rate, more calls may be due
/// than the loop can even fail. The stop flag, the network and the trial's end are checked between turns.
const MAX_PER_TURN: usize = 1024;

/// Maximum number of calls that fail together if no connection can be opened. Each attempt fails the calls
/// that became due since the previous one, which was at most a tenth of a second earlier.
const MAX_BATCH: u64 = 65_536;

impl Engine<'_, '_, '_> {
    /// Begins the calls that are due, while there is room.
    pub(super) fn begin_due(&mut self, now: u64) -> Result<(), LoadError> {
        if !self.ledger.to_retry.is_empty() {
            self.send_again(now)?;
        }
        self.more_are_due = false;
        let mut taken = 0;
        while let Some(due) = self.ledger.due_times.next() {
            if due > now || !self.phases.admits(&self.ledger, due) {
                break;
            }
            if taken == MAX_PER_TURN {
                self.more_are_due = true;
                break;
            }
            taken += 1;
            if self.ledger.requests_left == 0 {
                self.phases.requests_used_up();
                break;
            }
            let body = self.messages.next();
            match body {
                Next::Ready => self.waits_for_body = false,
                Next::Late => self.count_late_body(due),
                Next::UsedUp => {
                    self.phases.bodies_used_up();
                    break;
                }
            }
            if self.ledger.last_stall.hit(due, now) {
                // The calls that became due during the stall must not be sent now. They would form a burst
                // that is not in the schedule.
                self.fail_unbegun(STALLED, now);
                continue;
            }
            if self.ledger.calls.deadline_of(due) <= now {
                let failure = match body {
                    Next::Late => NO_BODY,
                    Next::Ready | Next::UsedUp => NOT_SENT,
                };
                self.fail_unbegun(failure, now);
                continue;
            }
            if body == Next::Late {
                break;
            }
            let Some(index) = self.pool.next_with_room(now) else {
                break;
            };
            self.ledger.due_times.take();
            self.begin(index, due, now)?;
            if self.trial.connection_use == ConnectionUse::Reuse {
                self.pool.queue(index);
            }
        }
        Ok(())
    }

    /// Begins and sends the calls of a rate that are due by `now`. It is called between reads so that a burst
    /// of responses, for example after a stall, does not delay these calls. If more calls are due than one
    /// turn takes, the next turns take them.
    pub(super) fn take_due_calls(&mut self, now: u64) -> Result<(), LoadError> {
        let Some(due) = self.ledger.due_times.next_arrival() else {
            return Ok(());
        };
        if due > now || self.more_are_due || !self.phases.admits(&self.ledger, due) {
            return Ok(());
        }
        self.begin_due(now)?;
        self.write_all()
    }

    /// Counts the due call that has no body yet, but only once.
    #[cold]
    fn count_late_body(&mut self, due: u64) {
        if !std::mem::replace(&mut self.waits_for_body, true) && self.phases.is_measured(due) {
            self.ledger.recorder.bodies_late += 1;
        }
    }

    fn begin(&mut self, index: usize, due: u64, now: u64) -> Result<(), LoadError> {
        // Earlier calls in this turn may have spent a while on encoding.
        let begun = if self.messages.decodes() {
            clock::now()
        } else {
            now
        };
        let phase = self.phases.phase;
        let beginning = Beginning {
            connection: index,
            due,
            begun,
            measured: self.phases.call_taken(due),
        };
        let (token, call) = self.ledger.begin(beginning, phase == Phase::Measured);
        call.verify = self.messages.verifies(call.number, phase);
        call.response.reset(self.messages.keep(call));
        match self.messages.take_streamed() {
            None => {}
            Some(Ok(body)) => call.body = Some(body),
            Some(Err(error)) => {
                self.end_call(token, begun, Err((FailureKind::Encode, &error.0)));
                self.pool.queue(index);
                return Ok(());
            }
        }
        self.send_on(token, index, begun)
    }

    /// Sends a call on the connection at `index`. If each call has its own connection, it is opened first.
    fn send_on(&mut self, token: u64, index: usize, now: u64) -> Result<(), LoadError> {
        match self.trial.connection_use {
            ConnectionUse::Reuse => self.send(token),
            ConnectionUse::PerCall => {
                let attempt = self.pool.connect(index, Some(token), now)?;
                self.follow(attempt);
            }
        }
        Ok(())
    }

    pub(super) fn send(&mut self, token: u64) {
        let Some(call) = self.ledger.calls.get(token) else {
            return;
        };
        let (index, mix_call) = (call.connection, call.mix_call);
        if self.timed && self.trial.connection_use == ConnectionUse::PerCall {
            call.stamps.connected = clock::now();
        }
        let outgoing = match self.messages.request(call) {
            Ok(outgoing) => outgoing,
            Err(error) => return self.fail_unsent(token, index, (FailureKind::Encode, &error.0)),
        };
        let Some(open) = self.pool.open(index) else {
            return;
        };
        let own = outgoing.own.as_ref();
        let head = own.map_or(&self.heads[mix_call], |own| &own.head);
        let body = &outgoing.body;
        let started = match &self.streams {
            None => open.client.start(head, body, token).map(|()| None),
            Some(streams) => open
                .client
                .open(head, body, streams.ends_with_first(), token)
                .map(|exchange| Some((exchange, outgoing.key.clone()))),
        };
        match started {
            Ok(exchange) => {
                if self.trial.keeps_detail {
                    open.unwritten.push(token);
                }
                // Counted here, because a call's own connection may have failed to open.
                let is_at_a_rate = self.ledger.due_times.is_at_a_rate();
                let late =
                    is_at_a_rate && self.phases.is_after_arrivals(clock::now(), &self.ledger);
                self.ledger.note_sent(token, late);
                self.pool.mark_to_write(index);
                if let Some((exchange, key)) = exchange {
                    self.note_opened(token, exchange, key, clock::now());
                }
            }
            Err(error) => {
                let kind = match error {
                    StartError::HeadTooLarge { .. } => FailureKind::HeadTooLarge,
                    StartError::Full | StartError::Closing => FailureKind::ConnectionClosed,
                };
                self.fail_unsent(token, index, (kind, &error.to_string()));
            }
        }
    }

    #[cold]
    fn fail_unsent(&mut self, token: u64, index: usize, failure: CallFailure<'_>) {
        self.end_call(token, clock::now(), Err(failure));
        self.pool.close_after_call(index);
    }

    /// Sends the calls to retry, while there is room.
    #[cold]
    fn send_again(&mut self, now: u64) -> Result<(), LoadError> {
        while let Some(&token) = self.ledger.to_retry.front() {
            // Absent if the call's deadline has passed in the meantime.
            if let Some(call) = self.ledger.calls.get(token) {
                let Some(index) = self.pool.place_for_retry(call.connection, now) else {
                    return Ok(());
                };
                call.connection = index;
                self.send_on(token, index, now)?;
                if self.trial.connection_use == ConnectionUse::Reuse {
                    self.pool.queue(index);
                }
            }
            self.ledger.to_retry.pop_front();
        }
        Ok(())
    }

    /// Fails the calls that are due or waiting for a retry, because no connection can be opened.
    #[cold]
    pub(super) fn fail_waiting(&mut self, failure: CallFailure<'_>, now: u64) {
        while let Some(token) = self.ledger.to_retry.pop_front() {
            self.end_call(token, now, Err(failure));
        }
        // Counted first: in a closed loop, each failure makes another call due.
        for _ in 0..self.ledger.due_times.waiting(now).min(MAX_BATCH) {
            match self.ledger.due_times.next() {
                Some(due) if due <= now && self.phases.admits(&self.ledger, due) => {
                    self.fail_unbegun(failure, now);
                }
                _ => break,
            }
        }
    }

    /// Takes the next call and fails it before it begins.
    #[cold]
    fn fail_unbegun(&mut self, failure: CallFailure<'_>, now: u64) {
        if let Some(due) = self.ledger.due_times.take() {
            self.waits_for_body = false;
            let measured = self.phases.call_taken(due);
            let ended = self.ledger.fail_unbegun(due, measured, failure, now);
            self.phases.call_ended(ended);
        }
    }
}
