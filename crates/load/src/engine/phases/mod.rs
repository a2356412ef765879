//! The phases: which part of the trial it is, and when the next one begins.
//!
//! ```text
//! Opening ──► WarmUp ──► Switching ──► Measured ──► Draining ──► over
//!    └── without a warm-up ────────────────▲
//!
//! A session:
//!                                  ┌───────────── Session::slice ──────────────┐
//! Opening ──► WarmUp ──► Switching ──► Paused ──► Resuming ──► Skipping ──► Measured ──► Draining ──┐
//!                                        ▲                                                          │
//!                                        └──────────────────────────────────────────────────────────┘
//! ```
//!
//! From every phase the trial can end early: it was stopped, the bodies are used up, or nothing but
//! failures came for as long as its patience. What holds between two calls of the methods:
//!
//! - A call is measured if and only if it is due at `measured_from` or later, which is never before the
//!   first measured part and, in a session, between slices.
//! - `ending` is [`Ending::Complete`] until the trial ends early.
//! - A span of what is spent is open in the measured part and, but for a session, while it drains.

mod slices;
mod spent;
mod stop;
mod warmup;

use rpcgauge_trial::{ConnectionUse, Ending};

pub(super) use self::slices::Slicing;
use self::spent::Spent;
use self::stop::{Decision, Failing, Status, StopRule};
use self::warmup::WarmUp;
use super::ledger::{EndedCall, Ledger, Sending};
use super::pool::Pool;
use super::stall::Stall;
use crate::clock::{self, nanos};
use crate::schedule::Dues;
use crate::trial::Trial;
use crate::warmup::Settling;

/// Calls that are counted as never begun at most: counting takes time after the trial's end, and a
/// rate may bring a thousand million per second.
const MOST_NEVER_BEGUN: usize = 10_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Connections are opened; no call is made.
    Opening,
    /// Calls are made and not counted.
    WarmUp,
    /// The warm-up is over. In a closed loop its calls in flight may end before a measured one is
    /// begun, so that every byte and all processor time from then on is of measured calls. Arrivals
    /// at a rate go on, as calls of the warm-up while it has left any that were due and not begun, and
    /// for as long again at most.
    Switching,
    /// A session between its slices.
    Paused,
    /// Connections that were lost since the slice before are opened again.
    Resuming,
    /// Calls are made that are left out of the figures: the first ones of a slice.
    Skipping,
    /// Calls are made, and counted where they are due in this part. At a rate the warm-up may leave
    /// others, which waited: they come first, and are its own as far as it may have so many.
    Measured,
    /// No call is begun any more; those in flight may end.
    Draining,
}

pub(super) struct Phases<'t, 'r> {
    trial: &'t Trial,
    /// How long connections are waited for, ns: as long as a call.
    deadline: u64,
    /// The trial's patience, ns.
    patience: u64,
    pub(super) phase: Phase,
    /// When the present part began, ns.
    pub(super) started_at: u64,
    /// Calls that are due from here on are measured, ns.
    measured_from: u64,
    /// Until when calls may still end, while draining, ns.
    drained_by: u64,
    pub(super) warmup: WarmUp<'r>,
    /// The state of a session between its slices; `None` where the measured part is one piece.
    slicing: Option<Slicing>,
    stop: StopRule,
    failing: Failing,
    /// There are no more bodies.
    used_up: bool,
    /// Why the trial ended.
    pub(super) ending: Ending,
    /// Connections that were open when the measured part began.
    pub(super) connections_at_start: usize,
    /// What is spent while calls count.
    pub(super) spent: Spent<'r>,
    /// How long this program stood still in the time that counts, ns.
    pub(super) stalled_ns: u64,
}

