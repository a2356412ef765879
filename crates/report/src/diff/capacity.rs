//! What the searches for capacity of two runs came to, side by side.
//!
//! Nothing is judged: a bracket is no interval, and its trials are few.

use rpcgauge_study::objective::Objective;
use serde::{Deserialize, Serialize};

use crate::findings::Findings;
use crate::findings::capacity::{CapacityBound, CapacityFindings};
use crate::words;

/// The capacities of two runs, of which one at least was searched for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityChange {
    /// The first run's; absent where it searched for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<CapacityOutcome>,
    /// The second run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<CapacityOutcome>,
}

/// What a search came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CapacityOutcome {
    /// What had to hold.
    pub objectives: Vec<Objective>,
    /// The highest rate that held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<CapacityBound>,
    /// The lowest rate above it that did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<CapacityBound>,
    /// All of it in words.
    pub sentence: String,
}

/// The capacities of two runs; none where neither was searched for.
pub(super) fn capacity(before: &Findings, after: &Findings) -> Option<CapacityChange> {
    let [before, after] = [before, after].map(|run| run.capacity.as_ref().map(outcome));
    (before.is_some() || after.is_some()).then_some(CapacityChange { before, after })
}

fn outcome(found: &CapacityFindings) -> CapacityOutcome {
    CapacityOutcome {
        objectives: found.objectives.clone(),
        held: found.held,
        missed: found.missed,
        sentence: words::capacity::sentences(found).join(" "),
    }
}
