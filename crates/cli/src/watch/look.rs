//! Looks at a trial, handed from the thread that measures to the one that watches.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use rpcgauge_lab::Watch;
use rpcgauge_load::{FailureKind, IntervalTimes, Progress, Traffic};
use rpcgauge_study::plan::Variant;

use super::trial::TrialStart;

/// The time between two looks: what people call the present.
pub(crate) const EVERY: Duration = Duration::from_secs(1);

/// What the thread that measures tells the one that watches.
pub(super) enum Message {
    /// A trial is about to begin.
    Trial(TrialStart),
    /// How it stands.
    Look(Box<Look>),
}

/// How the measured part of a trial stood at a moment.
#[derive(Debug)]
pub(crate) struct Look {
    /// The name of the variant that was looked at.
    pub(crate) target: String,
    /// When the look was taken.
    pub(crate) at: Instant,
    /// Since the measured part began.
    pub(crate) elapsed: Duration,
    /// Since the look before.
    pub(crate) interval: Duration,
    /// Calls begun since the measured part began.
    pub(crate) started: u64,
    /// How many of them were sent.
    pub(crate) sent: u64,
    /// Calls that succeeded.
    pub(crate) answered: u64,
    /// Calls that failed, by kind.
    pub(crate) failed: BTreeMap<FailureKind, u64>,
    /// Sends beyond the first of a call.
    pub(crate) retried: u64,
    /// Calls that have not ended.
    pub(crate) in_flight: u64,
    /// Bytes on the connections.
    pub(crate) traffic: Traffic,
    /// Times of the calls since the look before.
    pub(crate) times: IntervalTimes,
}

/// Takes looks on the thread that measures.
///
/// What a look costs there: three histograms change places with three empty ones, and a message is
/// put into a channel without bounds, so that there is nothing to wait for. Only the first looks,
/// and those that the other thread is slow to give histograms back for, allocate any.
pub(crate) struct Taker {
    messages: Sender<Message>,
    emptied: Receiver<IntervalTimes>,
}

impl Taker {
    pub(super) fn new(messages: Sender<Message>, emptied: Receiver<IntervalTimes>) -> Self {
        Self { messages, emptied }
    }

    /// A trial is about to begin. A watching thread that has ended is looked after when it is joined.
    pub(crate) fn begin(&self, trial: TrialStart) {
        let _ = self.messages.send(Message::Trial(trial));
    }
}

impl Watch for Taker {
    fn every(&self) -> Duration {
        EVERY
    }

    fn look(&mut self, variant: &Variant, progress: &mut Progress<'_>) {
        let mut times = self.emptied.try_recv().unwrap_or_default();
        std::mem::swap(progress.times, &mut times);
        let look = Look {
            target: variant.name.clone(),
            at: Instant::now(),
            elapsed: progress.elapsed,
            interval: progress.interval,
            started: progress.started,
            sent: progress.sent,
            answered: progress.answered,
            failed: progress.failed.clone(),
            retried: progress.retried,
            in_flight: progress.in_flight,
            traffic: progress.traffic,
            times,
        };
        let _ = self.messages.send(Message::Look(Box::new(look)));
    }
}

#[cfg(test)]
impl Look {
    /// A look at a second in which calls of these latencies, µs, succeeded.
    pub(crate) fn example(latencies_us: impl IntoIterator<Item = u64>) -> Self {
        let mut times = IntervalTimes::new();
        for us in latencies_us {
            times.latency.record(us * 1_000).expect("it grows");
        }
        Self {
            target: "a".to_owned(),
            at: Instant::now(),
            elapsed: Duration::from_secs(3),
            interval: Duration::from_secs(1),
            started: 1_504,
            sent: 1_504,
            answered: 1_400,
            failed: BTreeMap::new(),
            retried: 0,
            in_flight: 12,
            traffic: Traffic::default(),
            times,
        }
    }
}
