//! The ledger: every call of a trial, from when it is due to what became of it.
//!
//! ```text
//! due ───────► in flight ───────► answered
//!  │            │  ▲  │  └──────► failed
//!  │            ▼  │  │
//!  │         to be sent again
//!  ├──► failed, never begun     └──► abandoned at the trial's end
//!  └──► abandoned, never begun
//! ```
//!
//! A call that is sent again stays the same call: due when it was due, out of time when it was to be,
//! and in the end answered or failed once. Only the number of sends shows it.
//!
//! What holds between two calls of the ledger's methods, of the measured calls:
//!
//! - started = answered + failed + abandoned + `measured_in_flight`; at the end none is in flight, and
//!   [`crate::account::Account::close`] holds each sum against the others.
//! - Every token in `to_retry` is of a call in flight, or of one whose deadline passed meanwhile.
//! - In a closed loop, each call is due, or in flight. Its end makes the next one due.

mod events;
mod in_flight;
mod retry;

use std::collections::VecDeque;

use rpcgauge_wire::Failure;

pub(super) use self::events::{End, Events, Seen};
use self::in_flight::InFlight;
pub(super) use self::in_flight::{Beginning, Call};
use self::retry::{Sent, may_retry};
use super::response::{Held, Keep, Response, Rules};
use super::stamps::{Stamps, stage_times};
use crate::account::Account;
use crate::clock::{self, nanos};
use crate::failure::FailureKind;
use crate::progress::IntervalTimes;
use crate::recorder::{Recorded, Recorder};
use crate::schedule::Dues;
use crate::stage::Timing;
use crate::trial::Trial;

/// The calls of a trial.
pub(super) struct Ledger<'t> {
    trial: &'t Trial,
    rules: Rules<'t>,
    /// The trial's deadline of each call, ns.
    deadline: u64,
    /// Whether stages are stamped.
    timed: bool,
    /// Whether checking a response may take a while, which is no lateness of the next call.
    checks: bool,
    dues: Dues,
    in_flight: InFlight,
    /// Calls that wait to be sent again.
    to_retry: VecDeque<u64>,
    /// Calls that the input just read has ended, by their tokens.
    ended: Vec<(u64, End)>,
    held: Held,
    /// The call whose last byte is not handed to the kernel yet, where stages are stamped.
    unsent: Option<u64>,
    /// Calls begun so far.
    begun: u64,
    measured_in_flight: u64,
    /// The most calls that were in flight at a time in the measured part.
    most_in_flight: usize,
    /// The call that is due next has no body yet.
    waits_for_body: bool,
    recorder: Recorder,
}

/// A call that has ended. All times are ns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) due: u64,
    pub(super) done: u64,
    pub(super) measured: bool,
    pub(super) succeeded: bool,
}

/// Why a call failed, and what is said of it.
pub(super) type CallFailure<'a> = (FailureKind, &'a str);

