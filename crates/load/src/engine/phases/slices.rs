//! The slices of a session: which calls and which time they measure.
//!
//! A slice measures the calls that are due in its measured part, whenever they end. Its time and processor
//! time are those of the measured part alone, from its first call's due time to when the next call would have
//! been due; with several calls in flight about as many calls end in it as begin. Its bytes are those of all
//! its calls, including the skipped ones, since bytes cannot be separated by call.

use rpcgauge_trial::Slice;
use rpcgauge_wire::Traffic;

use super::stop::{StopRule, US};
use super::{Phase, Phases};
use crate::clock::nanos;
use crate::engine::ledger::{Ledger, Sending};
use crate::engine::pool::Pool;
use crate::measurement::SliceCount;

/// The totals of a session's slices, and the state of the current one.
#[derive(Debug, Default)]
pub(crate) struct Slicing {
    /// The numbers of slices that are over and of calls that they left out.
    pub(crate) count: SliceCount,
    /// The time of the measured parts, ns.
    pub(crate) counted_ns: u64,
    /// The bytes of the slices.
    pub(crate) traffic: Traffic,
    /// Connections that were reopened before a slice's first call.
    pub(crate) reopened: u64,
    /// The number of connections opened before the current slice.
    opened_before: u64,
    /// Bytes on the connections when the current slice made its first call.
    traffic_before: Traffic,
    /// The current slice leaves calls out until [`SliceCount::skipped`] is `skip_to` and the time is
    /// `skip_until`, `skip_time` after its first call (ns).
    skip_to: u64,
    skip_until: u64,
    skip_time: u64,
    /// Whether a skipped call of the current slice failed. The calls after it are measured.
    pub(super) fails: bool,
    /// The number of measured calls before the current slice.
    pub(super) started_before: u64,
}

impl Slicing {
    /// Counts a skipped call that ended.
    pub(super) fn skipped_call_ended(&mut self, sending: Sending, succeeded: bool) {
        self.count.skipped += 1;
        self.count.skipped_failed += u64::from(!succeeded);
        self.count.skipped_never_sent += u64::from(sending == Sending::NotSent);
    }
}

impl Phases<'_, '_> {
    /// Makes the trial a session, measured in slices.
    pub(crate) fn slice(&mut self) {
        self.slicing = Some(Slicing::default());
    }

    /// Begins a slice of a paused session, with at most `max_calls` measured calls.
    pub(crate) fn begin_slice(
        &mut self,
        slice: &Slice,
        max_calls: u64,
        now: u64,
        pool: &mut Pool<'_>,
        ledger: &Ledger<'_>,
    ) {
        // The pause does not count as time in which calls failed.
        self.failing.pause(now.saturating_sub(self.started_at));
        let Some(slicing) = &mut self.slicing else {
            return;
        };
        pool.forget_attempts();
        slicing.opened_before = pool.counts.opened;
        slicing.fails = false;
        slicing.skip_to = slicing.count.skipped.saturating_add(slice.skip_calls);
        slicing.skip_time = slice.skip_us.saturating_mul(US);
        slicing.started_before = ledger.recorder.account.calls.started;
        self.stop = StopRule::of_slice(slice, max_calls, nanos(self.trial.drain));
        self.phase = Phase::Resuming;
        self.started_at = now;
    }

    /// Moves from reopening connections to skipping calls.
    pub(super) fn begin_skipping(&mut self, now: u64, pool: &Pool<'_>, ledger: &mut Ledger<'_>) {
        if let Some(slicing) = &mut self.slicing {
            slicing.reopened += pool.counts.opened - slicing.opened_before;
            slicing.traffic_before = pool.traffic();
            slicing.skip_until = now.saturating_add(slicing.skip_time);
        }
        self.phase = Phase::Skipping;
        self.started_at = now;
        ledger.due_times.start_again(now);
    }

    /// Whether enough calls were left out.
    pub(super) fn is_skipped(&self, now: u64) -> bool {
        let slicing = self.slicing.as_ref();
        slicing.is_none_or(|s| s.fails || (s.count.skipped >= s.skip_to && now >= s.skip_until))
    }

    /// Ends the measured time of a slice once the next call would be due. Until then a measured call is still
    /// being read.
    pub(super) fn end_slice_span(&mut self, pool: &Pool<'_>, ledger: &Ledger<'_>) {
        if self.slicing.is_some() && ledger.due_times.next().is_some() {
            self.spent.end_span(pool);
        }
    }

    /// Adds the slice's figures to the totals, even if it ended early.
    pub(crate) fn end_slice(&mut self, now: u64, pool: &Pool<'_>, ledger: &Ledger<'_>) {
        self.spent.end_span(pool);
        if let Some(slicing) = &mut self.slicing {
            match self.phase {
                // Without any call the slice has no other figures.
                Phase::Resuming => slicing.reopened += pool.counts.opened - slicing.opened_before,
                _ => slicing.traffic += pool.traffic().since(&slicing.traffic_before),
            }
            if matches!(self.phase, Phase::Measured | Phase::Draining) {
                // The next call would have been due when the first call without a successor ended.
                let until = ledger.due_times.next().unwrap_or(now).min(now);
                slicing.counted_ns += until.saturating_sub(self.started_at);
                slicing.count.slices += 1;
            }
        }
        self.phase = Phase::Paused;
        self.started_at = now;
        self.measured_from = u64::MAX;
    }
}
