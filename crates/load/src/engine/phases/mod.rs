//! The phases: which one the trial is in, and when the next one begins.
//!
//! ```text
//! Opening ──► WarmUp ──► Switching ──► Measured ──► Draining ──► over
//!    └── without a warm-up ────────────────▲
//!
//! A session:
//!
//! Opening ──► Paused
//! Paused ──► WarmUp ──► Switching ──► Paused                              (Session::warm_up_turn)
//! Paused ──► Resuming ──► Skipping ──► Measured ──► Draining ──► Paused   (Session::slice)
//! ```
//!
//! The engines of a trial on several threads change to `WarmUp` and to `Measured` together (`team`).
//!
//! The trial can end early in any phase: because it is stopped, the bodies are used up, or all calls have
//! failed for as long as its patience. Invariants between calls to the methods:
//!
//! - A call is measured if and only if it is due at `measured_from` or later. `measured_from` is `u64::MAX`
//!   before the first measured part and, in a session, between slices.
//! - `ending` is [`Ending::Complete`] until the trial ends early.
//! - Bytes and CPU time are counted in the measured part and, except in a session, while it drains.

mod advance;
mod slices;
mod spent;
mod stop;
mod warmup;

use rpcgauge_trial::Ending;

pub(super) use self::slices::Slicing;
use self::spent::Spent;
use self::stop::{Failing, Status, StopRule};
pub(super) use self::warmup::CommonMeter;
use self::warmup::WarmUp;
use super::ledger::{EndedCall, Ledger, Sending};
use super::stall::Stall;
use super::team::Member;
use crate::clock::nanos;
use crate::shard::Shard;
use crate::trial::Trial;
use crate::warmup::Settling;

/// Maximum number of calls that are abandoned one by one at a trial's end. That takes time, and a rate may be
/// as high as a billion calls per second. The remaining calls are counted in bulk.
const MAX_ONE_BY_ONE: usize = 10_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Connections are opened; no calls are made.
    Opening,
    /// Calls are made but not measured.
    WarmUp,
    /// The warm-up is over. A closed loop waits for the calls in flight, so that all bytes and CPU time from
    /// then on belong to measured calls. At a rate, arrivals continue, and are counted in the warm-up while
    /// calls that were due during it wait to begin, but for no longer than its maximum time again.
    Switching,
    /// A session between two of its slices.
    Paused,
    /// Connections that were lost since the previous slice are reopened.
    Resuming,
    /// The first calls of a slice are made; they are excluded from the figures.
    Skipping,
    /// Calls are made, and measured if they are due in this part. At a rate, calls of the warm-up may still
    /// be waiting. They come first, and are counted in the warm-up up to its maximum number of calls.
    Measured,
    /// No more calls begin; calls in flight may end.
    Draining,
}

pub(super) struct Phases<'t, 'r> {
    trial: &'t Trial,
    /// `None` if the trial runs on one thread.
    member: Option<Member<'t>>,
    /// How long to wait for connections, ns. The same as a call's deadline.
    deadline: u64,
    /// The trial's patience, ns.
    patience: u64,
    pub(super) phase: Phase,
    /// When the current phase began, ns.
    pub(super) started_at: u64,
    /// Calls that are due at this time or later are measured, ns.
    measured_from: u64,
    /// While draining, the time until which calls may still end, ns.
    drained_by: u64,
    pub(super) warmup: WarmUp<'r>,
    /// The state of a session; `None` if the measured part is not divided into slices.
    slicing: Option<Slicing>,
    stop: StopRule,
    failing: Failing,
    /// Whether all bodies, or all requests that may be sent, are used up.
    used_up: bool,
    /// Why the trial ended.
    pub(super) ending: Ending,
    /// Number of connections that were open when the measured part began.
    pub(super) connections_at_start: usize,
    /// Bytes and CPU time of the measured part.
    pub(super) spent: Spent<'r>,
    /// How long this process was stalled during the measured time, ns.
    pub(super) stalled_ns: u64,
}

