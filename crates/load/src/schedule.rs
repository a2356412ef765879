//! When calls are due. Every decision here is a function of the times given, so that it is tested
//! without a clock.

use std::collections::VecDeque;

use crate::clock::SECOND;
use crate::error::LoadError;

/// When calls are due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Schedule {
    /// A call is due as soon as one before it ends, this many at a time over all connections.
    Closed {
        /// Calls in flight over all connections, at least 1.
        in_flight: u32,
    },
    /// Calls arrive at a rate, whatever becomes of the ones before.
    Rate {
        /// Calls a second, more than 0.
        per_second: f64,
        /// How arrivals are spaced.
        arrivals: Arrivals,
    },
}

/// How arrivals at a rate are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arrivals {
    /// Evenly.
    Constant,
    /// With exponential gaps: a Poisson process.
    Poisson {
        /// The seed that makes the gaps repeatable.
        seed: u64,
    },
}

/// The highest rate that is taken, in calls a second: one a nanosecond, the resolution of due times.
const MAX_PER_SECOND: f64 = 1e9;

impl Schedule {
    pub(crate) fn check(&self) -> Result<(), LoadError> {
        let refuse = |what, allowed| Err(LoadError::Setting { what, allowed });
        match *self {
            Schedule::Closed { in_flight: 0 } => refuse("calls in flight", "at least 1"),
            Schedule::Rate { per_second, .. }
                if !(per_second > 0.0 && per_second <= MAX_PER_SECOND) =>
            {
                refuse("the rate", "more than 0 and at most 1e9 calls a second")
            }
            _ => Ok(()),
        }
    }
}

/// The due times of a trial's calls, in order. A closed loop is told of every end; a rate goes its
/// own way. However far a rate falls behind, the queue of due calls is only a counter.
#[derive(Debug)]
pub(crate) enum Dues {
    /// The due times of calls that were not taken yet.
    Closed(VecDeque<u64>),
    /// The arrivals, and the due time of the next.
    Rate { arrivals: ArrivalTimes, next: u64 },
}

impl Dues {
    /// Starts `schedule` at `start` (ns): all calls of a closed loop, or the first of a rate, are
    /// due then.
    pub(crate) fn new(schedule: &Schedule, start: u64) -> Dues {
        match *schedule {
            Schedule::Closed { in_flight } => {
                Dues::Closed(std::iter::repeat_n(start, in_flight as usize).collect())
            }
            Schedule::Rate {
                per_second,
                arrivals,
            } => {
                let mut arrivals = ArrivalTimes::new(per_second, arrivals, start);
                let next = arrivals.next();
                Dues::Rate { arrivals, next }
            }
        }
    }

    /// When the next call is or was due. `None` while all of a closed loop's calls are in flight.
    pub(crate) fn next(&self) -> Option<u64> {
        match self {
            Dues::Closed(waiting) => waiting.front().copied(),
            Dues::Rate { next, .. } => Some(*next),
        }
    }

    /// Takes the next call.
    pub(crate) fn take(&mut self) -> Option<u64> {
        match self {
            Dues::Closed(waiting) => waiting.pop_front(),
            Dues::Rate { arrivals, next } => Some(std::mem::replace(next, arrivals.next())),
        }
    }

    /// Tells that a call that was taken has ended at `at`.
    pub(crate) fn call_ended(&mut self, at: u64) {
        if let Dues::Closed(waiting) = self {
            waiting.push_back(at);
        }
    }

    /// Makes the calls of a closed loop that wait due at `at`, as if the loop began there. A rate
    /// goes its own way.
    pub(crate) fn start_again(&mut self, at: u64) {
        if let Dues::Closed(waiting) = self {
            waiting.iter_mut().for_each(|due| *due = at);
        }
    }

    /// How many calls were due by `now` and not taken: at most the loop's in a closed loop. For a
    /// rate only whether it is none is told exactly; more are `usize::MAX`.
    pub(crate) fn waiting(&self, now: u64) -> usize {
        match self {
            Dues::Closed(waiting) => waiting.len(),
            Dues::Rate { next, .. } if *next <= now => usize::MAX,
            Dues::Rate { .. } => 0,
        }
    }
}

/// The arrivals of a rate, one after the other, without end.
#[derive(Debug)]
pub(crate) enum ArrivalTimes {
    /// Computed from the count, so that no rounding adds up.
    Constant {
        start: u64,
        per_second: f64,
        count: u64,
    },
    /// Sums of exponential gaps. At 2^53 ns, 104 days, `f64` still resolves a nanosecond.
    Poisson {
        start: u64,
        mean_gap_ns: f64,
        elapsed_ns: f64,
        random: SplitMix64,
    },
}

impl ArrivalTimes {
    fn new(per_second: f64, arrivals: Arrivals, start: u64) -> ArrivalTimes {
        match arrivals {
            Arrivals::Constant => ArrivalTimes::Constant {
                start,
                per_second,
                count: 0,
            },
            Arrivals::Poisson { seed } => ArrivalTimes::Poisson {
                start,
                mean_gap_ns: SECOND as f64 / per_second,
                elapsed_ns: 0.0,
                random: SplitMix64(seed),
            },
        }
    }

