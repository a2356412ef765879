//! Calls that took far longer than those before them.

use rpcgauge_trial::SlowCall;

/// A call is slow if it takes more than this many times the running median.
pub const SLOW_FACTOR: u64 = 3;

/// Number of previous calls that the running median covers.
const WINDOW: usize = 64;

/// The median is updated after this many calls. Before the first update, no call is slow.
const EVERY: usize = 16;

/// Maximum number of slow calls that are stored. Further ones are only counted.
const MAX_KEPT: usize = 1 << 16;

/// A running median.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usual {
    window: [u64; WINDOW],
    seen: usize,
    median: Option<u64>,
}

impl Default for Usual {
    fn default() -> Self {
        Self {
            window: [0; WINDOW],
            seen: 0,
            median: None,
        }
    }
}

impl Usual {
    /// The median of the last 64 values, updated every 16 values; `None` before the first update.
    pub fn median(&self) -> Option<u64> {
        self.median
    }

    /// Adds a value.
    pub fn add(&mut self, value: u64) {
        self.window[self.seen % WINDOW] = value;
        self.seen += 1;
        if self.seen.is_multiple_of(EVERY) {
            let mut values = self.window;
            let values = &mut values[..self.seen.min(WINDOW)];
            let middle = (values.len() - 1) / 2;
            self.median = Some(*values.select_nth_unstable(middle).1);
        }
    }
}

/// Finds slow calls as calls end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlowCalls {
    usual: Usual,
    kept: Vec<SlowCall>,
    /// Number of slow calls beyond [`MAX_KEPT`], and the sum of their latencies above the usual one, ns.
    more: u64,
    more_ns: u64,
}

impl SlowCalls {
    /// Adds a successful call.
    pub fn succeeded(&mut self, due: u64, latency: u64) {
        if let Some(usual) = self.usual.median()
            && latency > usual.saturating_mul(SLOW_FACTOR)
        {
            self.slow(SlowCall {
                due_ns: due,
                latency_ns: latency,
                usual_ns: usual,
                disturbed: None,
            });
        }
        self.usual.add(latency);
    }

    #[cold]
    fn slow(&mut self, call: SlowCall) {
        if self.kept.len() < MAX_KEPT {
            self.kept.push(call);
        } else {
            self.more += 1;
            self.more_ns = self.more_ns.saturating_add(call.lost_ns());
        }
    }

    /// Adds the slow calls of another thread, in the order in which all were due. No more calls can be added after
    /// that, because a running median cannot be merged.
    pub(crate) fn merge(&mut self, other: SlowCalls) {
        let SlowCalls {
            usual: _,
            kept,
            more,
            more_ns,
        } = other;
        self.usual = Usual::default();
        self.kept.extend(kept);
        self.kept
            .sort_by_key(|call| (call.due_ns, call.latency_ns, call.usual_ns));
        self.more += more;
        self.more_ns = self.more_ns.saturating_add(more_ns);
    }

    /// The stored slow calls, in the order in which they ended.
    pub fn kept(&self) -> &[SlowCall] {
        &self.kept
    }

    /// Number of slow calls that were not stored, and the sum of their latencies above the usual one, ns.
    pub fn more(&self) -> (u64, u64) {
        (self.more, self.more_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_slow_beside_those_before_it() {
        let mut slow = SlowCalls::default();
        // There is no median yet.
        slow.succeeded(0, 9_000);
        for call in 1..200 {
            let latency = match call {
                100 => 301,
                150 => 300,
                _ => 100,
            };
            slow.succeeded(call, latency);
        }
        let found = [SlowCall {
            due_ns: 100,
            latency_ns: 301,
            usual_ns: 100,
            disturbed: None,
        }];
        assert_eq!(slow.kept(), found);
        // A lasting change moves the median.
        for call in 200..400 {
            slow.succeeded(call, 1_000);
        }
        let last = slow.kept().last().unwrap();
        assert!(last.due_ns < 250, "{last:?}");
    }

    #[test]
    fn slow_calls_without_room_are_counted() {
        let mut slow = SlowCalls::default();
        (0..16).for_each(|call| slow.succeeded(call, 1));
        let calls = 3 * MAX_KEPT as u64;
        for call in 0..calls {
            // Every third call is slow, so the median does not change.
            slow.succeeded(call, if call % 3 == 0 { 11 } else { 1 });
        }
        assert_eq!(slow.kept().len(), MAX_KEPT);
        assert_eq!(slow.more(), (0, 0));
        slow.succeeded(0, 11);
        assert_eq!(slow.more(), (1, 10));
    }
}
