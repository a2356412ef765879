//! Checks a subject's records: in a closed loop, calls must cover nearly all of the time.

use rpcgauge_contract::Record;

/// The minimum fraction of the slices' time that a subject's records must cover, per call in flight. A closed
/// loop covers nearly all of it. With one call at a time instead of four, a quarter is covered.
const MIN_COVER: f64 = 0.3;

/// The minimum number of calls (batches) for this check.
const JUDGED_RECORDS: u64 = 20;

/// How long calls were in flight according to their records, and the total time of their slices.
#[derive(Default)]
pub(super) struct Cover {
    records: u64,
    taken_ns: u64,
    time_ns: u64,
}

impl Cover {
    pub(super) fn add(&mut self, records: &[Record], time_ns: u64) {
        let taken = records.iter().map(|record| record.end - record.begin);
        self.records += records.len() as u64;
        self.taken_ns += taken.sum::<u64>();
        self.time_ns += time_ns;
    }

    /// Why the records contradict the requested number of calls in flight: they cover too little of the time.
    /// `None` if they do not.
    pub(super) fn failure(&self, in_flight: u64) -> Option<String> {
        let cover = self.taken_ns as f64 / (in_flight * self.time_ns) as f64;
        (self.records >= JUDGED_RECORDS && cover < MIN_COVER).then(|| {
            format!(
                "its records cover {:.1}% of the time, at {in_flight} in flight: they are too short, or it was idle \
                 or had fewer calls in flight",
                cover * 100.0
            )
        })
    }
}
