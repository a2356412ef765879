//! Decides when one phase ends and the next begins.

use rpcgauge_trial::{ConnectionUse, Ending};

use super::stop::{Decision, Failing};
use super::{Phase, Phases};
use crate::clock::{self, nanos};
use crate::engine::ledger::Ledger;
use crate::engine::pool::Pool;
use crate::schedule::DueTimes;

/// How often a thread without patience looks whether all others have none left, ns.
const GIVE_UP_LOOK_NS: u64 = 10_000_000;

impl Phases<'_, '_> {
    /// The latest time at which the phase ends, ns.
    pub(in crate::engine) fn ends_by(&self, ledger: &Ledger<'_>, now: u64) -> u64 {
        match self.phase {
            Phase::Measured if self.used_up => now,
            Phase::Measured if self.is_out_of_patience() => self.looks_again(now),
            Phase::Measured => self.stop.changes_at(&self.status(ledger), now),
            Phase::Draining => self.drained_by,
            _ if self.used_up => now,
            Phase::Opening | Phase::Switching if let Some(at) = self.meets_at(now) => at,
            Phase::Opening | Phase::Resuming => self.opening_ends_by(),
            Phase::WarmUp if self.warmup_is_over(now, ledger) => now,
            Phase::WarmUp if self.is_out_of_patience() => self.looks_again(now),
            Phase::WarmUp => self.warmup.ends_by(),
            Phase::Switching if self.is_ready(ledger, now) => now,
            Phase::Switching => self.switching_ends_by(ledger),
            // These phases end with their calls, or with the next slice.
            Phase::Skipping | Phase::Paused => u64::MAX,
        }
    }

