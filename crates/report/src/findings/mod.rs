//! The findings' own types: what `report.json` holds (docs/report-schema.md).
//!
//! Times are nanoseconds, sizes bytes, shares 0 to 1 (above 1 only where a measured part exceeds
//! its whole by noise), unless a name says otherwise. What could not be measured is absent, never 0.

pub mod capacity;
pub mod caution;
pub mod describe;
mod figures;
mod link;
pub mod objective;
pub mod spikes;
pub mod stacks;
pub mod sweep;
pub mod timeline;
pub mod trial;
pub mod verdict;

#[cfg(test)]
mod tests;

use rpcgauge_study::plan::Limits;
use rpcgauge_study::record::{Environment, Fault};
use rpcgauge_study::run::{RunInfo, Writing};
use rpcgauge_study::settings::{Idle, Placement, Timing};
use serde::Serialize;

pub(crate) use figures::supported;
pub use figures::*;
pub use link::*;

use capacity::CapacityFindings;
use caution::Caution;
use describe::HowItCalls;
use objective::ObjectiveFindings;
use stacks::StackFindings;
use sweep::Sweep;
use trial::TrialRow;
use verdict::{ClaimFindings, Comparison};

/// The version of the findings' schema that this program writes.
pub const SCHEMA: u32 = 1;

/// What a run means.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Findings {
    /// The version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// The run directory's own note, where the findings come from one.
    pub run: Option<RunInfo>,
    /// What was asked.
    pub study: StudyFindings,
    /// How much of the plan is there.
    pub progress: PlanProgress,
    /// The machine and the programs; absent where the run ended before its first record.
    pub environment: Option<Environment>,
    /// What makes these findings weaker than they could be: the machine's state, or a live service's
    /// own figures.
    pub cautions: Vec<Caution>,
    /// What the lab noted of the machine, and what the run directory lacks, one line each.
    pub warnings: Vec<String>,
    /// The verdicts, in the study's order.
    pub comparisons: Vec<Comparison>,
    /// Variants of several sizes, and from which size on their verdicts turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<Sweep>,
    /// The published figures, and what became of them here.
    pub claims: Vec<ClaimFindings>,
    /// What the variants had to reach, and whether they did.
    pub objectives: Vec<ObjectiveFindings>,
    /// The highest rate that holds all objectives, where it was searched for. The variant's figures are
    /// then those of that rate; of the lowest that was tried, where none holds.
    pub capacity: Option<CapacityFindings>,
    /// The servers and the clients of the study beside each other, where it has several.
    pub stacks: Vec<StackFindings>,
    /// What was measured of each variant, in the study's order.
    pub variants: Vec<VariantFindings>,
    /// How many requests each live service was sent; without those whose records do not say so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests_sent: Vec<RequestsSent>,
    /// Trials that could not be measured, in the order they ran.
    pub failures: Vec<FailedTrial>,
    /// One row per measured trial, in the order they ran.
    pub trials: Vec<TrialRow>,
}

/// What was asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StudyFindings {
    /// The study's name.
    pub name: String,
    /// Its question.
    pub question: String,
    /// The seed of every random choice.
    pub seed: u64,
    /// Fresh starts of the subjects.
    pub invocations: u32,
    /// Blocks in each invocation.
    pub blocks: u32,
    /// Where the processes ran; the first is the study's own.
    pub placements: Vec<Placement>,
    /// Whether idle states were to be disabled.
    pub idle: Idle,
    /// A difference whose interval lies from 1/(1 + margin) to 1 + margin is no difference.
    pub margin: f64,
    /// The share of intervals that hold the true value.
    pub confidence: f64,
    /// Bounds of what was decoded, on both sides.
    pub limits: Limits,
}

/// How much of the plan is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlanProgress {
    /// Trials of the plan.
    pub planned: u64,
    /// Trials that were measured.
    pub measured: u64,
    /// Trials that failed.
    pub failed: u64,
    /// Trials that did not run: the run was interrupted, or continues.
    pub missing: u64,
    /// Present where the run continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<Writing>,
    /// When the first trial started, milliseconds since the Unix epoch.
    pub started_at_ms: Option<u64>,
    /// When the last measured trial ended, as far as is known.
    pub ended_at_ms: Option<u64>,
}

impl PlanProgress {
    /// Whether every planned trial was measured.
    pub fn is_complete(&self) -> bool {
        self.measured == self.planned
    }
}

/// One variant, and what was measured of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VariantFindings {
    /// Its name in the study.
    pub name: String,
    /// The part of the study it belongs to.
    pub group: Option<String>,
    /// The variant that this one repeats under a second name (A/A).
    pub repeats: Option<String>,
    /// How it calls.
    pub how: HowItCalls,
    /// What was timed.
    pub timing: Timing,
    /// What was measured, one for each placement it was planned under.
    pub cells: Vec<Cell>,
    /// Why nothing at all was measured of it, if so: one distinct reason a line, of many the first
    /// and how many others there are.
    pub not_run: Vec<String>,
}

/// One variant under one placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cell {
    /// Where client and server ran.
    pub placement: Placement,
    /// What became of its trials.
    pub trials: TrialCounts,
    /// What must be known of its figures.
    pub cautions: Vec<Caution>,
    /// What the measured trials say together.
    pub figures: Option<Box<Figures>>,
    /// Where the time of a call goes; absent without a floor, and with several calls in flight.
    pub parts: Option<Parts>,
}

