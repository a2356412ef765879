//! From an estimate to a verdict, with the A/A pair as its guard.

use crate::estimate::Estimate;
use crate::power::{More, invocations_for_half_width, invocations_to_settle};

/// The margin of "no difference" unless a study sets another: 3%.
pub const DEFAULT_MARGIN: f64 = 0.03;

/// Which way of a metric is the good one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Better {
    /// A cost: latency, CPU a call, bytes, memory.
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
    #[must_use]
    pub fn of_ratio(ratio: f64, better: Better) -> Option<Self> {
        let less = match ratio.partial_cmp(&1.0)? {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Equal => return None,
        };
        Some(if less == (better == Better::Lower) {
            Self::Faster
        } else {
            Self::Slower
        })
    }

    /// The other direction.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Faster => Self::Slower,
            Self::Slower => Self::Faster,
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
    #[must_use]
    pub fn new(better: Better) -> Self {
        Self {
            better,
            margin: DEFAULT_MARGIN,
        }
    }
}

/// Why a comparison gives no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unresolved {
    /// Fewer than two invocations: nothing is known of how they differ.
    NoInterval,
    /// The interval holds 1 and reaches beyond the margin.
    IntervalTooWide,
    /// The A/A pair has fewer than two invocations.
    AaNoInterval,
    /// The A/A pair's interval does not hold 1: the study sees a difference where there is none.
    AaNotOne,
    /// The A/A pair's interval is wider than the difference: a difference of 2% beside an A/A
    /// interval of ±3%.
    AaTooWide,
}

/// What a comparison comes to.
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

/// An estimate and what it comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// The measured ratio of/against, with its interval.
    pub estimate: Estimate,
    /// What it comes to.
    pub outcome: Outcome,
    /// How it was judged.
    pub rule: VerdictRule,
}

impl Verdict {
    /// The direction, where the verdict is faster or slower.
    #[must_use]
    pub fn direction(&self) -> Option<Direction> {
        match self.outcome {
            Outcome::Faster => Some(Direction::Faster),
            Outcome::Slower => Some(Direction::Slower),
            Outcome::NoDifference | Outcome::NotResolved { .. } => None,
        }
    }

    /// Whether it is any verdict but "not resolved".
    #[must_use]
    pub fn is_resolved(&self) -> bool {
        !matches!(self.outcome, Outcome::NotResolved { .. })
    }

    /// How many times the worse variant's value is the better one's: 1.8 for "1.8 times faster" and
    /// for "1.8 times slower". Always at least 1.
    #[must_use]
    pub fn factor(&self) -> f64 {
        crate::estimate::ratio(self.estimate.log_ratio.abs())
    }
}

/// Judges an estimate. `aa` is the A/A pair of the same study, metric and placement; without one
/// the verdict is unguarded, which a report must say.
///
/// In this order: without an interval nothing is resolved; an interval inside the margin is no
/// difference; one that holds 1 is not resolved; any other is faster or slower, unless the A/A pair
/// forbids it.
#[must_use]
pub fn judge(estimate: &Estimate, aa: Option<&Estimate>, rule: &VerdictRule) -> Verdict {
    Verdict {
        estimate: *estimate,
        outcome: outcome(estimate, aa, rule),
        rule: *rule,
    }
}

fn outcome(estimate: &Estimate, aa: Option<&Estimate>, rule: &VerdictRule) -> Outcome {
    let Some(interval) = estimate.interval else {
        let more = More::to_recommended(estimate);
        return Outcome::NotResolved {
            reason: Unresolved::NoInterval,
            more,
        };
    };
    if interval.within_margin(rule.margin) {
        return match aa.and_then(|aa| forbids_no_difference(aa, rule)) {
            Some(reason) => Outcome::NotResolved { reason, more: None },
            None => Outcome::NoDifference,
        };
    }
    if interval.holds(1.0) {
        let more = invocations_to_settle(estimate, rule.margin);
        return Outcome::NotResolved {
            reason: Unresolved::IntervalTooWide,
            more,
        };
    }
    if let Some((reason, more)) = aa.and_then(|aa| forbids_difference(aa, estimate)) {
        return Outcome::NotResolved { reason, more };
    }
    match Direction::of_ratio(estimate.ratio(), rule.better) {
        Some(Direction::Faster) => Outcome::Faster,
        _ => Outcome::Slower,
    }
}

/// Whether the A/A pair forbids to claim the difference of `estimate`.
fn forbids_difference(aa: &Estimate, estimate: &Estimate) -> Option<(Unresolved, Option<More>)> {
    let Some(interval) = aa.interval else {
        return Some((Unresolved::AaNoInterval, More::to_recommended(aa)));
    };
    if !interval.holds(1.0) {
        return Some((Unresolved::AaNotOne, None));
    }
    let difference = estimate.log_ratio.abs();
    (interval.log_half_width() > difference).then(|| {
        (
            Unresolved::AaTooWide,
            invocations_for_half_width(aa, difference),
        )
    })
}

/// Whether the A/A pair is off by more than the margin, so that lying inside the margin means
/// nothing either.
fn forbids_no_difference(aa: &Estimate, rule: &VerdictRule) -> Option<Unresolved> {
    let interval = aa.interval?;
    (!interval.holds(1.0) && !interval.within_margin(rule.margin)).then_some(Unresolved::AaNotOne)
}

#[cfg(test)]
mod tests;
