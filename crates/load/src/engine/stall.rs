//! Stalls: periods in which this process was ready to run but did not, because it was stopped (SIGSTOP), the
//! machine was suspended, or the scheduler gave it no core.
//!
//! The event loop runs at least every 50 ms. A far longer gap between two of its clock readings is a stall.
//! The thread's CPU time in the gap is subtracted, since decoding a large message is not a stall. While a
//! machine is suspended, CLOCK_MONOTONIC stops and CLOCK_BOOTTIME continues. The wall clock is not read.

use super::event_loop::LOOK_UP_NS;
use crate::clock;

/// Minimum length of a stall, ns. Shorter gaps are normal on a busy host and remain in the latency and the
/// send delay.
const MIN_STALL_NS: u64 = 300_000_000;

/// A stall, in ns. All fields are 0 if there was none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stall {
    /// When the loop last ran before the stall.
    pub(super) from: u64,
    /// When the loop ran again.
    pub(super) until: u64,
    /// How long the stall lasted. This includes suspended time, during which the clock of `from` and `until`
    /// does not advance.
    pub(super) lasted: u64,
}

impl Stall {
    /// Whether a call that was due at `due` and ended at `done` was open during the stall.
    #[inline]
    pub(super) fn hit(&self, due: u64, done: u64) -> bool {
        due < self.until && done > self.from
    }
}

/// Detects when the event loop is not scheduled.
#[derive(Debug)]
pub(super) struct Heartbeat {
    /// The loop's last clock reading, ns.
    ran_at: u64,
    /// The last readings of all clocks, at most [`LOOK_UP_NS`] before `ran_at`.
    looked: Clocks,
}

/// Readings of the clocks, ns.
#[derive(Debug, Clone, Copy)]
struct Clocks {
    monotonic: u64,
    /// Like `monotonic`, but it also advances while the machine is suspended.
    boot: u64,
    /// CPU time of the thread.
    cpu: u64,
}

impl Heartbeat {
    pub(super) fn start() -> Self {
        Self::at(Clocks::now())
    }

    fn at(clocks: Clocks) -> Self {
        Heartbeat {
            ran_at: clocks.monotonic,
            looked: clocks,
        }
    }

    /// Notes that the loop runs at `now`. Returns the stall that has just ended, if there was one.
    #[inline]
    pub(super) fn beat(&mut self, now: u64) -> Option<Stall> {
        let before = std::mem::replace(&mut self.ran_at, now);
        if now.saturating_sub(self.looked.monotonic) < LOOK_UP_NS {
            None
        } else {
            self.look(before, Clocks::now())
        }
    }

    #[cold]
    fn look(&mut self, ran_before: u64, now: Clocks) -> Option<Stall> {
        let before = std::mem::replace(&mut self.looked, now);
        let passed = |now: u64, before: u64| now.saturating_sub(before);
        let elapsed = passed(now.monotonic, before.monotonic);
        let suspended = passed(passed(now.boot, before.boot), elapsed);
        let computed = passed(now.cpu, before.cpu);
        let stood_still = passed(now.monotonic, ran_before).saturating_sub(computed);
        if suspended < MIN_STALL_NS && stood_still < MIN_STALL_NS {
            return None;
        }
        Some(Stall {
            // A suspension leaves no gap in the monotonic clock, so it may have begun right after the last
            // reading.
            from: if suspended < MIN_STALL_NS {
                ran_before
            } else {
                ran_before.min(before.monotonic)
            },
            until: now.monotonic,
            lasted: stood_still.saturating_add(suspended),
        })
    }
}

impl Clocks {
    fn now() -> Self {
        Clocks {
            monotonic: clock::now(),
            boot: clock::boot(),
            cpu: clock::cpu().total_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const START: Clocks = Clocks {
        monotonic: 1_000 * MS,
        boot: 5_000 * MS,
        cpu: 70 * MS,
    };

    /// The stall that is detected after 40 ms in which the loop ran and a gap of `gap` ms, as [from, until,
    /// length] in ms after the start. In addition, the machine was suspended for `suspended` ms, and the
    /// thread used `computed` ms of CPU time in total.
    fn after(gap: u64, suspended: u64, computed: u64) -> Option<[u64; 3]> {
        let mut heartbeat = Heartbeat::at(START);
        assert_eq!(heartbeat.beat(START.monotonic + 40 * MS), None);
        let passed = 40 + gap;
        let now = Clocks {
            monotonic: START.monotonic + passed * MS,
            boot: START.boot + (passed + suspended) * MS,
            cpu: START.cpu + computed * MS,
        };
        let stall = heartbeat.look(heartbeat.ran_at, now)?;
        let since_start = |at: u64| (at - START.monotonic) / MS;
        Some([
            since_start(stall.from),
            since_start(stall.until),
            stall.lasted / MS,
        ])
    }

    #[test]
    fn a_gap_is_a_stall_unless_it_is_short_or_spent_on_work() {
        for (gap, computed, stall) in [
            (50, 0, None),
            (299, 0, None),
            (300, 0, Some([40, 340, 300])),
            (2_000, 0, Some([40, 2_040, 2_000])),
            (2_000, 1_990, None),
            (2_000, 1_500, Some([40, 2_040, 500])),
        ] {
            assert_eq!(after(gap, 0, computed), stall, "{gap} {computed}");
        }
    }

    #[test]
    fn a_suspend_is_a_stall_though_the_monotonic_clock_stands_still() {
        assert_eq!(after(10, 0, 0), None);
        assert_eq!(after(10, 299, 0), None);
        assert_eq!(after(10, 60_000, 0), Some([0, 50, 60_010]));
    }

    #[test]
    fn a_call_is_hit_if_it_was_open_at_any_time_of_the_stall() {
        let stall = Stall {
            from: 100,
            until: 200,
            lasted: 100,
        };
        for (due, done, hit) in [
            (50, 100, false),
            (50, 101, true),
            (150, 160, true),
            (199, 900, true),
            (200, 900, false),
        ] {
            assert_eq!(stall.hit(due, done), hit, "{due} {done}");
        }
        assert!(!Stall::default().hit(0, u64::MAX), "there was none");
    }
}
