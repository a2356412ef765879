//! Looks at a trial while it goes on.

use std::time::Duration;

use super::Engine;
use super::phases::Phase;
use crate::clock::{self, nanos};
use crate::progress::Progress;

/// When looks are taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Looks {
    every: u64,
    /// When the last one was, or the measured part began.
    last: u64,
    next: u64,
}

impl Looks {
    /// Looks every so many ns from the start of the measured part on, which is still to come.
    pub(super) fn new(every: Duration) -> Looks {
        Looks {
            every: nanos(every),
            last: u64::MAX,
            next: u64::MAX,
        }
    }

    pub(super) fn start(&mut self, now: u64) {
        self.last = now;
        self.next = now.saturating_add(self.every);
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
        self.looks.map_or(u64::MAX, |looks| looks.next)
    }

    /// Shows how the trial stands, if it is time.
    pub(super) fn look(&mut self, now: u64) {
        if now >= self.look_by() {
            self.show(now);
        }
    }

    /// Shows how the measured part stands at its end.
    pub(super) fn look_at_the_end(&mut self) {
        if matches!(self.phase, Phase::Measured | Phase::Draining) {
            self.show(clock::now());
        }
    }

    #[cold]
    fn show(&mut self, now: u64) {
        let traffic = self.traffic().since(&self.traffic_before);
        let (Some(hook), Some(looks)) = (&mut self.hooks.progress, &mut self.looks) else {
            return;
        };
        let Some(times) = &mut self.recorder.interval else {
            return;
        };
        let account = &self.recorder.account;
        (hook.look)(&mut Progress {
            elapsed: Duration::from_nanos(now.saturating_sub(self.phase_started_at)),
            interval: Duration::from_nanos(now.saturating_sub(looks.last)),
            started: account.started,
            answered: account.answered,
            failed: &account.failed,
            retried: account.retried,
            in_flight: self.measured_in_flight,
            times,
            traffic,
        });
        times.clear();
        looks.looked(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_look_moves_none_of_those_after_it() {
        let mut looks = Looks::new(Duration::from_nanos(100));
        looks.start(1000);
        let mut next = |now| {
            looks.looked(now);
            (looks.last, looks.next)
        };
        assert_eq!(next(1100), (1100, 1200));
        assert_eq!(next(1230), (1230, 1300));
        assert_eq!(next(1555), (1555, 1600), "three are left out");
        assert_eq!(next(1600), (1600, 1700));
    }
}
