//! Takes snapshots on the measuring thread.

use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use rpcgauge_lab::Watch;
use rpcgauge_load::{IntervalTimes, TrialProgress};
use rpcgauge_study::plan::Variant;

use super::trial::TrialStart;

/// The time between two snapshots.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);

/// A message from the measuring thread to the watching thread.
pub(super) enum Message {
    Trial(TrialStart),
    Snapshot(Box<Snapshot>),
}

/// The state of a trial's measured part at one moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) variant: String,
    pub(super) at: Instant,
    pub(super) progress: TrialProgress,
}

/// Takes snapshots and sends them.
///
/// Sampling costs the measuring thread little: it swaps three histograms for empty ones and sends a
/// message to an unbounded channel, which never blocks. It only allocates histograms for the first
/// snapshots and when the other thread is slow to return used ones.
pub(super) struct Sampler {
    pub(super) messages: Sender<Message>,
    /// Cleared sets of histograms for reuse.
    pub(super) emptied: Receiver<IntervalTimes>,
}

impl Watch for Sampler {
    fn every(&self) -> Duration {
        INTERVAL
    }

    fn sample(&mut self, variant: &Variant, progress: TrialProgress) -> IntervalTimes {
        let snapshot = Snapshot {
            variant: variant.name.clone(),
            at: Instant::now(),
            progress,
        };
        // If the watching thread has ended, joining it returns its error.
        let _ = self.messages.send(Message::Snapshot(Box::new(snapshot)));
        self.emptied.try_recv().unwrap_or_default()
    }
}

/// An example snapshot three seconds into a trial, with these latencies (µs) in its last second and
/// fixed counts.
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
