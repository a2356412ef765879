//! Compares two runs.
//!
//! The speed of the machine changes between two runs. Therefore a figure is not compared with its earlier value
//! directly, but relative to two bases that each run measured at the same time: the floor, and the variant that the
//! figure's variant is compared with ([`Base`]). A figure is better or worse if both bases show a change that exceeds
//! the differences of the runs' A/A pairs, with simultaneous intervals ([`rpcgauge_stats::judge_changes`]). Live
//! services have no floor, so only the variant that a figure's variant is compared with is a base.

mod changes;
pub(crate) mod document;
mod judge;
mod shared;

#[cfg(test)]
mod tests;

use rpcgauge_study::plan::Metric;
use rpcgauge_study::settings::Placement;
use serde::Serialize;

pub(crate) use changes::differences;
pub use changes::{Difference, FloorChange, SettingsChange, VerdictChange};
pub(crate) use judge::came_to;
pub use shared::Base;

use crate::document::Document;
use crate::error::ReportError;
use crate::findings::capacity::CapacityFindings;
use crate::findings::caution::Caution;
use crate::findings::objective::ObjectiveFindings;
use crate::findings::{Findings, VariantFindings};
use crate::json;

/// The version of the differences' schema that this program writes.
pub const SCHEMA: u32 = 2;

/// The differences between two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diff {
    /// The version of this schema.
    pub schema: u32,
    /// The first run, which is the baseline.
    pub before: RunLabel,
    /// The second run, which is judged.
    pub after: RunLabel,
    /// The margin of "no difference": the larger margin of the two runs.
    pub margin: f64,
    /// The confidence level: the share of diffs of unchanged code that report no change.
    pub confidence: f64,
    /// Every metric of every variant and placement that both runs have.
    pub metrics: Vec<MetricChange>,
    /// Cautions about these figures: client-bound or unsettled trials, failed calls and the like.
    pub cautions: Vec<CautionsChange>,
    /// The highest rates that meet all objectives, if a run searched for one.
    pub capacity: Option<BeforeAfter<CapacityFindings>>,
    /// The objectives of the runs, and whether they were met.
    pub objectives: Vec<BeforeAfter<ObjectiveFindings>>,
    /// The changes of the floors, which show how the machine's speed changed.
    pub floors: Vec<FloorChange>,
    /// The verdicts that changed.
    pub verdicts: Vec<VerdictChange>,
    /// The number of verdicts that did not change.
    pub verdicts_unchanged: u64,
    /// The differences between the machines and programs.
    pub environment: Vec<Difference>,
    /// Variants of the same name whose settings differ.
    pub settings: Vec<SettingsChange>,
    /// Variants that only the first run has.
    pub only_before: Vec<String>,
    /// Variants that only the second run has.
    pub only_after: Vec<String>,
}

/// Identifies a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunLabel {
    /// The study's name.
    pub study: String,
    /// When its first trial started, milliseconds since the Unix epoch.
    pub started_at_ms: Option<u64>,
    /// The number of measured trials.
    pub measured: u64,
    /// The number of trials in its plan.
    pub planned: u64,
}

/// A finding of two runs that is not judged. At least one run has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BeforeAfter<T> {
    /// The finding of the first run; absent if it has none.
    pub before: Option<T>,
    /// The finding of the second run; absent if it has none.
    pub after: Option<T>,
}

impl<T> BeforeAfter<T> {
    fn of([before, after]: [Option<T>; 2]) -> Option<Self> {
        (before.is_some() || after.is_some()).then_some(Self { before, after })
    }
}

/// One metric of one variant in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricChange {
    /// The variant.
    pub variant: String,
    /// Where client and server ran.
    pub placement: Placement,
    /// The metric.
    pub metric: Metric,
    /// The first run's figure.
    pub before: f64,
    /// The second run's figure.
    pub after: f64,
    /// The ratio of these two figures, after over before. It depends on both machines' speeds. It is judged only for
    /// the goodput of a service on which most calls now fail.
    pub ratio: f64,
    /// The ratios that are judged: after over before, relative to each shared base. Empty if the runs do not share
    /// all bases, or if nothing is judged.
    pub shifts: Vec<Shift>,
    /// Whether dynamic code encoded and decoded the messages in either run.
    pub dynamic_code: bool,
    /// The outcome.
    pub outcome: Change,
}

