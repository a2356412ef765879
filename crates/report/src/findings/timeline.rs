//! The consecutive trials of a cell as one timeline of slices, and the spikes in it.

use serde::Serialize;

use super::spikes::SpikeCauses;

/// The timeline of a cell: its trials end to end, in the order they ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimelineFindings {
    /// The bins in order.
    pub bins: Vec<Bin>,
    /// When each trial begins on the time axis of the bins, in the order they ran. A bin spans two trials only if
    /// there are more trials than bins.
    pub trial_starts_ns: Vec<u64>,
    /// The number of spikes in all trials; neighbouring slices are one spike.
    pub spikes_found: u64,
    /// The highest spikes, in order of time.
    pub spikes: Vec<Spike>,
    /// Trials too short to be searched.
    pub trials_not_searched: u64,
    /// The median of the slices' longest calls: half of the slices have a call that took this long or longer.
    /// It shows spikes that occur in most slices, which the search for spikes cannot find.
    pub usual_longest_ns: Option<u64>,
    /// The slow calls by cause; absent unless the study requests it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub causes: Option<SpikeCauses>,
    /// The latency of successful calls over time; absent unless the calls are those of a live service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heat_map: Option<HeatMap>,
}

/// Successful calls by when they were due and how long they took.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HeatMap {
    /// The shortest latency of each row, in ascending order, and then the end of the last row.
    pub rows_ns: Vec<u64>,
    /// The columns in order.
    pub columns: Vec<HeatColumn>,
}

/// The calls that were due in one column of a heat map.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HeatColumn {
    /// When it begins in the measured time of all trials.
    pub start_ns: u64,
    /// Its length.
    pub length_ns: u64,
    /// Median latency, at most 3.2% off, like the other percentiles of a column.
    pub p50_ns: Option<f64>,
    /// 90th percentile.
    pub p90_ns: Option<f64>,
    /// 99th percentile.
    pub p99_ns: Option<f64>,
    /// The number of calls in each row.
    pub counts: Vec<u64>,
}

/// Neighbouring slices, merged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Bin {
    /// When it begins in the measured time of all trials.
    pub start_ns: u64,
    /// Its length.
    pub length_ns: u64,
    /// The part of its length in which calls were due: less than the length at the end of a trial.
    pub due_ns: u64,
    /// Calls that succeeded.
    pub answered: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Mean latency of the successful calls.
    pub mean_ns: Option<f64>,
    /// Maximum latency of the successful calls; 0 without any.
    pub max_ns: u64,
}

/// A moment in which a call took far longer than usual.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Spike {
    /// The trial's place in the plan.
    pub trial: u32,
    /// When it began in the measured time of all trials.
    pub start_ns: u64,
    /// When it began, from the trial's first measured call.
    pub offset_ns: u64,
    /// When it began on the wall clock, milliseconds since the Unix epoch, for comparison with the subject's log. It
    /// may be early by the time that the trial took to prepare and to open its connections, which is not recorded.
    pub at_ms: u64,
    /// Its length, in whole slices.
    pub length_ns: u64,
    /// The latency of its longest call.
    pub max_ns: u64,
    /// `max_ns` divided by the median of the slices' longest calls.
    pub factor: f64,
}
