//! A trial at a moment, as the thread that measures hands it over.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rpcgauge_load::{IntervalTimes, Traffic};
use rpcgauge_trial::FailureKind;

/// The measured part of a trial at a moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// The name of the variant that is measured.
    pub(super) variant: String,
    /// When the snapshot was taken.
    pub(super) at: Instant,
    /// Since the measured part began.
    pub(super) elapsed: Duration,
    /// Since the snapshot before.
    pub(super) interval: Duration,
    /// Calls begun since the measured part began.
    pub(super) started: u64,
    /// How many of them were sent.
    pub(super) sent: u64,
    /// Calls that succeeded.
    pub(super) answered: u64,
    /// Calls that failed, by kind.
    pub(super) failed: BTreeMap<FailureKind, u64>,
    /// Sends beyond the first of a call.
    pub(super) retried: u64,
    /// Calls that have not ended.
    pub(super) in_flight: u64,
    /// Bytes on the connections.
    pub(super) traffic: Traffic,
    /// Times of the calls since the snapshot before.
    pub(super) times: IntervalTimes,
}

impl Snapshot {
    /// A trial of `variant` that has not begun.
    pub(super) fn empty(variant: &str) -> Self {
        Self {
            variant: variant.to_owned(),
            at: Instant::now(),
            elapsed: Duration::ZERO,
            interval: Duration::ZERO,
            started: 0,
            sent: 0,
            answered: 0,
            failed: BTreeMap::new(),
            retried: 0,
            in_flight: 0,
            traffic: Traffic::default(),
            times: IntervalTimes::new(),
        }
    }
}

#[cfg(test)]
impl Snapshot {
    /// A second in which calls of these latencies, µs, succeeded.
    pub(super) fn example(latencies_us: impl IntoIterator<Item = u64>) -> Self {
        let mut snapshot = Self {
            elapsed: Duration::from_secs(3),
            interval: Duration::from_secs(1),
            started: 1_504,
            sent: 1_504,
            answered: 1_400,
            in_flight: 12,
            ..Self::empty("a")
        };
        for us in latencies_us {
            let latency = &mut snapshot.times.latency;
            latency.record(us * 1_000).expect("it grows");
        }
        snapshot
    }
}
