//! Two runs against each other.
//!
//! Blocks of different runs are not pairs: the machine may have been in another mood. So each side
//! gets the hierarchical bootstrap interval of its own level, over invocations, then blocks, and
//! the ratio's interval is put together from the two ([`unpaired`]). It covers what varied within
//! each run, not what changed between them; the floors of both runs are set side by side to show
//! how much that was.

mod capacity;
mod changes;
mod objectives;
mod render;
pub mod unpaired;

#[cfg(test)]
mod tests;

use rpcgauge_stats::Better;
use rpcgauge_study::plan::Metric;
use rpcgauge_study::settings::Placement;
use serde::{Deserialize, Serialize};

pub use capacity::{CapacityChange, CapacityOutcome};
pub use changes::{EnvironmentChange, FloorChange, SettingsChange, VerdictChange};
pub use objectives::ObjectiveChange;
pub use render::render;

use crate::error::ReportError;
use crate::findings::{Findings, METRICS, VariantFindings, better};
use crate::marks;
use unpaired::{Ratio, Trials};

/// The version of the differences' schema that this program writes.
pub const SCHEMA: u32 = 1;

/// What differs between two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diff {
    /// The version of this schema.
    pub schema: u32,
    /// The run that is compared with.
    pub before: RunLabel,
    /// The run that is judged.
    pub after: RunLabel,
    /// The margin of "no difference": the larger of both runs'.
    pub margin: f64,
    /// Every metric of every variant and placement that both runs have.
    pub metrics: Vec<MetricChange>,
    /// What must be known of those figures: client-bound trials, drift, failed calls and the like.
    #[serde(default)]
    pub marks: Vec<MarkedCell>,
    /// The highest rates that hold all objectives, where a run searched for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityChange>,
    /// What the runs had to reach, and whether they did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<ObjectiveChange>,
    /// How the floors stand to each other: what changed on the machine.
    pub floors: Vec<FloorChange>,
    /// Verdicts that are not the same any more.
    pub verdicts: Vec<VerdictChange>,
    /// Verdicts that are the same.
    pub verdicts_unchanged: u64,
    /// What differs between the machines and programs.
    pub environment: Vec<EnvironmentChange>,
    /// Variants of the same name that call in different ways.
    pub settings: Vec<SettingsChange>,
    /// Variants that only the first run has.
    pub only_before: Vec<String>,
    /// Variants that only the second run has.
    pub only_after: Vec<String>,
}

/// Which run this is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLabel {
    /// The study's name.
    pub study: String,
    /// When its first trial started, milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_ms: Option<u64>,
    /// Trials that were measured.
    pub measured: u64,
    /// Trials of its plan.
    pub planned: u64,
}

/// One metric of one variant in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricChange {
    /// The variant.
    pub variant: String,
    /// Where client and server ran.
    pub placement: Placement,
    /// What is compared.
    pub metric: Metric,
    /// The first run's figure.
    pub before: f64,
    /// The second run's figure.
    pub after: f64,
    /// After over before: of the runs' levels, the median over blocks; of the figures themselves for the
    /// goodput of runs in which a trial answered no call.
    pub ratio: f64,
    /// Its interval; absent where a run has fewer than two invocations, where it is not judged, and for
    /// the goodput of runs in which a trial answered no call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// What it comes to.
    pub outcome: Change,
}

/// What a change comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Better after than before.
    Better,
    /// Worse.
    Worse,
    /// The whole interval lies inside the margin.
    NoDifference,
    /// The two runs do not decide it.
    NotResolved,
    /// Under load, the client was at its limit in most trials of a run: nothing is said of the
    /// server.
    ClientBound,
}

/// What must be known of a variant's figures in two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkedCell {
    /// The variant.
    pub variant: String,
    /// Where client and server ran.
    pub placement: Placement,
    /// The first run's marks, each with its trials: `client-bound 12/12`; empty without any.
    pub before: String,
    /// The second run's.
    pub after: String,
}

/// Compares two runs, variant by variant.
#[must_use]
pub fn compare(before: &Findings, after: &Findings) -> Diff {
    let margin = before.study.margin.max(after.study.margin);
    let (verdicts, verdicts_unchanged) = changes::verdicts(before, after);
    Diff {
        schema: SCHEMA,
        before: RunLabel::of(before),
        after: RunLabel::of(after),
        margin,
        metrics: metrics(before, after, margin),
        marks: marked(before, after),
        capacity: capacity::capacity(before, after),
        objectives: objectives::objectives(before, after),
        floors: changes::floors(before, after),
        verdicts,
        verdicts_unchanged,
        environment: changes::environment(before, after),
        settings: changes::settings(before, after),
        only_before: only_in(before, after),
        only_after: only_in(after, before),
    }
}

/// The metrics that make a call slower, or a service carry fewer.
const SPEED: [Metric; 4] = [
    Metric::LatencyP50,
    Metric::LatencyMean,
    Metric::LatencyP99,
    Metric::Goodput,
];

/// Whether two runs have a variant of the same name.
#[must_use]
pub fn share_a_variant(before: &Findings, after: &Findings) -> bool {
    common(before, after).next().is_some()
}

