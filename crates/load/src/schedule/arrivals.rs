//! Arrivals at a rate, steady or changing.
//!
//! The integral of the rate is the number of calls so far. A call is due when the integral reaches the call's
//! number. Whole numbers produce even arrivals. Sums of exponential values with mean 1 produce a Poisson
//! process (Çinlar, "Introduction to Stochastic Processes", 1975). Every due time is computed from the call's
//! number, so rounding errors do not add up.

use rpcgauge_trial::{Arrivals, RampPart, Random};

use crate::clock::SECOND;
use crate::shard::Shard;

const MS: u64 = 1_000_000;

#[derive(Debug, Clone)]
pub(crate) struct ArrivalTimes {
    stretches: Vec<Stretch>,
    /// The stretch that contains the last arrival.
    current: usize,
    /// The number at which the last call that was returned is due.
    number: f64,
    /// The number at which the next call is due.
    next: f64,
    /// One in `every` calls of the schedule is returned: those of a shard. A whole number.
    every: f64,
    /// The source of random gaps between the numbers; `None` makes each gap 1.
    random: Option<RandomGaps>,
    /// When the last arrival was due, ns. Rounding must not move a due time back.
    last: u64,
}

#[derive(Debug, Clone)]
struct RandomGaps {
    random: Random,
    /// The number of the schedule's call after the last one that was returned, and the same for the one before it.
    after: f64,
    after_previous: f64,
}

/// A period in which the rate is constant or changes linearly.
#[derive(Debug, Clone)]
struct Stretch {
    start_ns: u64,
    /// `u64::MAX` if it never ends.
    length_ns: u64,
    /// Calls per second at its start and at its end.
    from: f64,
    to: f64,
    /// Number of calls due before its start and before its end.
    calls_before: f64,
    calls_through: f64,
}

impl ArrivalTimes {
    /// Arrivals at a constant rate, without end.
    pub(super) fn steady(per_second: f64, arrivals: (Arrivals, u64), start: u64) -> ArrivalTimes {
        let stretch = Stretch {
            start_ns: start,
            length_ns: u64::MAX,
            from: per_second,
            to: per_second,
            calls_before: 0.0,
            calls_through: f64::INFINITY,
        };
        Self::over(vec![stretch], arrivals)
    }

    pub(super) fn ramp(parts: &[RampPart], arrivals: (Arrivals, u64), start: u64) -> ArrivalTimes {
        // Number of calls times 2e9. It is a whole number if the rates are, so the sum itself has no rounding
        // errors.
        let (mut start_ns, mut sum) = (start, 0.0);
        let calls = |sum: f64| sum / (2.0 * SECOND as f64);
        let stretch = |part: &RampPart| {
            let length_ns = part.time_ms.saturating_mul(MS);
            let before = sum;
            sum += (part.from + part.to) * length_ns as f64;
            let stretch = Stretch {
                start_ns,
                length_ns,
                from: part.from,
                to: part.to,
                calls_before: calls(before),
                calls_through: calls(sum),
            };
            start_ns = start_ns.saturating_add(length_ns);
            stretch
        };
        Self::over(parts.iter().map(stretch).collect(), arrivals)
    }

    fn over(stretches: Vec<Stretch>, (arrivals, seed): (Arrivals, u64)) -> ArrivalTimes {
        ArrivalTimes {
            stretches,
            current: 0,
            number: 0.0,
            next: 0.0,
            every: 1.0,
            random: (arrivals == Arrivals::Poisson).then(|| RandomGaps {
                random: Random::new(seed),
                after: 0.0,
                after_previous: 0.0,
            }),
            last: 0,
        }
    }

    /// The next arrival, ns; `None` when there are no more.
    pub(super) fn next(&mut self) -> Option<u64> {
        self.number = self.next;
        match &mut self.random {
            None => self.next += self.every,
            Some(gaps) => self.next = gaps.next_number(self.number, self.every),
        }
        self.due()
    }

    /// Skips the calls of other shards from the beginning on. Random gaps are drawn for all calls, so that the shards
    /// together have the arrivals of the whole schedule.
    pub(super) fn only(&mut self, shard: Shard) {
        for _ in 0..shard.index() {
            self.next += self.random.as_mut().map_or(1.0, RandomGaps::next);
        }
        self.every = shard.of() as f64;
    }

