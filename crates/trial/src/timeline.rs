//! The course of a trial.

use serde::{Deserialize, Serialize};

use crate::is_default;
use crate::latency_counts::LatencyCounts;

/// A trial in slices of equal length, starting at the due time of the first measured call. There
/// are at least 100 slices unless the trial lasted less than 100 ns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// The length of a slice in ns.
    pub slice_ns: u64,
    /// The slices in order, including empty ones.
    pub slices: Vec<TimelineSlice>,
}

impl Timeline {
    /// The maximum number of slices.
    pub const MAX_SLICES: usize = 200;

    /// Adds a timeline that begins `later_ns` after this one. Its slices stay whole: each goes to
    /// the slice in which it begins.
    pub fn add(&mut self, other: &Self, later_ns: u64) {
        let begin_of = |from: u64, of: &Self, slice: u64| {
            of.slice_ns.saturating_mul(slice).saturating_add(from)
        };
        let both = [(0, &*self), (later_ns, other)];
        let last = both.iter().filter_map(|(from, of)| {
            let slice = of.slices.len().checked_sub(1)?;
            Some(begin_of(*from, of, slice as u64))
        });
        let Some(last_ns) = last.max() else {
            return;
        };
        let mut slice_ns = self.slice_ns.max(other.slice_ns).max(1);
        while last_ns / slice_ns >= Self::MAX_SLICES as u64 {
            slice_ns = slice_ns.saturating_mul(2);
        }
        let mut slices = vec![TimelineSlice::default(); (last_ns / slice_ns) as usize + 1];
        for (from, timeline) in both {
            for (index, slice) in (0..).zip(&timeline.slices) {
                slices[(begin_of(from, timeline, index) / slice_ns) as usize].add(slice);
            }
        }
        *self = Self { slice_ns, slices };
    }
}

/// The calls that were due in one slice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineSlice {
    /// Calls that succeeded.
    pub answered: u64,
    /// Calls that failed.
    pub failed: u64,
    /// The sum of the latencies of the calls that succeeded, in ns.
    pub latency_sum_ns: u64,
    /// The longest of these latencies, in ns.
    pub latency_max_ns: u64,
    /// These latencies by bucket; absent unless the calls are those of a live service, and in older records.
    #[serde(default, skip_serializing_if = "is_default")]
    pub latencies: LatencyCounts,
}

impl TimelineSlice {
    /// Adds the calls of another slice.
    pub fn add(&mut self, other: &Self) {
        // Name every field, so that a new one cannot be forgotten here.
        let Self {
            answered,
            failed,
            latency_sum_ns,
            latency_max_ns,
            latencies,
        } = other;
        self.answered = self.answered.saturating_add(*answered);
        self.failed = self.failed.saturating_add(*failed);
        self.latency_sum_ns = self.latency_sum_ns.saturating_add(*latency_sum_ns);
        self.latency_max_ns = self.latency_max_ns.max(*latency_max_ns);
        self.latencies.add(latencies);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slice(ns: u64, answered: u64) -> TimelineSlice {
        TimelineSlice {
            answered,
            failed: 1,
            latency_sum_ns: ns * answered,
            latency_max_ns: ns,
            latencies: LatencyCounts::of(ns, answered),
        }
    }

    #[test]
    fn a_later_timeline_is_added_where_it_begins() {
        let mut all = Timeline {
            slice_ns: 4,
            slices: vec![slice(7, 1), slice(7, 2)],
        };
        let later = Timeline {
            slice_ns: 2,
            slices: vec![slice(9, 10), slice(9, 20)],
        };
        all.add(&later, 5);
        let answered: Vec<u64> = all.slices.iter().map(|slice| slice.answered).collect();
        assert_eq!((all.slice_ns, answered), (4, vec![1, 32]));
        let second = &all.slices[1];
        assert_eq!((second.failed, second.latency_sum_ns), (3, 284));
        assert_eq!((second.latency_max_ns, second.latencies.calls()), (9, 32));
    }

    proptest! {
        #[test]
        fn no_call_is_lost_and_no_number_is_fatal(
            lengths in prop::array::uniform2((any::<u64>(), 0u64..300)),
            later_ns: u64,
        ) {
            let [mut all, other] = lengths.map(|(slice_ns, slices)| Timeline {
                slice_ns,
                slices: (0..slices).map(|n| slice(n, 2)).collect(),
            });
            let slices = all.slices.len() + other.slices.len();
            all.add(&other, later_ns);
            prop_assert!(all.slices.len() <= Timeline::MAX_SLICES);
            let kept = all.slices.iter().map(|slice| slice.answered).sum::<u64>();
            prop_assert_eq!(kept, 2 * slices as u64);
        }
    }
}