impl<'t> Ledger<'t> {
    /// An empty ledger. `checks` says whether responses are checked, `has_snapshots` whether times are
    /// kept by interval too.
    pub(super) fn new(trial: &'t Trial, checks: bool, has_snapshots: bool) -> Ledger<'t> {
        let timed = trial.timing == Timing::Stages;
        Ledger {
            trial,
            rules: Rules {
                style: &trial.request.style,
                expect: &trial.expect,
                marks: timed,
            },
            deadline: nanos(trial.deadline),
            timed,
            checks,
            dues: Dues::new(&trial.schedule, u64::MAX),
            in_flight: InFlight::default(),
            to_retry: VecDeque::new(),
            ended: Vec::new(),
            held: Held::new(trial.expect.max_answer_bytes),
            unsent: None,
            begun: 0,
            measured_in_flight: 0,
            most_in_flight: 0,
            waits_for_body: false,
            recorder: Recorder::new(trial.timing, &trial.schedule, has_snapshots),
        }
    }

    // Calls that are due.

    /// Starts the schedule: the first calls are due at `at` (ns).
    pub(super) fn start_schedule(&mut self, at: u64) {
        self.dues = Dues::new(&self.trial.schedule, at);
    }

    /// Makes the calls of a closed loop that wait due at `at` (ns), as if the loop began there.
    pub(super) fn make_due(&mut self, at: u64) {
        self.dues.start_again(at);
    }

    /// When the next call is or was due, ns; `None` while all of a closed loop's are in flight, and
    /// after a ramp's last.
    #[inline]
    pub(super) fn next_due(&self) -> Option<u64> {
        self.dues.next()
    }

    /// The same, of calls that arrive at a rate.
    pub(super) fn next_arrival(&self) -> Option<u64> {
        match &self.dues {
            Dues::Arrivals { next, .. } => *next,
            Dues::Closed(_) => None,
        }
    }

    /// How many calls are due; of a rate, whether there are any.
    pub(super) fn due_count(&self, now: u64) -> usize {
        self.dues.waiting(now)
    }

    /// Takes the next call from the schedule. Returns when it was due, ns.
    pub(super) fn take_due(&mut self) -> Option<u64> {
        self.dues.take()
    }

    /// The next call has its body, where it is streamed.
    #[inline]
    pub(super) fn note_body(&mut self) {
        self.waits_for_body = false;
    }

    /// The next call, `measured` or not, is due and has no body yet. It is counted once.
    #[cold]
    pub(super) fn note_late_body(&mut self, measured: bool) {
        if !std::mem::replace(&mut self.waits_for_body, true) && measured {
            self.recorder.bodies_late += 1;
        }
    }

    /// Whether the call that is due next has no body yet.
    pub(super) fn waits_for_body(&self) -> bool {
        self.waits_for_body
    }

    /// Fails a call that was taken from the schedule and not begun.
    #[cold]
    pub(super) fn fail_unbegun(
        &mut self,
        due: u64,
        measured: bool,
        (kind, text): CallFailure<'_>,
        now: u64,
    ) -> Ended {
        self.waits_for_body = false;
        self.dues.call_ended(now);
        if measured {
            self.recorder.started(due);
            self.recorder.begun(due, now);
            self.recorder.failed(due, now, kind, text);
        }
        Ended {
            due,
            done: now,
            measured,
            succeeded: false,
        }
    }

    /// Takes the next call from the schedule and gives it up as the trial ends.
    pub(super) fn abandon_due(&mut self, measured: bool) {
        let Some(due) = self.dues.take().filter(|_| measured) else {
            return;
        };
        self.recorder.started(due);
        self.recorder.account.abandoned += 1;
        self.recorder.account.never_begun += 1;
    }

    // Calls in flight.

    /// The number that the next call to begin has, from 0 at the start of the warm-up.
    #[inline]
    pub(super) fn next_number(&self) -> u64 {
        self.begun
    }

    /// Begins a call and returns its token. `counts_most` says whether the measured part goes on.
    #[inline]
    pub(super) fn begin(&mut self, call: Beginning, keep: Keep, counts_most: bool) -> u64 {
        if call.measured {
            self.recorder.started(call.due);
            self.recorder.begun(call.due, call.begun);
            self.measured_in_flight += 1;
        }
        let number = self.begun;
        self.begun += 1;
        let expires_at = call.due.saturating_add(self.deadline);
        let (style, expect) = (self.rules.style, self.rules.expect);
        let new_response = || Response::new(style, expect);
        let token = self
            .in_flight
            .insert(number, call, expires_at, new_response);
        if counts_most {
            self.most_in_flight = self.most_in_flight.max(self.in_flight.len());
        }
        if let Some(call) = self.in_flight.get(token) {
            call.response.reset(keep);
        }
        token
    }

    /// The call of a token, while it is in flight.
    #[inline]
    pub(super) fn call(&mut self, token: u64) -> Option<&mut Call> {
        self.in_flight.get(token)
    }

    /// Whether no call is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.in_flight.oldest().is_none()
    }

    /// Measured calls in flight.
    pub(super) fn measured_in_flight(&self) -> u64 {
        self.measured_in_flight
    }

    /// When the deadline of the oldest call in flight passes, ns.
    #[inline]
    pub(super) fn expires_at(&self) -> Option<u64> {
        self.in_flight.oldest().map(|(_, expires_at)| expires_at)
    }

    /// The oldest call in flight, if its deadline has passed at `now`.
    #[inline]
    pub(super) fn expired(&self, now: u64) -> Option<u64> {
        let (token, expires_at) = self.in_flight.oldest()?;
        (expires_at <= now).then_some(token)
    }

    /// When the deadline of a call that is due at `due` passes, ns.
    #[inline]
    pub(super) fn deadline_of(&self, due: u64) -> u64 {
        due.saturating_add(self.deadline)
    }

