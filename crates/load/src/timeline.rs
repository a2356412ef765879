//! A trial in slices of equal length.

/// What happened within one slice, by the time a call was due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Slice {
    /// Calls that succeeded.
    pub answered: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Sum of the latencies of those that succeeded, ns.
    pub latency_sum_ns: u64,
    /// The longest latency among them, ns.
    pub latency_max_ns: u64,
}

/// A trial in 100 to 200 slices of equal length, from the first measured call's due time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// Length of a slice, ns.
    pub slice_ns: u64,
    /// The slices in order; empty ones are kept.
    pub slices: Vec<Slice>,
}
