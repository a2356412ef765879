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
    /// Called on the measuring thread, between the turns of its loop. It delays calls that become due while
    /// it runs, which shows in their latency and send delay: do slow work on another thread. It is called
    /// once more at the end of the trial, so that the intervals together hold every call.
    ///
    /// A trial with a hook counts every call in a second set of histograms, and at each snapshot sums the
    /// bytes of its connections.
    ///
    /// Returns histograms for the next interval: the given ones or others. They need not be empty; the engine
    /// clears them, whatever they hold.
    pub sample: Box<dyn FnMut(TrialProgress) -> IntervalTimes + 'r>,
}

/// The measured part of a trial so far.
#[derive(Debug, Default)]
pub struct TrialProgress {
    /// The measured time since the measured part began.
    pub elapsed: Duration,
    /// The measured time since the previous snapshot, or since the measured part began.
    pub interval: Duration,
    /// Calls that were begun, or failed before that.
    pub started: u64,
    /// How many of the started calls were given to the transport.
    pub sent: u64,
    /// Calls that succeeded.
    pub answered: u64,
    /// Calls that failed, by kind.
    pub failed: BTreeMap<FailureKind, u64>,
    /// Sends beyond the first of a call ([`rpcgauge_trial::Calls::retried`]).
    pub retried: u64,
    /// Calls that were begun and have not ended.
    pub in_flight: u64,
    /// Calls that are due and not begun yet, including those that the warm-up left. An estimate if arrivals
    /// are random.
    pub waiting: u64,
    /// Times of the interval's calls.
    pub times: IntervalTimes,
    /// Bytes on the connections.
    pub traffic: Traffic,
}

/// Times of the calls between two snapshots, ns.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalTimes {
    /// Latency of the calls that ended in the interval and succeeded.
    pub latency: Histogram,
    /// Latency of the calls that ended in the interval and failed.
    pub failed_latency: Histogram,
    /// How long after its due time each call was begun, or failed before that, in the interval.
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
    /// Empties the histograms; cheap if they are empty.
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