    /// Whether the calls in flight of a closed loop are all that the ledger waits for until `until` (ns).
    pub(super) fn only_waits_for_responses(&self, until: u64) -> bool {
        matches!(self.dues, Dues::Closed(_)) && self.expires_at().is_some_and(|at| at >= until)
    }

    /// A call was given to its connection.
    #[inline]
    pub(super) fn sent(&mut self, token: u64) {
        self.unsent = self.timed.then_some(token);
        match self.in_flight.get(token) {
            Some(call) if call.measured => match call.retries {
                0 => self.recorder.sent(call.due),
                _ => self.recorder.account.retried += 1,
            },
            _ => {}
        }
    }

    /// All that connection `index` had to write is handed to the kernel. Beside one that is going away
    /// there is another, which may write for itself.
    #[inline]
    pub(super) fn stamp_sent(&mut self, index: usize) {
        if let Some(call) = self.unsent.and_then(|token| self.in_flight.get(token))
            && call.connection == index
        {
            call.stamps.sent = clock::now();
            self.unsent = None;
        }
    }

    /// The transport took nothing of a call that it was given.
    pub(super) fn take_back_sent(&mut self, token: u64) {
        if let Some(call) = self.in_flight.get(token)
            && call.measured
            && call.retries == 0
        {
            self.recorder.not_sent(call.due);
        }
    }

    /// The calls on one connection go on on another.
    pub(super) fn move_all(&mut self, from: usize, to: usize) {
        self.in_flight.move_all(from, to);
    }

