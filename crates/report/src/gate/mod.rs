//! A gate: whether a new version of a service is worse than the old one by more than is allowed.
//!
//! A metric fails if its verdict is "slower" (or more CPU or memory) and its ratio exceeds what is allowed. A ratio that
//! is not resolved does not fail: noise must not stop a release.

mod document;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rpcgauge_study::plan::Metric;
use serde::Serialize;

use crate::document::Document;
use crate::error::ReportError;
use crate::findings::verdict::{Comparison, OverallVerdict, PlacementVerdict};
use crate::findings::{Findings, VariantFindings};
use crate::{json, units};

/// The version of the gate's schema that this program writes.
pub const SCHEMA: u32 = 1;

/// By how much the share of failed calls may increase.
const ALLOWED_FAILURES: f64 = 0.001;
/// The minimum number of additional failures, and of their standard deviations, that is not chance.
const MIN_FAILURES: f64 = 5.0;
const MIN_DEVIATIONS: f64 = 3.0;
/// The smallest margin of "no difference". A study's margin must be more than 0.
const MIN_MARGIN: f64 = 0.001;

/// How much worse the new version may be.
#[derive(Debug, Clone, PartialEq)]
pub struct Allowed {
    /// For each metric, as a share: 0.05 for 5%.
    pub usual: f64,
    /// Exceptions; `None` for a metric that is shown but never fails.
    pub by_metric: BTreeMap<Metric, Option<f64>>,
}

impl Allowed {
    fn of(&self, metric: Metric) -> Option<f64> {
        let own = self.by_metric.get(&metric);
        own.copied().unwrap_or(Some(self.usual))
    }

    /// The margin of "no difference" for a study that is judged by this: the smallest allowance, because no verdict is
    /// "slower" within the margin.
    pub fn margin(&self) -> f64 {
        let own = self.by_metric.values().flatten().copied();
        own.fold(self.usual, f64::min).max(MIN_MARGIN)
    }
}

/// The outcome of a gate, of one of its calls, or of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateVerdict {
    /// Not worse by more than is allowed, as far as this run can tell.
    Passed,
    /// There is no verdict, or the run was interrupted.
    NotJudged,
    /// Worse by more than is allowed.
    Failed,
}

/// The outcome of a gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gate {
    /// The outcome over all calls.
    pub verdict: GateVerdict,
    /// The version of this schema.
    pub schema: u32,
    /// Whether the services were already running, so that it is about these instances only.
    pub running: bool,
    /// The number of starts of each version that were measured.
    pub starts: u64,
    /// Whether the run was interrupted.
    pub interrupted: bool,
    /// The calls.
    pub calls: Vec<GatedCall>,
}

/// One kind of call to both versions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GatedCall {
    /// The outcome over all metrics.
    pub verdict: GateVerdict,
    /// What is called.
    pub called: String,
    /// The variant of the new version.
    pub new: String,
    /// The variant of the old version.
    pub old: String,
    /// The metrics.
    pub metrics: Vec<GatedMetric>,
    /// The calls that failed.
    pub failures: GatedFailures,
    /// Why a version could not be measured in some starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_measured: Vec<String>,
}

/// One metric of both versions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GatedMetric {
    /// Whether it is worse by more than is allowed.
    pub verdict: GateVerdict,
    /// The metric.
    pub metric: Metric,
    /// By how much it may be worse, as a share; absent if it never fails.
    pub allowed: Option<f64>,
    /// The comparison of new with old.
    pub comparison: PlacementVerdict,
}

/// The shares of calls that failed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GatedFailures {
    /// Whether the new version fails more often.
    pub verdict: GateVerdict,
    /// The share of the old version; absent if it was not measured.
    pub old: Option<f64>,
    /// The share of the new version; absent if it was not measured.
    pub new: Option<f64>,
    /// By how much the share may increase.
    pub allowed: f64,
}

impl Gate {
    /// Judges a run: each of its pairs compares the new version (`of`) with the old one (`against`).
    pub fn of(findings: &Findings, allowed: &Allowed) -> Self {
        let asked = findings.comparisons.iter().filter(|one| !one.a_a);
        let pairs = asked.map(|one| ((&*one.of, &*one.against), one));
        let calls = crate::by_key(pairs).into_iter();
        let calls = calls.filter_map(|((new, old), comparisons)| {
            let versions = [findings.variant(new)?, findings.variant(old)?];
            Some(GatedCall::of(findings, versions, &comparisons, allowed))
        });
        let calls: Vec<GatedCall> = calls.collect();
        let interrupted = findings.progress.missing > 0;
        let worst = calls.iter().map(|call| call.verdict).max();
        let metrics = calls.iter().flat_map(|call| &call.metrics);
        let starts = metrics.filter_map(|metric| Some(metric.comparison.estimate?.invocations));
        Self {
            verdict: match worst {
                Some(GateVerdict::Passed) if interrupted => GateVerdict::NotJudged,
                worst => worst.unwrap_or(GateVerdict::NotJudged),
            },
            schema: SCHEMA,
            running: findings.variants.iter().any(VariantFindings::is_running),
            starts: starts.max().unwrap_or(0),
            interrupted,
            calls,
        }
    }