/// The change of a figure's ratio to a base that both runs share: after over before.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shift {
    /// The base.
    #[serde(flatten)]
    pub base: Base,
    /// The ratio of the ratios.
    pub ratio: f64,
    /// The interval of `ratio`; absent if a run has fewer than two invocations.
    pub interval: Option<[f64; 2]>,
}

/// The outcome of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Better after than before.
    Better,
    /// Worse after than before.
    Worse,
    /// The whole interval of each shift lies inside the margin.
    NoDifference,
    /// The two runs are inconclusive.
    NotResolved,
    /// The runs do not share all bases: a floor (except of live services), a paired variant that calls in the same way,
    /// and an A/A pair. Or send delay decides the latency of a live service.
    NoBase,
    /// The runs have different shares of unsuccessful calls, and counting these calls could change the verdict.
    Unanswered,
    /// Most trials of a run were unfit, most of them because the client was at its limit under load: they show nothing
    /// about the server.
    ClientBound,
    /// Most trials of a run were unfit, most of them because the link was not held.
    LinkNotHeld,
}

/// The cautions about a variant's figures in two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CautionsChange {
    /// The variant.
    pub variant: String,
    /// Where client and server ran.
    pub placement: Placement,
    /// The first run's cautions.
    pub before: Vec<Caution>,
    /// The second run's cautions.
    pub after: Vec<Caution>,
}

/// Compares two runs, variant by variant.
pub fn compare(before: &Findings, after: &Findings) -> Diff {
    let margin = before.study.margin.max(after.study.margin);
    let (verdicts, verdicts_unchanged) = changes::verdicts(before, after);
    Diff {
        schema: SCHEMA,
        before: RunLabel::of(before),
        after: RunLabel::of(after),
        margin,
        confidence: before.study.confidence,
        metrics: judge::metrics(before, after, margin),
        cautions: cautions(before, after),
        capacity: BeforeAfter::of([before, after].map(|run| run.capacity.clone())),
        objectives: changes::objectives(before, after),
        floors: changes::floors(before, after),
        verdicts,
        verdicts_unchanged,
        environment: changes::environment(before, after),
        settings: changes::settings(before, after),
        only_before: only_in(before, after),
        only_after: only_in(after, before),
    }
}

/// The metrics of speed: latency and goodput.
const SPEED: [Metric; 4] = [
    Metric::LatencyP50,
    Metric::LatencyMean,
    Metric::LatencyP99,
    Metric::Goodput,
];

/// Whether two runs have a variant of the same name.
pub fn share_a_variant(before: &Findings, after: &Findings) -> bool {
    common(before, after).next().is_some()
}

impl Diff {
    /// Whether any latency or goodput could be judged: it has an interval for each shared base, or most calls now
    /// fail.
    pub fn judges_speed(&self) -> bool {
        let has_intervals = |change: &MetricChange| {
            let shifts = &change.shifts;
            !shifts.is_empty() && shifts.iter().all(|shift| shift.interval.is_some())
        };
        self.speed()
            .any(|change| has_intervals(change) || change.outcome == Change::Worse)
    }

    /// The latencies and goodputs that are worse by more than noise.
    pub fn slower(&self) -> impl Iterator<Item = &MetricChange> {
        self.speed()
            .filter(|change| change.outcome == Change::Worse)
    }

    fn speed(&self) -> impl Iterator<Item = &MetricChange> {
        let all = self.metrics.iter();
        all.filter(|change| SPEED.contains(&change.metric))
    }

    /// The report of the differences.
    pub fn document(&self) -> Document {
        Document::of_diff(self)
    }

    /// The differences as indented JSON with a final newline.
    ///
    /// # Errors
    /// [`ReportError::Json`] if they cannot be serialized.
    pub fn to_json(&self) -> Result<String, ReportError> {
        json::pretty(self)
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
    let names = here.variants.iter().map(|variant| &variant.name);
    let missing = names.filter(|name| there.variant(name).is_none());
    missing.cloned().collect()
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

/// The cautions of both runs, for each cell that has one in either.
fn cautions(before: &Findings, after: &Findings) -> Vec<CautionsChange> {
    let cells = common(before, after).flat_map(|(old, new)| {
        let cells = old.cells.iter();
        cells.filter_map(move |cell| Some((old, cell, new.cell(cell.placement)?)))
    });
    let cells = cells.map(|(variant, old, new)| CautionsChange {
        variant: variant.name.clone(),
        placement: old.placement,
        before: old.cautions.clone(),
        after: new.cautions.clone(),
    });
    cells
        .filter(|cell| !(cell.before.is_empty() && cell.after.is_empty()))
        .collect()
}
