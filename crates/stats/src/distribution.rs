//! The normal distribution and Student's t distribution.

use std::f64::consts::PI;

/// Up to this many degrees of freedom, the t distribution is summed exactly. Above, an expansion is
/// used, which is accurate to 1e-9 there.
const EXACT_DEGREES: usize = 200;

/// The probability that a standard normal value is below `z`.
///
/// Uses Marsaglia's series, "Evaluating the Normal Distribution" (Journal of Statistical Software
/// 11(4), 2004). Beyond 8 standard deviations it returns 0 or 1, within 1e-15 of the true value.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    if z.abs() > 8.0 {
        return if z < 0.0 { 0.0 } else { 1.0 };
    }
    let (mut term, mut sum, mut step) = (z, z, 1.0);
    while sum + term != sum {
        step += 2.0;
        term *= z * z / step;
        sum += term;
    }
    (0.5 + sum * (-0.5 * z * z).exp() / (2.0 * PI).sqrt()).clamp(0.0, 1.0)
}

/// The quantile of the standard normal distribution at probability `p`, 0 < `p` < 1.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    invert(normal_cdf, p, -8.0, 8.0)
}

/// The quantile of Student's t with `degrees` of freedom (at least 1) at probability `p`, 0.5 ≤ `p`
/// < 1.
pub(crate) fn t_quantile(p: f64, degrees: usize) -> f64 {
    if degrees > EXACT_DEGREES {
        return t_quantile_expanded(normal_quantile(p), degrees as f64);
    }
    let mut high = 2.0;
    while t_cdf(high, degrees) < p && high < 1e12 {
        high *= 2.0;
    }
    invert(|t| t_cdf(t, degrees), p, 0.0, high)
}

/// The probability that Student's t is below `t` ≥ 0, using the finite sums for integer degrees of
/// freedom: Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), 26.7.3 and 26.7.4.
fn t_cdf(t: f64, degrees: usize) -> f64 {
    let angle = (t / (degrees as f64).sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    let odd = degrees % 2 == 1;
    // The terms contain the powers 1, 3, ... of cos for odd degrees of freedom, and 0, 2, ... for
    // even ones.
    let (mut term, mut numerator) = if odd { (cos, 2.0) } else { (1.0, 1.0) };
    let mut sum = 0.0;
    for _ in 0..degrees / 2 {
        sum += term;
        term *= cos * cos * numerator / (numerator + 1.0);
        numerator += 2.0;
    }
    let two_sided = if odd {
        2.0 / PI * (angle + sin * sum)
    } else {
        sin * sum
    };
    0.5 + 0.5 * two_sided
}

/// Student's quantile from the normal quantile `z`, using the expansion of Abramowitz and Stegun
/// 26.7.5.
fn t_quantile_expanded(z: f64, degrees: f64) -> f64 {
    let (z2, d) = (z * z, degrees);
    let first = z * (z2 + 1.0) / 4.0;
    let second = z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
    let third = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
    z + first / d + second / (d * d) + third / (d * d * d)
}

/// The argument at which an increasing function reaches `target`, found by bisection until `low`
/// and `high` are adjacent floating-point numbers.
fn invert(rising: impl Fn(f64) -> f64, target: f64, mut low: f64, mut high: f64) -> f64 {
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return middle;
        }
        if rising(middle) < target {
            low = middle
        } else {
            high = middle
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_matches_tables() {
        for (z, p) in [
            (0.0, 0.5),
            (1.0, 0.841_344_746_1),
            (1.959_963_985, 0.975),
            (-3.0, 0.001_349_898_0),
        ] {
            assert!((normal_cdf(z) - p).abs() < 1e-9, "z = {z}");
        }
        assert!((normal_quantile(0.975) - 1.959_963_985).abs() < 1e-8);
        assert!((normal_quantile(0.8) - 0.841_621_234).abs() < 1e-8);
    }

    #[test]
    fn student_matches_tables() {
        let table = [
            (1, 12.706_205),
            (2, 4.302_653),
            (3, 3.182_446),
            (7, 2.364_624),
            (30, 2.042_272),
            (100, 1.983_972),
        ];
        for (degrees, t) in table {
            assert!(
                (t_quantile(0.975, degrees) - t).abs() < 1e-6,
                "{degrees} degrees"
            );
        }
        assert!((t_quantile(0.8, 7) - 0.896_030).abs() < 1e-6);
    }

    #[test]
    fn exact_sums_and_expansion_meet() {
        let exact = t_quantile(0.975, EXACT_DEGREES);
        let expanded = t_quantile_expanded(normal_quantile(0.975), EXACT_DEGREES as f64);
        assert!((exact - expanded).abs() < 1e-7);
        assert!(t_quantile(0.975, 1_000_000) - 1.959_964 < 1e-5);
    }
}
