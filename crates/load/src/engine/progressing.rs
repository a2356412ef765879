//! Looks at a trial while it goes on.

use std::time::Duration;

use super::Engine;
use super::phases::Phase;
use crate::clock::{self, nanos};
use crate::progress::Progress;

/// When looks are taken, by the time in which calls counted, ns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looks {
    every: u64,
    /// When the last one was; 0 before.
    last: u64,
    next: u64,
}

impl Looks {
    /// Looks every so many ns from the start of the measured part on, which is still to come.
    pub(super) fn new(every: Duration) -> Looks {
        let every = nanos(every);
        Looks {
            every,
            last: 0,
            next: every,
        }
    }

    /// Takes note of a look at `now`. One that comes late moves none of those after it; those that
    /// it is too late for are left out.
    fn looked(&mut self, now: u64) {
        self.last = now;
        let missed = now.saturating_sub(self.next) / self.every + 1;
        self.next = self.next.saturating_add(self.every.saturating_mul(missed));
    }
}

impl Engine<'_, '_, '_> {
    /// When the next look is due.
    pub(super) fn look_by(&self) -> u64 {
        let looks = self.looks.filter(|_| self.is_counting());
        looks.map_or(u64::MAX, |looks| {
            let left = looks.next.saturating_sub(self.counted_before());
            self.phase_started_at.saturating_add(left)
        })
    }

    fn is_counting(&self) -> bool {
        let drains = self.phase == Phase::Draining && self.slicing.is_none();
        self.phase == Phase::Measured || drains
    }

    /// The time in which calls counted before the present slice, ns.
    fn counted_before(&self) -> u64 {
        self.slicing
            .as_ref()
            .map_or(0, |slicing| slicing.counted_ns)
    }

    /// Shows how the trial stands, if it is time.
    pub(super) fn look(&mut self, now: u64) {
        if now >= self.look_by() {
            self.show(now);
        }
    }

    /// Shows how the measured part stands at its end.
    pub(super) fn look_at_the_end(&mut self) {
        if self.is_counting() || self.slicing.is_some() {
            self.show(clock::now());
        }
    }

    #[cold]
    fn show(&mut self, now: u64) {
        let traffic = match &self.slicing {
            None => self.spent().traffic,
            Some(slicing) => slicing.traffic,
        };
        let in_slice = match self.is_counting() {
            true => now.saturating_sub(self.phase_started_at),
            false => 0,
        };
        let counted = self.counted_before().saturating_add(in_slice);
        let (Some(hook), Some(looks)) = (&mut self.hooks.progress, &mut self.looks) else {
            return;
        };
        let Some(times) = &mut self.recorder.interval else {
            return;
        };
        let account = &self.recorder.account;
        (hook.look)(&mut Progress {
            elapsed: Duration::from_nanos(counted),
            interval: Duration::from_nanos(counted.saturating_sub(looks.last)),
            started: account.started,
            sent: account.sent,
            answered: account.answered,
            failed: &account.failed,
            retried: account.retried,
            in_flight: self.measured_in_flight,
            times,
            traffic,
        });
        times.clear();
        looks.looked(counted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_look_moves_none_of_those_after_it() {
        let mut looks = Looks::new(Duration::from_nanos(100));
        let mut next = |now| {
            looks.looked(now);
            (looks.last, looks.next)
        };
        assert_eq!(next(100), (100, 200));
        assert_eq!(next(230), (230, 300));
        assert_eq!(next(555), (555, 600), "three are left out");
        assert_eq!(next(600), (600, 700));
    }
}
