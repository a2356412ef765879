//! The highest rate that meets the objectives: the trials, their outcomes, and what limits the rate.

pub use rpcgauge_stats::{Bound as CapacityBound, SearchEnd as CapacityEnd};
use rpcgauge_study::objective::Objective;
use serde::Serialize;

use super::objective::Checked;

/// The highest rate that meets the objectives, and the trials of the search. Rates are in calls per second.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CapacityFindings {
    /// The objectives, all of which must be met.
    pub objectives: Vec<Objective>,
    /// The maximum relative distance between `held` and `missed`: 0.05 for 5%.
    pub precision: f64,
    /// How the search ended.
    pub end: CapacityEnd,
    /// The highest rate that met the objectives; absent if none did.
    pub held: Option<CapacityBound>,
    /// The lowest rate above `held` that missed an objective; absent if there is none.
    pub missed: Option<CapacityBound>,
    /// What limits the rate, if known.
    pub limit: Option<Limit>,
    /// Every trial, in the order they ran.
    pub trials: Vec<CapacityTrial>,
}

/// What limits the rate. Each one blames the service less than those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The service: its responses missed the objectives.
    Service,
    /// The wait before sending: most of the calls' latency passed before they were sent, for a connection or for the
    /// client.
    SendDelay,
    /// The connections: most of the calls' latency passed before they were sent, and every connection was in use.
    Connections,
    /// This machine: most of the calls' latency passed before they were sent, although connections were free.
    SentLate,
    /// The client, which is rpcgauge itself: it used more than 80% of its core.
    ClientCpu,
    /// The maximum rate of the search.
    Ceiling,
}

/// One trial of a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CapacityTrial {
    /// Its index in the plan.
    pub index: u32,
    /// The target rate, calls per second.
    pub rate: f64,
    /// Whether every objective was met.
    pub held: bool,
    /// What was measured for the objectives.
    #[serde(flatten)]
    pub checked: Checked,
    /// What limited the rate, if an objective was missed.
    pub limit: Option<Limit>,
    /// Calls that were due.
    pub started: u64,
    /// How many of the started calls succeeded.
    pub answered: u64,
    /// Calls sent per second.
    pub sent_rate: f64,
    /// Calls that succeeded in time, per second.
    pub goodput: f64,
    /// Median latency, ns.
    pub latency_p50_ns: Option<f64>,
    /// 99th percentile of latency, ns; absent with fewer than 100 calls.
    pub latency_p99_ns: Option<f64>,
    /// 99th percentile of the send delay, ns; absent with fewer than 100 calls.
    pub send_delay_p99_ns: Option<f64>,
    /// The share of its core that the client used.
    pub client_share: Option<f64>,
}

impl CapacityFindings {
    /// Whether a rate met the objectives in enough trials to be sure.
    pub fn is_reached(&self) -> bool {
        self.held.is_some_and(|held| held.is_sure)
    }

    /// The rate whose figures are shown: `held`, or the lowest rate that was tried if none met the objectives.
    pub(crate) fn shown_rate(&self) -> Option<f64> {
        self.held.or(self.missed).map(|bound| bound.rate)
    }
}