impl<'t, 'r> Phases<'t, 'r> {
    /// A trial that begins to open its connections at `now` (ns). `settling` is asked after each slice
    /// of the warm-up, `measuring` called where what is spent begins and ceases to count.
    pub(super) fn new(
        trial: &'t Trial,
        settling: Box<dyn FnMut(u64) -> Settling + 'r>,
        measuring: Box<dyn FnMut(bool) + 'r>,
        now: u64,
    ) -> Self {
        Phases {
            trial,
            deadline: nanos(trial.deadline),
            patience: nanos(trial.patience),
            phase: Phase::Opening,
            started_at: now,
            measured_from: u64::MAX,
            drained_by: u64::MAX,
            warmup: WarmUp::new(trial.warmup, settling),
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

    // What the present part is.

    /// Whether the time that passes now counts.
    pub(super) fn is_counting(&self) -> bool {
        let drains = self.phase == Phase::Draining && self.slicing.is_none();
        self.phase == Phase::Measured || drains
    }

    /// Whether a call that is due at `due` is measured.
    pub(super) fn is_measured(&self, due: u64) -> bool {
        due >= self.measured_from
    }

    /// Whether a call that is due at `due` is to be begun in this part.
    #[inline]
    pub(super) fn admits(&self, ledger: &Ledger<'_>, due: u64) -> bool {
        if self.phase == Phase::Measured {
            !self.used_up && self.stop.admits(&self.status(ledger), due)
        } else {
            let drains = self.phase == Phase::Switching && ledger.dues.is_at_a_rate();
            let warms_up = (self.phase == Phase::WarmUp || drains) && !self.warmup.is_all_begun();
            !self.used_up && (warms_up || self.phase == Phase::Skipping)
        }
    }

    /// When it ends at the latest, ns.
    pub(super) fn ends_by(&self, ledger: &Ledger<'_>, now: u64) -> u64 {
        match self.phase {
            Phase::Measured if self.used_up || self.is_out_of_patience() => now,
            Phase::Measured => self.stop.changes_at(&self.status(ledger), now),
            Phase::Draining => self.drained_by,
            _ if self.used_up => now,
            Phase::Opening | Phase::Resuming => self.opening_ends_by(),
            Phase::WarmUp if self.is_out_of_patience() || self.warmup_is_over(now, ledger) => now,
            Phase::WarmUp => self.warmup.ends_by(),
            Phase::Switching if self.is_ready(ledger, now) => now,
            Phase::Switching => self.switching_ends_by(ledger),
            // With its calls, or with the next slice.
            Phase::Skipping | Phase::Paused => u64::MAX,
        }
    }

    /// Calls that are due by `now` in the measured part, or were left by the warm-up, and are not begun yet.
    pub(super) fn waiting(&self, ledger: &Ledger<'_>, now: u64) -> u64 {
        if self.phase != Phase::Measured || self.is_over() {
            return 0;
        }
        let status = self.status(ledger);
        let last = now.min(self.stop.ends_at(&status).saturating_sub(1));
        let before = last.min(self.measured_from.saturating_sub(1));
        let of_warmup = ledger.dues.waiting(before).min(self.warmup.left());
        let all = ledger.dues.waiting(last);
        of_warmup + (all - of_warmup).min(self.stop.calls_left(&status))
    }

    // What happens in it.

    #[cold]
    pub(super) fn interrupt(&mut self) {
        self.ending = Ending::Interrupted;
    }

    /// No more calls are begun: there are no more bodies, or all requests that may be sent are.
    #[cold]
    pub(super) fn calls_used_up(&mut self) {
        self.used_up = true;
    }

    /// Counts a call that is taken from the schedule. True when it is a measured one: by when it
    /// was due, not by when it can be begun. A server that does not keep up with a rate leaves calls
    /// waiting at the warm-up's end, whose latency and time belong there, as far as it may have so many.
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
        // What becomes of the warm-up's last calls is no reason to give the measured part up.
        if !call.stalled && call.measured == (self.measured_from < u64::MAX) {
            self.failing.note_end(call.done, call.succeeded);
        }
        if !call.measured {
            self.unmeasured_call_ended(call);
        }
    }

    /// Takes note that this program stood still. Its calls fail for that alone, and the time is in no rate.
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
        let until = match ledger.dues.is_at_a_rate() {
            true => stall.until.min(self.stop.ends_at(&status)),
            false => stall.until,
        };
        self.stalled_ns += until.saturating_sub(stall.from.max(self.started_at));
    }