    /// Moves to the next phase if it is time. Returns whether the trial or the slice is over.
    pub(in crate::engine) fn advance(
        &mut self,
        now: u64,
        pool: &Pool<'_>,
        ledger: &mut Ledger<'_>,
    ) -> bool {
        if !matches!(self.phase, Phase::Measured | Phase::Draining) {
            self.advance_to_measured(now, pool, ledger);
        }
        match self.phase {
            Phase::Skipping if self.gives_up(now) => {
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
        let meets = self.meets_at(now).is_some();
        if self.phase == Phase::Opening
            && (meets || pool.all_attempted() || now >= self.opening_ends_by())
            && let Some(begin) = self.begin(now)
        {
            self.start_calls(begin, now, pool, ledger);
        }
        if self.phase == Phase::WarmUp
            && let Some(settled) = self.warmup_ended(now, ledger)
        {
            self.end_warmup(settled, now);
        }
        // Bounded, so that a stuck server does not block the trial.
        if self.phase == Phase::Switching
            && (meets || self.is_ready(ledger, now) || now >= self.switching_ends_by(ledger))
        {
            match self.slicing {
                None => self.switch(now, pool, ledger),
                Some(_) => self.pause(now),
            }
        }
        if self.phase == Phase::Resuming && (pool.all_attempted() || now >= self.opening_ends_by())
        {
            self.begin_skipping(now, pool, ledger);
            if pool.counts.open == 0 && self.trial.connection_use == ConnectionUse::Reuse {
                // Calls that fail for lack of a connection are also measured.
                self.start_measuring(None, pool, ledger);
            }
        }
        if self.phase == Phase::Skipping && self.is_skipped(now) {
            self.start_measuring(None, pool, ledger);
        }
    }

    fn advance_measured(&mut self, now: u64, pool: &Pool<'_>, ledger: &Ledger<'_>) -> bool {
        if self.gives_up(now) {
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

    /// When calls begin: now or, on several threads, at the time that they have agreed on, once it has come.
    fn begin(&mut self, now: u64) -> Option<u64> {
        match &mut self.member {
            None => Some(now),
            Some(member) => member.begin(now),
        }
    }

    #[cold]
    fn start_calls(&mut self, begin: u64, now: u64, pool: &Pool<'_>, ledger: &mut Ledger<'_>) {
        self.failing = Failing::default();
        self.started_at = now;
        if self.slicing.is_some() {
            self.pause(now);
        } else if self.warmup.start(now) {
            self.phase = Phase::WarmUp;
        } else {
            let agreed = self.member.is_some().then_some(begin);
            self.start_measuring(agreed, pool, ledger);
        }
        let schedule = &self.trial.schedule;
        ledger.due_times = match &self.member {
            // Without a warm-up, the first call is due when the measured part begins, not earlier.
            None => DueTimes::new(schedule, self.trial.seed, self.started_at),
            Some(member) => DueTimes::of_shard(schedule, member.shard(), member.seed(), begin),
        };
        ledger.due_times.start_again(self.started_at);
    }

    /// Whether the warm-up is over; if so, whether latency had settled. On several threads, it is over for all.
    fn warmup_ended(&self, now: u64, ledger: &Ledger<'_>) -> Option<bool> {
        let is_over = self.warmup_is_over(now, ledger) || self.gives_up(now);
        let settled = is_over.then_some(false);
        match &self.member {
            None => settled,
            Some(member) => member.warmup_ended(settled),
        }
    }

    /// Moves from the warm-up to the measured part. On several threads, it begins at an arrival of the schedule, so
    /// that its time is that of its calls: at the first one after those that the warm-up may include.
    fn switch(&mut self, now: u64, pool: &Pool<'_>, ledger: &mut Ledger<'_>) {
        let Some(member) = &mut self.member else {
            return self.start_measuring(None, pool, ledger);
        };
        let left = self.warmup.left();
        let first_from = |at| ledger.due_times.first_from(at, left);
        if let Some(begin) = member.ready(now, first_from) {
            self.start_measuring(Some(begin), pool, ledger);
        }
    }

    #[cold]
    pub(super) fn end_warmup(&mut self, settled: bool, at: u64) {
        self.warmup.finish(settled);
        self.end_warmup_calls(at);
    }

    /// Ends the warm-up, or the slice of it that a session runs.
    #[cold]
    pub(super) fn end_warmup_calls(&mut self, at: u64) {
        self.phase = Phase::Switching;
        self.started_at = at;
    }

    /// `agreed` is when the measured part begins on several threads, ns.
    fn start_measuring(&mut self, agreed: Option<u64>, pool: &Pool<'_>, ledger: &mut Ledger<'_>) {
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
        self.measured_from = agreed.unwrap_or(now);
        if agreed.is_some() {
            ledger.recorder.start = agreed;
        }
        // rpcgauge's own work since the last call ended must not make the next calls late.
        ledger.due_times.start_again(now);
    }

    #[cold]
    fn pause(&mut self, now: u64) {
        self.warmup.end(now);
        if self.warmup.is_finished() {
            self.failing = Failing::default();
        }
        self.phase = Phase::Paused;
        self.started_at = now;
    }

    fn warmup_is_over(&self, now: u64, ledger: &Ledger<'_>) -> bool {
        // Arrivals at a rate do not wait: the one after the last warm-up call is measured.
        let next_is_measured = ledger.due_times.is_at_a_rate() && self.warmup.is_all_begun();
        next_is_measured || self.warmup.is_over(now)
    }

    /// Whether the first measured call can begin after the warm-up.
    fn is_ready(&self, ledger: &Ledger<'_>, now: u64) -> bool {
        match ledger.due_times.next_arrival() {
            None => ledger.due_times.is_at_a_rate() || ledger.calls.is_empty(),
            // If calls wait while the latency is steady, that is normal for this service at this rate.
            Some(due) => due > now || self.warmup.outcome.settled || self.warmup.is_all_begun(),
        }
    }

    /// Whether the calls that the measured part waits for have ended. A session waits for all calls, so that
    /// it is quiet while other sessions are measured.
    fn is_drained(&self, ledger: &Ledger<'_>) -> bool {
        match self.slicing {
            None => ledger.measured_in_flight == 0,
            Some(_) => ledger.calls.is_empty(),
        }
    }

    fn opening_ends_by(&self) -> u64 {
        self.started_at.saturating_add(self.deadline)
    }

    /// Calls in flight are given the full patience, even if warm-up calls have already failed for part of it.
    fn switching_ends_by(&self, ledger: &Ledger<'_>) -> u64 {
        let lasts = if ledger.due_times.is_at_a_rate() {
            self.warmup.longest()
        } else if self.slicing.is_some() {
            // No call may be in flight while other sessions have their turn.
            self.deadline
        } else {
            self.patience
        };
        self.started_at.saturating_add(lasts)
    }

    fn is_out_of_patience(&self) -> bool {
        self.failing.lasted >= self.patience
    }

    /// Whether calls have failed for as long as the trial's patience: all calls of all threads.
    #[inline]
    fn gives_up(&self, now: u64) -> bool {
        let member = self.member.as_ref();
        self.is_out_of_patience() && member.is_none_or(|member| member.gives_up(self.patience, now))
    }

    /// When to look again whether a thread without patience gives up, which depends on the others.
    fn looks_again(&self, now: u64) -> u64 {
        match self.member {
            None => now,
            Some(_) => now + GIVE_UP_LOOK_NS,
        }
    }

    /// When to look again at a time that the threads agree on; `None` if none is awaited.
    fn meets_at(&self, now: u64) -> Option<u64> {
        self.member.as_ref()?.looks_at(now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mio::Poll;
    use rpcgauge_trial::{LateCalls, Schedule};

    use super::*;
    use crate::engine::ledger::Beginning;
    use crate::engine::tests::{trial, unused};
    use crate::trial::Trial;
    use crate::warmup::{Settling, WarmupBounds};

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
        let mut phases = Phases::new(&trial, None, settled, Box::new(|_| ()), 0);
        assert!(!phases.advance(0, &pool, &mut ledger));
        assert_eq!(phases.phase, Phase::Opening);
        let now = phases.deadline;
        assert!(!phases.advance(now, &pool, &mut ledger));
        assert_eq!(phases.phase, Phase::WarmUp, "no connection, no wait");
        let [first, second] = [(); 2].map(|()| {
            let due = ledger.due_times.next().unwrap();
            assert!(phases.admits(&ledger, due));
            ledger.due_times.take();
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
        assert!(phases.call_taken(ledger.due_times.next().unwrap()));
        let (warmup, late) = (phases.warmup.outcome, phases.warmup.late);
        assert!(warmup.settled);
        assert_eq!((warmup.calls, warmup.failed), (2, 0));
        assert_eq!(late, LateCalls::default());
    }
}