    /// What takes the events of bytes that were read at `at` (ns). Calls that they end are then taken
    /// with [`Ledger::take_ended`].
    #[inline]
    pub(super) fn events(&mut self, at: u64) -> Events<'_> {
        Events {
            calls: &mut self.in_flight,
            ended: &mut self.ended,
            rules: &self.rules,
            held: &mut self.held,
            at,
            seen: Seen::default(),
        }
    }

    /// The calls that events have ended. The list is to be given back, emptied, for its memory.
    #[inline]
    pub(super) fn take_ended(&mut self) -> Vec<(u64, End)> {
        std::mem::take(&mut self.ended)
    }

    /// Gives back what [`Ledger::take_ended`] gave.
    #[inline]
    pub(super) fn put_back_ended(&mut self, ended: Vec<(u64, End)>) {
        self.ended = ended;
    }

    /// Ends a call, good or not, at `done` (ns), and lets the schedule know.
    pub(super) fn end(
        &mut self,
        token: u64,
        done: u64,
        result: Result<(), CallFailure<'_>>,
    ) -> Option<Ended> {
        let call = self.in_flight.remove(token)?;
        call.response.let_go(&mut self.held);
        // Comparing a response with the right one, or checking it, is the instrument's own work, which can
        // take longer than a call: the call after it is not late by that.
        let free = match call.verified || self.checks {
            true => clock::now(),
            false => done,
        };
        self.dues.call_ended(free);
        self.unsent = None;
        let ended = Ended {
            due: call.due,
            done,
            measured: call.measured,
            succeeded: result.is_ok(),
        };
        if call.measured {
            self.measured_in_flight -= 1;
            match result {
                Ok(()) => {
                    self.recorder.answered(call.due, done);
                    if call.retries > 0 {
                        // The stages of its last send say nothing of the call.
                        self.recorder.account.answered_after_retry += 1;
                    } else if self.timed {
                        let times = stage_times(&call.stamps, &call.response, done);
                        self.recorder.stages(times);
                    }
                }
                Err((kind, text)) => self.recorder.failed(call.due, done, kind, text),
            }
        }
        Some(ended)
    }

    // Calls that are sent again.

    /// Whether a call that its connection failed is sent again. It then waits for a connection that
    /// has room: one that is going away has none. `connection_proved` says whether the connection had
    /// brought a response before.
    pub(super) fn retry(&mut self, token: u64, failure: &Failure, connection_proved: bool) -> bool {
        let Some(call) = self.in_flight.get(token) else {
            return false;
        };
        let sent = Sent {
            protocol: self.trial.target.protocol,
            style: &self.trial.request.style,
            retries: call.retries,
            response_begun: call.stamps.first_byte != 0,
            connection_proved,
        };
        if !may_retry(failure, sent) {
            return false;
        }
        call.retries += 1;
        // What was stamped is of a send that came to nothing.
        call.stamps = Stamps {
            begun: call.stamps.begun,
            ..Stamps::default()
        };
        call.response.begin_again();
        self.unsent = None;
        self.to_retry.push_back(token);
        true
    }

    /// The call that is to be sent again next.
    #[inline]
    pub(super) fn next_retry(&self) -> Option<u64> {
        self.to_retry.front().copied()
    }

    /// Takes the call that is to be sent again next.
    pub(super) fn take_retry(&mut self) -> Option<u64> {
        self.to_retry.pop_front()
    }

    // Figures.

    /// Calls that count, started so far.
    #[inline]
    pub(super) fn started(&self) -> u64 {
        self.recorder.account.started
    }

    /// How many of them succeeded.
    pub(super) fn answered(&self) -> u64 {
        self.recorder.account.answered
    }

    /// When the first call that counts was due, ns.
    #[inline]
    pub(super) fn first_due(&self) -> Option<u64> {
        self.recorder.start
    }

    /// The most calls that were in flight at a time in the measured part.
    pub(super) fn most_in_flight(&self) -> u64 {
        self.most_in_flight as u64
    }

    /// Takes note of an error that fails no call.
    pub(super) fn note_error(&mut self, (kind, text): CallFailure<'_>) {
        self.recorder.errors.add(kind, text);
    }

    /// Counts the stages of the call that ended last, while the next one is on its way.
    #[inline]
    pub(super) fn count_stages(&mut self) {
        self.recorder.count_stages();
    }

    /// The sums so far and, where snapshots are taken, the times of the calls since the last one.
    pub(super) fn so_far(&mut self) -> (&Account, Option<&mut IntervalTimes>) {
        (&self.recorder.account, self.recorder.interval.as_mut())
    }

    /// Gives up the calls in flight as the trial ends. Where there are any, the trial's time goes on to
    /// `now`. It would end with the last call that ended otherwise, and a service that has been silent
    /// since would have the goodput of its better days.
    pub(super) fn abandon_in_flight(&mut self, now: u64) {
        self.recorder.account.abandoned += self.in_flight.measured();
        if self.recorder.account.abandoned > 0 {
            self.recorder.end = self.recorder.end.max(now);
        }
    }

    /// Up to when the arrivals that were taken reach, ns; `None` for a closed loop.
    pub(super) fn arrivals_reach(&self) -> Option<u64> {
        self.dues.reach()
    }

    /// The figures. `arrivals_end` is until when calls arrived at a rate, ns; `counted_ns` is the time in
    /// which calls counted, where that is not from the first to the last.
    pub(super) fn finish(mut self, arrivals_end: Option<u64>, counted_ns: Option<u64>) -> Recorded {
        self.recorder.end = self.recorder.end.max(arrivals_end.unwrap_or(0));
        self.recorder.arrivals_end = arrivals_end;
        self.recorder.counted_ns = counted_ns;
        self.recorder.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::failure_kinds::{NOT_SENT, TOO_LATE};
    use crate::engine::tests::{trial, unused};
    use crate::schedule::Schedule;

    #[test]
    fn each_measured_call_is_in_one_of_the_sums() {
        let trial = Trial {
            schedule: Schedule::Closed { in_flight: 4 },
            ..trial(unused())
        };
        let mut ledger = Ledger::new(&trial, false, false);
        ledger.start_schedule(100);
        let [answered, failed, abandoned] = [(); 3].map(|()| {
            let call = Beginning {
                connection: 0,
                due: ledger.take_due().unwrap(),
                begun: 101,
                measured: true,
                verified: false,
            };
            let token = ledger.begin(call, Keep::Nothing, true);
            ledger.sent(token);
            token
        });
        let due = ledger.take_due().unwrap();
        assert_eq!((due, ledger.next_due()), (100, None), "all are taken");
        ledger.fail_unbegun(due, true, NOT_SENT, 140);
        assert!(ledger.end(answered, 150, Ok(())).unwrap().succeeded);
        assert!(!ledger.end(failed, 160, Err(TOO_LATE)).unwrap().succeeded);
        assert!(ledger.end(failed, 170, Ok(())).is_none(), "once");
        assert_eq!(ledger.next_due(), Some(140), "an end makes another due");
        ledger.abandon_due(true);
        ledger.abandon_in_flight(200);
        assert!(ledger.call(abandoned).is_some());
        assert_eq!(ledger.most_in_flight(), 3);
        let calls = ledger.finish(None, None).account.close().unwrap();
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
