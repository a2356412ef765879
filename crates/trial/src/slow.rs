//! Calls that took far longer than usual, and what other processes took from them.

use serde::{Deserialize, Serialize};

use crate::is_default;

/// The maximum number of slow calls that are kept per trial: the calls that lost the most time.
pub const MAX_SLOW: usize = 1_000;

/// A trial's slow calls. Times are in ns of CLOCK_MONOTONIC.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    /// When the first measured call was due, which is where the timeline begins.
    pub from_ns: u64,
    /// The slow calls, in the order in which they were due.
    pub slow: Vec<SlowCall>,
    /// The number of slow calls that are not kept.
    #[serde(default, skip_serializing_if = "is_default")]
    pub not_kept: u64,
    /// How much longer than usual the calls that are not kept took, in total.
    #[serde(default, skip_serializing_if = "is_default")]
    pub not_kept_ns: u64,
}

/// A call that took more than three times as long as usual.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowCall {
    /// When it was due.
    pub due_ns: u64,
    /// Its latency.
    pub latency_ns: u64,
    /// The median latency of up to 64 calls before it, updated every 16 calls.
    pub usual_ns: u64,
    /// The time that other processes took from it; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<Disturbed>,
}

/// Time that other processes and virtual machines took from a slow call, less the usual amount, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disturbed {
    /// How long client and server waited for their cores while others ran on them.
    pub waited_ns: u64,
    /// How long the hypervisor gave the cores to other virtual machines.
    pub stolen_ns: u64,
}

impl SlowCall {
    /// How much longer than usual it took.
    pub fn lost_ns(&self) -> u64 {
        self.latency_ns.saturating_sub(self.usual_ns)
    }
}
