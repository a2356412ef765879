//! Published figures against measured ones.

use crate::error::StatsError;
use crate::verdict::{DEFAULT_MARGIN, Direction, Outcome, Verdict};

/// How far a measured size may be from the published one and still agree with it: a quarter, since the machines and
/// years differ.
pub const DEFAULT_SIZE_TOLERANCE: f64 = 0.25;

/// What was published about two variants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Published {
    /// A ratio of/against. One within ±3% of 1 counts as "no difference".
    Ratio(f64),
    /// A sentence: the one is faster (or slower) than the other.
    Direction(Direction),
    /// A sentence: there is no difference.
    NoDifference,
}

/// How a measured ratio stands to the published one in size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SizeMatch {
    /// The interval, widened by the tolerance, holds the published ratio.
    Agrees,
    /// The measured difference is smaller than published.
    Smaller,
    /// The measured difference is larger than published.
    Larger,
}

/// What a claim comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClaimOutcome {
    /// The direction (or the absence of a difference) is as published.
    Reproduced {
        /// How the sizes compare, where a size was published.
        size: Option<SizeMatch>,
    },
    /// The opposite, or a difference where none was published, or none where one was.
    Contradicted,
    /// The comparison is not resolved.
    NotResolved {
        /// How the sizes compare, where a size was published and there is an interval.
        size: Option<SizeMatch>,
    },
}

/// Checks a published ratio or sentence against a verdict of the same two variants, in the same order and metric.
///
/// # Errors
/// [`StatsError::Setting`] where a published ratio is not a finite number above 0, or the tolerance is negative.
pub fn check_claim(
    published: Published,
    verdict: &Verdict,
    tolerance: f64,
) -> Result<ClaimOutcome, StatsError> {
    check_setting(
        "size tolerance",
        tolerance,
        tolerance >= 0.0,
        "a finite number, at least 0",
    )?;
    let (direction, size) = match published {
        Published::Ratio(ratio) => {
            check_setting(
                "published ratio",
                ratio,
                ratio > 0.0,
                "a finite number above 0",
            )?;
            let negligible = ratio.ln().abs() <= DEFAULT_MARGIN.ln_1p();
            let direction = Direction::of_ratio(ratio, verdict.better).filter(|_| !negligible);
            (
                direction,
                direction.and_then(|_| size_match(ratio, verdict, tolerance)),
            )
        }
        Published::Direction(direction) => (Some(direction), None),
        Published::NoDifference => (None, None),
    };
    Ok(match verdict.outcome {
        Outcome::NotResolved { .. } => ClaimOutcome::NotResolved { size },
        _ if verdict.direction() == direction => ClaimOutcome::Reproduced { size },
        _ => ClaimOutcome::Contradicted,
    })
}

/// Checks a published count (bytes of an encoding, for one) against a measured one. A count has no noise, so that it
/// is reproduced (within `tolerance`: 0 asks for the very same) or contradicted.
///
/// # Errors
/// [`StatsError::Setting`] where a count or the tolerance is negative or not finite.
pub fn check_count(
    published: f64,
    measured: f64,
    tolerance: f64,
) -> Result<ClaimOutcome, StatsError> {
    check_setting(
        "size tolerance",
        tolerance,
        tolerance >= 0.0,
        "a finite number, at least 0",
    )?;
    check_setting(
        "published count",
        published,
        published >= 0.0,
        "a finite number, at least 0",
    )?;
    check_setting(
        "measured count",
        measured,
        measured >= 0.0,
        "a finite number, at least 0",
    )?;
    let agrees = (measured - published).abs() <= tolerance * published;
    Ok(if agrees {
        ClaimOutcome::Reproduced {
            size: Some(SizeMatch::Agrees),
        }
    } else {
        ClaimOutcome::Contradicted
    })
}

fn size_match(published: f64, verdict: &Verdict, tolerance: f64) -> Option<SizeMatch> {
    let interval = verdict.estimate.interval()?;
    let (log, slack) = (published.ln(), tolerance.ln_1p());
    let (low, high) = (interval.log_low() - slack, interval.log_high() + slack);
    // Seen so that a larger difference is a larger number.
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

fn check_setting(
    name: &'static str,
    value: f64,
    holds: bool,
    allowed: &'static str,
) -> Result<(), StatsError> {
    if value.is_finite() && holds {
        Ok(())
    } else {
        Err(StatsError::Setting {
            name,
            value,
            allowed,
        })
    }
}
