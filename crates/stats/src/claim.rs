//! Checks published figures against measured ones.

use serde::{Deserialize, Serialize};

use crate::error::{StatsError, check_setting};
use crate::estimate::Interval;
use crate::verdict::{Direction, Verdict};

/// How far a measured ratio may be from the published one and still agree in size: a quarter,
/// because machines and versions differ. A published 2 agrees with everything from 2/1.25 to 2 ×
/// 1.25.
const SIZE_TOLERANCE: f64 = 0.25;

/// How the size of a measured difference compares with the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SizeMatch {
    /// The whole interval lies within the tolerance of the published ratio.
    Agrees,
    /// The measured difference is smaller than published: the whole interval lies below the
    /// tolerance.
    Smaller,
    /// The measured difference is larger than published: the whole interval lies above the
    /// tolerance.
    Larger,
    /// The interval lies partly inside the tolerance and partly outside.
    NotResolved,
}

/// The outcome of a claim: whether its direction is reproduced, and how the sizes compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClaimCheck {
    /// Whether the direction, or the lack of a difference, is as published; `None` if the
    /// measurement is inconclusive.
    pub is_reproduced: Option<bool>,
    /// How the sizes compare; `None` if there is no interval, if the published ratio is "no
    /// difference", or if the whole interval lies on the opposite side of 1, even if that is not
    /// resolved.
    pub size: Option<SizeMatch>,
}

/// Checks a published ratio of/against using the verdict on the same two variants, in the same
/// order and metric. A published ratio inside the verdict's margin counts as "no difference".
///
/// # Errors
/// [`StatsError::Setting`] if the published ratio is not a finite number above 0.
pub fn check_claim(published: f64, verdict: &Verdict) -> Result<ClaimCheck, StatsError> {
    let is_ratio = published.is_finite() && published > 0.0;
    check_setting(
        "published ratio",
        published,
        is_ratio,
        "a finite number above 0",
    )?;
    let is_negligible = published.ln().abs() <= verdict.rule.margin.ln_1p();
    let direction = Direction::of_ratio(published, verdict.rule.better).filter(|_| !is_negligible);
    let size = direction
        .filter(|direction| !lies_opposite(verdict, *direction))
        .and_then(|_| size_match(published, verdict));
    Ok(ClaimCheck {
        is_reproduced: verdict
            .is_resolved()
            .then(|| verdict.direction() == direction),
        size,
    })
}

/// Whether the whole interval lies on the opposite side of 1 from `direction`. Such an interval has
/// no size to compare, even if an A/A pair leaves it unresolved.
fn lies_opposite(verdict: &Verdict, direction: Direction) -> bool {
    let side = Direction::of_ratio(verdict.estimate.ratio(), verdict.rule.better);
    let leaves_one_out = |interval: Interval| !interval.holds(1.0);
    verdict.estimate.interval.is_some_and(leaves_one_out)
        && side.is_some_and(|side| side != direction)
}

