//! The smallest difference that a study could have detected, and how many more measurements are
//! needed to resolve a smaller one.

use serde::{Deserialize, Serialize};

use crate::compare::interval_reach;
use crate::distribution::t_quantile;
use crate::estimate::{Estimate, ratio};

/// The statistical power: 80%, the usual choice since Cohen, "Statistical Power Analysis for the
/// Behavioral Sciences" (1988).
const POWER: f64 = 0.8;

/// The number of invocations that a comparison should have if its noise is unknown.
const RECOMMENDED_INVOCATIONS: usize = 8;

/// How much more a study would have to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct More {
    /// Additional invocations, with as many blocks each as the earlier ones.
    pub invocations: usize,
    /// The blocks in the additional invocations.
    pub blocks: usize,
}

impl More {
    /// What is missing to reach a total of `invocations`; `None` if nothing is.
    fn up_to(invocations: usize, estimate: &Estimate) -> Option<Self> {
        let missing = invocations
            .checked_sub(estimate.invocations)
            .filter(|&m| m > 0)?;
        let blocks_each = estimate.blocks.div_ceil(estimate.invocations);
        Some(Self {
            invocations: missing,
            blocks: missing.saturating_mul(blocks_each),
        })
    }

    /// What is missing to reach the recommended number of invocations; `None` if nothing is.
    pub(crate) fn to_recommended(estimate: &Estimate) -> Option<Self> {
        Self::up_to(RECOMMENDED_INVOCATIONS, estimate)
    }
}

/// The smallest ratio above 1 that a study with this estimate's noise, guarded by these A/A pairs,
/// would resolve with 80% probability. Below 1, the limit is the inverse. `None` if an estimate has
/// no interval.
pub fn smallest_difference(estimate: &Estimate, aa: &[Estimate]) -> Option<f64> {
    Some(ratio(
        Reach::after(estimate, aa, estimate.invocations)?.difference,
    ))
}

/// What a study could resolve. All values are logarithms.
struct Reach {
    /// The smallest difference that the study would resolve, given the A/A pairs.
    difference: f64,
    /// How far the interval would typically extend in each direction.
    interval: f64,
    /// How far off a measurement may be, judging by the A/A pairs.
    threshold: f64,
}

impl Reach {
    /// The reach of a study with `invocations` and this study's noise. `None` if an estimate has no
    /// interval.
    fn after(estimate: &Estimate, aa: &[Estimate], invocations: usize) -> Option<Self> {
        let shrunk = (estimate.invocations as f64 / invocations as f64).sqrt();
        let own = shrunk * estimate.standard_error?;
        let reach = |estimate: &Estimate| interval_reach(estimate.confidence, invocations);
        let power = t_quantile(POWER, invocations - 1);
        let (mut squares, mut threshold) = (own * own, 0.0);
        for aa in aa {
            let error = shrunk * aa.standard_error?;
            squares += error * error;
            threshold += aa.log_ratio.abs() + error * reach(aa);
        }
        Some(Self {
            difference: own * reach(estimate) + threshold + power * squares.sqrt(),
            interval: own * (reach(estimate) + power),
            threshold,
        })
    }
}

/// How much more is needed to resolve a difference of `difference` (0.05 for 5%) with 80%
/// probability. `None` if there is no interval, if the study could resolve it already, or if no
/// number of invocations would suffice (`difference` not above 0).
pub fn invocations_needed(estimate: &Estimate, difference: f64) -> Option<More> {
    let target = difference.ln_1p();
    until(estimate, &[], |reach| reach.difference <= target)
}

/// How much more would probably settle the verdict, assuming that the estimates are the true
/// ratios. That is enough either to lie beyond the A/A pairs or to bring the interval and the A/A
/// pairs inside the margin, whichever takes less. `None` if the A/A pairs are off by more than
/// that, because more of the same would not help.
pub(crate) fn invocations_to_settle(
    estimate: &Estimate,
    aa: &[Estimate],
    margin: f64,
) -> Option<More> {
    let (from_one, margin) = (estimate.log_ratio.abs(), margin.ln_1p());
    until(estimate, aa, |reach| {
        let is_small = (reach.interval + from_one).max(reach.threshold) <= margin;
        is_small || reach.difference <= from_one
    })
}

/// The smallest number of additional invocations at which `enough` holds. Once it holds, it must
/// hold for every larger number.
fn until(estimate: &Estimate, aa: &[Estimate], enough: impl Fn(Reach) -> bool) -> Option<More> {
    let now = estimate.invocations;
    let enough_at = |k: usize| Reach::after(estimate, aa, k).is_some_and(&enough);
    let mut high = now;
    while !enough_at(high) {
        high = high.checked_mul(2)?;
    }
    let mut low = now;
    while low < high {
        let middle = low + (high - low) / 2;
        if enough_at(middle) {
            high = middle
        } else {
            low = middle + 1
        }
    }
    More::up_to(high, estimate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_difference_is_two_t_quantiles_of_the_error() {
        let estimate = Estimate::sample(0.98, 1.0 / 0.98);
        // With 7 degrees of freedom, the quantiles at 97.5% and 80% are 2.3646 and 0.8960.
        let expected = (1.0_f64 / 0.98).powf((2.3646 + 0.8960) / 2.3646);
        assert!((smallest_difference(&estimate, &[]).unwrap() - expected).abs() < 1e-6);
        assert_eq!(
            smallest_difference(&Estimate::sample_of_one(1.0), &[]),
            None
        );
    }

    #[test]
    fn needed_invocations_follow_the_square_of_the_difference() {
        let estimate = Estimate::sample(0.9, 1.0 / 0.9);
        let total = |difference| {
            8 + invocations_needed(&estimate, difference)
                .unwrap()
                .invocations
        };
        let quadrupled = total(0.01) as f64 / total(0.02) as f64;
        assert!((3.8..4.1).contains(&quadrupled), "{quadrupled}");
    }

    #[test]
    fn exactly_what_is_missing_is_named() {
        let estimate = Estimate::sample(0.95, 1.0 / 0.95);
        let more = invocations_needed(&estimate, 0.04).unwrap();
        let enough = |k: usize| {
            let error = estimate.standard_error.unwrap() * (8.0 / k as f64).sqrt();
            let quantiles = interval_reach(0.95, k) + t_quantile(POWER, k - 1);
            error * quantiles <= 0.04_f64.ln_1p()
        };
        assert!(enough(8 + more.invocations) && !enough(8 + more.invocations - 1));
        assert_eq!(more.blocks, 2 * more.invocations);
    }

    #[test]
    fn nothing_is_named_where_nothing_helps_or_is_missing() {
        let estimate = Estimate::sample(0.95, 1.0 / 0.95);
        for difference in [0.0, -0.5, f64::NAN] {
            assert_eq!(invocations_needed(&estimate, difference), None);
        }
        assert_eq!(invocations_needed(&estimate, 0.5), None);
        assert_eq!(
            invocations_needed(&Estimate::sample_of_one(1.0), 0.05),
            None
        );
    }
}