    /// Whether the new version may be released.
    pub fn is_passed(&self) -> bool {
        self.verdict == GateVerdict::Passed
    }

    /// The outcome as a document, with the cautions about the run.
    pub fn document(&self, findings: &Findings) -> Document {
        document::of(self, findings)
    }

    /// The outcome as indented JSON with a final newline.
    ///
    /// # Errors
    /// [`ReportError::Json`] if it cannot be serialized.
    pub fn to_json(&self) -> Result<String, ReportError> {
        json::pretty(self)
    }
}

impl GatedCall {
    fn of(
        findings: &Findings,
        [new, old]: [&VariantFindings; 2],
        comparisons: &[&Comparison],
        allowed: &Allowed,
    ) -> Self {
        let metrics = comparisons.iter().filter_map(|one| {
            let comparison = one.placements.first()?.clone();
            let allowed = allowed.of(one.metric);
            Some(GatedMetric {
                verdict: judge(one.verdict, &comparison, allowed),
                metric: one.metric,
                allowed,
                comparison,
            })
        });
        let metrics: Vec<GatedMetric> = metrics.collect();
        let failures = GatedFailures::of([new, old].map(failed_calls));
        let is_of_this = |name: &str| {
            let variant = findings.variant(name);
            let original = variant.and_then(|variant| variant.repeats.as_deref());
            [new, old]
                .iter()
                .any(|one| one.name == original.unwrap_or(name))
        };
        let failed = findings
            .failures
            .iter()
            .filter(|failure| is_of_this(&failure.variant));
        // The first reason of each, because they differ in numbers.
        let failed = crate::by_key(failed.map(|one| (&one.variant, &one.reason)));
        let not_measured = failed.into_iter().map(|(variant, reasons)| {
            let times = units::counted(reasons.len() as u64, "trial");
            format!("{variant} ({times}): {}", reasons[0])
        });
        let not_measured: Vec<String> = not_measured.collect();
        let worst = metrics.iter().filter(|metric| !metric.has_too_few_calls());
        let worst = worst.map(|metric| metric.verdict).max();
        let worst = match worst.unwrap_or(GateVerdict::NotJudged) {
            GateVerdict::Passed if !not_measured.is_empty() => GateVerdict::NotJudged,
            worst => worst,
        };
        Self {
            verdict: worst.max(failures.verdict),
            called: new.how.called.clone(),
            new: new.name.clone(),
            old: old.name.clone(),
            metrics,
            failures,
            not_measured,
        }
    }
}

fn judge(
    verdict: OverallVerdict,
    comparison: &PlacementVerdict,
    allowed: Option<f64>,
) -> GateVerdict {
    let (Some(allowed), Some(estimate)) = (allowed, &comparison.estimate) else {
        return match allowed {
            None => GateVerdict::Passed,
            Some(_) => GateVerdict::NotJudged,
        };
    };
    match verdict {
        // All metrics of a gate are costs, for which a higher ratio is worse.
        OverallVerdict::Slower if estimate.ratio > 1.0 + allowed => GateVerdict::Failed,
        OverallVerdict::NoVerdict => GateVerdict::NotJudged,
        _ => GateVerdict::Passed,
    }
}

/// A variant's measured calls that failed, and all of them.
fn failed_calls(variant: &VariantFindings) -> [u64; 2] {
    let calls = variant.measured().map(|(_, figures)| &figures.calls);
    calls.fold([0, 0], |[failed, all], calls| {
        let of_it = calls.attributable();
        [failed + of_it - calls.answered.min(of_it), all + of_it]
    })
}

impl GatedMetric {
    /// Whether it is a percentile that had too few calls, which leaves the judgement to the other metrics.
    fn has_too_few_calls(&self) -> bool {
        self.metric == Metric::LatencyP99
            && self.comparison.estimate.is_none()
            && self.comparison.blocks.no_value > 0
    }
}

impl GatedFailures {
    /// Judges the failed calls of the new and of the old version, each with the number of all its calls.
    fn of([new, old]: [[u64; 2]; 2]) -> Self {
        let share = |[failed, all]: [u64; 2]| (all > 0).then(|| failed as f64 / all as f64);
        let scale = new[1] as f64 / old[1].max(1) as f64;
        let more = new[0] as f64 - old[0] as f64 * scale;
        // As for Poisson counts.
        let deviation = (new[0] as f64 + old[0] as f64 * scale * scale).sqrt();
        let is_chance = more < MIN_FAILURES || more < MIN_DEVIATIONS * deviation;
        let (new, old) = (share(new), share(old));
        Self {
            verdict: match (new, old) {
                (Some(new), Some(old)) if new > old + ALLOWED_FAILURES && !is_chance => {
                    GateVerdict::Failed
                }
                (Some(_), Some(_)) => GateVerdict::Passed,
                _ => GateVerdict::NotJudged,
            },
            old,
            new,
            allowed: ALLOWED_FAILURES,
        }
    }
}
