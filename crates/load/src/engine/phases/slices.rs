//! The slices of a session: which calls and which time they measure.
//!
//! A slice measures the calls that are due in its measured part, whenever they end. Its time and CPU time
//! cover only the measured part, from the due time of its first call until the next call would have been due.
//! With several calls in flight, about as many calls end during this time as begin. Its bytes are those of
//! all its calls, including skipped ones, since bytes cannot be attributed to single calls.

use rpcgauge_trial::{Slice, Slices};
use rpcgauge_wire::Traffic;

use super::stop::{StopRule, US};
use super::{Phase, Phases};
use crate::clock::nanos;
use crate::engine::ledger::{Ledger, Sending};
use crate::engine::pool::Pool;

/// The totals of a session's slices, and the state of the current one.
#[derive(Debug, Default)]
pub(crate) struct Slicing {
    /// Number of completed slices.
    slices: u64,
    /// The form of a slice; `None` before the first one.
    each: Option<Slice>,
    /// The calls that slices skipped, and how many of them failed, and of these, were never sent.
    pub(crate) skipped: u64,
    skipped_failed: u64,
    skipped_never_sent: u64,
    /// Total time of the measured parts, ns.
    pub(crate) counted_ns: u64,
    /// Bytes of all slices.
    pub(crate) traffic: Traffic,
    /// Connections that were reopened before the first call of a slice.
    pub(crate) reopened: u64,
    /// Number of connections opened before the current slice.
    opened_before: u64,
    /// Bytes on the connections when the current slice made its first call.
    traffic_before: Traffic,
    /// The current slice skips calls until [`Slicing::skipped`] has reached `skip_to` and the time has
    /// reached `skip_until`, which is `skip_time` after its first call (ns).
    skip_to: u64,
    skip_until: u64,
    skip_time: u64,
    /// Whether a skipped call of the current slice has failed. Later calls are then measured.
    pub(super) fails: bool,
    /// Number of measured calls before the current slice.
    pub(super) started_before: u64,
}

impl Slicing {
    /// The slices so far; `None` before the first one.
    pub(crate) fn slices(&self) -> Option<Slices> {
        Some(Slices {
            count: self.slices,
            each: self.each?,
            skipped: self.skipped,
            skipped_failed: self.skipped_failed,
            skipped_never_sent: self.skipped_never_sent,
        })
    }

    /// Counts a skipped call that has ended.
    pub(super) fn skipped_call_ended(&mut self, sending: Sending, succeeded: bool) {
        self.skipped += 1;
        self.skipped_failed += u64::from(!succeeded);
        self.skipped_never_sent += u64::from(sending == Sending::NotSent);
    }
}

impl Phases<'_, '_> {
    /// Turns the trial into a session, which is measured in slices.
    pub(crate) fn slice(&mut self) {
        self.slicing = Some(Slicing::default());
    }

    /// Begins a turn of the warm-up of a paused session, which has one.
    pub(crate) fn begin_warm_up_turn(&mut self, now: u64, ledger: &mut Ledger<'_>) {
        // The pause must not be included in the time during which calls failed.
        self.failing.pause(now.saturating_sub(self.started_at));
        self.warmup.start(now);
        self.phase = Phase::WarmUp;
        self.started_at = now;
        ledger.due_times.start_again(now);
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
        // The pause must not be included in the time during which calls failed.
        self.failing.pause(now.saturating_sub(self.started_at));
        let Some(slicing) = &mut self.slicing else {
            return;
        };
        pool.forget_attempts();
        slicing.each = Some(*slice);
        slicing.opened_before = pool.counts.opened;
        slicing.fails = false;
        slicing.skip_to = slicing.skipped.saturating_add(slice.skip_calls);
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

    /// Whether enough calls were skipped.
    pub(super) fn is_skipped(&self, now: u64) -> bool {
        let slicing = self.slicing.as_ref();
        slicing.is_none_or(|s| s.fails || (s.skipped >= s.skip_to && now >= s.skip_until))
    }

    /// Ends the measured time of a slice once the next call would be due. Until then, a measured call is
    /// still being read.
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
                // A slice without any call has no other figures.
                Phase::Resuming => slicing.reopened += pool.counts.opened - slicing.opened_before,
                _ => slicing.traffic += pool.traffic().since(&slicing.traffic_before),
            }
            if matches!(self.phase, Phase::Measured | Phase::Draining) {
                // The next call would have been due when the first call without a successor ended.
                let until = ledger.due_times.next().unwrap_or(now).min(now);
                slicing.counted_ns += until.saturating_sub(self.started_at);
                slicing.slices += 1;
            }
        }
        self.phase = Phase::Paused;
        self.started_at = now;
        self.measured_from = u64::MAX;
    }
}
