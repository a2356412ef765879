//! One row per measured trial, for the CSV file and for comparisons of two runs.

use std::collections::BTreeMap;

use rpcgauge_study::plan::Metric;
use rpcgauge_study::record::LinkCounts;
use rpcgauge_study::settings::{Idle, Placement, Timing};
use rpcgauge_study::words::Named as _;
use serde::{Serialize, Serializer};

/// The figures of one measured trial. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrialRow {
    /// Its index in the plan.
    pub index: u32,
    /// The variant.
    pub variant: String,
    /// The invocation (fresh start), from 0.
    pub invocation: u32,
    /// The block within the invocation, from 0.
    pub block: u32,
    /// Where client and server ran.
    pub placement: Placement,
    /// Whether idle states were actually disabled.
    pub idle: Idle,
    /// How its calls were timed: stage by stage or under load.
    pub timing: Timing,
    /// When it started, milliseconds since the Unix epoch.
    pub started_at_ms: u64,
    /// The rate, calls per second, if a search chose it.
    pub rate: Option<f64>,
    /// Measured time.
    pub elapsed_ns: u64,
    /// Whether latency had settled when the measured part began.
    pub settled: bool,
    /// Whether the client used more than 80% of its core.
    pub client_bound: bool,
    /// Whether it used a link that was not held.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub link_not_held: bool,
    /// The counts of its link; absent on loopback.
    #[serde(skip)]
    pub link: Option<LinkCounts>,
    /// The share of its core that the client used.
    pub client_share: Option<f64>,
    /// Calls that were due.
    pub started: u64,
    /// Calls that succeeded.
    pub answered: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Calls still open at the end.
    pub abandoned: u64,
    /// Bytes of the handler marks per call, which `call_bytes` leaves out; absent without marks.
    pub marks_bytes: Option<f64>,
    /// How many of the abandoned calls were due but never begun.
    pub never_begun: u64,
    /// How many of the failed and abandoned calls were never sent.
    pub never_sent: u64,
    /// Calls of the warm-up that failed.
    pub warmup_failed: u64,
    /// Connections open when the measured part began.
    pub connections_at_start: Option<u64>,
    /// Connections opened in the measured part.
    pub connections_opened: Option<u64>,
    /// Failed attempts to open a connection, including those of the warm-up.
    pub connects_failed: u64,
    /// Responses that were uncompressed although compression was requested.
    pub uncompressed_responses: u64,
    /// Failures whose text was not recorded.
    pub errors_without_sample: u64,
    /// Retries of calls.
    pub retried: u64,
    /// How many of the successful calls were sent more than once.
    pub answered_after_retry: u64,
    /// Calls that started late because their body was not built in time.
    pub bodies_late: u64,
    /// The time from when calls were due until they were sent; absent if no call was sent.
    pub send_delay: Option<SendDelay>,
    /// How long the server's process took to start; absent for a live service and a codec.
    pub server_startup_ns: Option<u64>,
    /// How long the process of a client or codec took to start; absent if the engine makes the calls.
    pub client_startup_ns: Option<u64>,
    /// The floor in the trial's block; absent if it was not measured.
    pub floor: Option<FloorBeside>,
    /// The figures that pairs and claims compare, as far as they were measured.
    pub figures: RowFigures,
}

/// Why a trial is unfit for a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The client was at its limit.
    ClientBound,
    /// The link did not meet its settings.
    LinkNotHeld,
}

/// The floor in the block of one trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FloorBeside {
    /// The median round trip of the bare loops.
    pub round_trip_ns: f64,
    /// The calling loop's CPU time per call; absent over a link.
    pub client_cpu_ns: Option<f64>,
}

/// The time from when the calls of one trial were due until they were sent, ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SendDelay {
    /// Median.
    pub p50_ns: f64,
    /// 99th percentile; absent with fewer than 100 calls.
    pub p99_ns: Option<f64>,
    /// Maximum.
    pub max_ns: f64,
}

/// The figures of one trial that can be compared, as far as they were measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowFigures(pub(crate) BTreeMap<Metric, f64>);

impl RowFigures {
    /// The figure of a metric.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.0.get(&metric).copied()
    }
}

/// The name of a metric's field: `latency_p50`.
pub(crate) fn field(metric: Metric) -> String {
    metric.as_str().replace('-', "_")
}

impl Serialize for RowFigures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            self.0
                .iter()
                .map(|(metric, figure)| (field(*metric), figure)),
        )
    }
}
