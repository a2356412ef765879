//! The highest rate that holds the objectives: what was tried, what came of it, and what stood in the way.

pub use rpcgauge_stats::{Bound as CapacityBound, SearchEnd as CapacityEnd};
use rpcgauge_study::objective::Objective;
use serde::Serialize;

/// The highest rate that holds the objectives, with what it rests on. Rates are in calls per second.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CapacityFindings {
    /// What had to hold, all of it.
    pub objectives: Vec<Objective>,
    /// How much higher than the rate that holds the one that does not may be: 0.05 for 5%.
    pub precision: f64,
    /// How the search ended.
    pub end: CapacityEnd,
    /// The highest rate that held; absent where none did.
    pub held: Option<CapacityBound>,
    /// The lowest rate above it that did not; absent where none was tried.
    pub missed: Option<CapacityBound>,
    /// What stood in the way of a higher rate, as far as it is known.
    pub limit: Option<Limit>,
    /// Every trial, in the order they ran.
    pub trials: Vec<CapacityTrial>,
}

/// What stood in the way of a higher rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The service: its responses did not hold the objectives.
    Service,
    /// This program: it used more than 80% of its core.
    ClientCpu,
    /// The calls' way out: most of their latency was over before they were sent.
    SendDelay,
    /// The highest rate that was to be tried.
    Ceiling,
}

/// One trial of a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CapacityTrial {
    /// Its place in the plan.
    pub index: u32,
    /// Calls per second that were asked for.
    pub rate: f64,
    /// Whether every objective held.
    pub held: bool,
    /// The objectives that were missed, with the measured values.
    pub missed: Vec<MissedObjective>,
    /// What limited the rate, if an objective was missed.
    pub limit: Option<Limit>,
    /// Calls that were due.
    pub started: u64,
    /// How many of them succeeded.
    pub answered: u64,
    /// Calls sent per second.
    pub sent_rate: f64,
    /// Calls that succeeded, per second.
    pub goodput: f64,
    /// Median latency, ns.
    pub latency_p50_ns: Option<f64>,
    /// 99th percentile of latency, ns; absent with fewer than 100 calls.
    pub latency_p99_ns: Option<f64>,
    /// 99th percentile of how late calls were sent, ns; absent with fewer than 100 calls.
    pub send_delay_p99_ns: Option<f64>,
    /// The share of its core that the client used.
    pub client_share: Option<f64>,
}

/// An objective that did not hold.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MissedObjective {
    /// The objective, as it was written.
    pub objective: Objective,
    /// What was measured, in the unit of its bound; absent where too few calls were due to tell, and where
    /// the latency asked for is that of a call that never succeeded.
    pub figure: Option<f64>,
    /// The share of the calls that never succeeded, where that is so.
    pub unanswered: Option<f64>,
}

impl CapacityFindings {
    /// Whether a rate held, in enough trials to rely on.
    pub fn is_reached(&self) -> bool {
        self.held.is_some_and(|held| held.is_sure)
    }

    /// The rate whose figures are shown: the one that held, else the lowest that was tried.
    pub(crate) fn shown_rate(&self) -> Option<f64> {
        self.held.or(self.missed).map(|bound| bound.rate)
    }
}
