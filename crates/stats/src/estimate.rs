//! The result of a comparison: a ratio and its uncertainty.

use crate::compare::interval_reach;

/// An interval of ratios, stored as logarithms; `low` ≤ `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub(crate) log_low: f64,
    pub(crate) log_high: f64,
}

impl Interval {
    /// Creates an interval from the logarithms of two ratios, in either order.
    pub(crate) fn from_logs(a: f64, b: f64) -> Self {
        Self {
            log_low: a.min(b),
            log_high: a.max(b),
        }
    }

    /// The lower end, as a ratio.
    pub fn low(&self) -> f64 {
        ratio(self.log_low)
    }

    /// The upper end, as a ratio.
    pub fn high(&self) -> f64 {
        ratio(self.log_high)
    }

    /// Whether the interval, ends included, contains `ratio`.
    pub fn holds(&self, ratio: f64) -> bool {
        (self.low()..=self.high()).contains(&ratio)
    }

    /// Whether the whole interval lies between 1/(1 + `margin`) and 1 + `margin`.
    pub fn within_margin(&self, margin: f64) -> bool {
        let reach = margin.ln_1p();
        -reach <= self.log_low && self.log_high <= reach
    }

    /// Whether the two intervals do not overlap.
    pub(crate) fn lies_beyond(&self, other: &Self) -> bool {
        self.log_low > other.log_high || self.log_high < other.log_low
    }

    /// The logarithm's distance from 0 at the end of the interval that is farthest from 1.
    pub(crate) fn log_farthest(&self) -> f64 {
        self.log_low.abs().max(self.log_high.abs())
    }

    /// How far the interval extends on either side of its midpoint: 0.02 for ±2%.
    pub fn half_width(&self) -> f64 {
        ratio(self.log_half_width()) - 1.0
    }

    /// Half the distance between the logarithms of the ends.
    pub(crate) fn log_half_width(&self) -> f64 {
        (self.log_high - self.log_low) / 2.0
    }
}

/// A measured ratio of/against, with its interval if there is one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The natural logarithm of the median ratio of/against over all blocks.
    pub log_ratio: f64,
    /// The standard error of that logarithm. A small one is about the relative standard error of
    /// the ratio: 0.01 for 1%. `None` if there is no interval.
    pub standard_error: Option<f64>,
    /// The confidence interval of the ratio; `None` with fewer than two invocations, because the
    /// variation between invocations is then unknown.
    pub interval: Option<Interval>,
    /// The confidence level of the interval.
    pub confidence: f64,
    /// The number of invocations that it is based on.
    pub invocations: usize,
    /// The number of blocks that it is based on, over all invocations.
    pub blocks: usize,
}

impl Estimate {
    /// The median ratio of/against over all blocks.
    pub fn ratio(&self) -> f64 {
        ratio(self.log_ratio)
    }

    /// The ends of the interval.
    pub fn ends(&self) -> Option<[f64; 2]> {
        self.interval
            .map(|interval| [interval.low(), interval.high()])
    }

    /// Returns the estimate with a wider interval, to allow for a systematic error that repetition
    /// cannot reveal. The error may change the ratio's logarithm by `down` (at most 0) to `up` (at
    /// least 0).
    pub fn off_by(mut self, [down, up]: [f64; 2]) -> Self {
        let widened = |i: Interval| Interval::from_logs(i.log_low + down, i.log_high + up);
        self.interval = self.interval.map(widened);
        self
    }

    /// Returns the estimate with at least the uncertainty of its figures' resolution: 0.001 for
    /// 0.1%. Figures that round to the same value in every block have no spread but may still
    /// differ.
    pub fn no_finer_than(mut self, resolution: f64) -> Self {
        let (log, reach) = (self.log_ratio, resolution.ln_1p());
        self.standard_error = self.standard_error.map(|error| {
            let reaches = interval_reach(self.confidence, self.invocations);
            error.max(reach / reaches)
        });
        self.interval = self.interval.map(|i| Interval {
            log_low: i.log_low.min(log - reach),
            log_high: i.log_high.max(log + reach),
        });
        self
    }
}

/// Converts a logarithm to a ratio, clamped to positive, normal f64 values so that every ratio can
/// be inverted, compared and serialized.
pub(crate) fn ratio(log: f64) -> f64 {
    log.exp().clamp(f64::MIN_POSITIVE, f64::MAX)
}

#[cfg(test)]
impl Estimate {
    /// An estimate with this interval from 8 invocations with 2 blocks each.
    pub(crate) fn sample(low: f64, high: f64) -> Self {
        let interval = Interval::from_logs(low.ln(), high.ln());
        let reach = crate::compare::interval_reach(0.95, 8);
        Self {
            log_ratio: f64::midpoint(low.ln(), high.ln()),
            standard_error: Some(interval.log_half_width() / reach),
            interval: Some(interval),
            confidence: 0.95,
            invocations: 8,
            blocks: 16,
        }
    }

    /// An estimate from one invocation with 3 blocks.
    pub(crate) fn sample_of_one(value: f64) -> Self {
        Self {
            log_ratio: value.ln(),
            standard_error: None,
            interval: None,
            confidence: 0.95,
            invocations: 1,
            blocks: 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power::smallest_difference;

    #[test]
    fn an_estimate_is_no_finer_than_its_figures() {
        let exact = Estimate::sample(1.2, 1.2).no_finer_than(0.001);
        let ends = exact.interval.unwrap();
        assert!((ends.low() - 1.2 / 1.001).abs() < 1e-9);
        assert!((ends.high() - 1.2 * 1.001).abs() < 1e-9);
        assert!(smallest_difference(&exact, &[]).unwrap() > 1.001);
        let noisy = Estimate::sample(1.1, 1.3);
        assert_eq!(noisy.no_finer_than(0.001), noisy);
        let alone = Estimate::sample_of_one(1.2);
        assert_eq!(alone.no_finer_than(0.001), alone);
    }
}
