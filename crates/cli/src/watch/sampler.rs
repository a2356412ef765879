//! Takes snapshots on the thread that measures.

use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use rpcgauge_lab::Watch;
use rpcgauge_load::{IntervalTimes, TrialProgress};
use rpcgauge_study::plan::Variant;

use super::trial::TrialStart;

/// The time between two snapshots: what people call the present.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);

/// What the thread that measures sends to the one that watches.
pub(super) enum Message {
    Trial(TrialStart),
    Snapshot(Box<Snapshot>),
}

/// The measured part of a trial at a moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) variant: String,
    pub(super) at: Instant,
    pub(super) progress: TrialProgress,
}

/// Takes snapshots and sends them.
///
/// What a snapshot costs the thread that measures: three histograms change places with three empty ones, and
/// a message is put into a channel without bounds, so that there is nothing to wait for. Only the first
/// snapshots, and those that the other thread is slow to give histograms back for, allocate any.
pub(super) struct Sampler {
    pub(super) messages: Sender<Message>,
    /// Sets of histograms to use again.
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
        // The thread that watches gives its reason when it is joined.
        let _ = self.messages.send(Message::Snapshot(Box::new(snapshot)));
        self.emptied.try_recv().unwrap_or_default()
    }
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
