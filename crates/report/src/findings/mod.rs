//! The types of the findings, which are the content of `report.json` (docs/report-schema.md).
//!
//! Times are in nanoseconds, sizes in bytes, and shares from 0 to 1 (above 1 only if a measured part exceeds
//! its whole by noise), unless a name indicates otherwise. A figure that could not be measured is absent, never 0.

pub mod capacity;
pub mod caution;
pub mod decision;
pub mod describe;
mod figures;
mod link;
pub mod map;
pub mod network;
pub mod objective;
pub mod processes;
pub mod spikes;
pub mod stacks;
pub mod sweep;
pub mod timeline;
pub mod trial;
pub mod verdict;
pub mod workers;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use rpcgauge_study::features::Role;
use rpcgauge_study::plan::Limits;
use rpcgauge_study::record::{Environment, Fault};
use rpcgauge_study::run::{RunInfo, Writing};
use rpcgauge_study::settings::{Idle, Placement, Timing};
use serde::Serialize;

pub use figures::*;
pub(crate) use figures::{is_supported, supported};
pub use link::*;

use capacity::CapacityFindings;
use caution::Caution;
use decision::Decision;
use describe::HowItCalls;
use objective::ObjectiveFindings;
use processes::ProcessFindings;
use stacks::StackFindings;
use sweep::Sweep;
use trial::TrialRow;
use verdict::{ClaimFindings, Comparison, RampComparison};
use workers::WorkerFindings;

/// The version of the findings' schema that this program writes.
pub const SCHEMA: u32 = 1;

/// The findings of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Findings {
    /// The version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: u32,
    /// The version, study, seed and kind of the run; absent unless the findings come from a run directory.
    pub run: Option<RunInfo>,
    /// The study.
    pub study: StudyFindings,
    /// How much of the plan was carried out.
    pub progress: PlanProgress,
    /// The machine and the programs; absent if the run ended before its first record.
    pub environment: Option<Environment>,
    /// Cautions about the whole run: about the machine's state, or a live service.
    pub cautions: Vec<Caution>,
    /// Warnings about the machine and about missing parts of the run directory, one line each.
    pub warnings: Vec<String>,
    /// What to use, for each set of variants that make the same calls in different ways.
    pub decisions: Vec<Decision>,
    /// The verdicts, in the study's order.
    pub comparisons: Vec<Comparison>,
    /// The verdicts on latency during a ramp, step by step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ramps: Vec<RampComparison>,
    /// Variants that differ in message size, and the sizes at which the better one changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<Sweep>,
    /// The published figures, and whether this run reproduces them.
    pub claims: Vec<ClaimFindings>,
    /// The objectives, and whether the variants met them.
    pub objectives: Vec<ObjectiveFindings>,
    /// The highest rate that meets all objectives, if there was a search for it. The variant's figures are then those
    /// at this rate, or at the lowest rate that was tried if none meets them.
    pub capacity: Option<CapacityFindings>,
    /// The costs of the study's servers and of its clients, if it compares several stacks.
    pub stacks: Vec<StackFindings>,
    /// The processes that several variants share.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessFindings>,
    /// The variants and their figures, in the study's order.
    pub variants: Vec<VariantFindings>,
    /// The workers of a cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerFindings>,
    /// The number of requests sent to each live service, except services whose records lack this number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests_sent: Vec<RequestsSent>,
    /// Trials that could not be measured, in the order they ran.
    pub failures: Vec<FailedTrial>,
    /// One row per measured trial, in the order they ran.
    pub trials: Vec<TrialRow>,
}

/// The study: its question, design and settings.
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
    /// The confidence level of the intervals: 0.95 for 95%.
    pub confidence: f64,
    /// The decoding limits of both sides.
    pub limits: Limits,
    /// By variant name: why a variant that should share processes has its own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub own_processes: BTreeMap<String, String>,
}

/// How much of the plan was carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlanProgress {
    /// Trials of the plan.
    pub planned: u64,
    /// Trials that were measured.
    pub measured: u64,
    /// Trials that failed.
    pub failed: u64,
    /// Trials that did not run: the run was interrupted or is still running.
    pub missing: u64,
    /// The process that is writing the run; absent once the run has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<Writing>,
    /// When the first trial started, milliseconds since the Unix epoch.
    pub started_at_ms: Option<u64>,
    /// When the last measured trial ended, milliseconds since the Unix epoch.
    pub ended_at_ms: Option<u64>,
}

impl PlanProgress {
    /// Whether every planned trial was measured.
    pub fn is_complete(&self) -> bool {
        self.measured == self.planned
    }
}

