//! The warm-up, slice by slice.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rpcgauge_trial::{LateCalls, Warmup};

use crate::Histogram;
use crate::clock::nanos;
use crate::engine::ledger::{EndedCall, Sending};
use crate::histogram::{histogram, record};
use crate::shard::Shard;
use crate::warmup::{Settling, WarmupBounds};

/// The slices of a warm-up, which the threads of a trial have in common; `None` before it starts.
pub(crate) type CommonMeter = Arc<Mutex<Option<SliceMeter>>>;

/// Maximum number of latencies that a slice stores individually. Most slices are small, and scanning a
/// histogram after every few calls would disturb the calls.
const FEW: usize = 1024;

/// The slices that a session runs in a row. The calls in flight end after each turn, and only a part of them belongs to a
/// slice, so with many calls in flight turns of one slice would leave too few slices to settle.
const SLICES_PER_TURN: u32 = 10;

/// The warm-up of a trial, or its absence.
pub(crate) struct WarmUp<'r> {
    bounds: Option<WarmupBounds>,
    /// Maximum number of calls of this engine; `u64::MAX` without a warm-up.
    max_calls: u64,
    settling: Box<dyn FnMut(u64) -> Settling + 'r>,
    meter: CommonMeter,
    /// Whether the rule or a bound has ended it.
    is_over: bool,
    /// When it was paused, ns; `None` while it is running.
    paused_at: Option<u64>,
    /// How many slices a session still runs before it pauses.
    slices_left: u32,
    pub(crate) outcome: Warmup,
    pub(crate) late: LateCalls,
    /// Calls of the warm-up that succeeded while measured calls were due (only at a rate).
    pub(crate) answered_in_measured: u64,
}

impl<'r> WarmUp<'r> {
    pub(super) fn new(
        bounds: Option<WarmupBounds>,
        settling: Box<dyn FnMut(u64) -> Settling + 'r>,
        (shard, meter): (Shard, CommonMeter),
    ) -> WarmUp<'r> {
        WarmUp {
            bounds,
            max_calls: bounds.map_or(u64::MAX, |bounds| shard.part(bounds.max_calls)),
            settling,
            meter,
            is_over: false,
            paused_at: None,
            slices_left: 0,
            outcome: Warmup::default(),
            late: LateCalls::default(),
            answered_in_measured: 0,
        }
    }

    /// Starts the warm-up at `now` (ns), or resumes it. Returns false if the trial has none.
    pub(super) fn start(&mut self, now: u64) -> bool {
        self.slices_left = SLICES_PER_TURN;
        let paused_at = self.paused_at.take();
        let mut meter = locked(&self.meter);
        match (&mut *meter, paused_at) {
            (Some(meter), Some(paused_at)) => meter.pause(now.saturating_sub(paused_at)),
            // Another thread has started it at the same time.
            (Some(_), None) => {}
            (meter, _) => *meter = self.bounds.map(|bounds| SliceMeter::new(bounds, now)),
        }
        meter.is_some()
    }

    /// Whether a session has run enough slices for other sessions to have their turn.
    pub(super) fn is_turn_over(&self) -> bool {
        self.slices_left == 0
    }

    /// Notes the end of a call. If the call completes a slice, returns the rule's decision.
    pub(super) fn call_ended(&mut self, call: &EndedCall) -> Option<Settling> {
        let latency = call.done.saturating_sub(call.due);
        let slice = locked(&self.meter)
            .as_mut()?
            .call_ended(call.done, latency)?;
        self.slices_left = self.slices_left.saturating_sub(1);
        Some(if slice.asks_rule {
            (self.settling)(slice.median)
        } else {
            Settling::GoOn
        })
    }

    /// Notes the end of a call that was in flight at the end of a turn or of the warm-up. It belongs to no slice.
    pub(super) fn drained_call_ended(&mut self) {
        if let Some(meter) = locked(&self.meter).as_mut() {
            meter.ended += 1;
        }
    }

    /// Notes the end of a warm-up call during the measured part.
    pub(super) fn late_call_ended(&mut self, sending: Sending, succeeded: bool) {
        self.late.ended += 1;
        self.late.failed += u64::from(!succeeded);
        match sending {
            Sending::NotSent => self.late.never_sent += 1,
            Sending::SentBefore => self.late.sent_before += 1,
            Sending::Sent | Sending::SentLate => {}
        }
    }

    /// Whether the maximum number of calls has begun.
    pub(super) fn is_all_begun(&self) -> bool {
        self.outcome.calls >= self.max_calls
    }

    /// How many more calls the warm-up may include.
    pub(super) fn left(&self) -> u64 {
        self.max_calls.saturating_sub(self.outcome.calls)
    }

    /// The maximum time of the warm-up, ns; 0 without a warm-up.
    pub(super) fn longest(&self) -> u64 {
        self.bounds.map_or(0, |bounds| nanos(bounds.max_time))
    }

    /// Whether a bound has been reached, or no warm-up is running.
    pub(super) fn is_over(&self, now: u64) -> bool {
        let meter = locked(&self.meter);
        meter.as_ref().is_none_or(|meter| meter.is_over(now))
    }

    /// When the maximum time is over, ns; 0 if no warm-up is running.
    pub(super) fn ends_by(&self) -> u64 {
        locked(&self.meter).as_ref().map_or(0, SliceMeter::ends_by)
    }

    /// Notes that the rule or a bound has ended the warm-up.
    pub(super) fn finish(&mut self, settled: bool) {
        self.is_over = true;
        self.outcome.settled = settled;
    }

    /// Whether nothing of the warm-up is left, or there is none.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_over || self.bounds.is_none()
    }

    /// Notes that the warm-up ended, or was paused, at `now` (ns).
    pub(super) fn end(&mut self, now: u64) {
        if let Some(meter) = locked(&self.meter).as_ref()
            && self.paused_at.is_none()
        {
            self.paused_at = Some(now);
            self.outcome.elapsed_ns = now.saturating_sub(meter.started_at);
        }
    }
}