/// What became of the trials of a cell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrialCounts {
    /// Trials of the plan.
    pub planned: u64,
    /// Trials that were measured.
    pub measured: u64,
    /// Trials that failed.
    pub failed: u64,
    /// Measured trials whose warm-up ended at its limit, before latency had settled.
    pub unsettled: u64,
    /// Measured trials whose client used more than 80% of its core.
    pub client_bound: u64,
    /// Whether more than half of the measured trials are client-bound.
    pub is_client_bound: bool,
    /// Measured trials with responses that came uncompressed although a compression was asked for.
    pub uncompressed: u64,
    /// Measured trials in which attempts to open a connection failed.
    pub connects_failed: u64,
    /// Measured trials with calls that were due but never begun.
    pub never_begun: u64,
    /// Measured trials that the user ended; their figures are those of the part before.
    pub interrupted: u64,
    /// Measured trials that ended since all calls failed for too long.
    pub gave_up: u64,
    /// Measured trials that ended since they had sent all requests that they might.
    #[serde(skip_serializing_if = "caution::is_zero")]
    pub max_requests: u64,
    /// Measured trials over a link that was not held.
    #[serde(skip_serializing_if = "caution::is_zero")]
    pub link_not_held: u64,
}

/// What a live service got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RequestsSent {
    /// The service.
    pub target: String,
    /// All requests that it was sent: the first call of each variant, and those of all trials, measured or
    /// failed, with warm-ups, what slices leave out, and retries. Questions by server reflection are not among them.
    pub requests: u64,
}

/// A trial that could not be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailedTrial {
    /// Its place in the plan.
    pub index: u32,
    /// The variant.
    pub variant: String,
    /// Which fresh start.
    pub invocation: u32,
    /// Which block.
    pub block: u32,
    /// Where it was to run.
    pub placement: Placement,
    /// One line: what, where, and what to do.
    pub reason: String,
    /// Whose fault it was.
    pub fault: Fault,
    /// The last lines of the subject's log.
    pub log: String,
}

impl Findings {
    /// The variant of this name.
    pub fn variant(&self, name: &str) -> Option<&VariantFindings> {
        named(&self.variants, name)
    }

    /// The live services that were called, without those that repeat another.
    pub fn live(&self) -> impl Iterator<Item = &VariantFindings> {
        let all = self.variants.iter();
        all.filter(|variant| variant.is_live() && variant.repeats.is_none())
    }

    /// Whether every objective was reached, or a rate found that does; where a live service had none, whether it answered a
    /// call at all.
    pub fn is_reached(&self) -> bool {
        if let Some(capacity) = &self.capacity {
            return capacity.is_reached();
        }
        if !self.objectives.is_empty() {
            return self.objectives.iter().all(ObjectiveFindings::is_reached);
        }
        self.live().all(|variant| {
            let mut measured = variant.measured();
            measured.any(|(_, figures)| figures.calls.answered > 0)
        })
    }

    /// Whether a variant's figures rest on a trial: of a search only those at the rate that is shown.
    pub fn rest_on(&self, trial: &TrialRow) -> bool {
        let shown = self
            .capacity
            .as_ref()
            .and_then(CapacityFindings::shown_rate);
        shown.is_none() || trial.rate == shown
    }

    /// Whether a variant is shown as a part of other variants' calls alone: a codec that is compared with
    /// nothing.
    pub(crate) fn is_part(&self, variant: &VariantFindings) -> bool {
        let name = &variant.name;
        let compared = self.comparisons.iter().flat_map(|c| [&c.of, &c.against]);
        let claimed = self.claims.iter().flat_map(|c| [&c.of, &c.against]);
        let cells = self.variants.iter().flat_map(|variant| &variant.cells);
        let mut codecs = cells
            .flat_map(|cell| &cell.parts)
            .flat_map(|parts| &parts.codecs);
        codecs.any(|codec| codec == name) && !compared.chain(claimed).any(|other| other == name)
    }

    /// What was measured of a variant under a placement.
    pub fn figures(&self, variant: &str, placement: Placement) -> Option<&Figures> {
        self.variant(variant)?.figures(placement)
    }
}

/// The variant of this name.
pub(crate) fn named<'v>(
    variants: &'v [VariantFindings],
    name: &str,
) -> Option<&'v VariantFindings> {
    variants.iter().find(|variant| variant.name == name)
}

impl VariantFindings {
    /// Whether it is a service that was there before the run.
    pub fn is_live(&self) -> bool {
        self.how.service.is_some()
    }

    /// Its cells that have figures.
    pub(crate) fn measured(&self) -> impl Iterator<Item = (&Cell, &Figures)> {
        let cells = self.cells.iter();
        cells.filter_map(|cell| Some((cell, cell.figures.as_deref()?)))
    }

    /// What was planned and measured under a placement.
    pub fn cell(&self, placement: Placement) -> Option<&Cell> {
        self.cells.iter().find(|c| c.placement == placement)
    }

    /// What was measured under a placement.
    pub(crate) fn figures(&self, placement: Placement) -> Option<&Figures> {
        self.cell(placement)?.figures.as_deref()
    }
}
