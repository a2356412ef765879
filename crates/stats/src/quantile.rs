//! Quantiles, the median and the median absolute deviation of a slice.
//!
//! The quantile is type 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages" (The
//! American Statistician 50(4), 1996): linear interpolation between order statistics, with the
//! smallest value at 0 and the largest at 1. It is the default of R and NumPy.

use crate::error::{StatsError, check_setting};

/// The type 7 quantile of `values` (any order) at probability `p` from 0 to 1.
///
/// # Errors
/// [`StatsError::Empty`], [`StatsError::NotFinite`], or [`StatsError::Setting`] if `p` is not from
/// 0 to 1.
pub fn quantile(values: &[f64], p: f64) -> Result<f64, StatsError> {
    let is_allowed = (0.0..=1.0).contains(&p);
    check_setting("quantile probability", p, is_allowed, "from 0 to 1")?;
    check(values)?;
    let sorted = sorted(values);
    let position = p * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let fraction = position - position.floor();
    Ok(between(sorted[below], sorted[above], fraction))
}

/// The middle value, or the mean of the two middle values if the number of values is even.
///
/// # Errors
/// [`StatsError::Empty`] or [`StatsError::NotFinite`].
pub fn median(values: &[f64]) -> Result<f64, StatsError> {
    quantile(values, 0.5)
}

/// The median absolute deviation: the median distance from the median, in the unit of the values.
/// It is not scaled to a standard deviation; for normal data, multiply by 1.4826.
///
/// # Errors
/// [`StatsError::Empty`] or [`StatsError::NotFinite`].
pub fn mad(values: &[f64]) -> Result<f64, StatsError> {
    let centre = median(values)?;
    // The distance between two finite values can exceed the largest f64, so clamp it.
    let distances: Vec<f64> = values
        .iter()
        .map(|v| (v - centre).abs().min(f64::MAX))
        .collect();
    median(&distances)
}

/// The median of `values`, which must not be empty and are reordered. Faster than [`median`], for
/// the bootstrap.
pub(crate) fn median_in_place(values: &mut [f64]) -> f64 {
    let upper = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    let (left, middle, _) = values.select_nth_unstable_by(upper, f64::total_cmp);
    if !even {
        return *middle;
    }
    let lower = left.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    between(lower, *middle, 0.5)
}

/// Interpolates from `low` to `high`. Equal ends yield exactly that value, and nothing overflows.
fn between(low: f64, high: f64, fraction: f64) -> f64 {
    if low == high || fraction == 0.0 {
        return low;
    }
    low * (1.0 - fraction) + high * fraction
}

pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

fn check(values: &[f64]) -> Result<(), StatsError> {
    if values.is_empty() {
        return Err(StatsError::Empty);
    }
    match (0..).zip(values).find(|(_, value)| !value.is_finite()) {
        Some((index, &value)) => Err(StatsError::NotFinite { index, value }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_7_interpolates_as_r_does() {
        // R: quantile(c(1, 2, 4, 8, 16), c(0, .1, .25, .5, .9, 1), type = 7)
        let values = [16.0, 1.0, 8.0, 2.0, 4.0];
        for (p, expected) in [
            (0.0, 1.0),
            (0.1, 1.4),
            (0.25, 2.0),
            (0.5, 4.0),
            (0.9, 12.8),
            (1.0, 16.0),
        ] {
            assert!(
                (quantile(&values, p).unwrap() - expected).abs() < 1e-12,
                "p = {p}"
            );
        }
    }

    #[test]
    fn median_of_even_count_is_mean_of_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]).unwrap(), 2.5);
        assert_eq!(median_in_place(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median_in_place(&mut [4.0, 1.0, 3.0]), 3.0);
        assert_eq!(median_in_place(&mut [7.0]), 7.0);
    }

    #[test]
    fn mad_is_not_moved_by_one_outlier() {
        assert_eq!(mad(&[1.0, 2.0, 3.0, 4.0, 1e9]).unwrap(), 1.0);
    }

    #[test]
    fn extreme_values_do_not_overflow() {
        assert_eq!(median(&[f64::MAX, f64::MAX]).unwrap(), f64::MAX);
        assert!(mad(&[f64::MAX, f64::MAX, f64::MIN]).unwrap() == 0.0);
    }

    #[test]
    fn bad_input_is_named() {
        assert_eq!(median(&[]), Err(StatsError::Empty));
        assert!(matches!(
            median(&[1.0, f64::NAN]),
            Err(StatsError::NotFinite { index: 1, .. })
        ));
        assert!(matches!(
            quantile(&[1.0], 1.5),
            Err(StatsError::Setting { .. })
        ));
        assert!(matches!(
            quantile(&[1.0], f64::NAN),
            Err(StatsError::Setting { .. })
        ));
    }
}
