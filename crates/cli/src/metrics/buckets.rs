//! A histogram as OpenMetrics has it: counts of the values up to fixed bounds.

use rpcgauge_load::Histogram;

/// The bounds within a decade. Six of them keep what is interpolated between two close to the truth.
const STEPS: [u64; 6] = [10, 15, 20, 30, 50, 70];

/// Decades, from 10 µs on; the last bound is 100 s.
const DECADES: u32 = 7;

/// How many bounds there are.
const BOUNDS: usize = STEPS.len() * DECADES as usize + 1;

/// The bounds, ns, in order.
pub(super) fn bounds() -> [u64; BOUNDS] {
    std::array::from_fn(|place| {
        let decade = place / STEPS.len();
        STEPS[place % STEPS.len()] * 10_u64.pow(3 + decade as u32)
    })
}

/// Counts of times by bound. What a bound counts is right to the 0.1% of the histograms that it comes
/// from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Buckets {
    /// Of the times above the bound before and up to each bound; the last of those above all.
    counts: [u64; BOUNDS + 1],
    sum_ns: f64,
}

impl Default for Buckets {
    fn default() -> Self {
        Self {
            counts: [0; BOUNDS + 1],
            sum_ns: 0.0,
        }
    }
}

impl Buckets {
    /// Counts every time of a histogram.
    pub(super) fn add(&mut self, times: &Histogram) {
        let bounds = bounds();
        for step in times.iter_recorded() {
            let ns = times.median_equivalent(step.value_iterated_to());
            let count = step.count_since_last_iteration();
            let place = bounds.partition_point(|bound| *bound < ns);
            self.counts[place] += count;
            self.sum_ns += ns as f64 * count as f64;
        }
    }

    /// How many times are at most each bound; the last is of all.
    pub(super) fn cumulative(&self) -> impl Iterator<Item = u64> {
        self.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        })
    }

    /// The sum of all times, s.
    pub(super) fn sum_s(&self) -> f64 {
        self.sum_ns / 1e9
    }
}

#[cfg(test)]
mod tests {
    use rpcgauge_load::IntervalTimes;

    use super::*;

    #[test]
    fn bounds_rise_from_10_us_to_100_s() {
        let bounds = bounds();
        assert!(bounds.is_sorted_by(|a, b| a < b), "{bounds:?}");
        assert_eq!((bounds[0], bounds[BOUNDS - 1]), (10_000, 100_000_000_000));
    }

    #[test]
    fn every_time_is_counted_under_its_bound() {
        let mut times = IntervalTimes::new().latency;
        for ns in [0, 9_000, 11_000, 2_600_000, 400_000_000_000] {
            times.record(ns).expect("it grows");
        }
        let mut buckets = Buckets::default();
        buckets.add(&times);
        buckets.add(&times);
        let cumulative: Vec<u64> = buckets.cumulative().collect();
        assert!(cumulative.is_sorted());
        let at = |ns: u64| {
            let place = bounds().iter().position(|bound| *bound == ns);
            cumulative[place.expect("a bound")]
        };
        assert_eq!(at(10_000), 4);
        assert_eq!(at(15_000), 6);
        assert_eq!((at(2_000_000), at(3_000_000)), (6, 8));
        assert_eq!(at(100_000_000_000), 8);
        assert_eq!(cumulative.last(), Some(&10));
        let right = 2.0 * (9e-6 + 11e-6 + 2.6e-3 + 400.0);
        assert!((buckets.sum_s() / right - 1.0).abs() < 0.001);
    }
}
