//! The trials of a cell one after the other in slices, and the spikes among them.

use serde::Serialize;

use super::spikes::SpikeCauses;

/// The trials of a cell one after the other, in the order they ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimelineFindings {
    /// The bins in order.
    pub bins: Vec<Bin>,
    /// Where in the bins each trial begins, in the order they ran; bins span two trials only where
    /// there are more trials than bins.
    pub trial_starts_ns: Vec<u64>,
    /// How many slices of all trials are spikes, neighbours counted once.
    pub spikes_found: u64,
    /// The highest of them, in the order they came.
    pub spikes: Vec<Spike>,
    /// Trials too short to be searched.
    pub trials_not_searched: u64,
    /// The median of the longest calls of all slices: in half of them a call took so long. Spikes in most
    /// slices stand out from none, and show here.
    pub usual_longest_ns: Option<u64>,
    /// The slow calls by what explains them; none where the study does not ask for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub causes: Option<SpikeCauses>,
}

/// Some neighbouring slices together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Bin {
    /// When it begins, counted over the measured time of all trials so far.
    pub start_ns: u64,
    /// How long it is.
    pub length_ns: u64,
    /// Calls that succeeded.
    pub answered: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Mean latency of those that succeeded.
    pub mean_ns: Option<f64>,
    /// The longest of them.
    pub max_ns: u64,
}

/// A moment in which a call took far longer than usual.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Spike {
    /// The trial's place in the plan.
    pub trial: u32,
    /// When it began, counted over the measured time of all trials so far.
    pub start_ns: u64,
    /// When it began, counted from the trial's first measured call.
    pub offset_ns: u64,
    /// The same moment on the wall clock, milliseconds since the Unix epoch, to be put beside the
    /// subject's log. It may be early by what the trial took to prepare and open its connections,
    /// which no record holds.
    pub at_ms: u64,
    /// How long it lasted, in whole slices.
    pub length_ns: u64,
    /// The longest call in it.
    pub max_ns: u64,
    /// That call over the median of the slices' longest calls.
    pub factor: f64,
}