impl<'t, 'r> Phases<'t, 'r> {
    /// A trial that begins to open its connections at `now` (ns). `settling` is the warm-up's rule, called
    /// after each slice. `measuring` is called when the measured time begins and when it ends.
    pub(super) fn new(
        trial: &'t Trial,
        member: Option<Member<'t>>,
        settling: Box<dyn FnMut(u64) -> Settling + 'r>,
        measuring: Box<dyn FnMut(bool) + 'r>,
        now: u64,
    ) -> Self {
        let common = member
            .as_ref()
            .map(|member| (member.shard(), member.meter()));
        let common = common.unwrap_or((Shard::WHOLE, CommonMeter::default()));
        Phases {
            trial,
            warmup: WarmUp::new(trial.warmup, settling, common),
            member,
            deadline: nanos(trial.deadline),
            patience: nanos(trial.patience),
            phase: Phase::Opening,
            started_at: now,
            measured_from: u64::MAX,
            drained_by: u64::MAX,
            slicing: None,
            stop: StopRule::new(trial),
            failing: Failing::default(),
            used_up: false,
            ending: Ending::Complete,
            connections_at_start: 0,
            spent: Spent::new(measuring),
            stalled_ns: 0,
        }
    }

    // The current phase.

    /// Whether the current time is measured.
    pub(super) fn is_counting(&self) -> bool {
        let drains = self.phase == Phase::Draining && self.slicing.is_none();
        self.phase == Phase::Measured || drains
    }

    /// Whether a call that is due at `due` is measured.
    pub(super) fn is_measured(&self, due: u64) -> bool {
        due >= self.measured_from
    }

    /// Whether a call that is due at `due` should begin in this phase.
    #[inline]
    pub(super) fn admits(&self, ledger: &Ledger<'_>, due: u64) -> bool {
        if self.phase == Phase::Measured {
            !self.used_up && self.stop.admits(&self.status(ledger), due)
        } else {
            let drains = self.phase == Phase::Switching && ledger.due_times.is_at_a_rate();
            let warms_up = (self.phase == Phase::WarmUp || drains)
                && !self.warmup.is_all_begun()
                && self.is_before_measured_part(due);
            !self.used_up && (warms_up || self.phase == Phase::Skipping)
        }
    }

    /// Whether a call that is due at `due` does not belong to a measured part that the threads have agreed on.
    fn is_before_measured_part(&self, due: u64) -> bool {
        let member = self.member.as_ref();
        let from = member.and_then(Member::measured_from);
        from.is_none_or(|from| due < from)
    }

    /// Number of calls that are due by `now` but have not begun. It includes calls of the measured part and
    /// those left over from the warm-up.
    pub(super) fn waiting(&self, ledger: &Ledger<'_>, now: u64) -> u64 {
        if self.phase != Phase::Measured || self.is_over() {
            return 0;
        }
        let status = self.status(ledger);
        let last = now.min(self.stop.ends_at(&status).saturating_sub(1));
        let before = last.min(self.measured_from.saturating_sub(1));
        let of_warmup = ledger.due_times.waiting(before).min(self.warmup.left());
        let all = ledger.due_times.waiting(last);
        of_warmup + (all - of_warmup).min(self.stop.calls_left(&status))
    }

    // Events in a phase.

    #[cold]
    pub(super) fn interrupt(&mut self) {
        self.ending = Ending::Interrupted;
    }

    /// Notes that there are no more bodies, so no more calls can begin.
    #[cold]
    pub(super) fn bodies_used_up(&mut self) {
        self.used_up = true;
    }

    /// Notes that all requests that may be sent are used up, so no more calls can begin.
    #[cold]
    pub(super) fn requests_used_up(&mut self) {
        self.used_up = true;
        self.ending = Ending::MaxRequests;
    }

    /// Counts a call that is taken from the schedule. Returns whether it is measured, which depends on when
    /// it is due, not on when it can begin. If a server does not keep up with a rate, calls are waiting at
    /// the end of the warm-up. They belong to the warm-up, up to its maximum number of calls.
    #[inline]
    pub(super) fn call_taken(&mut self, due: u64) -> bool {
        if self.measured_from < u64::MAX && self.warmup.is_all_begun() {
            self.measured_from = self.measured_from.min(due);
        }
        let measured = due >= self.measured_from;
        if !measured && !self.is_in_slice() {
            self.warmup.outcome.calls += 1;
        }
        measured
    }

