//! The median ratio of two variants and its hierarchical bootstrap interval.

use std::cmp::Ordering;

use crate::distribution::t_quantile;
use crate::error::{StatsError, check_setting};
use crate::estimate::{Estimate, Interval};
use crate::paired::PairedRatios;
use crate::quantile::{median_in_place, sorted};
use crate::rng::SplitMix64;

/// How an interval is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// The confidence level: the probability that the interval contains the true ratio, above 0.5
    /// and below 1.
    pub confidence: f64,
    /// How many times the blocks are resampled; at least 100.
    pub resamples: usize,
    /// The random seed for resampling. The same seed produces the same interval.
    pub seed: u64,
}

impl Bootstrap {
    /// A bootstrap with the default number of resamples.
    pub fn new(confidence: f64, seed: u64) -> Self {
        Self {
            confidence,
            seed,
            ..Self::default()
        }
    }
}

impl Default for Bootstrap {
    /// 95%, 2,000 resamples, seed 0.
    fn default() -> Self {
        Self {
            confidence: 0.95,
            resamples: 2_000,
            seed: 0,
        }
    }
}

/// Estimates the ratio of two variants: the median over all blocks, with an interval that treats
/// invocations, rather than blocks or calls, as independent.
///
/// The interval is Student's t interval on the logarithm of the ratio, with the standard error of
/// the hierarchical bootstrap: log ratio ± t(invocations − 1) × standard error. With few
/// invocations, percentiles of the same bootstrap would cover far too little: if two invocations
/// lie on the same side of the true ratio, so does every resample. `docs/method.md` has the
/// simulations.
///
/// # Errors
/// [`StatsError::Setting`] if `bootstrap` has fewer than 100 resamples or an invalid confidence
/// level.
pub fn compare(ratios: &PairedRatios, bootstrap: &Bootstrap) -> Result<Estimate, StatsError> {
    bootstrap.check()?;
    let log_ratio = median_in_place(&mut ratios.log_ratios().concat());
    let standard_error = (ratios.invocations() > 1).then(|| standard_error(ratios, bootstrap));
    let interval = standard_error.map(|error| {
        let reach = interval_reach(bootstrap.confidence, ratios.invocations()) * error;
        Interval::from_logs(log_ratio - reach, log_ratio + reach)
    });
    Ok(Estimate {
        log_ratio,
        standard_error,
        interval,
        confidence: bootstrap.confidence,
        invocations: ratios.invocations(),
        blocks: ratios.blocks(),
    })
}

/// How many standard errors an interval extends in each direction, for `invocations` ≥ 2.
pub(crate) fn interval_reach(confidence: f64, invocations: usize) -> f64 {
    t_quantile(0.5 + confidence / 2.0, invocations - 1)
}

/// The standard error of the median log ratio, from at least two invocations: the standard
/// deviation of the resampled medians, corrected for narrowness bias (Hesterberg 2015). Drawing k
/// invocations from k yields only (k − 1)/k of the variance, or half of it for two.
fn standard_error(ratios: &PairedRatios, bootstrap: &Bootstrap) -> f64 {
    let k = ratios.invocations() as f64;
    resampled_deviation(&canonical(ratios.log_ratios()), bootstrap) * (k / (k - 1.0)).sqrt()
}

/// The standard deviation of the medians of all resamples. A resample draws as many invocations as
/// there are, and as many blocks from each as it has, all with replacement.
fn resampled_deviation(invocations: &[Vec<f64>], bootstrap: &Bootstrap) -> f64 {
    let mut rng = SplitMix64::new(bootstrap.seed);
    let mut drawn = Vec::new();
    // Welford's update (1962), which is exact if all medians are equal.
    let (mut mean, mut squares) = (0.0, 0.0);
    for resample in 1..=bootstrap.resamples {
        drawn.clear();
        for _ in 0..invocations.len() {
            let blocks = &invocations[rng.index(invocations.len())];
            drawn.extend((0..blocks.len()).map(|_| blocks[rng.index(blocks.len())]));
        }
        let median = median_in_place(&mut drawn);
        let off = median - mean;
        mean += off / resample as f64;
        squares += off * (median - mean);
    }
    (squares / (bootstrap.resamples - 1) as f64).sqrt()
}