    /// Ends the warm-up by its rule, where that says so. A call that ends after it is only counted.
    fn unmeasured_call_ended(&mut self, call: EndedCall) {
        self.count_unmeasured(call.sending, call.succeeded);
        if let Some(slicing) = &mut self.slicing
            && !self.phase.is_before_measuring()
        {
            // A stall of this program says nothing of the server.
            slicing.fails |= !call.succeeded && !call.stalled;
            return;
        }
        self.warmup.outcome.failed += u64::from(!call.succeeded);
        if self.phase != Phase::WarmUp {
            return;
        }
        match self.warmup.call_ended(&call) {
            Settling::GoOn => {}
            Settling::Settled => self.end_warmup(true, call.done),
            Settling::NeverSettled => self.end_warmup(false, call.done),
        }
    }

    /// Counts a call that is not measured, and whose bytes are.
    fn count_unmeasured(&mut self, sending: Sending, succeeded: bool) {
        match &mut self.slicing {
            Some(slicing) if !self.phase.is_before_measuring() => {
                slicing.skipped_call_ended(sending, succeeded);
            }
            _ if self.measured_from < u64::MAX => self.warmup.late_call_ended(sending, succeeded),
            _ => {}
        }
    }

    /// Goes on to the next part where it is time. True when the trial, or the slice, is over.
    pub(super) fn advance(&mut self, now: u64, pool: &Pool<'_>, ledger: &mut Ledger<'_>) -> bool {
        if !matches!(self.phase, Phase::Measured | Phase::Draining) {
            self.advance_to_measured(now, pool, ledger);
        }
        match self.phase {
            Phase::Skipping if self.is_out_of_patience() => {
                self.ending = Ending::GaveUp;
                true
            }
            Phase::Paused => true,
            Phase::Measured => self.advance_measured(now, pool, ledger),
            Phase::Draining => {
                self.end_slice_span(pool, ledger);
                self.is_drained(ledger) || now >= self.drained_by
            }
            _ => self.used_up,
        }
    }

    fn advance_to_measured(&mut self, now: u64, pool: &Pool<'_>, ledger: &mut Ledger<'_>) {
        if self.phase == Phase::Opening && (pool.all_attempted() || now >= self.opening_ends_by()) {
            self.start_calls(now, pool, ledger);
        }
        if self.phase == Phase::WarmUp
            && (self.warmup_is_over(now, ledger) || self.is_out_of_patience())
        {
            self.end_warmup(false, now);
        }
        // A server that is stuck must not hold the trial for a deadline.
        if self.phase == Phase::Switching
            && (self.is_ready(ledger, now) || now >= self.switching_ends_by(ledger))
        {
            match self.slicing {
                None => self.start_measuring(pool, ledger),
                Some(_) => self.pause(now),
            }
        }
        if self.phase == Phase::Resuming && (pool.all_attempted() || now >= self.opening_ends_by())
        {
            self.begin_skipping(now, pool, ledger);
            if pool.counts.open == 0 && self.trial.connection_use == ConnectionUse::Reuse {
                // Calls that fail for want of a connection count.
                self.start_measuring(pool, ledger);
            }
        }
        if self.phase == Phase::Skipping && self.is_skipped(now) {
            self.start_measuring(pool, ledger);
        }
    }

    fn advance_measured(&mut self, now: u64, pool: &Pool<'_>, ledger: &Ledger<'_>) -> bool {
        if self.is_out_of_patience() {
            self.ending = Ending::GaveUp;
            return true;
        }
        let decision = if self.used_up {
            Decision::Drain {
                until: now.saturating_add(nanos(self.trial.drain)),
            }
        } else {
            self.stop.decide(&self.status(ledger), now)
        };
        match decision {
            Decision::GoOn => false,
            Decision::Over => true,
            Decision::Drain { until } => {
                self.end_slice_span(pool, ledger);
                self.phase = Phase::Draining;
                self.drained_by = until;
                self.is_drained(ledger)
            }
        }
    }

    #[cold]
    fn start_calls(&mut self, now: u64, pool: &Pool<'_>, ledger: &mut Ledger<'_>) {
        self.failing = Failing::default();
        self.started_at = now;
        if self.warmup.start(now) {
            self.phase = Phase::WarmUp;
        } else if self.slicing.is_some() {
            self.pause(now);
        } else {
            self.start_measuring(pool, ledger);
        }
        // Without a warm-up the first call is due when the measured part begins, and not before.
        ledger.dues = Dues::new(&self.trial.schedule, self.trial.seed, self.started_at);
    }

    #[cold]
    fn end_warmup(&mut self, settled: bool, at: u64) {
        self.warmup.outcome.settled = settled;
        self.phase = Phase::Switching;
        self.started_at = at;
    }