    #[inline(always)]
    pub(super) fn call_ended(&mut self, call: EndedCall) {
        // The last calls of the warm-up must not end the measured part early.
        if !call.stalled && call.measured == (self.measured_from < u64::MAX) {
            self.failing.note_end(call.done, call.succeeded);
        }
        if !call.measured {
            self.unmeasured_call_ended(call);
        }
    }

    /// Notes a stall of this process. Its time is excluded from rates, and calls that were open during it
    /// fail for that reason.
    #[cold]
    pub(super) fn note_stall(&mut self, stall: &Stall, ledger: &mut Ledger<'_>) {
        self.failing.pause(stall.until - stall.from);
        if matches!(self.phase, Phase::Measured | Phase::Draining) {
            ledger.recorder.stalled(stall.from, stall.lasted);
        }
        if !self.is_counting() {
            return;
        }
        let status = self.status(ledger);
        let until = if ledger.due_times.is_at_a_rate() {
            stall.until.min(self.stop.ends_at(&status))
        } else {
            stall.until
        };
        self.stalled_ns += until.saturating_sub(stall.from.max(self.started_at));
    }

    /// Counts the end of an unmeasured call. In the warm-up, this may end the warm-up, depending on its rule.
    fn unmeasured_call_ended(&mut self, call: EndedCall) {
        self.count_unmeasured(call.sending, call.succeeded);
        if let Some(slicing) = &mut self.slicing
            && !self.phase.is_before_measuring()
        {
            // A stall of this process is not the server's failure.
            slicing.fails |= !call.succeeded && !call.stalled;
            return;
        }
        self.warmup.outcome.failed += u64::from(!call.succeeded);
        if self.phase != Phase::WarmUp {
            let is_in_time = call.succeeded && !call.late && self.measured_from < u64::MAX;
            self.warmup.answered_in_measured += u64::from(is_in_time);
            self.warmup.drained_call_ended();
            return;
        }
        match self.warmup.call_ended(&call) {
            None => {}
            Some(Settling::Settled) => self.end_warmup(true, call.done),
            Some(Settling::NeverSettled) => self.end_warmup(false, call.done),
            Some(Settling::GoOn) if self.slicing.is_some() && self.warmup.is_turn_over() => {
                self.end_warmup_calls(call.done);
            }
            Some(Settling::GoOn) => {}
        }
    }

    /// Counts an unmeasured call whose bytes are nevertheless measured.
    fn count_unmeasured(&mut self, sending: Sending, succeeded: bool) {
        match &mut self.slicing {
            Some(slicing) if !self.phase.is_before_measuring() => {
                slicing.skipped_call_ended(sending, succeeded);
            }
            _ if self.measured_from < u64::MAX => self.warmup.late_call_ended(sending, succeeded),
            _ => {}
        }
    }

    /// Whether unmeasured calls are those skipped by a slice.
    fn is_in_slice(&self) -> bool {
        self.slicing.is_some() && !self.phase.is_before_measuring()
    }

    #[inline]
    fn status(&self, ledger: &Ledger<'_>) -> Status {
        let recorded = &ledger.recorder;
        let (start, before) = match &self.slicing {
            None => (recorded.start.unwrap_or(self.started_at), 0),
            Some(slicing) => (self.started_at, slicing.started_before),
        };
        Status {
            start,
            started: recorded.account.calls.started - before,
            next_due: ledger.due_times.next(),
        }
    }

    // The end of the trial.

    /// Whether the trial ended before its [`rpcgauge_trial::Stop`] because it was stopped, bodies or requests
    /// were used up, or all calls failed for too long.
    pub(super) fn is_over(&self) -> bool {
        self.used_up || !self.ending.is_complete()
    }

    /// Whether `done` (ns) is after the time in which calls are due at a rate.
    pub(super) fn is_after_arrivals(&self, done: u64, ledger: &Ledger<'_>) -> bool {
        ledger.due_times.is_at_a_rate() && done > self.stop.ends_at(&self.status(ledger))
    }

    /// The end of the time in which calls were due at a rate, for a trial that ends at `now` (ns). `None` if
    /// the trial ends with its last call. This is the case in a closed loop, and if the number of calls ended
    /// the trial before its time.
    pub(super) fn arrivals_end(&self, now: u64, ledger: &Ledger<'_>) -> Option<u64> {
        let reach = ledger.due_times.reach()?;
        let planned = self.stop.ends_at(&self.status(ledger));
        let broken_off = matches!(self.ending, Ending::Interrupted | Ending::GaveUp);
        if broken_off && self.phase != Phase::Draining {
            Some(reach.min(planned).min(now))
        } else {
            (planned <= reach).then_some(planned)
        }
    }

