//! The ratio of two independent levels.
//!
//! Each run's level is the median of its blocks on the logarithmic scale, with the hierarchical
//! bootstrap interval of `rpcgauge-stats`. The interval of their difference is put together by the
//! method of variance estimates recovery (Zou and Donner, "Construction of confidence limits about
//! effect measures: a general approach", Statistics in Medicine 27, 2008): with levels a and b, and
//! their limits (la, ua) and (lb, ub),
//!
//! ```text
//! lower = a − b − √((a − la)² + (ub − b)²)
//! upper = a − b + √((ua − a)² + (b − lb)²)
//! ```
//!
//! It keeps the asymmetry of both intervals and needs no assumption on their shape.

use std::collections::BTreeMap;

use rpcgauge_stats::{Bootstrap, PairedRatios, compare};
use rpcgauge_study::plan::Metric;
use rpcgauge_study::settings::Placement;

use crate::findings::trial::TrialRow;
use crate::findings::{Findings, is_about_server};

/// A level on the logarithmic scale, with its limits where there are any.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// The median's logarithm.
    pub log: f64,
    /// The logarithms of the interval's ends.
    pub limits: Option<[f64; 2]>,
}

/// The ratio of two levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The ratio itself.
    pub value: f64,
    /// Its interval.
    pub interval: Option<[f64; 2]>,
}

/// A metric of a variant under a placement in one run, trial by trial.
pub(crate) struct Trials<'a> {
    findings: &'a Findings,
    metric: Metric,
    rows: Vec<&'a TrialRow>,
    /// Of those that are not client-bound, where that matters to the metric.
    free: Vec<&'a TrialRow>,
}

impl<'a> Trials<'a> {
    pub(crate) fn of(
        findings: &'a Findings,
        variant: &str,
        placement: Placement,
        metric: Metric,
    ) -> Self {
        let rows = findings.trials.iter();
        let rows: Vec<&TrialRow> = rows
            .filter(|t| t.variant == variant && t.placement == placement && findings.rest_on(t))
            .collect();
        let is_free = |t: &&TrialRow| !(t.client_bound && is_about_server(metric, t.timing));
        Self {
            findings,
            metric,
            free: rows.iter().copied().filter(is_free).collect(),
            rows,
        }
    }

    /// Whether most of them say nothing of the server, since the client was at its limit.
    pub(crate) fn are_client_bound(&self) -> bool {
        self.free.len() * 2 < self.rows.len()
    }

    /// Whether some of them answered no call.
    pub(crate) fn some_are_silent(&self) -> bool {
        self.silent() > 0
    }

    /// Whether most of them answered no call.
    pub(crate) fn most_are_silent(&self) -> bool {
        self.silent() * 2 > self.rows.len()
    }

    fn silent(&self) -> usize {
        self.rows.iter().filter(|row| row.answered == 0).count()
    }

    /// The level that a change is judged by: without client-bound trials, as inside a run.
    pub(crate) fn level(&self) -> Option<Level> {
        level(self.findings, self.metric, &self.free)
    }

    /// The level of all trials, for a ratio that is shown and not judged.
    pub(crate) fn level_of_all(&self) -> Option<Level> {
        level(self.findings, self.metric, &self.rows)
    }
}

/// The level of a metric over some trials; none where none has a figure above 0.
fn level(findings: &Findings, metric: Metric, rows: &[&TrialRow]) -> Option<Level> {
    let mut invocations: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for row in rows {
        let value = row
            .figures
            .get(metric)
            .filter(|v| v.is_finite() && *v > 0.0);
        if let Some(value) = value {
            invocations.entry(row.invocation).or_default().push(value);
        }
    }
    let values: Vec<Vec<f64>> = invocations.into_values().collect();
    // A level is its own ratio to one unit of the metric.
    let ratios = PairedRatios::from_ratios(&values).ok()?;
    let bootstrap = Bootstrap {
        confidence: findings.study.confidence,
        seed: findings.study.seed,
        ..Bootstrap::default()
    };
    let estimate = compare(&ratios, &bootstrap).ok()?;
    Some(Level {
        log: estimate.log_ratio(),
        limits: estimate.interval().map(|i| [i.low().ln(), i.high().ln()]),
    })
}

/// The ratio of level `a` to level `b`.
#[must_use]
pub fn ratio(a: &Level, b: &Level) -> Ratio {
    let difference = a.log - b.log;
    let interval = a.limits.zip(b.limits).map(|([la, ua], [lb, ub])| {
        let below = (a.log - la).hypot(ub - b.log);
        let above = (ua - a.log).hypot(b.log - lb);
        [(difference - below).exp(), (difference + above).exp()]
    });
    Ratio {
        value: difference.exp(),
        interval,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn limits_add_up_like_independent_errors() {
        let a = Level {
            log: 2.0,
            limits: Some([2.0 - 0.3, 2.0 + 0.3]),
        };
        let b = Level {
            log: 1.0,
            limits: Some([1.0 - 0.4, 1.0 + 0.4]),
        };
        let Ratio { value, interval } = ratio(&a, &b);
        let [low, high] = interval.unwrap();
        assert!((value.ln() - 1.0).abs() < 1e-12);
        assert!((low.ln() - 0.5).abs() < 1e-12 && (high.ln() - 1.5).abs() < 1e-12);
        assert_eq!(
            ratio(
                &a,
                &Level {
                    log: 1.0,
                    limits: None
                }
            )
            .interval,
            None
        );
    }

    proptest! {
        #[test]
        fn swapping_the_runs_inverts_the_ratio(
            a in -5.0..5.0_f64, b in -5.0..5.0_f64,
            da in 0.0..1.0_f64, ua in 0.0..1.0_f64, db in 0.0..1.0_f64, ub in 0.0..1.0_f64,
        ) {
            let a = Level { log: a, limits: Some([a - da, a + ua]) };
            let b = Level { log: b, limits: Some([b - db, b + ub]) };
            let (there, back) = (ratio(&a, &b), ratio(&b, &a));
            let ([low, high], [back_low, back_high]) = (there.interval.unwrap(), back.interval.unwrap());
            prop_assert!((there.value * back.value - 1.0).abs() < 1e-9);
            prop_assert!((low * back_high - 1.0).abs() < 1e-9 && (high * back_low - 1.0).abs() < 1e-9);
            prop_assert!(low <= there.value && there.value <= high);
        }
    }
}
