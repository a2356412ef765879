//! The ledger: every call of a trial, from its due time to its outcome.
//!
//! ```text
//! due ───────► in flight ───────► succeeded
//!  │            │  ▲  │  └──────► failed
//!  │            ▼  │  │
//!  │         to be sent again
//!  ├──► failed, never begun     └──► abandoned at the trial's end
//!  └──► abandoned, never begun
//! ```
//!
//! A call that is sent again remains the same call. It keeps its due time and its deadline, and ends once.
//! Only the number of sends shows the retry.
//!
//! Invariants between calls to the ledger's methods:
//!
//! - For measured calls, started = answered + failed + abandoned + `measured_in_flight`. At the end none is
//!   in flight, and [`crate::recorder::Account::close`] checks the sum.
//! - Every token in `to_retry` belongs to a call in flight, or to one whose deadline has passed in the
//!   meantime.
//! - In a closed loop, each call is due or in flight. The end of a call makes the next one due.

mod events;
mod in_flight;
mod mix;
mod retry;

use std::collections::VecDeque;

use rpcgauge_trial::{FailureKind, Timing};
use rpcgauge_wire::Failure;

pub(super) use self::events::{CallEnd, CallEvents, Seen};
pub(super) use self::in_flight::{Beginning, Call, InFlight, Sending};
use self::mix::Mix;
use self::retry::{Sent, may_retry};
use super::failure_kinds::STALLED;
use super::messages::Verify;
use super::response::{Held, Response};
use super::stall::Stall;
use super::stamps::{Stamps, stage_times};
use crate::clock;
use crate::message_recorder::MessageRecorder;
use crate::recorder::Recorder;
use crate::schedule::DueTimes;
use crate::trial::Trial;

pub(super) struct Ledger<'t> {
    trial: &'t Trial,
    /// Whether stages are timed.
    timed: bool,
    /// Whether responses are checked. The time of a check must not make the next call late.
    checks: bool,
    pub(super) due_times: DueTimes,
    pub(super) calls: InFlight,
    pub(super) to_retry: VecDeque<u64>,
    held: Held,
    /// If stages are timed, the call whose last byte has not been handed to the kernel yet.
    unsent: Option<u64>,
    /// How many more requests may be begun or retried.
    pub(super) requests_left: u64,
    /// Requests passed to the transport.
    pub(super) requests_sent: u64,
    pub(super) measured_in_flight: u64,
    /// Maximum number of concurrent calls in the measured part.
    pub(super) most_in_flight: usize,
    /// The last stall of this process.
    pub(super) last_stall: Stall,
    pub(super) recorder: Recorder,
    pub(super) mix: Mix,
}

/// A call that has ended. All times are in ns.
#[derive(Debug, Clone, Copy)]
pub(super) struct EndedCall {
    pub(super) due: u64,
    pub(super) done: u64,
    pub(super) measured: bool,
    pub(super) sending: Sending,
    pub(super) succeeded: bool,
    /// Whether it ended after the time in which calls were due (only at a rate).
    pub(super) late: bool,
    /// Whether it failed because this process was stalled, which is not the server's fault.
    pub(super) stalled: bool,
}

/// The kind of a call's failure, and a text that describes it.
pub(super) type CallFailure<'a> = (FailureKind, &'a str);

