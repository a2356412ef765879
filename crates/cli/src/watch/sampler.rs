//! Takes snapshots on the thread that measures.

use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use rpcgauge_lab::Watch;
use rpcgauge_load::{IntervalTimes, TrialProgress};
use rpcgauge_study::plan::Variant;

use super::snapshot::Snapshot;
use super::trial::TrialStart;

/// The time between two snapshots: what people call the present.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);

/// What the thread that measures sends to the one that watches.
pub(super) enum Message {
    /// A trial is about to begin.
    Trial(TrialStart),
    /// A trial goes on.
    Snapshot(Box<Snapshot>),
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
