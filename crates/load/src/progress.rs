//! Progress of a trial while it is running.

use std::collections::BTreeMap;
use std::time::Duration;

use rpcgauge_trial::FailureKind;
use rpcgauge_wire::Traffic;

use crate::Histogram;
use crate::histogram::{add, histogram};

/// Receives snapshots of the measured part while it is running.
pub struct ProgressHook<'r> {
    /// Time between two snapshots, more than 0.
    pub every: Duration,
    /// Called on the measuring thread, between the turns of its loop. It delays calls that become due while
    /// it runs, which shows in their latency and send delay, so slow work belongs on another thread. With several
    /// threads, it is called on the thread that waits for them, once all have taken a snapshot. It is called once
    /// more at the end of the trial, so that the intervals together contain every call.
    ///
    /// A trial with a hook counts every call in a second set of histograms, and sums the bytes of its
    /// connections at each snapshot.
    ///
    /// Returns histograms for the next interval: the given ones or others. They need not be empty, because
    /// the engine clears them.
    pub sample: Box<dyn FnMut(TrialProgress) -> IntervalTimes + 'r>,
}

/// The measured part of a trial so far.
#[derive(Debug, Clone, Default)]
pub struct TrialProgress {
    /// Measured time since the measured part began.
    pub elapsed: Duration,
    /// Measured time since the previous snapshot, or since the measured part began.
    pub interval: Duration,
    /// Calls that began, or failed before they could begin.
    pub started: u64,
    /// How many of the started calls were passed to the transport.
    pub sent: u64,
    /// Calls that succeeded.
    pub answered: u64,
    /// Calls that failed, by kind.
    pub failed: BTreeMap<FailureKind, u64>,
    /// Sends of calls beyond the first ([`rpcgauge_trial::Calls::retried`]).
    pub retried: u64,
    /// Messages of streaming calls that were passed to the transport; 0 for other calls.
    pub messages_sent: u64,
    /// Messages of streaming calls that were received.
    pub messages_received: u64,
    /// Calls that began and have not ended.
    pub in_flight: u64,
    /// Calls that are due but have not begun, including those left over from the warm-up. An estimate if
    /// arrivals are random.
    pub waiting: u64,
    /// Times of the interval's calls.
    pub times: IntervalTimes,
    /// Bytes on the connections.
    pub traffic: Traffic,
}

impl TrialProgress {
    /// Adds the progress of another thread.
    pub(crate) fn merge(&mut self, other: TrialProgress) {
        // Name every field, so that a new one cannot be forgotten here.
        let TrialProgress {
            elapsed,
            interval,
            started,
            sent,
            answered,
            failed,
            retried,
            messages_sent,
            messages_received,
            in_flight,
            waiting,
            times,
            traffic,
        } = other;
        // All threads share these.
        self.elapsed = self.elapsed.max(elapsed);
        self.interval = self.interval.max(interval);
        self.started += started;
        self.sent += sent;
        self.answered += answered;
        for (kind, more) in failed {
            *self.failed.entry(kind).or_default() += more;
        }
        self.retried += retried;
        self.messages_sent += messages_sent;
        self.messages_received += messages_received;
        self.in_flight += in_flight;
        self.waiting += waiting;
        self.times.merge(times);
        self.traffic += traffic;
    }
}

/// Times of the calls between two snapshots, ns.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalTimes {
    /// Latency of calls that ended in the interval and succeeded.
    pub latency: Histogram,
    /// Latency of calls that ended in the interval and failed.
    pub failed_latency: Histogram,
    /// How long after its due time each call began in the interval, or failed before it could begin.
    pub send_delay: Histogram,
}

impl Default for IntervalTimes {
    /// Empty histograms of the same initial size as the engine's own.
    fn default() -> Self {
        IntervalTimes {
            latency: histogram(),
            failed_latency: histogram(),
            send_delay: histogram(),
        }
    }
}

impl IntervalTimes {
    pub(crate) fn merge(&mut self, other: IntervalTimes) {
        let IntervalTimes {
            latency,
            failed_latency,
            send_delay,
        } = other;
        add(&mut self.latency, &latency);
        add(&mut self.failed_latency, &failed_latency);
        add(&mut self.send_delay, &send_delay);
    }

    /// Empties the histograms. Cheap if they are already empty.
    pub fn clear(&mut self) {
        for histogram in [
            &mut self.latency,
            &mut self.failed_latency,
            &mut self.send_delay,
        ] {
            if !histogram.is_empty() {
                histogram.reset();
            }
        }
    }
}