impl Bootstrap {
    pub(crate) fn check(&self) -> Result<(), StatsError> {
        let confidence = self.confidence;
        let is_allowed = confidence > 0.5 && confidence < 1.0;
        check_setting(
            "confidence",
            confidence,
            is_allowed,
            "above 0.5 and below 1",
        )?;
        let resamples = self.resamples;
        check_setting(
            "resamples",
            resamples as f64,
            resamples >= 100,
            "at least 100",
        )
    }
}

/// Puts data into a canonical order and sign, so that resampling depends neither on the order of
/// invocations and blocks nor on which variant comes first.
fn canonical(log_ratios: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let signed = |sign: f64| {
        let signed =
            |blocks: &Vec<f64>| sorted(&blocks.iter().map(|v| sign * v).collect::<Vec<f64>>());
        let mut invocations: Vec<Vec<f64>> = log_ratios.iter().map(signed).collect();
        invocations.sort_by(|a, b| order(a, b));
        invocations
    };
    let (kept, turned) = (signed(1.0), signed(-1.0));
    let first_difference = kept
        .iter()
        .zip(&turned)
        .map(|(a, b)| order(a, b))
        .find(|o| o.is_ne());
    if first_difference == Some(Ordering::Less) {
        turned
    } else {
        kept
    }
}