impl<'t> Ledger<'t> {
    /// Creates an empty ledger. `checks` indicates whether responses are checked, and `has_snapshots` whether times
    /// are also recorded by interval.
    pub(super) fn new(trial: &'t Trial, checks: bool, has_snapshots: bool) -> Ledger<'t> {
        Ledger {
            trial,
            timed: trial.timing == Timing::Stages,
            checks,
            due_times: DueTimes::new(&trial.schedule, trial.seed, u64::MAX),
            calls: InFlight::new(trial),
            to_retry: VecDeque::new(),
            held: Held::new(trial.expect.max_response_bytes),
            unsent: None,
            requests_left: trial.max_requests.unwrap_or(u64::MAX),
            requests_sent: 0,
            measured_in_flight: 0,
            most_in_flight: 0,
            last_stall: Stall::default(),
            recorder: Recorder::new(trial, has_snapshots),
            mix: Mix::new(trial),
        }
    }

    /// Fails a call that was taken from the schedule but never begun.
    #[cold]
    pub(super) fn fail_unbegun(
        &mut self,
        due: u64,
        measured: bool,
        (kind, text): CallFailure<'_>,
        now: u64,
    ) -> EndedCall {
        self.due_times.call_ended(now);
        if measured {
            self.recorder.begun(due, now);
            self.recorder.failed(due, now, kind, text);
            let mix_call = self.mix.end_unbegun();
            self.mix.started(mix_call);
            self.mix.failed(mix_call, kind);
        }
        EndedCall {
            due,
            done: now,
            measured,
            sending: Sending::NotSent,
            succeeded: false,
            late: false,
            stalled: kind == STALLED.0,
        }
    }

    /// Takes the next call from the schedule and abandons it, because the trial ends at `now` (ns).
    pub(super) fn abandon_due(&mut self, measured: bool, now: u64) {
        if let Some(due) = self.due_times.next()
            && self.last_stall.hit(due, now)
        {
            self.due_times.take();
            self.fail_unbegun(due, measured, STALLED, now);
            return;
        }
        let Some(due) = self.due_times.take().filter(|_| measured) else {
            return;
        };
        self.recorder.started(due);
        self.recorder.account.calls.abandoned += 1;
        self.recorder.account.calls.never_begun += 1;
        self.mix.abandon(1);
    }

    /// Abandons all measured calls that are due by `by` (ns), or the first `most` of them.
    pub(super) fn abandon_all_due(&mut self, by: u64, most: u64) {
        let all = self.due_times.waiting(by).min(most);
        let recorder = &mut self.recorder;
        let calls = &mut recorder.account.calls;
        for count in [
            &mut calls.started,
            &mut calls.abandoned,
            &mut calls.never_begun,
        ] {
            *count += all;
        }
        self.mix.abandon(all);
        let (start, mut before) = (recorder.start.unwrap_or(by), 0);
        for (end, step) in recorder.steps.by_end() {
            let last = start.saturating_add(end).saturating_sub(1).min(by);
            let through = self.due_times.waiting(last).min(most);
            step.calls.started += through - before;
            before = through;
        }
    }

    /// Begins a call. `counts_most` indicates whether the call is included in [`Ledger::most_in_flight`].
    #[inline]
    pub(super) fn begin(&mut self, beginning: Beginning, counts_most: bool) -> (u64, &mut Call) {
        self.requests_left -= 1;
        if beginning.measured {
            self.recorder.begun(beginning.due, beginning.begun);
            self.measured_in_flight += 1;
        }
        if counts_most {
            self.most_in_flight = self.most_in_flight.max(self.calls.len() + 1);
        }
        let trial = self.trial;
        let (token, call) = self.calls.insert(beginning, || Response::new(trial));
        if let Some((mix_call, number)) = self.mix.begin() {
            (call.mix_call, call.number) = (mix_call, number);
            if beginning.measured {
                self.mix.started(mix_call);
            }
        }
        (token, call)
    }

    /// Notes that a call was passed to its connection. `late` indicates whether this was after the time in which
    /// calls were due, at a rate.
    #[inline]
    pub(super) fn note_sent(&mut self, token: u64, late: bool) {
        self.requests_sent += 1;
        self.unsent = self.timed.then_some(token);
        let Some(call) = self.calls.get(token) else {
            return;
        };
        match call.retries {
            0 => {
                call.sending = if late && call.measured {
                    Sending::SentLate
                } else {
                    Sending::Sent
                };
                if call.measured {
                    self.recorder.sent(call.due);
                    self.mix.sent(call.mix_call);
                    self.recorder.account.calls.sent_late += u64::from(late);
                }
            }
            _ => self.recorder.account.calls.retried += u64::from(call.measured),
        }
    }

    /// Stamps the unsent call as sent if its connection is `index`, which has handed all its output to the
    /// kernel. The check is needed because the replacement of a connection that is going away writes too.
    pub(super) fn stamp_sent(&mut self, index: usize) {
        if let Some(call) = self.unsent.and_then(|token| self.calls.get(token))
            && call.connection == index
        {
            call.stamps.sent = clock::now();
            self.unsent = None;
        }
    }

    /// Undoes [`Ledger::note_sent`] for a call if the transport sent nothing of it.
    pub(super) fn take_back_sent(&mut self, token: u64) {
        if let Some(call) = self.calls.get(token)
            && call.retries == 0
        {
            self.requests_sent -= 1;
            let sending = std::mem::take(&mut call.sending);
            if call.measured {
                self.recorder.account.calls.sent_late -= u64::from(sending == Sending::SentLate);
                self.recorder.not_sent(call.due);
                self.mix.not_sent(call.mix_call);
            }
        }
    }

    /// Returns a sink for the events of bytes that were read at `at` (ns). The sink adds the calls that the
    /// events end to `ended`.
    pub(super) fn events<'l>(
        &'l mut self,
        ended: &'l mut Vec<(u64, CallEnd)>,
        at: u64,
    ) -> CallEvents<'l> {
        self.stream_events(ended, at).0
    }

    /// Like [`Ledger::events`], with the figures of messages, if calls stream.
    pub(super) fn stream_events<'l>(
        &'l mut self,
        ended: &'l mut Vec<(u64, CallEnd)>,
        at: u64,
    ) -> (CallEvents<'l>, Option<&'l mut MessageRecorder>) {
        let events = CallEvents {
            calls: &mut self.calls,
            ended,
            trial: self.trial,
            held: &mut self.held,
            at,
            seen: Seen::default(),
        };
        (events, self.recorder.messages.as_deref_mut())
    }

    /// Ends a call, successful or not, at `done` (ns). `late` indicates whether this is after the time in which
    /// calls were due, at a rate. Notifies the schedule and then calls `note` before the call is counted.
    #[inline]
    pub(super) fn end(
        &mut self,
        token: u64,
        (done, late): (u64, bool),
        result: Result<(), CallFailure<'_>>,
        note: impl FnOnce(EndedCall),
    ) {
        let Some(call) = self.calls.remove(token) else {
            return;
        };
        call.response.release(&mut self.held);
        let stream = call.stream.take();
        // Verifying, storing or checking a response is rpcgauge's own work, and can take longer than a call.
        // It must not make the next call late.
        let free = if call.verify != Verify::Never || self.checks {
            clock::now()
        } else {
            done
        };
        self.due_times.call_ended(free);
        self.unsent = None;
        let (due, measured, mix_call) = (call.due, call.measured, call.mix_call);
        // A failure that the server itself reported takes precedence over a stall.
        let result = match result {
            Err((kind, _)) if !kind.follows_from_stall() => result,
            _ if self.last_stall.hit(due, done) => Err(STALLED),
            result => result,
        };
        note(EndedCall {
            due,
            done,
            measured,
            sending: call.sending,
            succeeded: result.is_ok(),
            late,
            stalled: result.is_err_and(|(kind, _)| kind == STALLED.0),
        });
        if !measured {
            return;
        }
        self.measured_in_flight -= 1;
        if let Some(stream) = stream {
            self.recorder.stream_ended(&stream, result.is_ok());
        }
        match result {
            Ok(()) => {
                self.recorder.succeeded(due, done);
                self.mix.succeeded(mix_call, done.saturating_sub(due));
                let Stamps {
                    written,
                    first_byte,
                    ..
                } = call.stamps;
                self.recorder.served(written, [first_byte, done]);
                self.recorder.account.calls.answered_late += u64::from(late);
                if call.retries > 0 {
                    // The stage times of the last send do not describe the whole call.
                    self.recorder.account.calls.answered_after_retry += 1;
                } else if self.timed {
                    let times = stage_times(&call.stamps, &call.response, done);
                    self.recorder.stages(times);
                }
            }
            Err((kind, text)) => {
                self.recorder.failed(due, done, kind, text);
                self.mix.failed(mix_call, kind);
            }
        }
    }

    /// Decides whether a call that failed with its connection is sent again. If so, the call waits for a
    /// connection with room. A connection that is going away has none. `connection_proved` indicates whether the
    /// connection had carried a response before.
    pub(super) fn retry(&mut self, token: u64, failure: &Failure, connection_proved: bool) -> bool {
        let Some(call) = self.calls.get(token) else {
            return false;
        };
        let sent = Sent {
            protocol: self.trial.endpoint.protocol,
            style: &self.trial.request_of(call.mix_call).style,
            retries: call.retries,
            response_begun: call.stamps.first_byte != 0,
            connection_proved,
        };
        if self.requests_left == 0 || !may_retry(failure, sent) {
            return false;
        }
        self.requests_left -= 1;
        call.retries += 1;
        // The stamps belong to the failed send.
        call.stamps = Stamps {
            begun: call.stamps.begun,
            ..Stamps::default()
        };
        call.response.reset(call.response.keep);
        // Its exchange is one of the old connection.
        if let Some(stream) = call.stream.take().filter(|_| call.measured) {
            self.recorder.stream_retried(&stream);
        }
        self.unsent = None;
        self.to_retry.push_back(token);
        true
    }

    /// Abandons the calls in flight because the trial ends. If there are any, the trial's time extends to
    /// `now`. Without this, it would end with the last completed call, and a service that has been silent
    /// since then would still show its earlier goodput.
    pub(super) fn abandon_in_flight(&mut self, now: u64) {
        let stall = self.last_stall;
        for (due, mix_call) in self.calls.measured() {
            if stall.hit(due, now) {
                self.recorder.failed(due, now, STALLED.0, STALLED.1);
                self.mix.failed(mix_call, STALLED.0);
            } else {
                self.recorder.account.calls.abandoned += 1;
            }
        }
        for stream in self.calls.measured_streams() {
            self.recorder.stream_ended(stream, false);
        }
        if self.recorder.account.calls.abandoned > 0 {
            self.recorder.end = self.recorder.end.max(now);
        }
    }

    /// Returns the figures. `arrivals_end` is the end of the time in which calls were due at a rate, ns, if
    /// it ended the trial.
    ///
    /// If a number of calls ended a trial at a rate, the gap after the last call is included: `n` calls at 10
    /// per second take at least `n` tenths of a second.
    pub(super) fn finish(mut self, arrivals_end: Option<u64>) -> Recorder {
        let covered = arrivals_end.or(self.due_times.covered_until());
        self.recorder.end = self.recorder.end.max(covered.unwrap_or(0));
        if arrivals_end.is_none() {
            let calls = &mut self.recorder.account.calls;
            (calls.answered_late, calls.sent_late) = (0, 0);
        }
        self.recorder.count_stages();
        self.recorder
    }
}

