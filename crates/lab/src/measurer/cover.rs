//! Whether the records of a subject can be right: those of a closed loop cover its time.

use rpcgauge_contract::Record;

/// How much of the time of its slices the records of a subject cover at least, for each call in flight: in a
/// closed loop nearly all, and a quarter where one call is made at a time instead of four.
const MIN_COVER: f64 = 0.3;

/// Fewer calls (batches) than this do not show it.
const JUDGED_RECORDS: u64 = 20;

/// How long calls were in flight by their records, and in what time.
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

    /// Why the records cannot be right of so many calls in flight, where they leave most of the time open.
    pub(super) fn failure(&self, in_flight: u64) -> Option<String> {
        let cover = self.taken_ns as f64 / (in_flight * self.time_ns) as f64;
        (self.records >= JUDGED_RECORDS && cover < MIN_COVER).then(|| {
            format!(
                "its records cover {:.1}% of the time, at {in_flight} in flight: they are too short, or it was idle \
                 or had fewer in flight",
                cover * 100.0
            )
        })
    }
}