    /// When the call of the schedule is due that follows the second-to-last one that was returned, ns; `None` if it
    /// never is. A shard may have skipped it.
    pub(super) fn after_previous(&self) -> Option<u64> {
        let number = match &self.random {
            None => (self.number - self.every + 1.0).max(0.0),
            Some(gaps) => gaps.after_previous,
        };
        let mut stretches = self.stretches.iter();
        let stretch = stretches.find(|stretch| number < stretch.calls_through)?;
        Some(stretch.due(number))
    }

    /// When the call with [`Self::number`] is due, ns; `None` if it never is.
    fn due(&mut self) -> Option<u64> {
        while self.number >= self.stretches.get(self.current)?.calls_through {
            self.current += 1;
        }
        let due = self.stretches[self.current].due(self.number);
        self.last = self.last.max(due);
        Some(self.last)
    }

    /// Changes the rate from `at` (ns) on. The integral continues, so changes neither add nor lose calls.
    pub(super) fn change_rate(&mut self, per_second: f64, at: u64) {
        self.stretches.pop_if(|stretch| stretch.start_ns == at);
        let calls_before = self.stretches.last_mut().map_or(0.0, |stretch| {
            stretch.calls_through = stretch.calls_by(at - stretch.start_ns);
            stretch.length_ns = at - stretch.start_ns;
            stretch.calls_through
        });
        self.stretches.push(Stretch {
            start_ns: at,
            length_ns: u64::MAX,
            from: per_second,
            to: per_second,
            calls_before,
            calls_through: if per_second > 0.0 {
                f64::INFINITY
            } else {
                calls_before
            },
        });
        self.current = self.current.min(self.stretches.len() - 1);
    }

    /// When the call that [`Self::next`] returned last is due, ns, if the rate changed before that, at `changed_at`.
    pub(super) fn due_again(&mut self, changed_at: u64) -> Option<u64> {
        self.last = self.last.min(changed_at);
        self.due()
    }

    /// The rate in the end.
    pub(super) fn last_rate(&self) -> f64 {
        self.stretches.last().map_or(0.0, |stretch| stretch.to)
    }

    /// How many of the arrivals that [`Self::next`] has not returned yet are due by `at` (ns). If arrivals
    /// are random, this is their expected number.
    pub(super) fn due_by(&self, at: u64) -> u64 {
        let mut begun = self.stretches.iter().rev();
        let begun = begun.find(|stretch| stretch.start_ns <= at);
        let calls = begun.map_or(0.0, |stretch| stretch.calls_by(at - stretch.start_ns));
        // A call is due once the integral exceeds its number, so the next call is not due during a pause. The
        // cast turns negative values into 0.
        ((calls - self.next) / self.every).ceil() as u64
    }

    pub(super) fn end(&self) -> u64 {
        let last = self.stretches.last();
        last.map_or(0, |stretch| {
            stretch.start_ns.saturating_add(stretch.length_ns)
        })
    }
}

impl RandomGaps {
    /// The number of the next call of a shard after the call with this number. Not inlined, so that
    /// [`ArrivalTimes::next`] can be.
    #[inline(never)]
    fn next_number(&mut self, number: f64, every: f64) -> f64 {
        self.after_previous = self.after;
        self.after = number + self.next();
        (1..every as u64).fold(self.after, |number, _| number + self.next())
    }

    /// The gap between a call's number and that of the next one.
    fn next(&mut self) -> f64 {
        exponential(self.random.unit())
    }
}

impl Stretch {
    /// Number of calls due until `offset` ns after its start, including those before it.
    fn calls_by(&self, offset: u64) -> f64 {
        let seconds = offset.min(self.length_ns) as f64 / SECOND as f64;
        let slope = (self.to - self.from) / (self.length_ns as f64 / SECOND as f64);
        self.calls_before + (self.from + slope * seconds / 2.0) * seconds
    }

    /// When the call with this number is due, ns.
    #[inline]
    fn due(&self, number: f64) -> u64 {
        self.start_ns
            .saturating_add(self.offset(number - self.calls_before))
    }

