//! Turns an estimate into a verdict. The A/A pair's interval is the threshold.

use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, Interval};
use crate::power::{More, invocations_to_settle};

/// The default margin of "no difference": 3%.
const DEFAULT_MARGIN: f64 = 0.03;

/// Which direction of a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Better {
    /// A cost: latency, CPU per call, bytes, memory.
    Lower,
    /// A yield: goodput.
    Higher,
}

/// How one variant compares with the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The better side: a lower cost or a higher yield.
    Faster,
    /// The worse side: a higher cost or a lower yield.
    Slower,
}

impl Direction {
    /// The direction that a ratio of/against shows; `None` if it is exactly 1 or NaN.
    pub fn of_ratio(ratio: f64, better: Better) -> Option<Self> {
        let order = ratio.partial_cmp(&1.0).filter(|order| order.is_ne())?;
        if order.is_lt() == (better == Better::Lower) {
            Some(Self::Faster)
        } else {
            Some(Self::Slower)
        }
    }
}

/// How estimates of one metric are judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VerdictRule {
    /// Which direction of the metric is better.
    pub better: Better,
    /// How far from 1 a ratio may be without a difference that matters: 0.03 for ±3%. The range is
    /// 1/(1 + margin) to 1 + margin, so it is the same for either order of the variants. A margin
    /// of 0 or less leaves no room for "no difference".
    pub margin: f64,
}

impl VerdictRule {
    /// The rule with the default margin.
    pub fn new(better: Better) -> Self {
        Self {
            better,
            margin: DEFAULT_MARGIN,
        }
    }
}

/// Why a comparison is not resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unresolved {
    /// There are fewer than two invocations, so their variation is unknown.
    NoInterval,
    /// The interval contains 1 and extends beyond the margin.
    IntervalTooWide,
    /// The A/A pair has fewer than two invocations.
    AaNoInterval,
    /// The interval excludes 1, but does not lie beyond the A/A pair's: one thing measured twice
    /// may differ as much.
    NotBeyondAa,
    /// The interval lies inside the margin, but the A/A pair's extends beyond it: the measurement
    /// may be off by more than what counts as no difference.
    AaBeyondMargin,
}

/// The outcome of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// The first variant is faster (or smaller, or has a higher yield).
    Faster,
    /// The first variant is slower.
    Slower,
    /// The whole interval lies inside the margin.
    NoDifference,
    /// There is no verdict yet.
    NotResolved {
        /// Why it is not resolved.
        reason: Unresolved,
        /// How much more would probably resolve it; `None` if more of the same would not help.
        more: Option<More>,
    },
}

/// An estimate and its outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// The measured ratio of/against, with its interval.
    pub estimate: Estimate,
    /// The outcome.
    pub outcome: Outcome,
    /// The rule that was applied.
    pub rule: VerdictRule,
}

impl Verdict {
    /// The direction of a faster or slower verdict; `None` for others.
    pub fn direction(&self) -> Option<Direction> {
        match self.outcome {
            Outcome::Faster => Some(Direction::Faster),
            Outcome::Slower => Some(Direction::Slower),
            Outcome::NoDifference | Outcome::NotResolved { .. } => None,
        }
    }

    /// Whether the verdict is anything but "not resolved".
    pub fn is_resolved(&self) -> bool {
        !matches!(self.outcome, Outcome::NotResolved { .. })
    }
}

/// Judges an estimate. `aa` is the A/A pair of the same group, metric and placement or, for a
/// change between two runs, one A/A pair from each run. Without an A/A pair, the verdict is
/// unguarded, and a report must say so.
///
/// An estimate is not resolved if it has no interval, or if the interval contains 1 and extends
/// beyond the margin. Otherwise, the interval is compared with the threshold, the end of the A/A
/// interval that is farthest from 1. An interval inside the margin means "no difference" if the
/// threshold is inside the margin too. Any other interval means faster or slower if all of it lies
/// beyond the threshold.
pub fn judge(estimate: &Estimate, aa: &[Estimate], rule: &VerdictRule) -> Verdict {
    Verdict {
        estimate: *estimate,
        outcome: outcome(estimate, aa, rule),
        rule: *rule,
    }
}

/// How far off a measurement may be, judging by A/A pairs, as a logarithm: the end of the A/A
/// interval that is farthest from 1 in either direction. Which variant of a pair is `of` is
/// arbitrary, so an interval of 1.01 to 1.10 casts doubt on 0.95 as well as on 1.05. Several pairs
/// may be off at the same time, so their ends add up. `None` if a pair has no interval.
pub(crate) fn log_threshold(aa: &[Estimate]) -> Option<f64> {
    let ends = aa.iter().map(|aa| Some(aa.interval?.log_farthest()));
    ends.sum()
}

fn outcome(estimate: &Estimate, aa: &[Estimate], rule: &VerdictRule) -> Outcome {
    let open = |reason, more| Outcome::NotResolved { reason, more };
    let Some(interval) = estimate.interval else {
        return open(Unresolved::NoInterval, More::to_recommended(estimate));
    };
    let unsettled = |reason| open(reason, invocations_to_settle(estimate, aa, rule.margin));
    let is_small = interval.within_margin(rule.margin);
    if interval.holds(1.0) && !is_small {
        return unsettled(Unresolved::IntervalTooWide);
    }
    let Some(threshold) = log_threshold(aa) else {
        let unknown = aa.iter().find(|aa| aa.interval.is_none());
        let more = unknown.and_then(More::to_recommended);
        return open(Unresolved::AaNoInterval, more);
    };
    let spread = Interval::from_logs(-threshold, threshold);
    match (is_small, Direction::of_ratio(estimate.ratio(), rule.better)) {
        (true, _) if spread.within_margin(rule.margin) => Outcome::NoDifference,
        (true, _) => unsettled(Unresolved::AaBeyondMargin),
        (false, _) if !interval.lies_beyond(&spread) => unsettled(Unresolved::NotBeyondAa),
        (false, Some(Direction::Faster)) => Outcome::Faster,
        (false, _) => Outcome::Slower,
    }
}

#[cfg(test)]
mod tests;
