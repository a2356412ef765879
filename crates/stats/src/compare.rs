//! The median ratio of two variants, and its hierarchical bootstrap interval.

use crate::distribution::{normal_cdf, t_quantile};
use crate::error::StatsError;
use crate::estimate::{Estimate, Interval};
use crate::paired::PairedRatios;
use crate::quantile::{median_in_place, running_mean, sorted, sorted_quantile};
use crate::rng::SplitMix64;

/// How an interval is computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// The probability with which the interval is to hold the true ratio, between 0.5 and 1.
    pub confidence: f64,
    /// How many times the blocks are drawn anew; at least 100.
    pub resamples: usize,
    /// The seed of the draws; the same seed gives the same interval.
    pub seed: u64,
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

/// Estimates the ratio of two variants: the median over all blocks, with an interval that takes invocations, not
/// blocks or calls, as what varies independently.
///
/// # Errors
/// [`StatsError::Setting`] where `bootstrap` asks for fewer than 100 resamples or an impossible confidence.
pub fn compare(ratios: &PairedRatios, bootstrap: &Bootstrap) -> Result<Estimate, StatsError> {
    bootstrap.check()?;
    let (canonical, sign) = canonical(ratios.log_ratios());
    let mut all: Vec<f64> = canonical.concat();
    let log_ratio = median_in_place(&mut all);
    let interval = interval(&canonical, log_ratio, bootstrap).map(|(low, high)| match sign {
        Sign::Kept => Interval::from_logs(low, high),
        Sign::Turned => Interval::from_logs(-high, -low),
        Sign::Symmetric => Interval::from_logs(-high.max(-low), high.max(-low)),
    });
    Ok(Estimate {
        log_ratio: if sign == Sign::Turned {
            -log_ratio
        } else {
            log_ratio
        },
        interval,
        confidence: bootstrap.confidence,
        invocations: ratios.invocations(),
        blocks: ratios.blocks(),
    })
}

impl Bootstrap {
    fn check(&self) -> Result<(), StatsError> {
        if !(self.confidence > 0.5 && self.confidence < 1.0) {
            let allowed = "above 0.5 and below 1";
            return Err(StatsError::Setting {
                name: "confidence",
                value: self.confidence,
                allowed,
            });
        }
        if self.resamples < 100 {
            let value = self.resamples as f64;
            return Err(StatsError::Setting {
                name: "resamples",
                value,
                allowed: "at least 100",
            });
        }
        Ok(())
    }
}

/// What [`canonical`] did to the sign of the logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Sign {
    Kept,
    Turned,
    /// Both signs give the same data.
    Symmetric,
}

/// Brings data into one order and one sign, so that neither the order of invocations and blocks nor which variant
/// stands first changes which random draws meet which values.
fn canonical(log_ratios: &[Vec<f64>]) -> (Vec<Vec<f64>>, Sign) {
    let kept = ordered(log_ratios.iter().map(|blocks| sorted(blocks)).collect());
    // Adding 0 makes −0 into 0, which `total_cmp` would tell apart.
    let turn = |blocks: &Vec<f64>| sorted(&blocks.iter().map(|v| 0.0 - v).collect::<Vec<f64>>());
    let turned = ordered(kept.iter().map(turn).collect());
    match compare_data(&kept, &turned) {
        std::cmp::Ordering::Greater => (kept, Sign::Kept),
        std::cmp::Ordering::Less => (turned, Sign::Turned),
        std::cmp::Ordering::Equal => (kept, Sign::Symmetric),
    }
}

fn ordered(mut invocations: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    invocations.sort_by(|a, b| compare_blocks(a, b));
    invocations
}

fn compare_data(a: &[Vec<f64>], b: &[Vec<f64>]) -> std::cmp::Ordering {
    a.iter()
        .zip(b)
        .map(|(x, y)| compare_blocks(x, y))
        .find(|o| o.is_ne())
        .unwrap_or(std::cmp::Ordering::Equal)
}

fn compare_blocks(a: &[f64], b: &[f64]) -> std::cmp::Ordering {
    let differing = a
        .iter()
        .zip(b)
        .map(|(x, y)| x.partial_cmp(y).unwrap_or(std::cmp::Ordering::Equal));
    differing
        .into_iter()
        .find(|o| o.is_ne())
        .unwrap_or(a.len().cmp(&b.len()))
}

/// The interval's ends as logarithms, or none with fewer than two invocations.
fn interval(invocations: &[Vec<f64>], log_ratio: f64, bootstrap: &Bootstrap) -> Option<(f64, f64)> {
    if invocations.len() < 2 {
        return None;
    }
    let (boot_low, boot_high) = expanded_percentile(invocations, bootstrap);
    let (t_low, t_high) = t_interval(invocations, bootstrap.confidence);
    Some((
        boot_low.min(t_low).min(log_ratio),
        boot_high.max(t_high).max(log_ratio),
    ))
}

/// The percentile interval of the hierarchical bootstrap, at percentiles widened for the number of invocations.
fn expanded_percentile(invocations: &[Vec<f64>], bootstrap: &Bootstrap) -> (f64, f64) {
    let medians = resampled_medians(invocations, bootstrap);
    let k = invocations.len() as f64;
    let t = t_quantile(0.5 + bootstrap.confidence / 2.0, invocations.len() - 1);
    let tail = normal_cdf(-(k / (k - 1.0)).sqrt() * t);
    (
        sorted_quantile(&medians, tail),
        sorted_quantile(&medians, 1.0 - tail),
    )
}

/// The medians of all resamples, ascending. A resample draws as many invocations as there are, then in each drawn one
/// as many blocks as it has, both with replacement.
fn resampled_medians(invocations: &[Vec<f64>], bootstrap: &Bootstrap) -> Vec<f64> {
    let mut rng = SplitMix64::new(bootstrap.seed);
    let mut drawn = Vec::new();
    let mut medians: Vec<f64> = (0..bootstrap.resamples)
        .map(|_| {
            drawn.clear();
            for _ in 0..invocations.len() {
                let blocks = &invocations[rng.index(invocations.len())];
                drawn.extend((0..blocks.len()).map(|_| blocks[rng.index(blocks.len())]));
            }
            median_in_place(&mut drawn)
        })
        .collect();
    medians.sort_unstable_by(f64::total_cmp);
    medians
}

/// Student's t interval of the mean of the invocations' medians.
fn t_interval(invocations: &[Vec<f64>], confidence: f64) -> (f64, f64) {
    let centres: Vec<f64> = invocations
        .iter()
        .map(|blocks| sorted_quantile(blocks, 0.5))
        .collect();
    let mean = running_mean(&centres);
    let degrees = centres.len() - 1;
    let variance = centres.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / degrees as f64;
    let reach =
        t_quantile(0.5 + confidence / 2.0, degrees) * (variance / centres.len() as f64).sqrt();
    (mean - reach, mean + reach)
}
