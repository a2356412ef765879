//! Compares two runs of one application.
//!
//! An application has no floor, and another build of it changes all its variants. Therefore a variant's figures in both
//! runs are shown side by side, but not judged. Only the ratio of each pair is judged, since its variants were measured
//! in the same blocks: whether the ratio changed beyond the A/A pairs of both runs, with simultaneous intervals. The
//! judgment does not tell whether the application or the machine caused the change.

mod document;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rpcgauge_stats::{self as stats, InRuns, VerdictRule, judge_changes};
use rpcgauge_study::app::{AppMetric, AppPlan, AppRun};
use serde::Serialize;

use super::evaluate::{About, Blocks};
use super::findings::{AppComparison, AppFindings, AppVariantFindings};
use super::{better, document::machine};
use crate::diff::{Base, Change, Difference, RunLabel, SCHEMA, SettingsChange, Shift};
use crate::diff::{came_to, differences};
use crate::document::Document;
use crate::error::ReportError;
use crate::findings::verdict::{Outcome, Withheld};
use crate::json;

/// The differences between two runs of an application.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AppDiff {
    /// The version of this schema.
    pub schema: u32,
    /// The first run, which is the baseline.
    pub before: RunLabel,
    /// The second run, which is judged.
    pub after: RunLabel,
    /// The margin of "no difference": the larger margin of the two runs.
    pub margin: f64,
    /// The confidence level: of the diffs without a change of the application or the machine, the share that report
    /// no change.
    pub confidence: f64,
    /// The change of the ratio of each pair that both runs have.
    pub gains: Vec<GainChange>,
    /// Every metric of every variant that both runs have, as measured.
    pub figures: Vec<FigureChange>,
    /// The differences in how both runs were measured, by the names of the plan.
    pub plan: Vec<Difference>,
    /// The differences between the machines, the builds and the load generators.
    pub environment: Vec<Difference>,
    /// Variants of the same name whose settings differ.
    pub settings: Vec<SettingsChange>,
    /// Variants that only the first run has.
    pub only_before: Vec<String>,
    /// Variants that only the second run has.
    pub only_after: Vec<String>,
    /// The first run.
    #[serde(skip)]
    run: AppFindings,
}

/// A pair in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GainChange {
    /// The first run's comparison.
    pub before: AppComparison,
    /// The second run's comparison.
    pub after: AppComparison,
    /// The ratio of the two runs' ratios, after over before; absent if it is not judged.
    pub shift: Option<Shift>,
    /// The outcome.
    pub outcome: Change,
}

/// A figure of a variant in both runs. It depends on both machines' speeds, and is not judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FigureChange {
    /// The variant.
    pub variant: String,
    /// The metric.
    pub metric: AppMetric,
    /// The request; `None` for all requests together.
    pub request: Option<String>,
    /// The first run's figure.
    pub before: f64,
    /// The second run's figure.
    pub after: f64,
    /// The ratio of the two figures, after over before.
    pub ratio: f64,
}

impl AppDiff {
    /// Compares two runs.
    pub fn of(before: &AppRun, after: &AppRun) -> Self {
        let runs = [before, after];
        let (blocks, findings) = (runs.map(Blocks::of_run), runs.map(AppFindings::from_run));
        let plans = runs.map(|run| &run.plan);
        let margin = plans[0].margin.max(plans[1].margin);
        let [old, new] = &findings;
        let common = || common(old, new);
        let settings = common().map(|(old, new)| SettingsChange {
            variant: old.name.clone(),
            differences: differences(&old.configuration.0, &new.configuration.0),
        });
        let environments = [old, new].map(|run| machine(run).into_iter().collect());
        Self {
            schema: SCHEMA,
            before: label(old),
            after: label(new),
            margin,
            confidence: plans[0].confidence,
            gains: gains(&blocks, [old, new], margin),
            figures: common()
                .filter(|(old, _)| old.repeats.is_none())
                .flat_map(|(variant, _)| figures(&blocks, plans, &variant.name))
                .collect(),
            plan: differences(&terms(plans[0]), &terms(plans[1])),
            environment: differences(&environments[0], &environments[1]),
            settings: settings
                .filter(|change| !change.differences.is_empty())
                .collect(),
            only_before: only_in(old, new),
            only_after: only_in(new, old),
            run: old.clone(),
        }
    }

    /// Whether both runs measured a variant of the same name.
    pub fn has_figures(&self) -> bool {
        !self.figures.is_empty()
    }

    /// The differences as indented JSON with a final newline.
    ///
    /// # Errors
    /// [`ReportError::Json`] if they cannot be serialized.
    pub fn to_json(&self) -> Result<String, ReportError> {
        json::pretty(self)
    }

    /// The report of the differences.
    pub fn document(&self) -> Document {
        Document::of_app_diff(self)
    }
}

fn label(findings: &AppFindings) -> RunLabel {
    RunLabel {
        study: findings.plan.name.clone(),
        started_at_ms: findings.starts.first().map(|start| start.ready_at_ms),
        measured: findings.measured,
        planned: findings.plan.slices() as u64,
    }
}

/// The variants that both runs have, in the first one's order.
fn common<'a>(
    before: &'a AppFindings,
    after: &'a AppFindings,
) -> impl Iterator<Item = (&'a AppVariantFindings, &'a AppVariantFindings)> {
    let named = |name: &str| after.variants.iter().find(|variant| variant.name == name);
    let all = before.variants.iter();
    all.filter_map(move |variant| Some((variant, named(&variant.name)?)))
}

