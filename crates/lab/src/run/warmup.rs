//! A trial's warm-up: `stats`' drift rule within the plan's bounds, fed by the engine.

use std::time::Duration;

use rpcgauge_load as load;
use rpcgauge_stats::{DriftRule, Settling, WarmUp};
use rpcgauge_study::settings::Stop;

/// The longest warm-up is cut into this many slices, so that the rule sees enough of them early
/// and each still holds many calls.
const SLICES: u32 = 100;

/// Longer than any warm-up, and still far from the end of a 64-bit clock.
const UNBOUNDED: Duration = Duration::from_secs(24 * 60 * 60);

/// Slices of a few calls are enough where calls are slow: the rule goes by ranks and medians.
const MAX_SLICE_CALLS: u64 = 3;

/// The engine's bounds of a warm-up; `None` where the plan has none.
pub(super) fn bounds(plan: Stop) -> Option<load::WarmupBounds> {
    if plan.calls.unwrap_or(u64::MAX) == 0
        || plan
            == (Stop {
                calls: None,
                time_ms: None,
            })
    {
        return None;
    }
    let max_time = plan
        .time_ms
        .map_or(UNBOUNDED, Duration::from_millis)
        .min(UNBOUNDED);
    let slice_time = plan.time_ms.map_or(Duration::ZERO, |_| max_time / SLICES);
    let max_calls = plan.calls.unwrap_or(u64::MAX);
    let slice_calls = (max_calls / u64::from(SLICES)).clamp(1, MAX_SLICE_CALLS);
    Some(load::WarmupBounds {
        max_calls,
        max_time,
        slice_calls,
        slice_time,
    })
}

/// Says when a warm-up is over, and does something at that moment.
pub(super) struct Rule<F> {
    drift: WarmUp,
    bounds: load::WarmupBounds,
    calls: u64,
    at_end: F,
}

impl<F: FnMut()> Rule<F> {
    /// A rule that calls `at_slice` at the end of each slice: its last call is at the warm-up's
    /// end, or at most a slice before where a bound of the engine comes first.
    pub(super) fn new(bounds: load::WarmupBounds, at_slice: F) -> Option<Self> {
        let drift = WarmUp::new(DriftRule::default()).ok()?;
        Some(Self {
            drift,
            bounds,
            calls: 0,
            at_end: at_slice,
        })
    }

    /// Takes a slice.
    pub(super) fn push(&mut self, slice: load::WarmupSlice) -> load::Settling {
        (self.at_end)();
        self.calls = self.calls.saturating_add(slice.calls);
        match self.drift.push(slice.median_ns as f64) {
            Ok(Settling::Settled { .. }) => load::Settling::Settled,
            Ok(Settling::NeverSettled) => load::Settling::NeverSettled,
            _ if self.is_nearly_over(&slice) => load::Settling::NeverSettled,
            _ => load::Settling::GoOn,
        }
    }

    /// Whether the next slice would go over a bound: it is ended here, so that what is read at a
    /// slice's end is read at the warm-up's end.
    fn is_nearly_over(&self, slice: &load::WarmupSlice) -> bool {
        let slices = self.bounds;
        self.calls.saturating_add(slice.calls) > slices.max_calls
            || slice.elapsed.saturating_add(slices.slice_time) > slices.max_time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Stop = Stop {
        calls: Some(10_000),
        time_ms: Some(1_000),
    };

    fn slice(median_ns: u64, number: u32) -> load::WarmupSlice {
        load::WarmupSlice {
            calls: 3,
            failed: 0,
            median_ns,
            elapsed: Duration::from_millis(10) * number,
        }
    }

    /// After how many slices the warm-up was over, and how.
    fn over(latency: impl Fn(u32) -> u64) -> (u32, load::Settling) {
        let mut looks = 0;
        let mut rule = Rule::new(bounds(PLAN).unwrap(), || looks += 1).unwrap();
        for number in 1..1_000 {
            match rule.push(slice(latency(number), number)) {
                load::Settling::GoOn => {}
                settling => {
                    drop(rule);
                    assert_eq!(looks, number);
                    return (number, settling);
                }
            }
        }
        panic!("it never ended");
    }

    #[test]
    fn a_steady_latency_settles_long_before_the_bound() {
        let (slices, settling) = over(|_| 10_000);
        assert_eq!(settling, load::Settling::Settled);
        assert!(slices < 40, "{slices}");
    }

    #[test]
    fn a_drifting_one_ends_unsettled_at_the_bound() {
        let (slices, settling) = over(|number| 1_000_000 - 5_000 * u64::from(number));
        assert_eq!(settling, load::Settling::NeverSettled);
        assert_eq!(slices, 100);
    }

    #[test]
    fn bounds_follow_the_plan() {
        let both = bounds(PLAN).unwrap();
        assert_eq!(
            (both.slice_calls, both.slice_time),
            (3, Duration::from_millis(10))
        );
        let few = bounds(Stop {
            calls: Some(50),
            time_ms: None,
        })
        .unwrap();
        assert_eq!((few.slice_calls, few.slice_time), (1, Duration::ZERO));
        assert_eq!(
            bounds(Stop {
                calls: None,
                time_ms: None
            }),
            None
        );
        assert_eq!(
            bounds(Stop {
                calls: Some(0),
                time_ms: Some(5)
            }),
            None
        );
    }
}