    /// When `calls` have arrived in it, ns after its start; never beyond its end.
    fn offset(&self, calls: f64) -> u64 {
        let offset = if self.from == self.to {
            steady_offset(calls, self.from)
        } else {
            let seconds = self.length_ns as f64 / SECOND as f64;
            let slope = (self.to - self.from).abs() / seconds;
            let time = if self.to > self.from {
                rising(calls, self.from, slope)
            } else {
                // Viewed backwards from its end, a falling rate is a rising one.
                let left = self.calls_through - self.calls_before - calls;
                seconds - rising(left, self.to, slope)
            };
            (time * SECOND as f64).round() as u64
        };
        offset.min(self.length_ns - 1)
    }
}

/// When `calls` have arrived at a steady rate, ns.
fn steady_offset(calls: f64, per_second: f64) -> u64 {
    // Whole seconds are computed separately, so that the product stays precise after many calls.
    let seconds = (calls / per_second).floor();
    let rest = (calls - seconds * per_second) / per_second;
    (seconds as u64)
        .saturating_mul(SECOND)
        .saturating_add((rest * SECOND as f64).round() as u64)
}

/// When `calls` have arrived at a rate that starts at `from` and rises by `slope` per second, in s. This is
/// the root of `from t + slope t² / 2 = calls`, in the form that avoids cancellation.
fn rising(calls: f64, from: f64, slope: f64) -> f64 {
    if calls <= 0.0 {
        return 0.0;
    }
    2.0 * calls / (from + (from * from + 2.0 * slope * calls).sqrt())
}

/// Turns a uniform value in [0, 1) into an exponential one with mean 1, by inversion.
fn exponential(uniform: f64) -> f64 {
    -(1.0 - uniform).ln()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_constant_rate_is_due_evenly() {
        let table = [
            (1.0, 3u64, 3 * SECOND),
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
                steady_offset(count as f64, per_second),
                due,
                "{count} at {per_second}"
            );
        }
    }

    /// In a day-long ramp to or from a million calls per second, the call at half time is due at the exact
    /// nanosecond.
    #[test]
    fn a_long_ramp_keeps_its_nanoseconds() {
        let day = 86_400u64;
        for (from, to) in [(0.0, 1e6), (1e6, 0.0)] {
            let part = RampPart {
                from,
                to,
                time_ms: day * 1_000,
            };
            let ramp = ArrivalTimes::ramp(&[part], (Arrivals::Constant, 0), 0);
            let stretch = &ramp.stretches[0];
            let all = stretch.calls_through;
            assert_eq!(all, day as f64 * 1e6 / 2.0);
            // A quarter of a rising ramp's calls are due in its first half.
            let (calls, half) = if from < to {
                (all / 4.0, day * SECOND / 2)
            } else {
                (all * 3.0 / 4.0, day * SECOND / 2)
            };
            assert_eq!(stretch.offset(calls), half);
            assert_eq!(stretch.offset(0.0), 0);
        }
    }

    #[test]
    fn poisson_gaps_have_their_mean_and_spread() {
        let mut arrivals = ArrivalTimes::steady(1000.0, (Arrivals::Poisson, 7), 0);
        let times: Vec<f64> = (0..100_000)
            .map(|_| arrivals.next().unwrap() as f64)
            .collect();
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // The standard error of the mean is 0.3%, and that of an exponential's spread is 0.5%.
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
            let mut arrivals = ArrivalTimes::steady(10.0, (Arrivals::Poisson, seed), 0);
            (0..5).map(|_| arrivals.next()).collect::<Vec<_>>()
        };
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }

    proptest! {
        #[test]
        fn a_constant_rate_never_drifts(per_second in 0.1f64..1e6, count in 0u64..1 << 40) {
            // The latest possible due time is `u64::MAX` ns, about 584 years.
            let exact = (count as f64 / per_second * 1e9).min(u64::MAX as f64);
            let due = steady_offset(count as f64, per_second) as f64;
            prop_assert!((due - exact).abs() <= 1.0 + exact * 1e-12);
        }
    }
}