    fn next(&mut self) -> u64 {
        match self {
            ArrivalTimes::Constant {
                start,
                per_second,
                count,
            } => {
                let offset = constant_offset(*count, *per_second);
                *count += 1;
                start.saturating_add(offset)
            }
            ArrivalTimes::Poisson {
                start,
                mean_gap_ns,
                elapsed_ns,
                random,
            } => {
                let due = start.saturating_add(*elapsed_ns as u64);
                *elapsed_ns += exponential(random.unit()) * *mean_gap_ns;
                due
            }
        }
    }
}

/// When the `count`-th call (from 0) at a constant rate is due, ns after the start.
pub(crate) fn constant_offset(count: u64, per_second: f64) -> u64 {
    // Whole seconds apart, so that the product keeps its precision after many calls.
    let seconds = (count as f64 / per_second).floor();
    let rest = (count as f64 - seconds * per_second) / per_second;
    (seconds as u64)
        .saturating_mul(SECOND)
        .saturating_add((rest * SECOND as f64).round() as u64)
}

/// An exponential value of mean 1 from a uniform one in [0, 1), by inversion.
fn exponential(uniform: f64) -> f64 {
    -(1.0 - uniform).ln()
}

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014): small,
/// seedable, and good far beyond what gaps between calls need.
#[derive(Debug, Clone)]
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1), in steps of 2^-53.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rate(per_second: f64, arrivals: Arrivals) -> Dues {
        let schedule = Schedule::Rate {
            per_second,
            arrivals,
        };
        Dues::new(&schedule, 0)
    }

    #[test]
    fn a_constant_rate_is_due_evenly() {
        let table = [
            (1.0, 3, 3 * SECOND),
            (1000.0, 0, 0),
            (1000.0, 1, 1_000_000),
            (3.0, 1, 333_333_333),
            (3.0, 2, 666_666_667),
            (3.0, 3_000_000_001, 1_000_000_000 * SECOND + 333_333_333),
            (0.5, 2, 4 * SECOND),
            (1e9, 123_456_789_012, 123_456_789_012),
        ];
        for (per_second, count, due) in table {
            assert_eq!(
                constant_offset(count, per_second),
                due,
                "{count} at {per_second}"
            );
        }
    }

    #[test]
    fn a_closed_loop_is_due_when_a_call_ends() {
        let mut dues = Dues::new(&Schedule::Closed { in_flight: 2 }, 100);
        assert_eq!(
            (dues.take(), dues.take(), dues.take()),
            (Some(100), Some(100), None)
        );
        dues.call_ended(150);
        assert_eq!((dues.next(), dues.waiting(150)), (Some(150), 1));
        assert_eq!((dues.take(), dues.next()), (Some(150), None));
    }

    #[test]
    fn a_rate_goes_on_whatever_ends() {
        let mut dues = rate(1000.0, Arrivals::Constant);
        dues.call_ended(5);
        assert_eq!((dues.take(), dues.take()), (Some(0), Some(1_000_000)));
        assert_eq!(
            (dues.waiting(1_999_999), dues.waiting(2_000_000)),
            (0, usize::MAX)
        );
        assert_eq!(dues.next(), Some(2_000_000));
    }

    #[test]
    fn poisson_gaps_have_their_mean_and_spread() {
        let mut dues = rate(1000.0, Arrivals::Poisson { seed: 7 });
        let times: Vec<f64> = (0..100_000).map(|_| dues.take().unwrap() as f64).collect();
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // The standard error of the mean is 0.3%; of an exponential's spread 0.5%.
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "mean {mean}");
        assert!(
            (variance.sqrt() / mean - 1.0).abs() < 0.03,
            "spread {}",
            variance.sqrt()
        );
    }

    #[test]
    fn a_seed_repeats_and_another_differs() {
        let first = |seed| {
            let mut dues = rate(10.0, Arrivals::Poisson { seed });
            (0..5).map(|_| dues.take().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for per_second in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e9] {
            let schedule = Schedule::Rate {
                per_second,
                arrivals: Arrivals::Constant,
            };
            assert!(schedule.check().is_err(), "{per_second}");
        }
        assert!(Schedule::Closed { in_flight: 0 }.check().is_err());
    }

    proptest! {
        #[test]
        fn due_times_never_go_back(
            per_second in 0.001f64..1e9,
            seed in any::<u64>(),
            poisson in any::<bool>(),
        ) {
            let arrivals = if poisson { Arrivals::Poisson { seed } } else { Arrivals::Constant };
            let mut dues = rate(per_second, arrivals);
            let mut before = 0;
            for _ in 0..200 {
                let due = dues.take().unwrap();
                prop_assert!(due >= before);
                before = due;
            }
        }

        #[test]
        fn a_constant_rate_never_drifts(per_second in 0.1f64..1e6, count in 0u64..1 << 40) {
            let exact = count as f64 / per_second * 1e9;
            let due = constant_offset(count, per_second) as f64;
            prop_assert!((due - exact).abs() <= 1.0 + exact * 1e-12);
        }
    }
}