#[cfg(test)]
mod tests {

    use rpcgauge_trial::Schedule;

    use super::*;
    use crate::engine::failure_kinds::{NOT_SENT, TOO_LATE};
    use crate::engine::tests::{trial, unused};

    #[test]
    fn each_measured_call_is_in_one_of_the_sums() {
        let trial = Trial {
            schedule: Schedule::Closed { in_flight: 4 },
            ..trial(unused())
        };
        let mut ledger = Ledger::new(&trial, false, false);
        ledger.due_times = DueTimes::new(&trial.schedule, 0, 100);
        let [answered, failed, abandoned] = [(); 3].map(|()| {
            let call = Beginning {
                connection: 0,
                due: ledger.due_times.take().unwrap(),
                begun: 101,
                measured: true,
            };
            let (token, _) = ledger.begin(call, true);
            ledger.recorder.sent(call.due);
            token
        });
        let due = ledger.due_times.take().unwrap();
        assert_eq!((due, ledger.due_times.next()), (100, None), "all are taken");
        ledger.fail_unbegun(due, true, NOT_SENT, 140);
        let mut ends = Vec::new();
        ledger.end(answered, (150, false), Ok(()), |call| {
            ends.push(call.succeeded)
        });
        ledger.end(failed, (160, false), Err(TOO_LATE), |call| {
            ends.push(call.succeeded)
        });
        ledger.end(failed, (170, false), Ok(()), |call| {
            ends.push(call.succeeded)
        });
        assert_eq!(ends, [true, false], "a call ends once");
        assert_eq!(
            ledger.due_times.next(),
            Some(140),
            "an end makes another due"
        );
        ledger.abandon_due(true, 200);
        ledger.abandon_in_flight(200);
        assert!(ledger.calls.get(abandoned).is_some());
        assert_eq!(ledger.most_in_flight, 3);
        let calls = ledger.finish(None).account.close().unwrap();
        assert_eq!(
            (calls.started, calls.answered, calls.failed_total()),
            (5, 1, 2)
        );
        assert_eq!(
            (calls.abandoned, calls.never_begun, calls.never_sent),
            (2, 1, 2)
        );
    }
}