/// One variant and its figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VariantFindings {
    /// Its name in the study.
    pub name: String,
    /// The group of the study that it belongs to.
    pub group: Option<String>,
    /// The variant that this one repeats as its A/A control; absent if it is not a control.
    pub repeats: Option<String>,
    /// How it calls.
    pub how: HowItCalls,
    /// How its calls were timed: stage by stage or under load.
    pub timing: Timing,
    /// Its trials and figures, with one cell for each placement that it was planned under.
    pub cells: Vec<Cell>,
    /// The distinct reasons why none of its trials was measured: the first ones, and the number of the others. Empty
    /// if a trial was measured.
    pub not_run: Vec<String>,
}

/// One variant under one placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cell {
    /// Where client and server ran.
    pub placement: Placement,
    /// Its trials by outcome.
    pub trials: TrialCounts,
    /// Cautions about its figures.
    pub cautions: Vec<Caution>,
    /// The merged figures of all measured trials.
    pub figures: Option<Box<Figures>>,
    /// Where the time of a call goes; absent without a floor, and with several calls in flight.
    pub parts: Option<Parts>,
}

/// The trials of a cell by outcome.
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
    /// Measured trials with responses that were uncompressed although compression was requested.
    pub uncompressed: u64,
    /// Measured trials in which attempts to open a connection failed.
    pub connects_failed: u64,
    /// Measured trials with calls that were due but never begun.
    pub never_begun: u64,
    /// Measured trials that the user interrupted; their figures cover the part before that.
    pub interrupted: u64,
    /// Measured trials that ended early because all calls failed for too long.
    pub gave_up: u64,
    /// Measured trials that ended early because they had sent all requests that `max-requests` allows.
    #[serde(skip_serializing_if = "caution::is_zero")]
    pub max_requests: u64,
    /// Measured trials over a link that was not held.
    #[serde(skip_serializing_if = "caution::is_zero")]
    pub link_not_held: u64,
}

/// The number of requests sent to a live service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RequestsSent {
    /// The service.
    pub target: String,
    /// All requests: the first call of each variant, and the requests of all trials, measured or failed, including
    /// warm-ups, calls that slices leave out, and retries. Server reflection requests are not included.
    pub requests: u64,
}

/// A trial that could not be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailedTrial {
    /// Its index in the plan.
    pub index: u32,
    /// The variant.
    pub variant: String,
    /// The invocation (fresh start), from 0.
    pub invocation: u32,
    /// The block within the invocation, from 0.
    pub block: u32,
    /// Where it was to run.
    pub placement: Placement,
    /// One line: what, where, and what to do.
    pub reason: String,
    /// What caused the failure.
    pub fault: Fault,
    /// The last lines of the subject's log.
    pub log: String,
}

impl Findings {
    /// The variant of this name.
    pub fn variant(&self, name: &str) -> Option<&VariantFindings> {
        named(&self.variants, name)
    }

    /// The live services that were called, without controls.
    pub fn live(&self) -> impl Iterator<Item = &VariantFindings> {
        let all = self.variants.iter();
        all.filter(|variant| variant.is_live() && variant.repeats.is_none())
    }

    /// Whether every objective was met, or a search found a rate that meets them all. Without objectives, whether
    /// each live service answered at least one call.
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

    /// Whether a variant's figures include a trial. In a search, they include only trials at the rate that is shown.
    pub fn rest_on(&self, trial: &TrialRow) -> bool {
        let shown = self
            .capacity
            .as_ref()
            .and_then(CapacityFindings::shown_rate);
        shown.is_none() || trial.rate == shown
    }

    /// Whether a variant is shown only as a part of other variants' calls: a codec that no comparison or claim
    /// names.
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

    /// The roles in which a variant shares a process with another one; with any other, if `None`.
    pub(crate) fn shared_roles(&self, variant: &str, other: Option<&str>) -> BTreeSet<Role> {
        let has =
            |process: &ProcessFindings, name: &str| process.variants.iter().any(|v| v == name);
        let processes = self.processes.iter();
        let shared =
            processes.filter(|one| has(one, variant) && other.is_none_or(|other| has(one, other)));
        shared.map(|process| process.role).collect()
    }

    /// The figures of a variant under a placement.
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
    /// Whether it calls a user's service.
    pub fn is_live(&self) -> bool {
        self.how.service.is_some()
    }

    /// Whether it calls a service that was already running.
    pub(crate) fn is_running(&self) -> bool {
        let service = self.how.service.as_ref();
        service.is_some_and(|service| service.command.is_none())
    }

    /// Its cells that have figures.
    pub(crate) fn measured(&self) -> impl Iterator<Item = (&Cell, &Figures)> {
        let cells = self.cells.iter();
        cells.filter_map(|cell| Some((cell, cell.figures.as_deref()?)))
    }

    /// Its cell under a placement.
    pub fn cell(&self, placement: Placement) -> Option<&Cell> {
        self.cells.iter().find(|c| c.placement == placement)
    }

    /// Its figures under a placement.
    pub(crate) fn figures(&self, placement: Placement) -> Option<&Figures> {
        self.cell(placement)?.figures.as_deref()
    }
}
