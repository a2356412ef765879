//! Measured ratios in words: a factor of at least 1, its direction, and its interval in that direction.

use rpcgauge_stats::Better;
use rpcgauge_study::plan::Metric;

use super::About;
use crate::findings::verdict::Estimate;
use crate::metric::{better, is_counted, row};
use crate::units;

/// A ratio as a factor of at least 1: if the ratio is below 1, it and its interval are inverted.
pub(crate) struct Factor {
    pub(crate) value: f64,
    pub(crate) interval: Option<[f64; 2]>,
    /// Whether the ratio favours the first variant.
    pub(crate) is_better: bool,
}

impl Factor {
    pub(crate) fn of(better: Better, ratio: f64, interval: Option<[f64; 2]>) -> Self {
        let less = ratio < 1.0;
        let turned = interval.map(|[low, high]| [1.0 / high, 1.0 / low]);
        Self {
            value: if less { 1.0 / ratio } else { ratio },
            interval: if less { turned } else { interval },
            is_better: less == (better == Better::Lower),
        }
    }
}

/// A measured ratio in two parts: the ratio, and how certain it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// `1.17× faster`, or `1.10× faster to 1.23× slower` if the interval includes 1.
    pub(crate) phrase: String,
    /// `[1.06, 1.29]`, in the direction of the phrase; empty if the phrase has both ends.
    pub(crate) interval: String,
}

impl Found {
    pub(crate) fn of(about: About<'_>, estimate: &Estimate) -> Self {
        let metric = about.metric;
        let is_alike = |end: f64| is_counted(metric) && (end - 1.0).abs() < ALIKE;
        match estimate.interval {
            Some(ends) if ends.into_iter().all(is_alike) => Self::word("equal"),
            Some([low, high]) if low <= 1.0 && 1.0 <= high => {
                Self::word(both_ways(about, low, high))
            }
            _ => Self {
                phrase: factor_phrase(about, estimate.ratio),
                interval: interval(about, estimate),
            },
        }
    }

    /// A phrase without an interval.
    pub(crate) fn word(phrase: impl Into<String>) -> Self {
        Self {
            phrase: phrase.into(),
            interval: String::new(),
        }
    }

    pub(crate) fn text(&self) -> String {
        format!("{} {}", self.phrase, self.interval)
            .trim_end()
            .to_owned()
    }
}

/// `2.31× faster`.
pub(crate) fn factor_phrase(about: About<'_>, ratio: f64) -> String {
    phrase(about.better(), ratio, about.sides())
}

fn phrase(way: Better, ratio: f64, [better, worse]: [&str; 2]) -> String {
    let factor = Factor::of(way, ratio, None);
    let side = if factor.is_better { better } else { worse };
    format!("{}× {side}", units::ratio(factor.value))
}

/// `[2.24, 2.39]`, in the direction of the ratio; `(no interval)` if there is none; `(exact)` if it has no width.
fn interval(about: About<'_>, estimate: &Estimate) -> String {
    let factor = Factor::of(about.better(), estimate.ratio, estimate.interval);
    match factor.interval {
        None => "(no interval)".to_owned(),
        Some(_) if is_exact(about.metric, estimate) => "(exact)".to_owned(),
        Some(ends) => interval_beside(factor.value, ends),
    }
}

/// The interval of a factor, with the factor's number of decimals, or with more if an end would look like 1.
pub(crate) fn interval_beside(factor: f64, ends: [f64; 2]) -> String {
    let decimals = units::ratio_decimals(factor);
    let looks_like_1 = |end: f64| (end - 1.0).abs() < 0.005;
    let decimals = if ends.into_iter().any(looks_like_1) {
        decimals.max(3)
    } else {
        decimals
    };
    units::interval(ends, decimals)
}

/// The ends of an interval that includes 1, the better one first.
fn both_ways(about: About<'_>, low: f64, high: f64) -> String {
    let (good, bad) = match about.better() {
        Better::Lower => (1.0 / low, high),
        Better::Higher => (high, 1.0 / low),
    };
    let [better, worse] = about.sides();
    if good.min(bad) > units::MAX_RATIO {
        let most = units::count(units::MAX_RATIO as u64);
        return format!("over {most}× either way");
    }
    let near = good.min(bad) < 1.01;
    let (good, bad) = units::ratios([good, bad], if near { 3 } else { 2 });
    // "1.2× more to 1.1× fewer calls per second": a shared ending is written once.
    let better = match better.split_once(' ') {
        Some((word, what)) if worse.ends_with(what) => word,
        _ => better,
    };
    format!("{good}× {better} to {bad}× {worse}")
}

