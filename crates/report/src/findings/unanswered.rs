//! What calls that were never answered could have done to a latency (docs/method.md).
//!
//! Latency counts the calls that were answered. Where one variant leaves more of its calls unanswered
//! than the other, those that it has more may have been its slowest, or its fastest.

use rpcgauge_stats::{Share, shares_differ};
use rpcgauge_study::plan::Metric;
use serde::Serialize;

use super::figures::Figures;
use crate::metric::{self, Kind};

/// The shares of calls that were not answered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Unanswered {
    /// Of the variant that a verdict is about.
    pub of: f64,
    /// Of the one it is compared with.
    pub against: f64,
}

/// Two variants that leave different shares of their calls unanswered.
pub(crate) struct Uneven {
    pub(crate) shares: Unanswered,
    /// How far the logarithm of the ratio of/against may be off by it, down and up.
    pub(crate) reach: [f64; 2],
}

impl Uneven {
    /// None where the shares are the same, as far as can be seen, or the metric is no latency.
    pub(crate) fn of(metric: Metric, of: &Figures, against: &Figures) -> Option<Self> {
        let [own, other] = [of, against].map(|figures| Share {
            part: figures.calls.started.saturating_sub(figures.calls.answered),
            of: figures.calls.started,
        });
        let shares = Unanswered {
            of: own.value(),
            against: other.value(),
        };
        let more = shares.of - shares.against;
        let reach = if more > 0.0 {
            reach(metric, of, more)?
        } else {
            let [down, up] = reach(metric, against, -more)?;
            [-up, -down]
        };
        shares_differ(own, other).then_some(Self { shares, reach })
    }
}

/// How far the logarithm of a variant's latency may be off, down and up, by a share of its calls that
/// was not answered: had they been its fastest, or its slowest. Nothing bounds what they could have
/// added to a mean. None of a metric that does not count answered calls alone.
fn reach(metric: Metric, figures: &Figures, share: f64) -> Option<[f64; 2]> {
    let answered = figures.calls.answered as f64;
    let more = share * figures.calls.started as f64 / answered;
    let quantile = match metric::row(metric).kind {
        Kind::Quantile(quantile) => quantile,
        Kind::Mean { .. } => return Some([-more.ln_1p(), f64::INFINITY]),
        Kind::Goodput | Kind::Bytes(_) | Kind::Cpu(_) => return None,
    };
    let histogram = figures.latency.as_ref()?.histogram.unpack();
    let rank = quantile * (1.0 + more);
    let at = |rank: f64| match rank {
        ..=0.0 => 0.0,
        0.0..=1.0 => histogram.value_at_quantile(rank) as f64,
        _ => f64::INFINITY,
    };
    let middle = at(quantile);
    Some([rank - more, rank].map(|rank| (at(rank) / middle).ln()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{findings, two};
    use rpcgauge_study::settings::Placement;

    /// What 1,000 calls, each 1 µs slower than the one before, of which some are left unanswered by the
    /// first variant, make of a metric.
    fn reach_of(metric: Metric, unanswered: u64) -> Option<[f64; 2]> {
        let findings = findings(&two(1.0).build());
        let against = findings.figures("rest", Placement::TwoCores).unwrap();
        let mut of = against.clone();
        of.calls.started = 1_000;
        of.calls.answered = 1_000 - unanswered;
        let mut histogram = rpcgauge_study::histogram::Unpacked::new(3).unwrap();
        for call in 1..=1_000 - unanswered {
            histogram.record(call * 1_000).unwrap();
        }
        of.latency = Some(super::super::Distribution::of(histogram));
        let uneven = Uneven::of(metric, &of, against);
        let other = Uneven::of(metric, against, &of);
        if let (Some(uneven), Some(other)) = (&uneven, &other) {
            assert_eq!(uneven.reach, [-other.reach[1], -other.reach[0]]);
            assert_eq!(uneven.shares.of, other.shares.against);
        }
        uneven.map(|uneven| uneven.reach)
    }

    #[test]
    fn unanswered_calls_move_a_percentile_by_their_share_and_a_mean_by_any_amount() {
        assert_eq!(reach_of(Metric::LatencyP50, 0), None);
        assert_eq!(reach_of(Metric::LatencyP50, 1), None, "that may be chance");
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 0.01, "{found}");
        let [down, up] = reach_of(Metric::LatencyP50, 10).unwrap();
        close(down, (490.0_f64 / 495.0).ln());
        close(up, (500.0_f64 / 495.0).ln());
        let [down, up] = reach_of(Metric::LatencyP99, 10).unwrap();
        close(down, (980.0_f64 / 980.0).ln());
        close(up, (990.0_f64 / 980.0).ln());
        assert_eq!(reach_of(Metric::LatencyP99, 20).unwrap()[1], f64::INFINITY);
        let all = [f64::NEG_INFINITY, f64::INFINITY];
        assert_eq!(reach_of(Metric::LatencyP50, 600), Some(all));
        let [down, up] = reach_of(Metric::RequestTime, 10).unwrap();
        close(down, 0.99_f64.ln());
        assert_eq!(up, f64::INFINITY);
        assert_eq!(reach_of(Metric::Goodput, 600), None);
    }
}