    fn start_measuring(&mut self, pool: &Pool<'_>, ledger: &mut Ledger<'_>) {
        if ledger.recorder.account.calls.started == 0 {
            self.connections_at_start = pool.counts.open;
            self.failing = Failing::default();
        }
        if self.slicing.is_none() {
            for call in ledger.calls.unmeasured() {
                call.note_measured_part();
            }
        }
        self.spent.begin_span(pool);
        let now = clock::now();
        self.warmup.end(now);
        self.phase = Phase::Measured;
        self.started_at = now;
        self.measured_from = now;
        // What the instrument did since the last call ended is not lateness of the next ones.
        ledger.dues.start_again(now);
    }

    #[cold]
    fn pause(&mut self, now: u64) {
        self.warmup.end(now);
        self.failing = Failing::default();
        self.phase = Phase::Paused;
        self.started_at = now;
    }

    fn warmup_is_over(&self, now: u64, ledger: &Ledger<'_>) -> bool {
        // Arrivals at a rate do not wait: after the last of the warm-up the next is a measured one.
        let next_is_measured = ledger.dues.is_at_a_rate() && self.warmup.is_all_begun();
        next_is_measured || self.warmup.is_over(now)
    }

    /// Whether the first measured call can be begun after the warm-up.
    fn is_ready(&self, ledger: &Ledger<'_>, now: u64) -> bool {
        match ledger.dues.next_arrival() {
            None => ledger.dues.is_at_a_rate() || ledger.calls.is_empty(),
            // Calls that wait while the latency is steady are how this service is at this rate.
            Some(due) => due > now || self.warmup.outcome.settled || self.warmup.is_all_begun(),
        }
    }

    /// Whether calls that do not count are those that a slice leaves out.
    fn is_in_slice(&self) -> bool {
        self.slicing.is_some() && !self.phase.is_before_measuring()
    }

    /// Whether the calls are over that the measured part waits for. A session waits for all, so that
    /// nothing happens while others are measured.
    fn is_drained(&self, ledger: &Ledger<'_>) -> bool {
        match self.slicing {
            None => ledger.measured_in_flight == 0,
            Some(_) => ledger.calls.is_empty(),
        }
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
            next_due: ledger.dues.next(),
        }
    }

    fn opening_ends_by(&self) -> u64 {
        self.started_at.saturating_add(self.deadline)
    }

    /// Calls in flight are waited for as long as for a success: that the warm-up only failed does not
    /// shorten it.
    fn switching_ends_by(&self, ledger: &Ledger<'_>) -> u64 {
        let lasts = match ledger.dues.is_at_a_rate() {
            true => self.warmup.longest(),
            false => self.patience,
        };
        self.started_at.saturating_add(lasts)
    }

    fn is_out_of_patience(&self) -> bool {
        self.failing.lasted >= self.patience
    }

    // What it came to.

    /// Whether no more calls are made, whatever the [`rpcgauge_trial::Stop`]: it was stopped, the bodies are used
    /// up, or nothing but failures came for too long.
    pub(super) fn is_over(&self) -> bool {
        self.used_up || !self.ending.is_complete()
    }

    /// Whether `done` (ns) is after the time in which calls are due at a rate.
    pub(super) fn is_after_arrivals(&self, done: u64, ledger: &Ledger<'_>) -> bool {
        ledger.dues.is_at_a_rate() && done > self.stop.ends_at(&self.status(ledger))
    }

    /// The end of the time in which calls were due at a rate, of a trial that ends at `now` (ns).
    /// `None` where the last call's end is the trial's: in a closed loop, and where the number of calls
    /// ended the trial, and not its time.
    pub(super) fn arrivals_end(&self, now: u64, ledger: &Ledger<'_>) -> Option<u64> {
        let reach = ledger.dues.reach()?;
        let planned = self.stop.ends_at(&self.status(ledger));
        let broken_off = matches!(self.ending, Ending::Interrupted | Ending::GaveUp);
        match broken_off && self.phase != Phase::Draining {
            true => Some(reach.min(planned).min(now)),
            false => (planned <= reach).then_some(planned),
        }
    }

    /// Where a session stands; `None` where the measured part is one piece.
    pub(super) fn slicing(&self) -> Option<&Slicing> {
        self.slicing.as_ref()
    }

    /// Gives up the calls in flight as the trial ends, and those that are due and will not be begun.
    pub(super) fn abandon_the_rest(&mut self, now: u64, ledger: &mut Ledger<'_>) {
        for _ in 0..MOST_NEVER_BEGUN {
            match ledger.dues.next() {
                Some(due)
                    if due <= now && self.phase == Phase::Measured && self.admits(ledger, due) =>
                {
                    let measured = self.call_taken(due);
                    ledger.abandon_due(measured, now);
                    if !measured {
                        self.count_unmeasured(Sending::NotSent, false);
                    }
                }
                _ => break,
            }
        }
        for call in ledger.calls.unmeasured() {
            self.count_unmeasured(call.sending, false);
        }
        ledger.abandon_in_flight(now);
    }
}

