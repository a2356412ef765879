//! A trial at a moment, as the thread that measures hands it over.

use std::time::Instant;

use rpcgauge_load::TrialProgress;

/// The measured part of a trial at a moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// The name of the variant that is measured.
    pub(super) variant: String,
    /// When the snapshot was taken.
    pub(super) at: Instant,
    pub(super) progress: TrialProgress,
}

/// A second in which calls of these latencies, µs, succeeded.
#[cfg(test)]
pub(super) fn example(latencies_us: impl IntoIterator<Item = u64>) -> TrialProgress {
    use std::time::Duration;

    let mut progress = TrialProgress {
        elapsed: Duration::from_secs(3),
        interval: Duration::from_secs(1),
        started: 1_504,
        sent: 1_504,
        answered: 1_400,
        in_flight: 12,
        ..TrialProgress::default()
    };
    for us in latencies_us {
        let latency = &mut progress.times.latency;
        latency.record(us * 1_000).expect("it grows");
    }
    progress
}
