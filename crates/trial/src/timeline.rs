//! A trial in slices of equal length.

use serde::{Deserialize, Serialize};

/// A trial in slices of equal length, from the first measured call's due time: at least 100 of them,
/// where there are as many nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// Length of a slice.
    pub slice_ns: u64,
    /// The slices in order; empty ones are kept.
    pub slices: Vec<TimelineSlice>,
}

/// What happened within one slice, by the time a call was due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineSlice {
    /// Calls that succeeded.
    pub answered: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Sum of the latencies of those that succeeded.
    pub latency_sum_ns: u64,
    /// The longest latency among them.
    pub latency_max_ns: u64,
}
