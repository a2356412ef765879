//! Published figures against measured ones.

use crate::error::StatsError;
use crate::verdict::{Direction, Outcome, Verdict};

/// How far a measured size may be from the published one and still agree with it: a quarter, since
/// machines and years differ.
pub const DEFAULT_SIZE_TOLERANCE: f64 = 0.25;

/// How far a measured count of bytes may be from the published one: 5%, since publications seldom
/// give the values of their sample, whose lengths differ.
pub const DEFAULT_COUNT_TOLERANCE: f64 = 0.05;

/// What was published about two variants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Published {
    /// A ratio of/against. One inside the verdict's margin counts as "no difference".
    Ratio(f64),
    /// A sentence: the one is faster (or slower) than the other.
    Direction(Direction),
    /// A sentence: there is no difference.
    NoDifference,
}

/// What a claim comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimOutcome {
    /// The direction, or that there is no difference, is as published.
    Reproduced,
    /// The measurement is resolved and says otherwise: the opposite direction, a difference where
    /// none was published, or none where one was.
    Contradicted,
    /// The measurement does not tell.
    NotResolved,
}

/// How a measured difference stands to the published one in size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SizeMatch {
    /// The interval, widened by the tolerance, holds the published ratio.
    Agrees,
    /// The measured difference is smaller than published.
    Smaller,
    /// The measured difference is larger than published.
    Larger,
}

/// A claim's outcome, which is about the direction, and beside it how the sizes compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClaimCheck {
    /// What the claim comes to.
    pub outcome: ClaimOutcome,
    /// How the sizes compare. None where no size was published, there is no interval, or the
    /// direction is the opposite.
    pub size: Option<SizeMatch>,
}

/// Checks a published ratio or sentence against the verdict on the same two variants, in the same
/// order and metric. `tolerance` is for the size alone: 0.25 lets 2 agree with what lies between
/// 2/1.25 and 2 × 1.25.
///
/// # Errors
/// [`StatsError::Setting`] where a published ratio is not a finite number above 0, or the tolerance
/// is negative.
pub fn check_claim(
    published: Published,
    verdict: &Verdict,
    tolerance: f64,
) -> Result<ClaimCheck, StatsError> {
    not_negative("size tolerance", tolerance)?;
    let direction = published_direction(published, verdict)?;
    let measured = verdict.direction();
    let outcome = match verdict.outcome {
        Outcome::NotResolved { .. } => ClaimOutcome::NotResolved,
        _ if measured == direction => ClaimOutcome::Reproduced,
        _ => ClaimOutcome::Contradicted,
    };
    let opposite = measured.is_some() && measured == direction.map(Direction::opposite);
    let size = match published {
        Published::Ratio(ratio) if direction.is_some() && !opposite => {
            size_match(ratio, verdict, tolerance)
        }
        _ => None,
    };
    Ok(ClaimCheck { outcome, size })
}

/// Checks a published count (the bytes of an encoding, for one) against a measured one. A count has
/// no noise: it is reproduced, within `tolerance` of the published one (0 asks for the very same),
/// or contradicted.
///
/// # Errors
/// [`StatsError::Setting`] where a count or the tolerance is negative or not finite.
pub fn check_count(
    published: f64,
    measured: f64,
    tolerance: f64,
) -> Result<ClaimOutcome, StatsError> {
    not_negative("count tolerance", tolerance)?;
    not_negative("published count", published)?;
    not_negative("measured count", measured)?;
    let agrees = (measured - published).abs() <= tolerance * published;
    Ok(if agrees {
        ClaimOutcome::Reproduced
    } else {
        ClaimOutcome::Contradicted
    })
}

/// The direction published; none for "no difference".
fn published_direction(
    published: Published,
    verdict: &Verdict,
) -> Result<Option<Direction>, StatsError> {
    match published {
        Published::Direction(direction) => Ok(Some(direction)),
        Published::NoDifference => Ok(None),
        Published::Ratio(value) if value.is_finite() && value > 0.0 => {
            let negligible = value.ln().abs() <= verdict.rule.margin.ln_1p();
            Ok(Direction::of_ratio(value, verdict.rule.better).filter(|_| !negligible))
        }
        Published::Ratio(value) => Err(StatsError::Setting {
            name: "published ratio",
            value,
            allowed: "a finite number above 0",
        }),
    }
}

fn size_match(published: f64, verdict: &Verdict, tolerance: f64) -> Option<SizeMatch> {
    let interval = verdict.estimate.interval()?;
    let (log, slack) = (published.ln(), tolerance.ln_1p());
    let (low, high) = (interval.log_low() - slack, interval.log_high() + slack);
    // Turned so that a larger difference is a larger number.
    let (low, high, log) = if log < 0.0 {
        (-high, -low, -log)
    } else {
        (low, high, log)
    };
    Some(if log > high {
        SizeMatch::Smaller
    } else if log < low {
        SizeMatch::Larger
    } else {
        SizeMatch::Agrees
    })
}

fn not_negative(name: &'static str, value: f64) -> Result<(), StatsError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(StatsError::Setting {
        name,
        value,
        allowed: "a finite number, at least 0",
    })
}
