//! A timeline of a trial whose length is not known in advance.

use rpcgauge_trial::{LatencyCounts, Timeline, TimelineSlice};

/// When more slices are needed, pairs are merged and the length of a slice doubles.
const MAX_SLICES: usize = Timeline::MAX_SLICES;

/// Fills a [`Timeline`] whose end is not known yet.
#[derive(Debug)]
pub struct TimelineRecorder {
    /// How many times the length of a slice has doubled, starting at 1 ns. After 40 doublings it is 18
    /// minutes. Each doubling merges only 100 pairs.
    doublings: u32,
    slices: Vec<TimelineSlice>,
    /// `None` unless each slice counts its latencies by bucket.
    latencies: Option<Latencies>,
}

impl Default for TimelineRecorder {
    fn default() -> Self {
        TimelineRecorder {
            doublings: 0,
            slices: Vec::with_capacity(MAX_SLICES),
            latencies: None,
        }
    }
}

impl TimelineRecorder {
    /// Like the default, but also counts the latencies of each slice by bucket.
    pub(crate) fn with_latencies() -> Self {
        TimelineRecorder {
            latencies: Some(Latencies::default()),
            ..TimelineRecorder::default()
        }
    }

    /// Number of slices for which memory is allocated.
    #[cfg(test)]
    pub(crate) fn room(&self) -> usize {
        self.slices.capacity()
    }

    /// Counts `calls` (at least 1) successful calls that were due `due_ns` after the trial's start and took
    /// `took_ns` in total. Their mean stands in for their maximum, which it never exceeds.
    pub fn succeeded(&mut self, due_ns: u64, took_ns: u64, calls: u64) {
        let index = self.slice(due_ns);
        let slice = &mut self.slices[index];
        let each_ns = took_ns.div_ceil(calls);
        slice.answered += calls;
        slice.latency_sum_ns = slice.latency_sum_ns.saturating_add(took_ns);
        slice.latency_max_ns = slice.latency_max_ns.max(each_ns);
        if let Some(latencies) = &mut self.latencies {
            latencies.add(index, each_ns, calls);
        }
    }

    /// Counts failed calls.
    pub fn failed(&mut self, due_ns: u64, calls: u64) {
        let index = self.slice(due_ns);
        self.slices[index].failed += calls;
    }

    /// Ends the timeline. It covers `elapsed_ns` and every call, in at least 100 slices unless it is shorter
    /// than 100 ns.
    pub fn finish(mut self, elapsed_ns: u64) -> Timeline {
        self.slice(elapsed_ns.saturating_sub(1));
        if let Some(latencies) = &self.latencies {
            for (index, slice) in self.slices.iter_mut().enumerate() {
                slice.latencies = latencies.of(index);
            }
        }
        Timeline {
            slice_ns: 1 << self.doublings,
            slices: self.slices,
        }
    }

    /// The index of the slice that contains `at_ns`, which is added if necessary.
    fn slice(&mut self, at_ns: u64) -> usize {
        while at_ns >> self.doublings >= MAX_SLICES as u64 {
            self.halve();
        }
        let index = (at_ns >> self.doublings) as usize;
        if index >= self.slices.len() {
            self.slices.resize(index + 1, TimelineSlice::default());
        }
        index
    }

    #[cold]
    fn halve(&mut self) {
        let slices = self.slices.len();
        let half = slices.div_ceil(2);
        for i in 0..half {
            // Their latencies are not counted yet.
            let second = self.slices.get_mut(2 * i + 1).map(std::mem::take);
            let mut sum = std::mem::take(&mut self.slices[2 * i]);
            sum.add(&second.unwrap_or_default());
            self.slices[i] = sum;
        }
        self.slices.truncate(half);
        self.doublings += 1;
        if let Some(latencies) = &mut self.latencies {
            latencies.halve(slices);
        }
    }
}

/// The latencies of all slices by bucket.
#[derive(Debug)]
struct Latencies {
    /// A row of all buckets for each possible slice: 1.5 MB, of which the system provides only the pages that
    /// are used.
    counts: Vec<u64>,
    /// The first and the last bucket in which any slice has calls. Merging slices must not take as long as
    /// several calls, so it skips the other buckets.
    first: usize,
    last: usize,
}

impl Default for Latencies {
    fn default() -> Self {
        Latencies {
            counts: vec![0; MAX_SLICES * LatencyCounts::BUCKETS],
            first: LatencyCounts::BUCKETS,
            last: 0,
        }
    }
}

impl Latencies {
    fn add(&mut self, slice: usize, ns: u64, calls: u64) {
        let bucket = LatencyCounts::bucket(ns);
        self.first = self.first.min(bucket);
        self.last = self.last.max(bucket);
        self.counts[slice * LatencyCounts::BUCKETS + bucket] += calls;
    }

