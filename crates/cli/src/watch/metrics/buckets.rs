//! An OpenMetrics histogram: counts of values up to fixed bounds.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};
use rpcgauge_load::Histogram;

/// Bounds within a decade. Six are enough for good interpolation between neighboring bounds.
const STEPS: [u64; 6] = [10, 15, 20, 30, 50, 70];

/// Number of decades, starting at 10 µs. The last bound is 100 s.
const DECADES: u32 = 7;

const BOUNDS: usize = STEPS.len() * DECADES as usize + 1;

/// All bounds in ns, in ascending order.
fn bounds() -> [u64; BOUNDS] {
    std::array::from_fn(|place| {
        let decade = place / STEPS.len();
        STEPS[place % STEPS.len()] * 10_u64.pow(3 + decade as u32)
    })
}

/// Counts of times by bound, within the 0.1% precision of the recorded histograms.
///
/// The client library's own histogram observes one value at a time. For a second's worth of calls,
/// that takes milliseconds of a core that the calls may need.
#[derive(Debug)]
pub(super) struct Buckets(Mutex<Counts>);

#[derive(Debug)]
struct Counts {
    /// For each bound, the number of times above the previous bound and up to this one. The last
    /// entry counts times above all bounds.
    counts: [u64; BOUNDS + 1],
    sum_ns: f64,
}

impl Default for Buckets {
    fn default() -> Self {
        Self(Mutex::new(Counts {
            counts: [0; BOUNDS + 1],
            sum_ns: 0.0,
        }))
    }
}

impl Buckets {
    pub(super) fn add(&self, times: &Histogram) {
        let (mut buckets, bounds) = (self.lock(), bounds());
        for step in times.iter_recorded() {
            let ns = times.median_equivalent(step.value_iterated_to());
            let count = step.count_since_last_iteration();
            let place = bounds.partition_point(|bound| *bound < ns);
            buckets.counts[place] += count;
            buckets.sum_ns += ns as f64 * count as f64;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TypedMetric for Buckets {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Buckets {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let buckets = self.lock();
        let seconds = bounds().map(|ns| ns as f64 / 1e9).into_iter();
        let all = buckets.counts.iter().sum();
        let counts = seconds.chain([f64::INFINITY]).zip(buckets.counts);
        let counts: Vec<(f64, u64)> = counts.collect();
        encoder.encode_histogram::<NoLabelSet>(buckets.sum_ns / 1e9, all, &counts, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
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
        let mut times = IntervalTimes::default().latency;
        for ns in [0, 9_000, 11_000, 2_600_000, 400_000_000_000] {
            times.record(ns).expect("it grows");
        }
        let buckets = Buckets::default();
        buckets.add(&times);
        buckets.add(&times);
        let buckets = buckets.lock();
        let up_to = |ns: u64| {
            let place = bounds().iter().position(|bound| *bound == ns);
            buckets.counts[..=place.expect("a bound")]
                .iter()
                .sum::<u64>()
        };
        assert_eq!(up_to(10_000), 4);
        assert_eq!(up_to(15_000), 6);
        assert_eq!((up_to(2_000_000), up_to(3_000_000)), (6, 8));
        assert_eq!(up_to(100_000_000_000), 8);
        assert_eq!(buckets.counts.iter().sum::<u64>(), 10);
        let right = 2.0 * (9e-6 + 11e-6 + 2.6e-3 + 400.0);
        assert!((buckets.sum_ns / 1e9 / right - 1.0).abs() < 0.001);
    }
}
