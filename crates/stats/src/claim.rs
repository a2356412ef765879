//! Published figures against measured ones.

use serde::{Deserialize, Serialize};

use crate::error::StatsError;
use crate::estimate::Interval;
use crate::verdict::{Direction, Outcome, Verdict};

/// How far a measured size may be from the published one and still agree with it: a quarter, since
/// machines and years differ.
pub const DEFAULT_SIZE_TOLERANCE: f64 = 0.25;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimOutcome {
    /// The direction, or that there is no difference, is as published.
    Reproduced,
    /// The measurement is resolved and says otherwise: the opposite direction, a difference where
    /// none was published, or none where one was.
    Contradicted,
    /// The measurement does not decide.
    NotResolved,
}

/// How a measured difference stands to the published one in size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeMatch {
    /// The whole interval lies within the tolerance of the published ratio.
    Agrees,
    /// The measured difference is smaller than published: the whole interval is, by more than the
    /// tolerance.
    Smaller,
    /// The measured difference is larger than published.
    Larger,
    /// The interval reaches into the tolerance and out of it.
    NotResolved,
}

/// A claim's outcome, which is about the direction, and beside it how the sizes compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClaimCheck {
    /// What the claim comes to.
    pub outcome: ClaimOutcome,
    /// How the sizes compare. None where no size was published, there is no interval, or the whole
    /// interval lies on the opposite side of 1, resolved or not.
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
    let size = match (published, direction) {
        (Published::Ratio(ratio), Some(direction)) if !lies_opposite(verdict, direction) => {
            size_match(ratio, verdict, tolerance)
        }
        _ => None,
    };
    Ok(ClaimCheck { outcome, size })
}

/// Whether the whole interval lies on the other side of 1 than a direction. An A/A pair may leave
/// such an interval unresolved; its size is not that of the published difference all the same.
fn lies_opposite(verdict: &Verdict, direction: Direction) -> bool {
    let side = Direction::of_ratio(verdict.estimate.ratio(), verdict.rule.better);
    let leaves_one_out = |interval: Interval| !interval.holds(1.0);
    verdict.estimate.interval().is_some_and(leaves_one_out) && side == Some(direction.opposite())
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
    let (low, high) = (interval.log_low(), interval.log_high());
    // Turned so that a larger difference is a larger number.
    let (low, high, log) = if log < 0.0 {
        (-high, -low, -log)
    } else {
        (low, high, log)
    };
    Some(if high < log - slack {
        SizeMatch::Smaller
    } else if low > log + slack {
        SizeMatch::Larger
    } else if low >= log - slack && high <= log + slack {
        SizeMatch::Agrees
    } else {
        SizeMatch::NotResolved
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Estimate;
    use crate::verdict::{Better, VerdictRule, judge};

    use ClaimOutcome::{Contradicted, NotResolved, Reproduced};
    use SizeMatch::{Agrees, Larger, Smaller};

    const OPEN: SizeMatch = SizeMatch::NotResolved;

    fn verdict(low: f64, high: f64) -> Verdict {
        judge(
            &Estimate::sample(low, high),
            &[],
            &VerdictRule::new(Better::Lower),
        )
    }

    fn check(published: Published, measured: (f64, f64)) -> (ClaimOutcome, Option<SizeMatch>) {
        let verdict = verdict(measured.0, measured.1);
        let check = check_claim(published, &verdict, DEFAULT_SIZE_TOLERANCE).unwrap();
        (check.outcome, check.size)
    }

    #[test]
    fn ratio_is_reproduced_in_direction_and_compared_in_size() {
        let table = [
            // Published 2.45 times faster, as several's request time was.
            (0.408, (0.39, 0.43), Reproduced, Some(Agrees)),
            (0.408, (0.45, 0.48), Reproduced, Some(Agrees)),
            (0.408, (0.90, 0.95), Reproduced, Some(Smaller)),
            (0.408, (0.10, 0.12), Reproduced, Some(Larger)),
            (0.408, (1.10, 1.20), Contradicted, None),
            (0.408, (0.99, 1.01), Contradicted, Some(Smaller)),
            // It does not differ from 1, but is no 2.45 either way.
            (0.408, (0.80, 1.10), NotResolved, Some(Smaller)),
            (0.408, (0.30, 1.10), NotResolved, Some(OPEN)),
            // Nearly anything: that it holds the published ratio says nothing.
            (0.408, (0.092, 2.83), NotResolved, Some(OPEN)),
            (0.408, (0.10, 0.80), Reproduced, Some(OPEN)),
            // Published 5 times slower, as gzip's one record was.
            (5.0, (4.5, 5.5), Reproduced, Some(Agrees)),
            (5.0, (4.1, 6.2), Reproduced, Some(Agrees)),
            (5.0, (3.9, 4.2), Reproduced, Some(OPEN)),
            (5.0, (8.0, 9.0), Reproduced, Some(Larger)),
            (5.0, (1.2, 1.3), Reproduced, Some(Smaller)),
            (5.0, (0.5, 0.6), Contradicted, None),
        ];
        for (published, measured, outcome, size) in table {
            let checked = check(Published::Ratio(published), measured);
            assert_eq!(checked, (outcome, size), "{published}, {measured:?}");
        }
    }

    #[test]
    fn sentences_have_no_size() {
        let (faster, none) = (
            Published::Direction(Direction::Faster),
            Published::NoDifference,
        );
        let table = [
            (faster, (0.5, 0.6), Reproduced),
            (faster, (1.5, 1.6), Contradicted),
            (faster, (0.99, 1.01), Contradicted),
            (faster, (0.8, 1.2), NotResolved),
            (none, (0.99, 1.01), Reproduced),
            (none, (0.5, 0.6), Contradicted),
            (none, (0.8, 1.2), NotResolved),
            // A ratio inside the margin is such a sentence too.
            (Published::Ratio(1.02), (0.99, 1.01), Reproduced),
            (Published::Ratio(1.02), (1.10, 1.20), Contradicted),
        ];
        for (published, measured, outcome) in table {
            assert_eq!(
                check(published, measured),
                (outcome, None),
                "{published:?}, {measured:?}"
            );
        }
    }

    #[test]
    fn the_opposite_direction_has_no_size_where_the_a_a_pair_leaves_it_open() {
        let (measured, aa) = (Estimate::sample(1.5, 1.7), Estimate::sample(0.5, 2.0));
        let verdict = judge(&measured, &[aa], &VerdictRule::new(Better::Lower));
        let check = |ratio| check_claim(Published::Ratio(ratio), &verdict, 0.25).unwrap();
        assert_eq!(check(0.408).outcome, NotResolved);
        assert_eq!(check(0.408).size, None);
        assert_eq!(check(5.0).size, Some(Smaller));
    }

    #[test]
    fn one_invocation_checks_nothing() {
        let rule = VerdictRule::new(Better::Lower);
        let verdict = judge(&Estimate::sample_of_one(0.4), &[], &rule);
        let check = check_claim(Published::Ratio(0.4), &verdict, 0.25).unwrap();
        assert_eq!(
            check,
            ClaimCheck {
                outcome: NotResolved,
                size: None
            }
        );
    }

    #[test]
    fn impossible_figures_are_named() {
        let verdict = verdict(0.5, 0.6);
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = check_claim(Published::Ratio(value), &verdict, 0.25).unwrap_err();
            assert!(matches!(
                error,
                StatsError::Setting {
                    name: "published ratio",
                    ..
                }
            ));
        }
        assert!(check_claim(Published::NoDifference, &verdict, -0.1).is_err());
    }
}
