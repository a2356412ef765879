//! Progress of a trial while it runs.

use std::collections::BTreeMap;
use std::time::Duration;

use rpcgauge_trial::FailureKind;
use rpcgauge_wire::Traffic;

use crate::Histogram;
use crate::histogram::histogram;

/// Takes snapshots of the measured part while it runs.
pub struct ProgressHook<'r> {
    /// The time between two snapshots, more than 0.
    pub every: Duration,
    /// Called on the measuring thread, between the turns of its loop. Calls that become due while
    /// it runs are begun late by as much, which is in their latency and their send delay: what
    /// takes long belongs on another thread. It is called once more at the end of the trial, so
    /// that the intervals together hold every call.
    ///
    /// A trial with a hook counts every call in a second set of histograms, and at each snapshot sums the
    /// bytes of its connections.
    ///
    /// Returns histograms for the next interval, emptied or not: its own, or others, which takes no longer
    /// the more calls there are.
    pub sample: Box<dyn FnMut(TrialProgress) -> IntervalTimes + 'r>,
}

/// The measured part of a trial so far.
#[derive(Debug, Default)]
pub struct TrialProgress {
    /// Since the measured part began.
    pub elapsed: Duration,
    /// Since the snapshot before, or since the measured part began.
    pub interval: Duration,
    /// Calls that were begun, or failed before that.
    pub started: u64,
    /// How many of them were given to the transport.
    pub sent: u64,
    /// Calls that succeeded.
    pub answered: u64,
    /// Calls that failed, by kind.
    pub failed: BTreeMap<FailureKind, u64>,
    /// Sends beyond the first of a call ([`rpcgauge_trial::Calls::retried`]).
    pub retried: u64,
    /// Calls that were begun and have not ended.
    pub in_flight: u64,
    /// Calls that are due and not begun yet, with those that the warm-up left. With random arrivals it is an
    /// estimate.
    pub waiting: u64,
    /// Times of the interval's calls.
    pub times: IntervalTimes,
    /// Bytes on the connections.
    pub traffic: Traffic,
}

/// Times of the calls between two snapshots, ns.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalTimes {
    /// Latency of the calls that succeeded in the interval, by when they ended.
    pub latency: Histogram,
    /// Latency of the calls that failed in it.
    pub failed_latency: Histogram,
    /// How long after it was due each call was begun, of those begun in it or failed before that.
    pub send_delay: Histogram,
}

impl Default for IntervalTimes {
    /// An empty set with the room that the engine's own histograms have.
    fn default() -> Self {
        IntervalTimes {
            latency: histogram(),
            failed_latency: histogram(),
            send_delay: histogram(),
        }
    }
}

impl IntervalTimes {
    /// Empties it; cheap if it is empty.
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
