//! From an estimate to a verdict, with the A/A pair's interval as its threshold.

use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, Interval};
use crate::power::{More, invocations_to_settle};

/// The margin of "no difference" unless a study sets another: 3%.
const DEFAULT_MARGIN: f64 = 0.03;

/// Which way of a metric is the good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Better {
    /// A cost: latency, CPU per call, bytes, memory.
    Lower,
    /// A yield: goodput.
    Higher,
}

/// On which side of the other variant one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The better side: less of a cost, or more of a yield.
    Faster,
    /// The worse side.
    Slower,
}

impl Direction {
    /// The direction that a ratio of/against shows; none where it is exactly 1.
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
    /// Which way of the metric is the good one.
    pub better: Better,
    /// How far from 1 a ratio may be and still make no difference that matters: 0.03 for ±3%. It
    /// reaches from 1/(1 + margin) to 1 + margin, so that it is the same seen from either variant.
    /// One not above 0 leaves no room for "no difference".
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

/// Why a comparison gives no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unresolved {
    /// Fewer than two invocations: nothing is known of how they differ.
    NoInterval,
    /// The interval holds 1 and reaches beyond the margin.
    IntervalTooWide,
    /// The A/A pair has fewer than two invocations.
    AaNoInterval,
    /// The interval leaves 1 out, but does not lie beyond the A/A pair's: one thing measured twice
    /// may differ as much.
    NotBeyondAa,
    /// The interval lies inside the margin, but the A/A pair's reaches out of it: what was measured
    /// may be off by more than what counts as no difference.
    AaBeyondMargin,
}

/// The outcome of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// The first variant is faster (or smaller, or yields more).
    Faster,
    /// The first variant is slower.
    Slower,
    /// The whole interval lies inside the margin.
    NoDifference,
    /// Nothing can be said yet.
    NotResolved {
        /// Why not.
        reason: Unresolved,
        /// What would probably resolve it; none where more of the same would not.
        more: Option<More>,
    },
}

/// An estimate and its outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// The measured ratio of/against, with its interval.
    pub estimate: Estimate,
    /// Its outcome.
    pub outcome: Outcome,
    /// How it was judged.
    pub rule: VerdictRule,
}

impl Verdict {
    /// The direction, where the verdict is faster or slower.
    pub fn direction(&self) -> Option<Direction> {
        match self.outcome {
            Outcome::Faster => Some(Direction::Faster),
            Outcome::Slower => Some(Direction::Slower),
            Outcome::NoDifference | Outcome::NotResolved { .. } => None,
        }
    }

    /// Whether it is any verdict but "not resolved".
    pub fn is_resolved(&self) -> bool {
        !matches!(self.outcome, Outcome::NotResolved { .. })
    }
}

/// Judges an estimate. `aa` is the A/A pair of the same group, metric and placement; for a change
/// between two runs that of each. Without one the verdict is unguarded, which a report must say.
///
/// In this order: without an interval nothing is resolved; nor is an interval that holds 1 and
/// reaches out of the margin. Any other is compared with the threshold, the end of the A/A interval
/// that is farthest from 1: one inside the margin is no difference where the threshold lies inside
/// the margin too, and one outside is faster or slower where all of it lies beyond the threshold.
pub fn judge(estimate: &Estimate, aa: &[Estimate], rule: &VerdictRule) -> Verdict {
    Verdict {
        estimate: *estimate,
        outcome: outcome(estimate, aa, rule),
        rule: *rule,
    }
}

/// How far a measurement may be off by what A/A pairs show, as a logarithm: the end of the A/A
/// interval that lies farthest from 1, on either side. Which of a pair's two names is `of` is chance,
/// so that one of 1.01 to 1.10 casts doubt on 0.95 as on 1.05. Several may be off at the same time,
/// and add up. None where one has no interval.
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
