//! A call's way: begun when due, sent, ended, or out of time. `retrying` has the way back.

use rpcgauge_wire::StartError;

use super::Engine;
use super::ahead::Next;
use super::answer::{Answer, Keep};
use super::calls::Beginning;
use super::connection::State;
use super::kinds::{NO_BODY, NOT_CONNECTED, NOT_SENT, TOO_LATE};
use super::phases::Phase;
use super::source::Unread;
use super::stamps::stage_times;
use crate::clock;
use crate::error::LoadError;
use crate::failure::FailureKind;
use crate::schedule::Dues;
use crate::trial::ConnectionUse;

/// Calls that are taken from the schedule in one turn of the loop. A rate may bring more than the
/// loop can even fail, and the stop flag, the network and the trial's end are looked at in between.
const MOST_A_TURN: usize = 1024;

/// Calls that fail together where no connection can be made. Each attempt fails those that became due
/// since the one before, a tenth of a second at most.
const MOST_TOGETHER: usize = 65_536;

impl Engine<'_, '_, '_> {
    /// Begins the calls that are due and for which there is room.
    pub(super) fn begin_due(&mut self, now: u64) -> Result<(), LoadError> {
        if !self.to_retry.is_empty() {
            self.send_again(now)?;
        }
        self.more_are_due = false;
        let mut taken = 0;
        while let Some(due) = self.dues.next() {
            if due > now || !self.may_begin(due) {
                break;
            }
            if taken == MOST_A_TURN {
                self.more_are_due = true;
                break;
            }
            taken += 1;
            let body = self.source.next();
            match body {
                Next::Ready => self.waits_for_body = false,
                Next::Late => self.count_late_body(due),
                Next::UsedUp => {
                    self.used_up = true;
                    break;
                }
            }
            if now - due >= self.deadline {
                let (kind, text) = match body {
                    Next::Late => NO_BODY,
                    Next::Ready | Next::UsedUp => NOT_SENT,
                };
                self.fail_unbegun(kind, text, now);
                continue;
            }
            if body == Next::Late {
                break;
            }
            let Some(index) = self.next_with_room(now) else {
                break;
            };
            self.dues.take();
            self.begin(index, due, now)?;
            if self.trial.connection_use == ConnectionUse::Reuse {
                self.queue(index);
            }
        }
        Ok(())
    }

    /// Begins and sends the calls of a rate that are due by `now`. Between reads, so that a burst of
    /// answers, as after a stall, holds none of them up. Where there are more calls than one turn
    /// takes, they have their share in the next ones.
    pub(super) fn keep_pace(&mut self, now: u64) -> Result<(), LoadError> {
        let Dues::Arrivals {
            next: Some(due), ..
        } = self.dues
        else {
            return Ok(());
        };
        if due > now || self.more_are_due || !self.may_begin(due) {
            return Ok(());
        }
        self.begin_due(now)?;
        self.write_all()
    }

    /// Counts a call that is due and has no body yet, once.
    #[cold]
    fn count_late_body(&mut self, due: u64) {
        if !std::mem::replace(&mut self.waits_for_body, true) && due >= self.measured_from {
            self.recorder.bodies_late += 1;
        }
    }

    fn begin(&mut self, index: usize, due: u64, now: u64) -> Result<(), LoadError> {
        // The calls before it in this turn may have spent a while on encoding.
        let now = if self.source.decodes() {
            clock::now()
        } else {
            now
        };
        let measured = self.count_start(due);
        if measured {
            self.recorder.begun(due, now);
            self.measured_in_flight += 1;
        }
        let number = self.calls_begun;
        self.calls_begun += 1;
        let verified = self.phase == Phase::WarmUp && number < self.to_verify;
        let beginning = Beginning {
            number,
            connection: index,
            due,
            begun: now,
            measured,
            verified,
        };
        let (style, expect) = (&self.trial.request.style, &self.trial.expect);
        let token = self.calls.insert(beginning, || Answer::new(style, expect));
        if self.phase == Phase::Measured {
            self.most_in_flight = self.most_in_flight.max(self.calls.len());
        }
        let keep = match &self.checking {
            _ if verified || self.source.decodes() => Keep::Message,
            Some(_) => Keep::Compressed,
            None => Keep::Nothing,
        };
        if let Some(call) = self.calls.get(token) {
            call.answer.reset(keep);
            match self.source.take_streamed() {
                None => {}
                Some(Ok(body)) => call.body = Some(body),
                Some(Err(error)) => {
                    self.end_call(token, now, Err((FailureKind::Encode, &error.0)));
                    self.queue(index);
                    return Ok(());
                }
            }
        }
        match self.trial.connection_use {
            ConnectionUse::Reuse => {
                self.send(token);
                Ok(())
            }
            ConnectionUse::PerCall => self.connect(index, Some(token), now),
        }
    }

    /// Hands a call to its open connection.
    pub(super) fn send(&mut self, token: u64) {
        let Some(call) = self.calls.get(token) else {
            return;
        };
        let (index, number) = (call.connection, call.number);
        if self.timed && self.trial.connection_use == ConnectionUse::PerCall {
            call.stamps.connected = clock::now();
        }
        let made = match &call.body {
            Some(body) => Ok(body),
            None => self.source.request(number, &mut call.stamps),
        };
        let outgoing = match made {
            Ok(outgoing) => outgoing,
            Err(error) => {
                let failure = Err((FailureKind::Encode, error.0.as_str()));
                self.end_call(token, clock::now(), failure);
                self.close_after_call(index);
                return;
            }
        };
        if call.measured && call.retries == 0 {
            self.sizes.requests += 1;
            self.sizes.request_plain += outgoing.plain;
            self.sizes.request_carried += outgoing.carried;
        }
        let Some(open) = self.connections[index].open() else {
            return;
        };
        let started = open.client.start(&self.head, &outgoing.body, token);
        match started {
            Ok(()) => {
                // Here, since a connection that is made for it may fail to be made.
                match call.retries {
                    _ if !call.measured => {}
                    0 => self.recorder.sent(call.due),
                    _ => self.recorder.account.retried += 1,
                }
                self.unsent = self.timed.then_some(token);
                self.mark_dirty(index);
            }
            Err(error) => {
                let kind = match error {
                    StartError::HeadTooLarge { .. } => FailureKind::HeadTooLarge,
                    StartError::Full | StartError::Closing => FailureKind::ConnectionClosed,
                };
                let text = error.to_string();
                self.end_call(token, clock::now(), Err((kind, &text)));
                self.close_after_call(index);
            }
        }
    }

    /// Whether a call that failed at `at` was out of time already: what ended it then is no news, and
    /// sending it again comes too late.
    pub(super) fn is_too_late(&mut self, token: u64, at: u64) -> bool {
        let deadline = self.deadline;
        let call = self.calls.get(token);
        call.is_some_and(|call| call.is_out_of_time(deadline, at))
    }

    /// Reads a complete answer and ends its call.
    pub(super) fn complete(&mut self, token: u64, read_at: u64) -> Result<(), LoadError> {
        let Some(call) = self.calls.get(token) else {
            return Ok(());
        };
        self.connections[call.connection].in_vain = 0;
        if call.is_out_of_time(self.deadline, read_at) {
            self.end_call(token, read_at, Err(TOO_LATE));
            return Ok(());
        }
        if self.timed {
            call.stamps.received = clock::now();
        }
        if let Err(kind) = call.answer.finish() {
            let text = call.answer.text().to_owned();
            self.end_call(token, read_at, Err((kind, &text)));
            return Ok(());
        }
        if let Some(checking) = &mut self.checking
            && let Err(error) = checking.check(&call.answer)
        {
            let failure = Err((FailureKind::Decompress, error.0.as_str()));
            self.end_call(token, read_at, failure);
            return Ok(());
        }
        let (number, verified) = (call.number, call.verified);
        let read = self
            .source
            .read(number, verified, &call.answer, &mut call.stamps);
        let decodes = self.source.decodes();
        let done = if decodes && call.stamps.decoded != 0 {
            call.stamps.decoded
        } else if decodes || self.timed {
            clock::now()
        } else {
            read_at
        };
        match read {
            Ok(plain) => {
                let encoding_asked = self.trial.expect.encoding.is_some();
                self.sizes.answer(call, plain, encoding_asked);
                self.end_call(token, done, Ok(()));
            }
            Err(Unread::Failed(kind, error)) => self.end_call(token, done, Err((kind, &error.0))),
            Err(Unread::Wrong(error)) => {
                return Err(LoadError::WrongAnswer {
                    call: number,
                    error,
                });
            }
        }
        Ok(())
    }

    /// Counts the end of a call, good or not, and lets the schedule know.
    pub(super) fn end_call(
        &mut self,
        token: u64,
        done: u64,
        result: Result<(), (FailureKind, &str)>,
    ) {
        let Some(call) = self.calls.remove(token) else {
            return;
        };
        call.answer.let_go(&mut self.held);
        // Comparing an answer with the right one, or checking it, is the instrument's own work, which can
        // take longer than a call: the call after it is not late by that.
        let free = match call.verified || self.checking.is_some() {
            true => clock::now(),
            false => done,
        };
        self.dues.call_ended(free);
        self.unsent = None;
        let (due, measured) = (call.due, call.measured);
        // What becomes of the warm-up's last calls is no reason to give the measured part up.
        if measured == (self.measured_from < u64::MAX) {
            self.failing.note_end(done, result.is_ok());
        }
        if measured {
            self.measured_in_flight -= 1;
            match result {
                Ok(()) => {
                    self.recorder.answered(due, done);
                    if call.retries > 0 {
                        // The stages of its last send say nothing of the call.
                        self.recorder.account.answered_after_retry += 1;
                    } else if self.timed {
                        self.recorder.stages(stage_times(call, done));
                    }
                }
                Err((kind, text)) => self.recorder.failed(due, done, kind, text),
            }
        } else {
            self.warmup_call_ended(done, done.saturating_sub(due), result.is_ok());
        }
    }

    /// Fails the calls whose deadline has passed.
    pub(super) fn expire(&mut self, now: u64) {
        while let Some(token) = self.calls.expired(self.deadline, now) {
            self.fail_late(token, now);
        }
    }

    /// Fails a call whose deadline has passed.
    #[cold]
    fn fail_late(&mut self, token: u64, now: u64) {
        let index = self.calls.get(token).map_or(0, |call| call.connection);
        let failure = match &self.connections[index].state {
            State::Connecting(making) if making.call == Some(token) => NOT_CONNECTED,
            _ => TOO_LATE,
        };
        self.end_call(token, now, Err(failure));
        match &mut self.connections[index].state {
            State::Open(_) => self.cancel(index, token),
            State::Connecting(making) if making.call == Some(token) => {
                making.call = None;
                self.stop_connecting(index, now);
            }
            _ => {}
        }
    }

    /// Tells an open connection that a call on it is over without its answer.
    pub(super) fn cancel(&mut self, index: usize, token: u64) {
        if let Some(open) = self.connections[index].open() {
            open.client.cancel(token);
            self.mark_dirty(index);
            self.queue(index);
            self.close_after_call(index);
        }
    }

    /// Fails the calls that are due or wait to be sent again, none of which can have a connection.
    #[cold]
    pub(super) fn fail_waiting(&mut self, kind: FailureKind, text: &str, now: u64) {
        self.fail_retries(kind, text, now);
        // Counted before: in a closed loop each failure makes another call due.
        for _ in 0..self.dues.waiting(now).min(MOST_TOGETHER) {
            match self.dues.next() {
                Some(due) if due <= now && self.may_begin(due) => {
                    self.fail_unbegun(kind, text, now);
                }
                _ => break,
            }
        }
    }

    /// Takes the next call and fails it before it was begun.
    #[cold]
    fn fail_unbegun(&mut self, kind: FailureKind, text: &str, now: u64) {
        let Some(due) = self.dues.take() else {
            return;
        };
        self.waits_for_body = false;
        self.dues.call_ended(now);
        let measured = self.count_start(due);
        if measured == (self.measured_from < u64::MAX) {
            self.failing.note_end(now, false);
        }
        if measured {
            self.recorder.begun(due, now);
            self.recorder.failed(due, now, kind, text);
        } else {
            self.warmup_call_ended(now, now.saturating_sub(due), false);
        }
    }

    /// Counts a call that was taken from the schedule. True when it is a measured one: by when it
    /// was due, not by when it can be begun. A server that does not keep up with a rate leaves calls
    /// waiting at the warm-up's end, whose latency and time belong there, as far as it may have so many.
    fn count_start(&mut self, due: u64) -> bool {
        if self.measured_from < u64::MAX && self.warmup_is_all_begun() {
            self.measured_from = self.measured_from.min(due);
        }
        let measured = due >= self.measured_from;
        if measured {
            self.recorder.started(due);
        } else if !self.is_in_slice() {
            self.warmup.calls += 1;
        }
        measured
    }

    /// With a connection for each call, closes the one whose call is over.
    pub(super) fn close_after_call(&mut self, index: usize) {
        let per_call = self.trial.connection_use == ConnectionUse::PerCall;
        let Some(open) = self.connections[index].open() else {
            return;
        };
        if per_call && open.client.in_flight() == 0 {
            open.client.shut_down();
            self.say_goodbye(index);
            self.close(index, clock::now());
        } else if open.client.is_closed() {
            self.say_goodbye(index);
            self.close(index, clock::now());
        }
    }
}
