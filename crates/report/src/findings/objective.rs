//! The objectives of a run, and whether they were met.

use rpcgauge_study::objective::Objective;
use serde::Serialize;

/// An objective, checked against one variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ObjectiveFindings {
    /// The variant.
    pub variant: String,
    /// The objective, as it was written.
    pub objective: Objective,
    /// The step of a ramp that decides the outcome, from 0: the first that does not meet the objective, or the one
    /// nearest to missing it. Absent for other schedules.
    pub step: Option<usize>,
    /// The measured figure, in the unit of the objective's bound: ns, a share, calls per second.
    pub figure: Option<f64>,
    /// The share of calls that never succeeded, if the percentile falls on such a call: then `figure` is absent, and
    /// the objective is missed.
    pub unanswered: Option<f64>,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: ObjectiveOutcome,
}

/// The outcome of an objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum ObjectiveOutcome {
    /// The figure meets the objective.
    Reached,
    /// The figure does not meet the objective.
    Missed,
    /// There were too few calls to tell.
    TooFewCalls {
        /// The number of calls.
        calls: u64,
        /// The minimum number needed.
        needed: u64,
    },
}

/// The objectives of a run, checked against one trial of a search or one step of a ramp.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Checked {
    /// The objectives that were met.
    pub met: Vec<MetObjective>,
    /// The objectives that were missed.
    pub missed: Vec<MissedObjective>,
}

/// An objective that was met.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MetObjective {
    /// The objective, as it was written.
    pub objective: Objective,
    /// The measured figure, in the unit of its bound.
    pub figure: f64,
}

/// An objective that was missed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MissedObjective {
    /// The objective, as it was written.
    pub objective: Objective,
    /// The measured figure, in the unit of its bound; absent if too few calls were due, or if the percentile
    /// falls on a call that never succeeded.
    pub figure: Option<f64>,
    /// The share of calls that never succeeded, if that is why `figure` is absent.
    pub unanswered: Option<f64>,
}

impl ObjectiveFindings {
    /// Whether the objective was met; false with too few calls.
    pub fn is_reached(&self) -> bool {
        self.outcome == ObjectiveOutcome::Reached
    }
}
