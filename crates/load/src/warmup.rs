//! When the warm-up ends: a rule given from outside, fed slice by slice, within bounds.

use std::time::Duration;

/// The bounds of a warm-up and the size of the slices that its rule sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmupBounds {
    /// The warm-up has no more calls than these. It ends unsettled when they have ended; at a rate, when
    /// they are begun, and all that are due after them are measured.
    pub max_calls: u64,
    /// The warm-up ends unsettled after this time. At a rate it continues while calls that were due in it wait to
    /// be sent, and for as long again at most.
    pub max_time: Duration,
    /// The rule is applied only once this many calls have ended, or half of that time is over: a just-in-time
    /// compiler works in steps, and between two of them latency does not drift.
    pub least_calls: u64,
    /// A slice has at least this many calls, at least 1.
    pub slice_calls: u64,
    /// A slice lasts at least this long.
    pub slice_time: Duration,
}

impl WarmupBounds {
    /// Whether the rule is applied after this many calls and this time.
    pub fn asks_rule(&self, calls: u64, elapsed: Duration) -> bool {
        calls >= self.least_calls || elapsed >= self.max_time / 2
    }
}

/// What the rule says of the slices so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Settling {
    /// Go on.
    GoOn,
    /// The latency has stopped drifting: measure.
    Settled,
    /// It did not settle in time: measure, and say so.
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
