//! The slices of a session: which calls count, and for how long.
//!
//! A slice's calls are those that are due in its measured part, whenever they end. Its time and
//! processor time are those of the measured part alone: from its first call's due time to when the
//! next call would have been due. With several calls in flight about as many end in it as begin. Its
//! bytes are those of all its calls, including those that are left out: otherwise they would not be exact.

use rpcgauge_trial::Slice;
use rpcgauge_wire::Traffic;

use super::stop::{StopRule, US};
use super::{Phase, Phases};
use crate::clock::nanos;
use crate::engine::ledger::{Ledger, Sending};
use crate::engine::pool::Pool;
use crate::measurement::SliceCount;

/// The state of a session between its slices, and in the current one.
#[derive(Debug, Default)]
pub(crate) struct Slicing {
    /// Slices that are over, and calls that they left out.
    pub(crate) count: SliceCount,
    /// The time of their measured parts, ns.
    pub(crate) counted_ns: u64,
    /// Their bytes.
    pub(crate) traffic: Traffic,
    /// Connections that were opened again before a slice's first call.
    pub(crate) reopened: u64,
    /// Connections opened when the current slice began.
    opened_before: u64,
    /// Bytes on the connections when the current slice made its first call.
    traffic_before: Traffic,
    /// The current slice leaves calls out until this many have ended and this time has passed.
    skip_to: u64,
    skip_until: u64,
    skip_time: u64,
    /// A call that was to be left out failed: from there on the calls of this slice count.
    pub(super) fails: bool,
    /// Calls that had counted before the current slice.
    pub(super) started_before: u64,
}

impl Slicing {
    /// A call that does not count ended.
    pub(super) fn skipped_call_ended(&mut self, sending: Sending, succeeded: bool) {
        self.count.skipped += 1;
        self.count.skipped_failed += u64::from(!succeeded);
        self.count.skipped_never_sent += u64::from(sending == Sending::NotSent);
    }
}

impl Phases<'_, '_> {
    /// The trial is measured in slices.
    pub(crate) fn slice(&mut self) {
        self.slicing = Some(Slicing::default());
    }

    /// Begins a slice of a paused session, with at most this many counted calls.
    pub(crate) fn begin_slice(
        &mut self,
        slice: &Slice,
        max_calls: u64,
        now: u64,
        pool: &mut Pool<'_>,
        ledger: &Ledger<'_>,
    ) {
        // What failed before the pause did not keep failing in it.
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

    /// Goes on from lost connections to calls that are left out.
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

    /// Whether calls were left out for long enough.
    pub(super) fn is_skipped(&self, now: u64) -> bool {
        let slicing = self.slicing.as_ref();
        slicing.is_none_or(|s| s.fails || (s.count.skipped >= s.skip_to && now >= s.skip_until))
    }

    /// Ends what a slice spends where its time ends: when the next call would be due. Until then a
    /// call that counts is still being read.
    pub(super) fn end_slice_span(&mut self, pool: &Pool<'_>, ledger: &Ledger<'_>) {
        if self.slicing.is_some() && ledger.due_times.next().is_some() {
            self.spent.end_span(pool);
        }
    }

    /// Adds up the slice's figures, however far it got.
    pub(crate) fn end_slice(&mut self, now: u64, pool: &Pool<'_>, ledger: &Ledger<'_>) {
        self.spent.end_span(pool);
        if let Some(slicing) = &mut self.slicing {
            match self.phase {
                // Before its first call a slice has no figures.
                Phase::Resuming => slicing.reopened += pool.counts.opened - slicing.opened_before,
                _ => slicing.traffic += pool.traffic().since(&slicing.traffic_before),
            }
            if matches!(self.phase, Phase::Measured | Phase::Draining) {
                // The first call that ended without a successor is when the next one would have been due.
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