impl Phase {
    /// Whether it comes before anything is measured.
    fn is_before_measuring(self) -> bool {
        matches!(self, Phase::Opening | Phase::WarmUp | Phase::Switching)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mio::Poll;
    use rpcgauge_trial::{LateCalls, Schedule};

    use super::*;
    use crate::engine::failure_kinds::STALLED;
    use crate::engine::ledger::Beginning;
    use crate::engine::tests::{trial, unused};
    use crate::warmup::WarmupBounds;

    #[test]
    fn a_late_call_of_the_warmup_that_a_stall_held_up_was_not_answered() {
        let trial = trial(unused());
        let mut ledger = Ledger::new(&trial, false, false);
        let settled = Box::new(|_| Settling::Settled);
        let mut phases = Phases::new(&trial, settled, Box::new(|_| ()), 0);
        phases.measured_from = 100;
        phases.call_ended(ledger.fail_unbegun(50, false, STALLED, 120));
        let late = phases.warmup.late;
        assert!(late.is_sound(), "{late:?}");
        assert_eq!((late.ended, late.answered()), (1, 0));
    }

    #[test]
    fn a_closed_loop_lets_the_calls_of_its_warmup_end_before_it_measures() {
        let trial = Trial {
            schedule: Schedule::Closed { in_flight: 2 },
            warmup: Some(WarmupBounds {
                max_calls: 10,
                max_time: Duration::from_secs(1),
                least_calls: 0,
                slice_calls: 1,
                slice_time: Duration::ZERO,
            }),
            ..trial(unused())
        };
        let poll = Poll::new().unwrap();
        let pool = Pool::new(&trial, poll.registry().try_clone().unwrap());
        let mut ledger = Ledger::new(&trial, false, false);
        let settled = Box::new(|_| Settling::Settled);
        let mut phases = Phases::new(&trial, settled, Box::new(|_| ()), 0);
        assert!(!phases.advance(0, &pool, &mut ledger));
        assert_eq!(phases.phase, Phase::Opening);
        let now = phases.deadline;
        assert!(!phases.advance(now, &pool, &mut ledger));
        assert_eq!(phases.phase, Phase::WarmUp, "no connection, no wait");
        let [first, second] = [(); 2].map(|()| {
            let due = ledger.dues.next().unwrap();
            assert!(phases.admits(&ledger, due));
            ledger.dues.take();
            let call = Beginning {
                connection: 0,
                due,
                begun: due,
                measured: phases.call_taken(due),
            };
            ledger.begin(call, false).0
        });
        ledger.end(first, (now + 10, false), Ok(()), |call| {
            phases.call_ended(call)
        });
        assert!(!phases.advance(now + 10, &pool, &mut ledger));
        assert_eq!(phases.phase, Phase::Switching, "one is in flight");
        assert!(!phases.admits(&ledger, now + 10));
        ledger.end(second, (now + 20, false), Ok(()), |call| {
            phases.call_ended(call)
        });
        assert!(!phases.advance(now + 20, &pool, &mut ledger));
        assert_eq!(phases.phase, Phase::Measured);
        assert!(phases.call_taken(ledger.dues.next().unwrap()));
        let (warmup, late) = (phases.warmup.outcome, phases.warmup.late);
        assert!(warmup.settled);
        assert_eq!((warmup.calls, warmup.failed), (2, 0));
        assert_eq!(late, LateCalls::default());
    }
}
