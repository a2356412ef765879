//! Counts of latencies in buckets.

use serde::{Deserialize, Serialize};

/// Each power of two is divided into 2 to the power of this many buckets.
const SUB_BITS: u32 = 4;

/// How many calls took how long, in buckets whose width is at most a sixteenth of the times in them. Times below 32 ns
/// have a bucket each, and every 64-bit number has one.
///
/// Stored as the number of each bucket that is not empty, in ascending order, with its count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LatencyCounts(Vec<(u16, u64)>);

impl LatencyCounts {
    /// The number of buckets.
    pub const BUCKETS: usize = ((u64::BITS - SUB_BITS + 1) as usize) << SUB_BITS;

    /// The maximum distance of a [`LatencyCounts::quantile`] from the exact one, as a fraction of it.
    pub const MAX_ERROR: f64 = 1.0 / (2 << SUB_BITS) as f64;

    /// The bucket of a time.
    #[must_use]
    pub fn bucket(ns: u64) -> usize {
        // The first bits of the time select the bucket; the shift is the number of those that do not.
        let shift = (u64::BITS - SUB_BITS - 1).saturating_sub(ns.leading_zeros());
        let first = (ns >> shift) as usize;
        ((shift as usize) << SUB_BITS) + first
    }

    /// The shortest and the longest time in a bucket, ns.
    #[must_use]
    pub fn bounds(bucket: u16) -> [u64; 2] {
        let shift = (bucket >> SUB_BITS).saturating_sub(1);
        let first = u64::from(bucket - (shift << SUB_BITS));
        let low = first << shift;
        [low, low + ((1 << shift) - 1)]
    }

    /// A number of calls that took the same time.
    #[must_use]
    pub fn of(ns: u64, calls: u64) -> Self {
        Self(vec![(Self::bucket(ns) as u16, calls)])
    }

    /// The counts of these buckets, which are in ascending order.
    #[must_use]
    pub fn of_buckets(counts: impl IntoIterator<Item = (usize, u64)>) -> Self {
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        Self(
            counts
                .map(|(bucket, count)| (bucket as u16, count))
                .collect(),
        )
    }

    /// The buckets that are not empty, in ascending order, each with its count.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u16, u64)> {
        self.0.iter().copied()
    }

    /// The number of calls.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.iter()
            .fold(0, |sum, (_, count)| sum.saturating_add(count))
    }

    /// Whether the buckets exist, are in ascending order, and are not empty.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let mut buckets = self.0.windows(2);
        self.iter()
            .all(|(bucket, count)| usize::from(bucket) < Self::BUCKETS && count > 0)
            && buckets.all(|pair| pair[0].0 < pair[1].0)
    }

    /// Adds other calls.
    pub fn add(&mut self, other: &Self) {
        self.0.extend(&other.0);
        self.0.sort_unstable();
        self.0.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            is_same
        });
    }

    /// A quantile of the times, ns: the middle of its bucket. `None` without calls.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        let rank = (self.calls() as f64 * quantile).ceil().max(1.0) as u64;
        let mut before = 0_u64;
        let reaches = |(_, count): &(u16, u64)| {
            before = before.saturating_add(*count);
            before >= rank
        };
        let (bucket, _) = self.iter().find(reaches)?;
        let [low, high] = Self::bounds(bucket);
        Some(low as f64 + (high - low) as f64 / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(times: &[u64]) -> LatencyCounts {
        let mut all = LatencyCounts::default();
        for ns in times {
            all.add(&LatencyCounts::of(*ns, 1));
        }
        all
    }

    #[test]
    fn buckets_have_no_gaps() {
        let mut next = 0_u64;
        for bucket in 0..LatencyCounts::BUCKETS as u16 {
            let [low, high] = LatencyCounts::bounds(bucket);
            assert_eq!(low, next, "bucket {bucket}");
            for ns in [low, high] {
                assert_eq!(LatencyCounts::bucket(ns), usize::from(bucket), "{ns} ns");
            }
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends at the longest time");
    }

    #[test]
    fn they_are_stored_as_pairs() {
        let stored = serde_json::to_string(&counts(&[3, 3, 1_000])).unwrap();
        assert_eq!(stored, "[[3,2],[111,1]]");
        let back: LatencyCounts = serde_json::from_str(&stored).unwrap();
        assert!(back.is_sound());
        for damaged in ["[[976,1]]", "[[3,0]]", "[[3,1],[3,1]]", "[[4,1],[3,1]]"] {
            let back: LatencyCounts = serde_json::from_str(damaged).unwrap();
            assert!(!back.is_sound(), "{damaged}");
        }
    }

    /// Times of all magnitudes.
    fn time() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0..64).prop_map(|(ns, shift)| ns >> shift)
    }

    proptest! {
        #[test]
        fn a_quantile_is_near_the_exact_one(
            mut times in prop::collection::vec(time(), 1..200),
            quantile in 0.0..=1.0,
        ) {
            let found = counts(&times).quantile(quantile).unwrap();
            times.sort_unstable();
            let rank = (times.len() as f64 * quantile).ceil().max(1.0) as usize;
            let exact = times[rank - 1] as f64;
            let off = (found - exact).abs();
            prop_assert!(off <= exact * LatencyCounts::MAX_ERROR, "{found} instead of {exact}");
        }

        #[test]
        fn a_sum_has_every_call(
            one in prop::collection::vec(time(), 0..100),
            other in prop::collection::vec(time(), 0..100),
        ) {
            let mut sum = counts(&one);
            sum.add(&counts(&other));
            prop_assert!(sum.is_sound());
            prop_assert_eq!(sum.calls(), (one.len() + other.len()) as u64);
            prop_assert_eq!(sum, counts(&[one, other].concat()));
        }
    }
}
