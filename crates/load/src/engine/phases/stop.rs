//! Decides when the measured part ends, based on counts, times, and how long all calls have been failing.

use rpcgauge_trial::Slice;

use crate::clock::nanos;
use crate::trial::Trial;

/// Nanoseconds in a microsecond.
pub(super) const US: u64 = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StopRule {
    /// Maximum number of calls to start.
    max_calls: u64,
    /// Minimum number of calls, even if the time is over; 0 except in a slice.
    least_calls: u64,
    /// How long after the first call's due time calls may still become due, ns.
    time: u64,
    /// How long after that time calls may still begin or end, ns.
    drain: u64,
}

/// The progress of the measured part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Status {
    /// When the first measured call was due, ns.
    pub(super) start: u64,
    pub(super) started: u64,
    /// When the next call is or was due, ns. `None` while all calls of a closed loop are in flight, and after
    /// a ramp's last call.
    pub(super) next_due: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// The measured part continues.
    GoOn,
    /// No more calls begin. Calls in flight may end until this time, ns.
    Drain { until: u64 },
    /// Calls that were due in time could not begin before the end of the drain.
    Over,
}

impl StopRule {
    pub(super) fn new(trial: &Trial) -> StopRule {
        let times = [trial.stop.time(), trial.schedule.lasts()].into_iter();
        StopRule {
            max_calls: trial.stop.calls.unwrap_or(u64::MAX),
            least_calls: 0,
            time: times.flatten().map(nanos).min().unwrap_or(u64::MAX),
            drain: nanos(trial.drain),
        }
    }

    /// The rule of a slice. Its number of calls is at least 1 and at most `max_calls`.
    pub(super) fn of_slice(slice: &Slice, max_calls: u64, drain: u64) -> StopRule {
        let max_calls = max_calls.max(1);
        StopRule {
            max_calls,
            least_calls: slice.least_calls.clamp(1, max_calls),
            time: slice.time_us.saturating_mul(US),
            drain,
        }
    }

    /// Whether a call that is due at `due` belongs to the measured part.
    pub(super) fn admits(&self, status: &Status, due: u64) -> bool {
        let in_time = due < self.ends_at(status) || status.started < self.least_calls;
        in_time && status.started < self.max_calls
    }

    /// How many more calls may be started.
    pub(super) fn calls_left(&self, status: &Status) -> u64 {
        self.max_calls.saturating_sub(status.started)
    }

    pub(super) fn decide(&self, status: &Status, now: u64) -> Decision {
        let ends_at = self.ends_at(status);
        if status.started < self.least_calls {
            return Decision::GoOn;
        }
        let none_left = status.started >= self.max_calls;
        let time_is_up = now >= ends_at && status.next_due.is_none_or(|due| due >= ends_at);
        if none_left || time_is_up {
            // The minimum number of calls of a slice may take longer than its time.
            let from = if self.least_calls > 0 {
                now
            } else {
                ends_at.min(now)
            };
            let until = from.saturating_add(self.drain);
            Decision::Drain { until }
        } else if now >= ends_at.saturating_add(self.drain) {
            Decision::Over
        } else {
            Decision::GoOn
        }
    }

    /// When the result of [`StopRule::decide`] may change merely because time has passed, ns.
    pub(super) fn changes_at(&self, status: &Status, now: u64) -> u64 {
        let ends_at = self.ends_at(status);
        if status.started < self.least_calls {
            u64::MAX
        } else if now < ends_at {
            ends_at
        } else {
            ends_at.saturating_add(self.drain)
        }
    }

    /// When calls no longer become due, ns.
    pub(super) fn ends_at(&self, status: &Status) -> u64 {
        status.start.saturating_add(self.time)
    }
}

/// The failures since the last success in the current part.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Failing {
    /// When the first of the failed calls ended, ns.
    since: Option<u64>,
    /// Time from the end of the first failed call to the end of the last one, ns. Time after that is not
    /// included, since calls in flight may be slow but successful.
    pub(super) lasted: u64,
}

impl Failing {
    /// Excludes a pause in which no calls were made.
    pub(super) fn pause(&mut self, lasted: u64) {
        self.since = self.since.map(|since| since.saturating_add(lasted));
    }

    /// Notes the end of a call.
    pub(super) fn note_end(&mut self, at: u64, succeeded: bool) {
        if succeeded {
            *self = Failing::default();
        } else {
            let since = *self.since.get_or_insert(at);
            self.lasted = at.saturating_sub(since);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BY_TIME: StopRule = StopRule {
        max_calls: u64::MAX,
        least_calls: 0,
        time: 100,
        drain: 30,
    };
    const BY_CALLS: StopRule = StopRule {
        max_calls: 5,
        least_calls: 0,
        time: u64::MAX,
        drain: 30,
    };

    fn status(started: u64, next_due: Option<u64>) -> Status {
        Status {
            start: 1000,
            started,
            next_due,
        }
    }

    #[test]
    fn a_call_belongs_by_its_due_time() {
        for (due, belongs) in [(1000, true), (1099, true), (1100, false)] {
            assert_eq!(BY_TIME.admits(&status(7, None), due), belongs, "{due}");
        }
        for (started, belongs) in [(4, true), (5, false)] {
            assert_eq!(
                BY_CALLS.admits(&status(started, None), u64::MAX - 1),
                belongs
            );
        }
    }

    #[test]
    fn the_decision_by_time() {
        let table = [
            (1099, Some(1099), Decision::GoOn),
            // The next call of a rate is due later, but the time is not over.
            (1050, Some(1200), Decision::GoOn),
            (1100, Some(1100), Decision::Drain { until: 1130 }),
            (1120, Some(1150), Decision::Drain { until: 1130 }),
            (1100, None, Decision::Drain { until: 1130 }),
            // A backlog may still be begun after the end, until the drain is over.
            (1129, Some(1080), Decision::GoOn),
            (1130, Some(1080), Decision::Over),
        ];
        for (now, next_due, decision) in table {
            let status = status(7, next_due);
            assert_eq!(BY_TIME.decide(&status, now), decision, "{now} {next_due:?}");
        }
    }

    #[test]
    fn the_decision_by_calls() {
        assert_eq!(BY_CALLS.decide(&status(4, Some(1)), 9999), Decision::GoOn);
        let drain = Decision::Drain { until: 10_029 };
        assert_eq!(BY_CALLS.decide(&status(5, Some(1)), 9999), drain);
    }

    #[test]
    fn the_loop_wakes_for_the_end_and_then_for_the_backlogs() {
        let status = status(7, Some(1080));
        assert_eq!(BY_TIME.changes_at(&status, 1050), 1100);
        assert_eq!(BY_TIME.changes_at(&status, 1100), 1130);
        assert_eq!(BY_CALLS.changes_at(&status, 1100), u64::MAX);
    }

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