    /// Merges pairs of the first `slices` slices.
    fn halve(&mut self, slices: usize) {
        for from in 0..slices {
            for bucket in self.first..=self.last {
                let count =
                    std::mem::take(&mut self.counts[from * LatencyCounts::BUCKETS + bucket]);
                self.counts[from / 2 * LatencyCounts::BUCKETS + bucket] += count;
            }
        }
    }

    fn of(&self, slice: usize) -> LatencyCounts {
        let row = &self.counts[slice * LatencyCounts::BUCKETS..];
        LatencyCounts::of_buckets((self.first..=self.last).map(|bucket| (bucket, row[bucket])))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_minute_has_100_to_200_slices() {
        let mut timeline = TimelineRecorder::default();
        for second in 0..60 {
            timeline.succeeded(second * 1_000_000_000, 1000, 1);
        }
        let timeline = timeline.finish(60_000_000_000);
        assert_eq!(timeline.slice_ns, 1 << 29);
        assert_eq!(timeline.slices.len(), 112);
        assert_eq!(
            timeline
                .slices
                .iter()
                .map(|slice| slice.answered)
                .sum::<u64>(),
            60
        );
    }

    #[test]
    fn empty_slices_are_kept() {
        let timeline = TimelineRecorder::default().finish(1_000_000);
        assert_eq!(
            timeline.slices.len() as u64,
            1_000_000u64.div_ceil(timeline.slice_ns)
        );
        assert!(
            timeline
                .slices
                .iter()
                .all(|slice| *slice == TimelineSlice::default())
        );
    }

    #[test]
    fn a_spike_stays_where_it_was_due() {
        let mut timeline = TimelineRecorder::default();
        for ms in 0..1000u64 {
            let latency = if ms == 777 { 90_000_000 } else { 50_000 };
            timeline.succeeded(ms * 1_000_000, latency, 1);
        }
        let timeline = timeline.finish(1_000_000_000);
        let spike = (777_000_000 / timeline.slice_ns) as usize;
        for (index, slice) in timeline.slices.iter().enumerate() {
            assert_eq!(
                slice.latency_max_ns > 1_000_000,
                index == spike,
                "slice {index}"
            );
        }
    }

    proptest! {
        #[test]
        fn every_call_is_in_its_slice_and_none_is_lost(
            calls in prop::collection::vec((0u64..1 << 45, any::<bool>(), 0u64..1 << 40), 1..300),
        ) {
            let mut recorder = TimelineRecorder::with_latencies();
            for &(due, good, latency) in &calls {
                if good { recorder.succeeded(due, latency, 1) } else { recorder.failed(due, 1) }
            }
            let elapsed = calls.iter().map(|call| call.0).max().unwrap_or_default() + 1;
            let timeline = recorder.finish(elapsed);
            prop_assert!(timeline.slices.len() <= MAX_SLICES);
            prop_assert!(elapsed < 100 || timeline.slices.len() >= 100);
            for (index, slice) in timeline.slices.iter().enumerate() {
                let here = calls.iter().filter(|call| (call.0 / timeline.slice_ns) as usize == index);
                let (good, bad): (Vec<&(u64, bool, u64)>, Vec<_>) = here.partition(|call| call.1);
                prop_assert_eq!(slice.answered, good.len() as u64);
                prop_assert_eq!(slice.failed, bad.len() as u64);
                prop_assert_eq!(slice.latency_sum_ns, good.iter().map(|call| call.2).sum::<u64>());
                let longest = good.iter().map(|call| call.2).max().unwrap_or_default();
                prop_assert_eq!(slice.latency_max_ns, longest);
                let mut latencies = LatencyCounts::default();
                good.iter().for_each(|call| latencies.add(&LatencyCounts::of(call.2, 1)));
                prop_assert_eq!(&slice.latencies, &latencies);
            }
        }

        #[test]
        fn a_merged_timeline_is_that_of_all_calls(
            calls in prop::collection::vec((0u64..1 << 40, 0u64..1 << 30, any::<bool>()), 1..200),
            ends in [1u64..1 << 40, 1u64..1 << 40],
        ) {
            let mut recorders = [(); 3].map(|()| TimelineRecorder::with_latencies());
            for (due, latency, is_first) in calls {
                for of in [usize::from(is_first), 2] {
                    recorders[of].succeeded(due, latency, 1);
                }
            }
            let [first, second, all] = recorders;
            let mut merged = first.finish(ends[0]);
            merged.add(&second.finish(ends[1]), 0);
            prop_assert_eq!(merged, all.finish(ends[0].max(ends[1])));
        }
    }
}
