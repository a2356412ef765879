//! Which part of the trial a moment belongs to, and when the next one begins.

use std::time::Duration;

use super::Engine;
use super::horizon::{Course, Standing};
use super::warming::Warming;
use crate::clock::{self, nanos};
use crate::measurement::Ending;
use crate::schedule::{Dues, Schedule};
use crate::trial::ConnectionUse;
use crate::warmup::Settling;

/// Calls that are counted as never begun at most: counting takes time after the trial's end, and a
/// rate may bring a thousand million a second.
const MOST_NEVER_BEGUN: usize = 10_000_000;

/// The parts of a trial, in order. A session goes round the last five of them; see `slicing`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Connections are opened; no call is made.
    Opening,
    /// Calls are made and not counted.
    WarmUp,
    /// The warm-up is over. In a closed loop its calls in flight may end before a measured one is
    /// begun, so that every byte and all processor time from then on is of measured calls. Arrivals
    /// at a rate do not wait for anything.
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

/// The failures since the last call that succeeded in this part.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Failing {
    /// When the first of them ended.
    since: Option<u64>,
    /// How long after it the last one ended, ns. Time in which no call ends says nothing: those in
    /// flight may be slow and good.
    lasted: u64,
}

impl Failing {
    /// Leaves a pause out in which no call was made.
    pub(super) fn pause(&mut self, lasted: u64) {
        self.since = self.since.map(|since| since.saturating_add(lasted));
    }

    /// Takes note of a call's end.
    pub(super) fn note_end(&mut self, at: u64, succeeded: bool) {
        if succeeded {
            *self = Failing::default();
        } else {
            let since = *self.since.get_or_insert(at);
            self.lasted = at.saturating_sub(since);
        }
    }
}