impl Diff {
    /// Whether any latency or goodput could be judged: it has an interval in both runs, or nothing is
    /// answered any more.
    #[must_use]
    pub fn judges_speed(&self) -> bool {
        let is_judged =
            |change: &MetricChange| change.interval.is_some() || change.outcome == Change::Worse;
        self.speed().any(is_judged)
    }

    /// The latencies and goodputs that are worse by more than the two runs can tell.
    pub fn slower(&self) -> impl Iterator<Item = &MetricChange> {
        self.speed()
            .filter(|change| change.outcome == Change::Worse)
    }

    fn speed(&self) -> impl Iterator<Item = &MetricChange> {
        let all = self.metrics.iter();
        all.filter(|change| SPEED.contains(&change.metric))
    }

    /// The differences as JSON, indented, with a line end.
    ///
    /// # Errors
    /// [`ReportError::Json`].
    pub fn to_json(&self) -> Result<String, ReportError> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

impl RunLabel {
    fn of(findings: &Findings) -> Self {
        Self {
            study: findings.study.name.clone(),
            started_at_ms: findings.progress.started_at_ms,
            measured: findings.progress.measured,
            planned: findings.progress.planned,
        }
    }
}

fn only_in(here: &Findings, there: &Findings) -> Vec<String> {
    let missing = here
        .variants
        .iter()
        .filter(|v| there.variant(&v.name).is_none());
    missing.map(|v| v.name.clone()).collect()
}

/// The variants that both runs have, in the first one's order.
fn common<'a>(
    before: &'a Findings,
    after: &'a Findings,
) -> impl Iterator<Item = (&'a VariantFindings, &'a VariantFindings)> {
    before
        .variants
        .iter()
        .filter_map(|v| Some((v, after.variant(&v.name)?)))
}

/// The cells of both runs that have marks in one of them.
fn marked(before: &Findings, after: &Findings) -> Vec<MarkedCell> {
    let cells = common(before, after).flat_map(|(old, new)| {
        let cells = old.cells.iter();
        cells.filter_map(move |cell| Some((old, cell, new.cell(cell.placement)?)))
    });
    let cells = cells.map(|(variant, old, new)| MarkedCell {
        variant: variant.name.clone(),
        placement: old.placement,
        before: marks::names(old),
        after: marks::names(new),
    });
    cells
        .filter(|cell| !(cell.before.is_empty() && cell.after.is_empty()))
        .collect()
}

fn metrics(before: &Findings, after: &Findings, margin: f64) -> Vec<MetricChange> {
    let mut metrics = Vec::new();
    for (old, new) in common(before, after) {
        for cell in &old.cells {
            let placement = cell.placement;
            let figures = (
                cell.figures.as_deref(),
                new.cell(placement).and_then(|c| c.figures.as_deref()),
            );
            let (Some(old_figures), Some(new_figures)) = figures else {
                continue;
            };
            for metric in METRICS {
                let values = (old_figures.metric(metric), new_figures.metric(metric));
                let (Some(was), Some(is)) = values else {
                    continue;
                };
                let trials = [before, after].map(|f| Trials::of(f, &old.name, placement, metric));
                let Some((ratio, outcome)) = judged(&trials, metric, is / was, margin) else {
                    continue;
                };
                metrics.push(MetricChange {
                    variant: old.name.clone(),
                    placement,
                    metric,
                    before: was,
                    after: is,
                    ratio: ratio.value,
                    interval: ratio.interval,
                    outcome,
                });
            }
        }
    }
    metrics
}

/// The ratio of the second run's trials to the first one's, and what it comes to; none where a run
/// has no figure. Where most trials of a run are client-bound the ratio is that of all of them,
/// and not judged. A trial in which nothing was answered has a goodput of 0, which has no logarithm:
/// the ratio is that of the runs' figures then. A service that mostly does not answer any more is
/// worse, and nothing is said where it answers in some trials.
fn judged(
    trials: &[Trials<'_>; 2],
    metric: Metric,
    of_figures: f64,
    margin: f64,
) -> Option<(Ratio, Change)> {
    let [before, after] = trials;
    if metric == Metric::Goodput && (before.some_are_silent() || after.some_are_silent()) {
        let ratio = Ratio {
            value: of_figures,
            interval: None,
        };
        let change = match after.most_are_silent() && !before.most_are_silent() {
            true => Change::Worse,
            false => Change::NotResolved,
        };
        return of_figures.is_finite().then_some((ratio, change));
    }
    if before.are_client_bound() || after.are_client_bound() {
        let all = unpaired::ratio(&after.level_of_all()?, &before.level_of_all()?);
        let ratio = Ratio {
            interval: None,
            ..all
        };
        return Some((ratio, Change::ClientBound));
    }
    let ratio = unpaired::ratio(&after.level()?, &before.level()?);
    Some((ratio, outcome(&ratio, metric, margin)))
}

fn outcome(ratio: &Ratio, metric: Metric, margin: f64) -> Change {
    let Some([low, high]) = ratio.interval else {
        return Change::NotResolved;
    };
    let reach = 1.0 + margin;
    if low >= 1.0 / reach && high <= reach {
        Change::NoDifference
    } else if low <= 1.0 && 1.0 <= high {
        Change::NotResolved
    } else if (high < 1.0) == (better(metric) == Better::Lower) {
        Change::Better
    } else {
        Change::Worse
    }
}
