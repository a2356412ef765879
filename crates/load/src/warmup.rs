//! The bounds of a warm-up, and the decisions of the caller's rule, which is applied slice by slice.

use std::time::Duration;

/// The bounds of a warm-up, and the size of the slices that are passed to its rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmupBounds {
    /// Maximum number of calls. The warm-up ends unsettled once they have ended or, at a rate, once they have
    /// begun. Calls that are due after them are measured.
    pub max_calls: u64,
    /// The warm-up ends unsettled after this time. At a rate, it continues while calls that became due during
    /// it wait to be sent, but for no longer than this time again.
    pub max_time: Duration,
    /// The rule is applied only once this many calls have ended, or half of [`Self::max_time`] has passed. A
    /// just-in-time compiler works in steps, and between two of them the latency is steady although it has
    /// not settled.
    pub least_calls: u64,
    /// Minimum number of calls in a slice, at least 1.
    pub slice_calls: u64,
    /// Minimum length of a slice.
    pub slice_time: Duration,
}

impl WarmupBounds {
    /// Whether the rule is applied after this many calls and this much time.
    pub fn asks_rule(&self, calls: u64, elapsed: Duration) -> bool {
        calls >= self.least_calls || elapsed >= self.max_time / 2
    }
}

/// The rule's decision after a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Settling {
    /// Continue the warm-up.
    GoOn,
    /// The latency no longer drifts: begin measuring.
    Settled,
    /// The latency did not settle in time: begin measuring, and report this.
    NeverSettled,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_is_asked_after_enough_calls_or_half_of_the_longest_time() {
        let bounds = WarmupBounds {
            max_calls: u64::MAX,
            max_time: Duration::from_secs(10),
            least_calls: 1_000,
            slice_calls: 1,
            slice_time: Duration::ZERO,
        };
        let asks = |calls, seconds| bounds.asks_rule(calls, Duration::from_secs(seconds));
        assert!(!asks(999, 4));
        assert!(asks(1_000, 0));
        assert!(asks(0, 5));
    }
}