/// Sizes are equal if their ratio differs from 1 by less than this.
const ALIKE: f64 = 0.000_5;

/// The relative width up to which an interval is exact: more than the sum of rounding errors.
const EXACT: f64 = 1e-9;

/// Whether the ratio of bytes was the same in every block. If the length of messages varies, their means vary
/// slightly between blocks, so the ratio is not exact.
fn is_exact(metric: Metric, estimate: &Estimate) -> bool {
    let spread = estimate.interval.map(|[low, high]| high / low - 1.0);
    is_counted(metric) && spread.is_some_and(|spread| spread < EXACT)
}

/// `1.12× slower`: a variant after a change, compared with itself before the change.
pub(crate) fn change_phrase(metric: Metric, ratio: f64) -> String {
    phrase(better(metric), ratio, row(metric).changes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(metric: Metric, ratio: f64, interval: [f64; 2]) -> String {
        let estimate = Estimate {
            ratio,
            interval: Some(interval),
            confidence: 0.95,
            invocations: 4,
            blocks: 8,
        };
        let about = About {
            of: "a",
            against: "b",
            metric,
            operation: None,
            one_process: false,
            said: None,
        };
        Found::of(about, &estimate).text()
    }

    #[test]
    fn the_interval_goes_the_way_of_the_factor() {
        let p50 = Metric::LatencyP50;
        assert_eq!(found(p50, 0.5, [0.4, 0.625]), "2.00× faster [1.60, 2.50]");
        assert_eq!(found(p50, 2.0, [1.6, 2.5]), "2.00× slower [1.60, 2.50]");
        assert_eq!(
            found(Metric::Goodput, 2.0, [1.6, 2.5]),
            "2.00× more calls per second [1.60, 2.50]"
        );
    }

    #[test]
    fn an_interval_that_holds_1_names_both_directions() {
        assert_eq!(
            found(Metric::LatencyP50, 1.057, [0.909, 1.228]),
            "1.10× faster to 1.23× slower"
        );
        assert_eq!(
            found(Metric::LatencyP50, 1.02, [0.998, 1.05]),
            "1.002× faster to 1.050× slower"
        );
        assert_eq!(
            found(Metric::Goodput, 1.0, [0.5, 1.25]),
            "1.25× more to 2.00× fewer calls per second"
        );
    }

    #[test]
    fn an_end_far_off_has_no_digits() {
        let p50 = Metric::LatencyP50;
        assert_eq!(found(p50, 1.2, [1.5e-12, 3.4e13]), "over 1,000× either way");
        assert_eq!(
            found(p50, 1.2, [0.8, 3.4e13]),
            "1.25× faster to over 1,000× slower"
        );
        assert_eq!(
            found(p50, 9.0, [1.2, 3.4e13]),
            "9.00× slower [1.20, over 1,000]"
        );
        assert_eq!(
            found(p50, 0.1, [1e-9, 0.5]),
            "10.0× faster [2.0, over 1,000]"
        );
    }

    #[test]
    fn an_end_beside_1_does_not_look_like_1() {
        assert_eq!(
            found(Metric::LatencyP50, 1.13, [1.003, 1.28]),
            "1.13× slower [1.003, 1.280]"
        );
    }

    #[test]
    fn counted_bytes_have_no_noise() {
        let bytes = Metric::ResponseBytes;
        assert_eq!(found(bytes, 0.36, [0.36, 0.36]), "2.78× smaller (exact)");
        assert_eq!(found(bytes, 1.0, [1.0, 1.0]), "equal");
        // With messages of several lengths, the means vary with the number of calls in a block.
        assert_eq!(
            found(bytes, 0.3596, [0.3595, 0.3597]),
            "2.78× smaller [2.78, 2.78]"
        );
        assert_eq!(found(bytes, 1.0, [0.9999, 1.0001]), "equal");
        assert_eq!(found(bytes, 1.0002, [1.0001, 1.0003]), "equal");
        assert_eq!(
            found(Metric::LatencyP50, 0.36, [0.36, 0.36]),
            "2.78× faster [2.78, 2.78]"
        );
    }
}