fn size_match(published: f64, verdict: &Verdict) -> Option<SizeMatch> {
    let interval = verdict.estimate.interval?;
    let (log, slack) = (published.ln(), SIZE_TOLERANCE.ln_1p());
    let (low, high) = (interval.log_low, interval.log_high);
    // Mirror the interval if needed, so that a larger difference is a larger number.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Estimate;
    use crate::verdict::{Better, VerdictRule, judge};

    use SizeMatch::{Agrees, Larger, Smaller};

    const REPRODUCED: Option<bool> = Some(true);
    const CONTRADICTED: Option<bool> = Some(false);
    const NOT_RESOLVED: Option<bool> = None;
    const OPEN: SizeMatch = SizeMatch::NotResolved;

    fn verdict(low: f64, high: f64) -> Verdict {
        judge(
            &Estimate::sample(low, high),
            &[],
            &VerdictRule::new(Better::Lower),
        )
    }

    fn check(published: f64, measured: (f64, f64)) -> (Option<bool>, Option<SizeMatch>) {
        let verdict = verdict(measured.0, measured.1);
        let check = check_claim(published, &verdict).unwrap();
        (check.is_reproduced, check.size)
    }

    #[test]
    fn ratio_is_reproduced_in_direction_and_compared_in_size() {
        let table = [
            // Published as 2.45 times faster, like the request time in the study `several`.
            (0.408, (0.39, 0.43), REPRODUCED, Some(Agrees)),
            (0.408, (0.45, 0.48), REPRODUCED, Some(Agrees)),
            (0.408, (0.90, 0.95), REPRODUCED, Some(Smaller)),
            (0.408, (0.10, 0.12), REPRODUCED, Some(Larger)),
            (0.408, (1.10, 1.20), CONTRADICTED, None),
            (0.408, (0.99, 1.01), CONTRADICTED, Some(Smaller)),
            // It may be 1, but it is neither 0.408 nor the inverse.
            (0.408, (0.80, 1.10), NOT_RESOLVED, Some(Smaller)),
            (0.408, (0.30, 1.10), NOT_RESOLVED, Some(OPEN)),
            // So wide that containing the published ratio proves nothing.
            (0.408, (0.092, 2.83), NOT_RESOLVED, Some(OPEN)),
            (0.408, (0.10, 0.80), REPRODUCED, Some(OPEN)),
            // Published as 5 times slower, like a single record in the study `gzip`.
            (5.0, (4.5, 5.5), REPRODUCED, Some(Agrees)),
            (5.0, (4.1, 6.2), REPRODUCED, Some(Agrees)),
            (5.0, (3.9, 4.2), REPRODUCED, Some(OPEN)),
            (5.0, (8.0, 9.0), REPRODUCED, Some(Larger)),
            (5.0, (1.2, 1.3), REPRODUCED, Some(Smaller)),
            (5.0, (0.5, 0.6), CONTRADICTED, None),
        ];
        for (published, measured, outcome, size) in table {
            let checked = check(published, measured);
            assert_eq!(checked, (outcome, size), "{published}, {measured:?}");
        }
    }

    #[test]
    fn a_ratio_inside_the_margin_is_no_difference_and_has_no_size() {
        let table = [
            (1.0, (0.99, 1.01), REPRODUCED),
            (1.0, (0.5, 0.6), CONTRADICTED),
            (1.0, (0.8, 1.2), NOT_RESOLVED),
            (1.02, (0.99, 1.01), REPRODUCED),
            (1.02, (1.10, 1.20), CONTRADICTED),
        ];
        for (published, measured, outcome) in table {
            let checked = check(published, measured);
            assert_eq!(checked, (outcome, None), "{published}, {measured:?}");
        }
    }

    #[test]
    fn the_opposite_direction_has_no_size_where_the_a_a_pair_leaves_it_open() {
        let (measured, aa) = (Estimate::sample(1.5, 1.7), Estimate::sample(0.5, 2.0));
        let verdict = judge(&measured, &[aa], &VerdictRule::new(Better::Lower));
        let check = |ratio| check_claim(ratio, &verdict).unwrap();
        assert_eq!(check(0.408).is_reproduced, NOT_RESOLVED);
        assert_eq!(check(0.408).size, None);
        assert_eq!(check(5.0).size, Some(Smaller));
    }

    #[test]
    fn one_invocation_checks_nothing() {
        let rule = VerdictRule::new(Better::Lower);
        let verdict = judge(&Estimate::sample_of_one(0.4), &[], &rule);
        let check = check_claim(0.4, &verdict).unwrap();
        assert_eq!(
            check,
            ClaimCheck {
                is_reproduced: NOT_RESOLVED,
                size: None
            }
        );
    }

    #[test]
    fn impossible_figures_are_named() {
        let verdict = verdict(0.5, 0.6);
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = check_claim(value, &verdict).unwrap_err();
            assert!(matches!(
                error,
                StatsError::Setting {
                    name: "published ratio",
                    ..
                }
            ));
        }
    }
}