    /// The state of a session; `None` if the measured part is not divided into slices.
    pub(super) fn slicing(&self) -> Option<&Slicing> {
        self.slicing.as_ref()
    }

    /// At the end of the trial, abandons the calls in flight and those that are due but will not begin.
    pub(super) fn abandon_the_rest(&mut self, now: u64, ledger: &mut Ledger<'_>) {
        self.abandon_waiting(MAX_ONE_BY_ONE, now, ledger);
        for call in ledger.calls.unmeasured() {
            self.count_unmeasured(call.sending, false);
        }
        ledger.abandon_in_flight(now);
    }

    fn abandon_waiting(&mut self, one_by_one: usize, now: u64, ledger: &mut Ledger<'_>) {
        for _ in 0..one_by_one {
            match ledger.due_times.next() {
                Some(due)
                    if due <= now && self.phase == Phase::Measured && self.admits(ledger, due) =>
                {
                    let measured = self.call_taken(due);
                    ledger.abandon_due(measured, now);
                    if !measured {
                        self.count_unmeasured(Sending::NotSent, false);
                    }
                }
                _ => return,
            }
        }
        if self.phase == Phase::Measured && !self.used_up {
            let status = self.status(ledger);
            let by = now.min(self.stop.ends_at(&status).saturating_sub(1));
            ledger.abandon_all_due(by, self.stop.calls_left(&status));
        }
    }
}

impl Phase {
    /// Whether nothing has been measured before this phase.
    fn is_before_measuring(self) -> bool {
        matches!(self, Phase::Opening | Phase::WarmUp | Phase::Switching)
    }
}

#[cfg(test)]
mod tests {
    use rpcgauge_trial::{Arrivals, RampPart, Schedule};

    use super::*;
    use crate::engine::failure_kinds::STALLED;
    use crate::engine::tests::{trial, unused};
    use crate::schedule::DueTimes;

    #[test]
    fn all_calls_that_are_never_begun_are_counted() {
        let mut trial = trial(unused());
        let part = |from, to| RampPart {
            from,
            to,
            time_ms: 100,
        };
        trial.stop.calls = None;
        trial.stop.time_ms = None;
        trial.schedule = Schedule::Ramp {
            parts: vec![part(0.0, 1e4), part(2e4, 2e4)],
            arrivals: Arrivals::Constant,
        };
        let abandoned = |one_by_one| {
            let mut ledger = Ledger::new(&trial, false, false);
            let settled = Box::new(|_| Settling::Settled);
            let mut phases = Phases::new(&trial, None, settled, Box::new(|_| ()), 0);
            ledger.due_times = DueTimes::new(&trial.schedule, 0, 0);
            (phases.phase, phases.measured_from) = (Phase::Measured, 0);
            phases.abandon_waiting(one_by_one, 150_020_000, &mut ledger);
            let recorder = &ledger.recorder;
            let steps = recorder.steps.each.iter().map(|step| step.calls.started);
            let calls = &recorder.account.calls;
            let counts = [calls.started, calls.abandoned, calls.never_begun];
            (counts, steps.collect::<Vec<_>>())
        };
        let (counts, steps) = abandoned(usize::MAX);
        assert_eq!(counts, [1_501; 3]);
        assert_eq!(abandoned(70), (counts, steps));
    }

    #[test]
    fn a_late_call_of_the_warmup_that_a_stall_held_up_was_not_answered() {
        let trial = trial(unused());
        let mut ledger = Ledger::new(&trial, false, false);
        let settled = Box::new(|_| Settling::Settled);
        let mut phases = Phases::new(&trial, None, settled, Box::new(|_| ()), 0);
        phases.measured_from = 100;
        phases.call_ended(ledger.fail_unbegun(50, false, STALLED, 120));
        let late = phases.warmup.late;
        assert!(late.is_sound(), "{late:?}");
        assert_eq!((late.ended, late.answered()), (1, 0));
    }
}