impl Engine<'_, '_, '_> {
    /// Goes on to the next part where it is time. True when the trial is over.
    pub(super) fn advance(&mut self, now: u64) -> bool {
        if !matches!(self.phase, Phase::Measured | Phase::Draining) {
            self.advance_to_measured(now);
        }
        if self.used_up {
            self.ending = Ending::BodiesUsedUp;
        }
        match self.phase {
            Phase::Skipping if self.is_out_of_patience() => {
                self.ending = Ending::GaveUp;
                true
            }
            Phase::Paused => true,
            Phase::Measured => self.advance_measured(now),
            Phase::Draining => {
                self.end_slice_span();
                self.is_drained() || now >= self.drained_by
            }
            _ => self.used_up,
        }
    }

    /// Whether a call that is due at `due` is to be begun in this part.
    pub(super) fn may_begin(&self, due: u64) -> bool {
        if self.phase == Phase::Measured {
            !self.used_up && self.horizon.admits(&self.standing(), due)
        } else {
            let warms_up = self.phase == Phase::WarmUp && !self.warmup_is_all_begun();
            !self.used_up && (warms_up || self.phase == Phase::Skipping)
        }
    }

    /// When the present part ends at the latest.
    pub(super) fn phase_ends_by(&self, now: u64) -> u64 {
        match self.phase {
            Phase::Measured if self.used_up || self.is_out_of_patience() => now,
            Phase::Measured => self.horizon.looks_again(&self.standing(), now),
            Phase::Draining => self.drained_by,
            _ => self.early_phase_ends_by(now),
        }
    }

    /// As [`Engine::phase_ends_by`], before the measured part.
    fn early_phase_ends_by(&self, now: u64) -> u64 {
        match self.phase {
            _ if self.used_up => now,
            Phase::Opening | Phase::Resuming => self.opening_ends_by(),
            Phase::WarmUp if self.is_out_of_patience() || self.warmup_is_over(now) => now,
            Phase::WarmUp => self.warming.as_ref().map_or(0, Warming::ends_by),
            Phase::Switching if self.is_ready() => now,
            Phase::Switching => self.switching_ends_by(),
            // With its calls.
            Phase::Skipping => u64::MAX,
            Phase::Paused | Phase::Measured | Phase::Draining => u64::MAX,
        }
    }

    fn warmup_is_over(&self, now: u64) -> bool {
        let warming = self.warming.as_ref();
        // Arrivals wait for nobody: after the last of the warm-up the next is a measured one.
        let next_is_measured = !self.is_closed_loop() && self.warmup_is_all_begun();
        next_is_measured || warming.is_none_or(|warming| warming.is_over(now))
    }

    /// Whether as many calls are begun as the warm-up may have.
    pub(super) fn warmup_is_all_begun(&self) -> bool {
        let bounds = self.trial.warmup;
        bounds.is_some_and(|bounds| self.warmup.calls >= bounds.max_calls)
    }

    fn is_closed_loop(&self) -> bool {
        matches!(self.trial.schedule, Schedule::Closed { .. })
    }

    /// Whether the first measured call can be begun after the warm-up.
    fn is_ready(&self) -> bool {
        !self.is_closed_loop() || self.calls.oldest().is_none()
    }

    /// Ends the warm-up by its rule, where that says so. A call that ends after it is only counted.
    pub(super) fn warmup_call_ended(&mut self, done: u64, latency: u64, succeeded: bool) {
        if self.is_in_slice() {
            return self.skipped_call_ended(succeeded);
        }
        self.warmup_ended_after += u64::from(self.measured_from < u64::MAX);
        self.warmup.failed += u64::from(!succeeded);
        let Some(warming) = self
            .warming
            .as_mut()
            .filter(|_| self.phase == Phase::WarmUp)
        else {
            return;
        };
        if let Some(slice) = warming.call_ended(done, latency, succeeded) {
            match (self.hooks.settling)(slice) {
                Settling::GoOn => {}
                Settling::Settled => self.end_warmup(true, done),
                Settling::NeverSettled => self.end_warmup(false, done),
            }
        }
    }

    /// Counts the calls that are given up as the trial ends: those in flight, and those that are due
    /// and will not be begun. The trial's time goes on to here then. It would end with the last call
    /// that ended otherwise, and a service that has been silent since would have the goodput of its
    /// better days.
    pub(super) fn abandon_the_rest(&mut self, now: u64) {
        for _ in 0..MOST_NEVER_BEGUN {
            let Some(due) = self.dues.next() else { break };
            if due > now || !self.may_begin(due) || self.phase != Phase::Measured {
                break;
            }
            self.dues.take();
            if due < self.measured_from {
                continue;
            }
            self.recorder.started(due);
            self.recorder.account.abandoned += 1;
            self.recorder.account.never_begun += 1;
        }
        self.recorder.account.abandoned += self.calls.measured();
        if self.recorder.account.abandoned > 0 {
            self.recorder.end = self.recorder.end.max(now);
        }
    }

    #[cold]
    fn start_calls(&mut self, now: u64) {
        self.failing = Failing::default();
        self.phase_started_at = now;
        match self.trial.warmup {
            Some(bounds) => {
                self.warming = Some(Warming::new(bounds, now));
                self.phase = Phase::WarmUp;
            }
            None if self.slicing.is_some() => self.pause(now),
            None => self.start_measuring(),
        }
        // Without a warm-up the first call is due when the measured part begins, and not before.
        self.dues = Dues::new(&self.trial.schedule, self.phase_started_at);
    }

    #[cold]
    fn end_warmup(&mut self, settled: bool, at: u64) {
        self.warmup.settled = settled;
        self.phase = Phase::Switching;
        self.phase_started_at = at;
    }

    fn start_measuring(&mut self) {
        if self.recorder.account.started == 0 {
            self.connections_at_start = self.open;
            self.failing = Failing::default();
        }
        self.begin_span();
        let now = clock::now();
        self.end_of_warmup(now);
        self.phase = Phase::Measured;
        self.phase_started_at = now;
        self.measured_from = now;
        // What the instrument did since the last call ended is no lateness of the next ones.
        self.dues.start_again(now);
    }

    /// A session's warm-up is over.
    #[cold]
    fn pause(&mut self, now: u64) {
        self.end_of_warmup(now);
        self.failing = Failing::default();
        self.phase = Phase::Paused;
        self.phase_started_at = now;
    }

    fn end_of_warmup(&mut self, now: u64) {
        if let Some(warming) = self.warming.take() {
            self.warmup.elapsed = Duration::from_nanos(now.saturating_sub(warming.started_at));
        }
    }

    /// Whether calls that do not count are those that a slice leaves out.
    pub(super) fn is_in_slice(&self) -> bool {
        let warms_up = matches!(
            self.phase,
            Phase::Opening | Phase::WarmUp | Phase::Switching
        );
        self.slicing.is_some() && !warms_up
    }

    /// Whether the calls are over that the measured part waits for. A session waits for all, so that
    /// nothing goes on while others are measured.
    fn is_drained(&self) -> bool {
        match self.slicing {
            None => self.measured_in_flight == 0,
            Some(_) => self.calls.oldest().is_none(),
        }
    }

    fn advance_to_measured(&mut self, now: u64) {
        if self.phase == Phase::Opening && (self.all_tried() || now >= self.opening_ends_by()) {
            self.start_calls(now);
        }
        if self.phase == Phase::WarmUp && (self.warmup_is_over(now) || self.is_out_of_patience()) {
            self.end_warmup(false, now);
        }
        // A server that is stuck must not hold the trial for a deadline.
        if self.phase == Phase::Switching && (self.is_ready() || now >= self.switching_ends_by()) {
            match self.slicing {
                None => self.start_measuring(),
                Some(_) => self.pause(now),
            }
        }
        if self.phase == Phase::Resuming && (self.all_tried() || now >= self.opening_ends_by()) {
            self.begin_skipping(now);
            if self.open == 0 && self.trial.connection_use == ConnectionUse::Reuse {
                // Calls that fail for want of a connection count.
                self.start_measuring();
            }
        }
        if self.phase == Phase::Skipping && self.is_skipped(now) {
            self.start_measuring();
        }
    }

    fn advance_measured(&mut self, now: u64) -> bool {
        if self.is_out_of_patience() {
            self.ending = Ending::GaveUp;
            return true;
        }
        if self.used_up {
            self.drain_until(now.saturating_add(nanos(self.trial.drain)));
            return self.is_drained();
        }
        match self.horizon.course(&self.standing(), now) {
            Course::GoOn => false,
            Course::Over => true,
            Course::Drain { until } => {
                self.drain_until(until);
                self.is_drained()
            }
        }
    }

    fn drain_until(&mut self, until: u64) {
        self.end_slice_span();
        self.phase = Phase::Draining;
        self.drained_by = until;
    }

    fn standing(&self) -> Standing {
        Standing {
            start: match self.slicing {
                None => self.recorder.start.unwrap_or(self.phase_started_at),
                Some(_) => self.phase_started_at,
            },
            started: self.started_in_slice(),
            next_due: self.dues.next(),
        }
    }

    fn opening_ends_by(&self) -> u64 {
        self.phase_started_at.saturating_add(self.deadline)
    }

    /// Calls in flight are waited for as long as for a success: that the warm-up only failed does not
    /// shorten it.
    fn switching_ends_by(&self) -> u64 {
        self.phase_started_at.saturating_add(self.patience)
    }

    fn is_out_of_patience(&self) -> bool {
        self.failing.lasted >= self.patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_last_from_the_first_after_a_success_to_the_last() {
        let mut failing = Failing::default();
        let ends = [
            (10, false),
            (20, false),
            (30, true),
            (40, false),
            (55, false),
        ];
        let seen = ends.map(|(at, succeeded)| {
            failing.note_end(at, succeeded);
            failing.lasted
        });
        assert_eq!(seen, [0, 10, 0, 0, 15]);
    }
}
