//! A gate: whether a new version of a service is worse than the old one by more than is allowed.
//!
//! A metric fails if its verdict is "slower" (or more bytes, CPU or memory) and its ratio exceeds what is allowed. A
//! ratio that is not resolved does not fail: noise must not stop a release.

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
use crate::json;

/// The version of the gate's schema that this program writes.
pub const SCHEMA: u32 = 1;

/// By how much the share of failed calls may increase.
const ALLOWED_FAILURES: f64 = 0.001;

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
}

/// The outcome of a gate, of one of its calls, or of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateVerdict {
    /// Not worse by more than is allowed, as far as this run can tell.
    Passed,
    /// There is no figure to judge, or the run was interrupted.
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
    /// The number of fresh starts of each version; 0 if the services were already running.
    pub starts: u32,
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
    /// The share of the old version.
    pub old: f64,
    /// The share of the new version.
    pub new: f64,
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
        let is_whole = findings.progress.missing == 0 && !calls.is_empty();
        let worst = calls.iter().map(|call| call.verdict).max();
        let is_running = findings.variants.iter().any(VariantFindings::is_running);
        Self {
            verdict: match worst {
                Some(GateVerdict::Passed) if !is_whole => GateVerdict::NotJudged,
                worst => worst.unwrap_or(GateVerdict::NotJudged),
            },
            schema: SCHEMA,
            starts: if is_running {
                0
            } else {
                findings.study.invocations
            },
            calls,
        }
    }

    /// Whether the new version may be released.
    pub fn is_passed(&self) -> bool {
        self.verdict == GateVerdict::Passed
    }

    /// The outcome as a document.
    pub fn document(&self) -> Document {
        document::of(self)
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
        let failures = GatedFailures::of([new, old].map(failed_share));
        let failed = findings.failures.iter().filter(|failure| {
            let name = &failure.variant;
            [new, old].iter().any(|one| one.name == *name)
        });
        let not_measured = failed.map(|failure| format!("{}: {}", failure.variant, failure.reason));
        let not_measured = crate::distinct(not_measured);
        let of_metrics = metrics.iter().map(|metric| metric.verdict);
        // A metric without figures, such as a p99 of few calls, leaves the judgement to the others.
        let is_judged = of_metrics.clone().any(|one| one != GateVerdict::NotJudged);
        let worst = if of_metrics.clone().any(|one| one == GateVerdict::Failed) {
            GateVerdict::Failed
        } else if is_judged && not_measured.is_empty() {
            GateVerdict::Passed
        } else {
            GateVerdict::NotJudged
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

/// The share of a variant's measured calls that failed.
fn failed_share(variant: &VariantFindings) -> f64 {
    let calls = variant.measured().map(|(_, figures)| &figures.calls);
    let (failed, all) = calls.fold((0, 0), |(failed, all), calls| {
        let all_of_it = calls.attributable();
        (failed + all_of_it - calls.answered, all + all_of_it)
    });
    if all == 0 {
        0.0
    } else {
        failed as f64 / all as f64
    }
}

impl GatedFailures {
    fn of([new, old]: [f64; 2]) -> Self {
        Self {
            verdict: if new > old + ALLOWED_FAILURES {
                GateVerdict::Failed
            } else {
                GateVerdict::Passed
            },
            old,
            new,
            allowed: ALLOWED_FAILURES,
        }
    }
}