fn only_in(here: &AppFindings, there: &AppFindings) -> Vec<String> {
    let is_there = |name: &&String| there.variants.iter().any(|other| other.name == **name);
    let names = here.variants.iter().map(|variant| &variant.name);
    names.filter(|name| !is_there(name)).cloned().collect()
}

/// How a run measures, by the names of its plan, including the sources of its metrics.
fn terms(plan: &AppPlan) -> BTreeMap<String, String> {
    /// Fields that are not about how a run measures, or are compared elsewhere.
    const NOT_TERMS: [&str; 11] = [
        "name",
        "question",
        "seed",
        "app",
        "description",
        "folder",
        "variants",
        "blocks",
        "metrics",
        "pairs",
        "claims",
    ];
    let plan_json = serde_json::to_value(plan).unwrap_or_default();
    let all = plan_json.as_object().into_iter().flatten();
    let terms = all.filter(|(name, _)| !NOT_TERMS.contains(&name.as_str()));
    let terms = terms.map(|(name, value)| (name.clone(), value.to_string()));
    let metrics = plan.metrics.iter().map(|one| {
        let labels = serde_json::to_string(&one.labels).unwrap_or_default();
        let of = format!("{} of {} with {labels}", one.metric, one.service);
        (format!("the metric {}", one.name), of)
    });
    terms.chain(metrics).collect()
}

/// A gain, with both runs' ratios and A/A pairs if it can be judged.
type Open = (GainChange, Option<(InRuns, [stats::Estimate; 2])>);

fn gains(
    blocks: &[Blocks<'_>; 2],
    [before, after]: [&AppFindings; 2],
    margin: f64,
) -> Vec<GainChange> {
    let is_same = |old: &AppComparison, new: &AppComparison| {
        (&old.of, &old.against, &old.metric, &old.request)
            == (&new.of, &new.against, &new.metric, &new.request)
    };
    let pairs = before.comparisons.iter().filter(|old| !old.a_a);
    let pairs = pairs.filter_map(|old| {
        let mut others = after.comparisons.iter();
        Some((old, others.find(|new| is_same(old, new))?))
    });
    let open: Vec<Open> = pairs
        .filter_map(|(old, new)| gain(blocks, [before, after], old, new))
        .collect();
    let comparisons = open.iter().filter(|(_, held)| held.is_some()).count();
    let judged = open.into_iter().map(|(mut gain, held)| {
        if let Some((ratios, a_a)) = held {
            let rule = VerdictRule {
                better: better(&before.plan, &gain.before.metric),
                margin,
            };
            let shift = ratios.change(comparisons);
            gain.outcome = came_to(judge_changes(&[shift], &a_a, None, &rule));
            gain.shift = Some(Shift {
                base: Base::Variant {
                    name: gain.before.against.clone(),
                },
                ratio: shift.ratio(),
                interval: shift.ends(),
            });
        }
        gain
    });
    judged.collect()
}

/// A pair in both runs; `None` if either run has no ratio of it.
fn gain(
    blocks: &[Blocks<'_>; 2],
    runs: [&AppFindings; 2],
    old: &AppComparison,
    new: &AppComparison,
) -> Option<Open> {
    let about: About<'_> = (&old.metric, old.request.as_deref());
    let ratio = |blocks: &Blocks<'_>| blocks.ratio(&old.of, &old.against, about);
    let ratios = InRuns {
        before: ratio(&blocks[0])?,
        after: ratio(&blocks[1])?,
    };
    let a_a = || Some([blocks[0].a_a(about)?, blocks[1].a_a(about)?]);
    let withheld = [old, new]
        .into_iter()
        .find_map(|one| match one.verdict.outcome {
            Outcome::NoVerdict { reason } => Some(reason),
            _ => None,
        });
    let configuration = |run: &AppFindings| {
        let mut variants = run.variants.iter();
        let found = variants.find(|variant| variant.name == old.against);
        found.map(|variant| variant.configuration.clone())
    };
    let is_same = configuration(runs[0]) == configuration(runs[1]);
    let held = a_a().filter(|_| withheld.is_none() && is_same);
    let gain = GainChange {
        before: old.clone(),
        after: new.clone(),
        shift: None,
        outcome: match withheld {
            Some(Withheld::ClientBound) => Change::ClientBound,
            Some(Withheld::Unanswered) => Change::Unanswered,
            _ => Change::NoBase,
        },
    };
    Some((gain, held.map(|a_a| (ratios, a_a))))
}

/// All figures of a variant that both runs have.
fn figures(
    blocks: &[Blocks<'_>; 2],
    [before, after]: [&AppPlan; 2],
    variant: &str,
) -> Vec<FigureChange> {
    let has = |metric: &AppMetric| AppMetric::all(&after.metrics).contains(metric);
    let named = blocks[0].requests.intersection(&blocks[1].requests);
    let requests: Vec<Option<&str>> = std::iter::once(None)
        .chain(named.copied().map(Some))
        .collect();
    let mut all = Vec::new();
    for metric in AppMetric::all(&before.metrics).into_iter().filter(has) {
        let of = if metric.is_of_request() {
            &requests
        } else {
            &requests[..1]
        };
        for request in of {
            let value = |blocks: &Blocks<'_>| blocks.value(blocks.of(variant), (&metric, *request));
            if let (Some(before), Some(after)) = (value(&blocks[0]), value(&blocks[1])) {
                all.push(FigureChange {
                    variant: variant.to_owned(),
                    metric: metric.clone(),
                    request: request.map(str::to_owned),
                    before,
                    after,
                    ratio: after / before,
                });
            }
        }
    }
    all
}
