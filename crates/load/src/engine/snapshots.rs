//! Snapshots of a trial, reported while it runs.

use std::time::Duration;

use super::Engine;
use super::phases::Phases;
use crate::clock::{self, nanos};
use crate::progress::{ProgressHook, TrialProgress};

/// Reports snapshots at regular intervals of counted time.
pub(super) struct Snapshots<'r> {
    hook: ProgressHook<'r>,
    times: Times,
}

/// When snapshots are taken, in ns of counted time.
#[derive(Debug, Clone, Copy)]
struct Times {
    every: u64,
    /// When the last snapshot was taken; 0 before the first.
    last: u64,
    next: u64,
}

impl Times {
    /// Notes that a snapshot was taken at `now`. A late snapshot does not delay the next ones; those that it
    /// missed are skipped.
    fn taken(&mut self, now: u64) {
        self.last = now;
        let missed = now.saturating_sub(self.next) / self.every + 1;
        self.next = self.next.saturating_add(self.every.saturating_mul(missed));
    }
}

impl<'r> Snapshots<'r> {
    pub(super) fn new(hook: ProgressHook<'r>) -> Snapshots<'r> {
        let every = nanos(hook.every);
        let times = Times {
            every,
            last: 0,
            next: every,
        };
        Snapshots { hook, times }
    }

    /// When the next snapshot is due, ns.
    pub(super) fn next_at(&self, phases: &Phases<'_, '_>) -> u64 {
        if !phases.is_counting() {
            return u64::MAX;
        }
        let left = self.times.next.saturating_sub(counted_before(phases));
        phases.started_at.saturating_add(left)
    }
}

impl Engine<'_, '_, '_> {
    /// Reports a snapshot if one is due.
    pub(super) fn take_snapshot(&mut self, now: u64) {
        let snapshots = self.snapshots.as_ref();
        if snapshots.is_some_and(|snapshots| now >= snapshots.next_at(&self.phases)) {
            self.show(now);
        }
    }

    /// Takes the last snapshot, at the end of the measured part.
    pub(super) fn take_last_snapshot(&mut self) {
        if self.phases.is_counting() || self.phases.slicing().is_some() {
            self.show(clock::now());
        }
    }

    #[cold]
    fn show(&mut self, now: u64) {
        let (phases, recorder) = (&self.phases, &mut self.ledger.recorder);
        let Some((snapshots, times)) = self.snapshots.as_mut().zip(recorder.interval.take()) else {
            return;
        };
        let traffic = match phases.slicing() {
            None => phases.spent.sum(&self.pool).traffic,
            Some(slicing) => slicing.traffic,
        };
        let in_slice = if phases.is_counting() {
            now.saturating_sub(phases.started_at)
        } else {
            0
        };
        let counted = counted_before(phases).saturating_add(in_slice);
        let waiting = phases.waiting(&self.ledger, now);
        let recorder = &mut self.ledger.recorder;
        let account = &recorder.account;
        let messages = recorder.messages.as_deref();
        let messages = messages.map_or((0, 0), |of| (of.sent, of.received));
        let mut times = (snapshots.hook.sample)(TrialProgress {
            elapsed: Duration::from_nanos(counted),
            interval: Duration::from_nanos(counted.saturating_sub(snapshots.times.last)),
            started: account.calls.started,
            sent: account.sent,
            answered: account.calls.answered,
            failed: account.calls.failed.clone(),
            retried: account.calls.retried,
            messages_sent: messages.0,
            messages_received: messages.1,
            in_flight: self.ledger.measured_in_flight,
            waiting,
            times,
            traffic,
        });
        times.clear();
        recorder.interval = Some(times);
        snapshots.times.taken(counted);
    }
}

/// The counted time before the current slice, ns.
fn counted_before(phases: &Phases<'_, '_>) -> u64 {
    phases.slicing().map_or(0, |slicing| slicing.counted_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_snapshot_moves_none_of_those_after_it() {
        let mut times = Times {
            every: 100,
            last: 0,
            next: 100,
        };
        let mut next = |now| {
            times.taken(now);
            (times.last, times.next)
        };
        assert_eq!(next(100), (100, 200));
        assert_eq!(next(230), (230, 300));
        assert_eq!(next(555), (555, 600), "three are left out");
        assert_eq!(next(600), (600, 700));
    }
}