/// Orders two invocations by their first differing block, then by length.
fn order(a: &[f64], b: &[f64]) -> Ordering {
    // `partial_cmp` treats 0 and −0 as equal, which is required here. No log ratio is NaN.
    a.partial_cmp(b).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::Pair;

    fn ratios(invocations: &[&[f64]]) -> PairedRatios {
        let owned: Vec<Vec<f64>> = invocations.iter().map(|blocks| blocks.to_vec()).collect();
        PairedRatios::from_ratios(&owned).unwrap()
    }

    fn estimate(invocations: &[&[f64]]) -> Estimate {
        compare(&ratios(invocations), &Bootstrap::default()).unwrap()
    }

    #[test]
    fn estimate_is_the_median_ratio_over_all_blocks() {
        let estimate = estimate(&[&[1.1, 1.3], &[1.2], &[9.0, 0.1]]);
        assert!((estimate.ratio() - 1.2).abs() < 1e-12);
        assert_eq!((estimate.invocations, estimate.blocks), (3, 5));
    }

    #[test]
    fn one_invocation_gives_no_interval_however_many_blocks() {
        for only in [&[1.5][..], &[1.5, 1.5, 1.6, 1.4, 1.5, 1.5]] {
            let estimate = estimate(&[only]);
            assert_eq!((estimate.interval, estimate.standard_error), (None, None));
        }
    }

    #[test]
    fn two_invocations_of_one_block_give_the_t_interval_of_their_mean() {
        // A resample draws the low one twice (1/4), each one once (1/2) or the high one twice
        // (1/4). Corrected for narrowness bias, the deviation is that of the mean of two values, so
        // t with 1 degree of freedom is exact.
        let ratios = ratios(&[&[1.0], &[1.02]]);
        let bootstrap = Bootstrap {
            resamples: 200_000,
            ..Bootstrap::default()
        };
        let interval = compare(&ratios, &bootstrap).unwrap().interval.unwrap();
        let (middle, reach) = (1.02_f64.ln() / 2.0, 12.7062 * 1.02_f64.ln() / 2.0);
        assert!((interval.log_low / (middle - reach) - 1.0).abs() < 0.01);
        assert!((interval.log_high / (middle + reach) - 1.0).abs() < 0.01);
    }

    #[test]
    fn what_is_common_to_an_invocation_counts_for_more_than_what_differs_in_it() {
        let study = |value: fn(usize, usize) -> usize| {
            let blocks = |i| (0..5).map(|j| 1.0 + 0.01 * value(i, j) as f64).collect();
            let ratios = PairedRatios::from_ratios(&(0..5).map(blocks).collect::<Vec<_>>());
            compare(&ratios.unwrap(), &Bootstrap::default()).unwrap()
        };
        let mixed = study(|invocation, block| invocation + 5 * block);
        let grouped = study(|invocation, block| 5 * invocation + block);
        assert_eq!(mixed.ratio(), grouped.ratio());
        assert!(1.5 * mixed.standard_error.unwrap() < grouped.standard_error.unwrap());
    }

    #[test]
    fn one_outlier_block_in_eight_invocations_hardly_moves_the_interval() {
        let mut blocks = [[1.0, 1.01], [1.02, 0.99], [1.01, 1.0], [0.98, 1.0]].repeat(2);
        let half_width = |blocks: &[[f64; 2]]| {
            let blocks: Vec<&[f64]> = blocks.iter().map(|b| &b[..]).collect();
            estimate(&blocks).interval.unwrap().half_width()
        };
        let calm = half_width(&blocks);
        blocks[3][1] = 50.0;
        let wild = half_width(&blocks);
        assert!(wild < 2.0 * calm, "±{calm} without it, ±{wild} with it");
    }

    #[test]
    fn same_seed_same_interval_and_another_seed_nearly() {
        let ratios = ratios(&[&[1.0, 1.03], &[1.02, 0.99], &[1.04, 1.0], &[0.98, 1.01]]);
        let with = |seed| {
            compare(
                &ratios,
                &Bootstrap {
                    seed,
                    ..Bootstrap::default()
                },
            )
            .unwrap()
        };
        assert_eq!(with(1), with(1));
        let errors = (
            with(1).standard_error.unwrap(),
            with(2).standard_error.unwrap(),
        );
        assert!(
            errors.0 != errors.1 && (errors.0 / errors.1 - 1.0).abs() < 0.1,
            "{errors:?}"
        );
    }

    #[test]
    fn pairs_of_equal_ratio_need_not_be_of_equal_size() {
        let pair = |of, against| vec![Pair { of, against }];
        let speed = PairedRatios::from_pairs(&[pair(2.0, 1.0), pair(20.0, 10.0)]).unwrap();
        let estimate = compare(&speed, &Bootstrap::default()).unwrap();
        assert!((estimate.ratio() - 2.0).abs() < 1e-12);
        assert!(estimate.interval.unwrap().half_width() < 1e-9);
    }

    #[test]
    fn counts_that_are_equal_in_every_block_give_the_interval_of_1_alone() {
        let bytes = |of| Pair { of, against: of };
        let invocations =
            [[bytes(148.0), bytes(147.96)], [bytes(1e-3), bytes(1e12)]].map(Vec::from);
        let pairs = PairedRatios::from_pairs(&invocations).unwrap();
        let interval = compare(&pairs, &Bootstrap::default())
            .unwrap()
            .interval
            .unwrap();
        assert_eq!((interval.low(), interval.high()), (1.0, 1.0));
        assert!(interval.holds(1.0) && interval.within_margin(0.0));
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let compare = |bootstrap| {
            compare(&ratios(&[&[1.0]]), &bootstrap)
                .unwrap_err()
                .to_string()
        };
        let few = Bootstrap {
            resamples: 99,
            ..Bootstrap::default()
        };
        assert_eq!(compare(few), "resamples is 99: it must be at least 100");
        for confidence in [0.5, 1.0, f64::NAN] {
            let message = compare(Bootstrap {
                confidence,
                ..Bootstrap::default()
            });
            assert!(message.starts_with("confidence is "), "{message}");
        }
    }
}
