//! A call's way: begun when due, sent, ended, or out of time.

use super::Engine;
use super::answer::{Answer, Mark};
use super::calls::{Beginning, Call};
use super::connection::State;
use super::phases::{Phase, nanos, note_end};
use super::source::Unread;
use crate::clock;
use crate::error::LoadError;
use crate::failure::FailureKind;
use crate::recorder::{MarkTimes, StageTimes};
use crate::trial::ConnectionUse;
use rpcgauge_wire::StartError;

/// How a call fails that has no complete answer by its deadline.
const TOO_LATE: (FailureKind, &str) = (
    FailureKind::Deadline,
    "the deadline passed before the answer was complete",
);

impl Engine<'_, '_, '_> {
    /// Begins the calls that are due and for which there is room.
    pub(super) fn begin_due(&mut self, now: u64) -> Result<(), LoadError> {
        while let Some(due) = self.dues.next() {
            if due > now || !self.may_begin(due) {
                break;
            }
            if now - due >= nanos(self.trial.deadline) {
                let text = "the deadline passed before the call could be sent";
                self.fail_unbegun(FailureKind::DeadlineUnsent, text, now);
                continue;
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

    fn begin(&mut self, index: usize, due: u64, now: u64) -> Result<(), LoadError> {
        let measured = self.count_start(due);
        if measured {
            self.recorder.begun(due, now);
            self.measured_in_flight += 1;
        }
        let number = self.calls_begun;
        self.calls_begun += 1;
        let verified = !measured && number < self.to_verify;
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
        let keep = verified || self.source.decodes();
        if let Some(call) = self.calls.get(token) {
            call.answer.reset(keep);
        }
        match self.trial.connection_use {
            ConnectionUse::Reuse => self.send(token),
            ConnectionUse::PerCall => self.connect(index, Some(token), now),
        }
    }

    /// Hands a call to its open connection.
    pub(super) fn send(&mut self, token: u64) -> Result<(), LoadError> {
        let Some(call) = self.calls.get(token) else {
            return Ok(());
        };
        let (index, number) = (call.connection, call.number);
        if self.timed && self.trial.connection_use == ConnectionUse::PerCall {
            call.stamps.connected = clock::now();
        }
        let outgoing = match self.source.request(number, &mut call.stamps) {
            Ok(outgoing) => outgoing,
            Err(error) => {
                let failure = Err((FailureKind::Encode, error.0.as_str()));
                self.end_call(token, clock::now(), failure)?;
                return self.close_after_call(index);
            }
        };
        if call.measured {
            self.sizes.requests += 1;
            self.sizes.request_plain += outgoing.plain;
            self.sizes.request_carried += outgoing.carried;
        }
        let Some(open) = self.connections[index].open() else {
            return Ok(());
        };
        match open.client.start(&self.head, &outgoing.body, token) {
            Ok(()) => {
                self.unsent = self.timed.then_some(token);
                self.mark_dirty(index);
                Ok(())
            }
            Err(error) => {
                let kind = match error {
                    StartError::HeadTooLarge { .. } => FailureKind::HeadTooLarge,
                    StartError::Full | StartError::Closing => FailureKind::ConnectionClosed,
                };
                let failure = Err((kind, error.to_string()));
                let failure = failure
                    .as_ref()
                    .map(|()| ())
                    .map_err(|(k, t)| (*k, t.as_str()));
                self.end_call(token, clock::now(), failure)?;
                self.close_after_call(index)
            }
        }
    }

    /// Reads a complete answer and ends its call.
    pub(super) fn complete(&mut self, token: u64, read_at: u64) -> Result<(), LoadError> {
        let Some(call) = self.calls.get(token) else {
            return Ok(());
        };
        if read_at.saturating_sub(call.due) >= nanos(self.trial.deadline) {
            return self.end_call(token, read_at, Err(TOO_LATE));
        }
        if self.timed {
            call.stamps.received = clock::now();
        }
        if let Err(kind) = call.answer.finish() {
            let text = call.answer.text().to_owned();
            return self.end_call(token, read_at, Err((kind, &text)));
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
                self.sizes
                    .answer(call, plain, self.trial.expect.encoding.is_some());
                self.end_call(token, done, Ok(()))
            }
            Err(Unread::Failed(kind, error)) => self.end_call(token, done, Err((kind, &error.0))),
            Err(Unread::Wrong(error)) => Err(LoadError::WrongAnswer {
                call: number,
                error,
            }),
        }
    }

    /// Counts the end of a call, good or not, and lets the schedule know.
    pub(super) fn end_call(
        &mut self,
        token: u64,
        done: u64,
        result: Result<(), (FailureKind, &str)>,
    ) -> Result<(), LoadError> {
        let Some(call) = self.calls.remove(token) else {
            return Ok(());
        };
        self.dues.call_ended(done);
        self.unsent = None;
        let (due, measured, index) = (call.due, call.measured, call.connection);
        note_end(&mut self.failing_since, done, result.is_ok());
        if result.is_ok() {
            self.connections[index].in_vain = 0;
        }
        if measured {
            self.measured_in_flight -= 1;
            match result {
                Ok(()) => {
                    self.recorder.answered(due, done);
                    if self.timed {
                        self.recorder.stages(&stage_times(call, done));
                    }
                }
                Err((kind, text)) => self.recorder.failed(due, done, kind, text),
            }
        } else if self.phase == Phase::WarmUp {
            self.warmup_call_ended(done, done.saturating_sub(due), result.is_ok());
        }
        Ok(())
    }

    /// Fails the calls whose deadline has passed.
    pub(super) fn expire(&mut self, now: u64) -> Result<(), LoadError> {
        while let Some(token) = self.calls.expired(self.trial.deadline, now) {
            let index = self.calls.get(token).map_or(0, |call| call.connection);
            self.end_call(token, now, Err(TOO_LATE))?;
            match &mut self.connections[index].state {
                State::Open(open) => {
                    open.client.cancel(token);
                    self.mark_dirty(index);
                    self.queue(index);
                    self.close_after_call(index)?;
                }
                State::Connecting(making) if making.call == Some(token) => {
                    making.call = None;
                    self.stop_connecting(index, now);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Fails the calls that are due, none of which can have a connection.
    pub(super) fn fail_waiting(
        &mut self,
        kind: FailureKind,
        text: &str,
        now: u64,
    ) -> Result<(), LoadError> {
        // Counted before: in a closed loop each failure makes another call due.
        for _ in 0..self.dues.waiting(now) {
            match self.dues.next() {
                Some(due) if due <= now && self.may_begin(due) => {
                    self.fail_unbegun(kind, text, now);
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// Takes the next call and fails it before it was begun.
    fn fail_unbegun(&mut self, kind: FailureKind, text: &str, now: u64) {
        let Some(due) = self.dues.take() else {
            return;
        };
        self.dues.call_ended(now);
        note_end(&mut self.failing_since, now, false);
        if self.count_start(due) {
            self.recorder.begun(due, now);
            self.recorder.failed(due, now, kind, text);
        } else {
            self.warmup_call_ended(now, now.saturating_sub(due), false);
        }
    }

    /// Counts a call that was taken from the schedule. True when it is a measured one.
    fn count_start(&mut self, due: u64) -> bool {
        let measured = self.phase == Phase::Measured;
        if measured {
            self.recorder.started(due);
        } else {
            self.warmup.calls += 1;
        }
        measured
    }
}

/// Where the time of a succeeded call went.
fn stage_times(call: &Call, done: u64) -> StageTimes {
    let stamps = &call.stamps;
    let optional = |stamp: u64, from: u64| (stamp != 0).then(|| stamp.saturating_sub(from));
    // A stage that a call did not have passes its start on to the next.
    let next = |stamp: u64, from: u64| if stamp == 0 { from } else { stamp };
    let connected = next(stamps.connected, stamps.begun);
    let encoded = next(stamps.encoded, connected);
    let compressed = next(stamps.compressed, encoded);
    // An answer may come before its request is sent whole.
    let sent = next(stamps.sent, stamps.first_byte).min(stamps.first_byte);
    let decompressed = next(stamps.decompressed, stamps.received);
    let server = match (call.answer.handler_start, call.answer.handler_end) {
        (Mark::At(start), Mark::At(end)) => MarkTimes::from_marks((start, end), connected, done),
        (Mark::Damaged, _) | (_, Mark::Damaged) => MarkTimes::Implausible,
        _ => MarkTimes::Absent,
    };
    StageTimes {
        connect: optional(stamps.connected, stamps.begun),
        encode: optional(stamps.encoded, connected),
        compress: optional(stamps.compressed, encoded),
        send: sent.saturating_sub(compressed),
        wait: stamps.first_byte.saturating_sub(sent),
        receive: stamps.received.saturating_sub(stamps.first_byte),
        decompress: optional(stamps.decompressed, stamps.received),
        decode: optional(stamps.decoded, decompressed),
        server,
    }
}

/// Sums of message sizes over measured calls, bytes.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    pub(super) requests: u64,
    pub(super) request_plain: u64,
    pub(super) request_carried: u64,
    pub(super) answers: u64,
    pub(super) answer_carried: u64,
    /// Answers whose plain length is known, over the warm-up too.
    pub(super) plain_answers: u64,
    pub(super) answer_plain: u64,
    pub(super) uncompressed: u64,
}

impl Sizes {
    fn answer(&mut self, call: &Call, plain: Option<u64>, encoding_asked: bool) {
        if call.measured {
            self.answers += 1;
            self.answer_carried += call.answer.carried();
            self.uncompressed += u64::from(encoding_asked && !call.answer.is_compressed());
        }
        if let Some(plain) = plain.filter(|_| call.measured || call.verified) {
            self.plain_answers += 1;
            self.answer_plain += plain;
        }
    }
}

impl Engine<'_, '_, '_> {
    /// With a connection for each call, closes the one whose call is over.
    pub(super) fn close_after_call(&mut self, index: usize) -> Result<(), LoadError> {
        let per_call = self.trial.connection_use == ConnectionUse::PerCall;
        let Some(open) = self.connections[index].open() else {
            return Ok(());
        };
        if per_call && open.client.in_flight() == 0 {
            open.client.shut_down();
            self.say_goodbye(index);
            self.close(index, clock::now());
        } else if open.client.is_closed() {
            self.say_goodbye(index);
            self.close(index, clock::now());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::calls::{Calls, Stamps};
    use crate::trial::{CallStyle, Expect};

    fn times(stamps: Stamps, done: u64) -> StageTimes {
        let mut calls = Calls::default();
        let beginning = Beginning {
            number: 0,
            connection: 0,
            due: stamps.begun,
            begun: stamps.begun,
            measured: true,
            verified: false,
        };
        let style = CallStyle::Http {
            method: "POST".to_owned(),
        };
        let token = calls.insert(beginning, || Answer::new(&style, &Expect::default()));
        let call = calls.get(token).unwrap();
        call.stamps = stamps;
        stage_times(call, done)
    }

    #[test]
    fn stages_add_up_to_the_call() {
        let stamps = Stamps {
            begun: 100,
            connected: 110,
            encoded: 125,
            compressed: 145,
            sent: 150,
            first_byte: 200,
            received: 220,
            decompressed: 250,
            decoded: 290,
        };
        let t = times(stamps, 290);
        assert_eq!(
            (t.connect, t.encode, t.compress),
            (Some(10), Some(15), Some(20))
        );
        assert_eq!((t.send, t.wait, t.receive), (5, 50, 20));
        assert_eq!((t.decompress, t.decode), (Some(30), Some(40)));
        assert_eq!(t.server, MarkTimes::Absent);
    }

    #[test]
    fn a_stage_that_was_not_there_leaves_no_gap() {
        let stamps = Stamps {
            begun: 100,
            sent: 150,
            first_byte: 200,
            received: 220,
            ..Stamps::default()
        };
        let t = times(stamps, 220);
        assert_eq!(
            (t.connect, t.encode, t.compress, t.decode),
            (None, None, None, None)
        );
        assert_eq!((t.send, t.wait, t.receive), (50, 50, 20));
    }

    #[test]
    fn an_answer_before_the_request_is_sent_has_no_wait() {
        let stamps = Stamps {
            begun: 100,
            sent: 0,
            first_byte: 200,
            received: 220,
            ..Stamps::default()
        };
        assert_eq!((times(stamps, 220).send, times(stamps, 220).wait), (100, 0));
    }
}
