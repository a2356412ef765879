//! A trial's warm-up: the drift rule of `stats`, within the plan's bounds.

use std::time::Duration;

use rpcgauge_load as load;
use rpcgauge_stats::{Settling, WarmUp};
use rpcgauge_study::plan::{Plan, Variant};
use rpcgauge_study::settings::Target;
use rpcgauge_trial::Stop;

/// The number of slices in a warm-up of the maximum length: enough for the rule to decide early, while each
/// slice still contains many calls.
const SLICES: u32 = 100;

/// Longer than any warm-up, yet far from overflowing a 64-bit clock.
const UNBOUNDED: Duration = Duration::from_secs(24 * 60 * 60);

/// The bounds of a trial's warm-up; `None` if it has none.
pub(crate) fn bounds(plan: &Plan, variant: &Variant) -> Option<load::WarmupBounds> {
    let mut bounds = within(plan.warmup(variant), plan.warmup_least_calls(variant))?;
    // The warm-up must leave some of the requests that the trial may send.
    if let Target::Live(live) = &variant.settings.target
        && let Some(most) = live.service.max_requests
    {
        bounds.max_calls = bounds.max_calls.min(most / 2);
    }
    (bounds.max_calls > 0).then_some(bounds)
}

fn within(plan: Stop, least_calls: u64) -> Option<load::WarmupBounds> {
    // If the plan limits calls, slices have a number of calls, and the time is only a safeguard. Otherwise
    // slices have a duration, and a single slow call can fill one.
    let (slice_calls, slice_time) = match (plan.calls, plan.time_ms) {
        (None, None) | (Some(0), _) | (_, Some(0)) => return None,
        (Some(calls), _) => ((calls / u64::from(SLICES)).max(1), Duration::ZERO),
        (None, Some(ms)) => (1, Duration::from_millis(ms).min(UNBOUNDED) / SLICES),
    };
    Some(load::WarmupBounds {
        max_calls: plan.calls.unwrap_or(u64::MAX),
        max_time: plan
            .time_ms
            .map_or(UNBOUNDED, Duration::from_millis)
            .min(UNBOUNDED),
        least_calls,
        slice_calls,
        slice_time,
    })
}

/// Decides when a warm-up is over.
pub(crate) struct Rule(WarmUp);

impl Rule {
    pub(crate) fn new() -> Self {
        Self(WarmUp::default())
    }

    /// Adds the median latency of the next slice, ns.
    pub(crate) fn push(&mut self, median_ns: f64) -> load::Settling {
        match self.0.push(median_ns) {
            Ok(Settling::Settled { .. }) => load::Settling::Settled,
            Ok(Settling::NeverSettled) => load::Settling::NeverSettled,
            _ => load::Settling::GoOn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of slices until the warm-up was over, and its outcome.
    fn over(latency: impl Fn(u32) -> u64) -> (u32, load::Settling) {
        let mut rule = Rule::new();
        for number in 1..1_000 {
            match rule.push(latency(number) as f64) {
                load::Settling::GoOn => {}
                settling => return (number, settling),
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
    fn a_drifting_one_ends_unsettled() {
        let (_, settling) = over(|number| 2_000_000 - 5_000 * u64::from(number));
        assert_eq!(settling, load::Settling::NeverSettled);
    }

    #[test]
    fn bounds_follow_the_plan() {
        let slices = |calls, time_ms| {
            within(Stop { calls, time_ms }, 0).map(|bounds| (bounds.slice_calls, bounds.slice_time))
        };
        assert_eq!(
            slices(None, Some(1_000)),
            Some((1, Duration::from_millis(10)))
        );
        assert_eq!(slices(Some(50), None), Some((1, Duration::ZERO)));
        assert_eq!(slices(Some(5_000), Some(1_000)), Some((50, Duration::ZERO)));
        assert_eq!(slices(None, None), None);
        assert_eq!(slices(Some(0), Some(5)), None);
        assert_eq!(slices(Some(5), Some(0)), None);
    }
}
