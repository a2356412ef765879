//! What a run had to reach, and whether it did.

use rpcgauge_study::objective::Objective;
use serde::Serialize;

/// An objective, compared with one variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ObjectiveFindings {
    /// The variant.
    pub variant: String,
    /// The objective, as it was written.
    pub objective: Objective,
    /// The step of a ramp that decides it, from 0: the first that does not reach it, or the one that
    /// came nearest to that. Absent for other schedules.
    pub step: Option<usize>,
    /// What was measured, in the unit of the objective's bound: ns, a share, calls per second.
    pub figure: Option<f64>,
    /// The share of the calls that never succeeded, where the latency asked for is that of one of
    /// them: there is no figure then, and it is missed.
    pub unanswered: Option<f64>,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: ObjectiveOutcome,
}

/// What became of an objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum ObjectiveOutcome {
    /// The figure holds it.
    Reached,
    /// The figure does not.
    Missed,
    /// There were too few calls to tell.
    TooFewCalls {
        /// How many there were.
        calls: u64,
        /// How many would have been enough.
        needed: u64,
    },
}

impl ObjectiveFindings {
    /// Whether it was reached: too few calls have not shown that it was.
    pub fn is_reached(&self) -> bool {
        self.outcome == ObjectiveOutcome::Reached
    }
}