/// A panic of another thread ends the trial, so what the meter has then does not matter.
fn locked(meter: &CommonMeter) -> MutexGuard<'_, Option<SliceMeter>> {
    meter.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A complete slice of a warm-up.
#[derive(Debug, PartialEq, Eq)]
struct CompleteSlice {
    /// The median latency, ns.
    median: u64,
    /// Whether the warm-up has lasted long enough to apply the rule.
    asks_rule: bool,
}

/// The slices of a warm-up so far.
#[derive(Debug)]
pub(crate) struct SliceMeter {
    bounds: WarmupBounds,
    /// When it started, ns. The time during which it was paused is left out.
    started_at: u64,
    ended: u64,
    slice_started_at: u64,
    slice_calls: u64,
    /// Latencies of the slice, ns. When there are more than [`FEW`], they move to `many`.
    few: Vec<u64>,
    many: Histogram,
}

impl SliceMeter {
    fn new(bounds: WarmupBounds, now: u64) -> SliceMeter {
        SliceMeter {
            bounds,
            started_at: now,
            ended: 0,
            slice_started_at: now,
            slice_calls: 0,
            few: Vec::with_capacity(FEW),
            many: histogram(),
        }
    }

    /// Leaves out a pause of this length, ns.
    fn pause(&mut self, length: u64) {
        self.started_at = self.started_at.saturating_add(length);
        self.slice_started_at = self.slice_started_at.saturating_add(length);
    }

    /// Adds a call that ended. Returns the slice if the call completes it.
    fn call_ended(&mut self, done: u64, latency: u64) -> Option<CompleteSlice> {
        self.ended += 1;
        self.slice_calls += 1;
        if self.few.len() == FEW {
            self.spill();
        }
        self.few.push(latency);
        let lasted = done.saturating_sub(self.slice_started_at);
        if self.slice_calls < self.bounds.slice_calls || lasted < nanos(self.bounds.slice_time) {
            return None;
        }
        self.slice_calls = 0;
        self.slice_started_at = done;
        let median = self.take_median();
        let elapsed = Duration::from_nanos(done.saturating_sub(self.started_at));
        Some(CompleteSlice {
            median,
            asks_rule: self.bounds.asks_rule(self.ended, elapsed),
        })
    }

    /// Whether a bound has been reached.
    fn is_over(&self, now: u64) -> bool {
        self.ended >= self.bounds.max_calls || now >= self.ends_by()
    }

    /// When the maximum time is over, ns.
    fn ends_by(&self) -> u64 {
        self.started_at.saturating_add(nanos(self.bounds.max_time))
    }

    /// Returns the lower median of the slice, and empties the slice.
    fn take_median(&mut self) -> u64 {
        if self.many.is_empty() {
            let middle = self.few.len().saturating_sub(1) / 2;
            let median = *self.few.select_nth_unstable(middle).1;
            self.few.clear();
            return median;
        }
        self.spill();
        let median = self.many.value_at_quantile(0.5);
        self.many.reset();
        median
    }

    fn spill(&mut self) {
        for latency in self.few.drain(..) {
            record(&mut self.many, latency);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter() -> SliceMeter {
        let bounds = WarmupBounds {
            max_calls: 7,
            max_time: Duration::from_nanos(1000),
            least_calls: 0,
            slice_calls: 3,
            slice_time: Duration::from_nanos(100),
        };
        SliceMeter::new(bounds, 5000)
    }

    #[test]
    fn a_slice_has_its_calls_and_its_time() {
        let mut meter = meter();
        assert_eq!(meter.call_ended(5010, 10), None);
        assert_eq!(meter.call_ended(5020, 30), None);
        assert_eq!(meter.call_ended(5030, 20), None, "too short");
        let slice = CompleteSlice {
            median: 20,
            asks_rule: true,
        };
        assert_eq!(meter.call_ended(5100, 40), Some(slice));
        assert_eq!(meter.call_ended(5300, 40), None, "too few calls");
    }

    #[test]
    fn the_median_is_right_for_few_calls_and_for_many() {
        for calls in [1u64, 2, 1023, 1024, 1025, 5000] {
            let bounds = WarmupBounds {
                max_calls: u64::MAX,
                max_time: Duration::MAX,
                least_calls: 0,
                slice_calls: calls,
                slice_time: Duration::ZERO,
            };
            let mut meter = SliceMeter::new(bounds, 0);
            for round in 0..2 {
                // The numbers 1 to `calls` in a different order.
                let latencies = (0..calls).map(|i| 1 + (i * 7919) % calls);
                let slice = latencies
                    .filter_map(|latency| meter.call_ended(1, latency))
                    .next()
                    .expect("a slice of that size");
                let (got, right) = (slice.median as f64, calls.div_ceil(2) as f64);
                assert!(
                    (got - right).abs() <= right / 1000.0,
                    "{got} of {calls}, round {round}"
                );
            }
        }
    }

    #[test]
    fn a_warmup_is_bounded_by_calls_and_time() {
        let mut meter = meter();
        for _ in 0..6 {
            meter.call_ended(5001, 1);
        }
        assert!(!meter.is_over(5999));
        assert!(meter.is_over(6000));
        meter.call_ended(5001, 1);
        assert!(meter.is_over(5001));
    }
}
