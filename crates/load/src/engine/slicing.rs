//! The slices of a session: which calls count, and for how long.
//!
//! ```text
//!             ┌───────────────── Session::slice ─────────────────┐
//! Paused ──► Resuming ──► Skipping ──► Measured ──► Draining ──► Paused
//!            connections   calls that   calls that    calls in
//!            that were     are left     count         flight end
//!            lost          out
//! ```
//!
//! A slice's calls are those that are due in its measured part, whenever they end. Its time and
//! processor time are those of the measured part alone: from its first call's due time to when the
//! next call would have been due. With several calls in flight about as many end in it as begin. Its
//! bytes are those of all its calls, with those that are left out: only so are they exact.

use std::time::Duration;

use rpcgauge_wire::Traffic;

use super::Engine;
use super::horizon::Horizon;
use super::phases::Phase;
use crate::clock::nanos;

/// What a slice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceBounds {
    /// Calls at its start that are left out of the figures, at least.
    pub skip_calls: u64,
    /// And so long calls are left out, at least.
    pub skip_time: Duration,
    /// Calls that count, at least; 1 or more.
    pub least_calls: u64,
    /// Calls that count, at most; not fewer than [`SliceBounds::least_calls`].
    pub most_calls: u64,
    /// After this time of counted calls, and its least number of them, the slice ends.
    pub time: Duration,
}

/// Where a session stands between its slices, and in the present one.
#[derive(Debug, Default)]
pub(super) struct Slicing {
    /// Slices that are over.
    pub(super) slices: u64,
    /// The time of their measured parts, ns.
    pub(super) counted_ns: u64,
    /// Calls that were left out, over all slices.
    pub(super) skipped: u64,
    /// How many of them failed.
    pub(super) skipped_failed: u64,
    /// Bytes of all slices that are over.
    pub(super) traffic: Traffic,
    /// Bytes on the connections when the present slice made its first call.
    traffic_before: Traffic,
    /// Until so many were left out, and until this time, the present slice leaves calls out.
    skip_to: u64,
    skip_until: u64,
    skip_time: u64,
    /// A call of the present slice failed that was to be left out: from there on calls count.
    fails: bool,
    /// Calls that had counted before the present slice.
    started_before: u64,
}

impl Engine<'_, '_, '_> {
    /// Begins a slice of a session that is paused.
    pub(super) fn begin_slice(&mut self, bounds: &SliceBounds, now: u64) {
        // What failed before the pause did not go on failing in it.
        self.failing
            .pause(now.saturating_sub(self.phase_started_at));
        let Some(slicing) = &mut self.slicing else {
            return;
        };
        // A connection that was lost is waited for. One that could not be made is not, in each slice anew.
        for &index in &self.not_open {
            let connection = &mut self.connections[index];
            connection.tried = connection.in_vain > 0;
        }
        slicing.fails = false;
        slicing.skip_to = slicing.skipped.saturating_add(bounds.skip_calls);
        slicing.skip_time = nanos(bounds.skip_time);
        slicing.started_before = self.recorder.account.started;
        self.horizon = Horizon::of_slice(bounds, nanos(self.trial.drain));
        self.phase = Phase::Resuming;
        self.phase_started_at = now;
    }

    /// Goes on from lost connections to calls that are left out.
    pub(super) fn begin_skipping(&mut self, now: u64) {
        let traffic_before = self.traffic();
        if let Some(slicing) = &mut self.slicing {
            slicing.traffic_before = traffic_before;
            slicing.skip_until = now.saturating_add(slicing.skip_time);
        }
        self.phase = Phase::Skipping;
        self.phase_started_at = now;
        self.dues.start_again(now);
    }

    /// Whether calls were left out for long enough.
    pub(super) fn is_skipped(&self, now: u64) -> bool {
        let slicing = self.slicing.as_ref();
        slicing.is_none_or(|s| s.fails || (s.skipped >= s.skip_to && now >= s.skip_until))
    }

    /// A call that does not count ended, in a slice.
    pub(super) fn skipped_call_ended(&mut self, succeeded: bool) {
        if let Some(slicing) = &mut self.slicing {
            slicing.skipped += 1;
            slicing.skipped_failed += u64::from(!succeeded);
            slicing.fails |= !succeeded;
        }
    }

    /// Calls that count, begun in the present slice; in a trial of one piece, all.
    pub(super) fn started_in_slice(&self) -> u64 {
        let before = self.slicing.as_ref().map_or(0, |s| s.started_before);
        self.recorder.account.started - before
    }

    /// Ends what a slice spends where its time ends: when the next call would be due. Until then a
    /// call that counts is still being read.
    pub(super) fn end_slice_span(&mut self) {
        if self.slicing.is_some() && self.dues.next().is_some() {
            self.end_span();
        }
    }

    /// Adds up what the slice came to, however far it got.
    pub(super) fn end_slice(&mut self, now: u64) {
        self.end_span();
        let traffic = self.traffic();
        let measured = matches!(self.phase, Phase::Measured | Phase::Draining);
        if let Some(slicing) = &mut self.slicing {
            // Before its first call there is nothing of a slice.
            if self.phase != Phase::Resuming {
                slicing.traffic += traffic.since(&slicing.traffic_before);
            }
            if measured {
                // The next call is due when the first one ended for which there is none any more.
                let until = self.dues.next().unwrap_or(now).min(now);
                slicing.counted_ns += until.saturating_sub(self.phase_started_at);
                slicing.slices += 1;
            }
        }
        self.phase = Phase::Paused;
        self.phase_started_at = now;
        self.measured_from = u64::MAX;
    }
}
