//! One row a measured trial: what the CSV holds and what two runs are compared by.

use std::collections::BTreeMap;

use rpcgauge_study::histogram::Unpacked;
use rpcgauge_study::plan::Metric;
use rpcgauge_study::record::{CLIENT_BOUND_SHARE, FloorRecord, Measured, TrialRecord};
use rpcgauge_study::settings::{Idle, Placement, Timing};
use rpcgauge_study::words::Word as _;
use serde::{Serialize, Serializer};

use crate::metric::{self, Kind, Trial, per_call};

/// The figures of one measured trial. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrialRow {
    /// Its place in the plan.
    pub index: u32,
    /// The variant.
    pub variant: String,
    /// Which fresh start.
    pub invocation: u32,
    /// Which block.
    pub block: u32,
    /// Where client and server ran.
    pub placement: Placement,
    /// Whether idle states were in truth held off.
    pub idle: Idle,
    /// What was timed.
    pub timing: Timing,
    /// When it started, milliseconds since the Unix epoch.
    pub started_at_ms: u64,
    /// Calls a second, where a search chose the rate.
    pub rate: Option<f64>,
    /// Measured time.
    pub elapsed_ns: u64,
    /// Whether latency had stopped drifting before measuring began.
    pub settled: bool,
    /// Whether the client used more than 80% of its core.
    pub client_bound: bool,
    /// The share of its core that the client used.
    pub client_share: Option<f64>,
    /// Calls begun.
    pub started: u64,
    /// Calls that succeeded.
    pub answered: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Calls still open at the end.
    pub abandoned: u64,
    /// Bytes of the handler marks a call, which `call_bytes` leaves out; absent without any.
    pub marks_bytes: Option<f64>,
    /// How many of the abandoned ones were due but never begun.
    pub never_begun: u64,
    /// How many of the failed and abandoned ones were never sent.
    pub never_sent: u64,
    /// Calls of the warm-up that failed.
    pub warmup_failed: u64,
    /// Connections open when the measured part began.
    pub connections_at_start: Option<u64>,
    /// Connections opened in the measured part.
    pub connections_opened: Option<u64>,
    /// Attempts to open a connection that failed, those of the warm-up included.
    pub connects_failed: u64,
    /// Responses that came uncompressed although a compression was asked for.
    pub uncompressed_responses: u64,
    /// Failures whose text was not recorded.
    pub errors_without_sample: u64,
    /// Sends of calls beyond their first.
    pub retried: u64,
    /// How many of the answered calls were sent more than once.
    pub answered_after_retry: u64,
    /// Calls that were due and had no body yet.
    pub bodies_late: u64,
    /// How long after they were due calls were sent; absent where none was.
    pub send_delay: Option<SendDelay>,
    /// How long the server's process took to start; absent for a live service and a codec.
    pub server_startup_ns: Option<u64>,
    /// How long the process of a client or codec took to start; absent where the engine calls.
    pub client_startup_ns: Option<u64>,
    /// What two bare loops took beside it for the same bytes; absent where they did not run.
    pub floor: Option<FloorBeside>,
    /// The figures that pairs and claims compare, as far as the trial has them.
    pub figures: TrialFigures,
}

/// What two bare loops took beside one trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FloorBeside {
    /// Their median round trip.
    pub round_trip_ns: f64,
    /// The calling loop's processor time a call.
    pub client_cpu_ns: f64,
}

impl FloorBeside {
    /// Of the records of a trial's own floor.
    pub(crate) fn of(trial: &TrialRecord, floors: &[&FloorRecord]) -> Option<Self> {
        let is_beside = |floor: &&FloorRecord| {
            floor.placement == trial.trial.placement
                && floor.invocation == trial.trial.invocation
                && floor.block == trial.trial.block
                && floor.variants.contains(&trial.variant)
        };
        let beside = || floors.iter().copied().filter(is_beside);
        let medians = beside().map(|floor| floor.latency.unpack());
        let medians = medians.filter(|latency| !latency.is_empty());
        let medians: Vec<f64> = medians.map(|l| l.value_at_quantile(0.5) as f64).collect();
        let client_cpu: Vec<f64> = beside().map(|floor| floor.client_cpu_ns).collect();
        Some(Self {
            round_trip_ns: rpcgauge_stats::median(&medians).ok()?,
            client_cpu_ns: rpcgauge_stats::median(&client_cpu).ok()?,
        })
    }

    /// What of it a metric is compared with, in the metric's sense: a floor's calls a second for
    /// goodput. None of what the machine has no part in.
    pub(crate) fn beside(&self, metric: Metric) -> Option<f64> {
        match metric::row(metric).kind {
            Kind::Goodput => Some(1e9 / self.round_trip_ns),
            Kind::Cpu(_) => Some(self.client_cpu_ns),
            Kind::Bytes(_) => None,
            Kind::Quantile(_) | Kind::Mean { .. } => Some(self.round_trip_ns),
        }
    }
}

/// How long after they were due the calls of one trial were sent, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SendDelay {
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile; absent with fewer than 100 calls.
    pub p99_ns: Option<u64>,
    /// Longest.
    pub max_ns: u64,
}

impl SendDelay {
    fn of(histogram: &Unpacked) -> Option<Self> {
        (!histogram.is_empty()).then(|| Self {
            p50_ns: histogram.value_at_quantile(0.5),
            p99_ns: supported(histogram, 0.99),
            max_ns: histogram.max(),
        })
    }
}

/// The figures of one trial that can be compared, as far as it has them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrialFigures(BTreeMap<Metric, f64>);

impl TrialFigures {
    /// The figure of a metric.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.0.get(&metric).copied()
    }

    fn of(measured: &Measured) -> Self {
        let trial = Trial::of(measured);
        let figures = Metric::all().filter_map(|metric| Some((metric, trial.figure(metric)?)));
        Self(figures.collect())
    }
}

/// A metric's word as a field is named: `latency_p50`.
pub(crate) fn field(metric: Metric) -> String {
    metric.word().replace('-', "_")
}

impl Serialize for TrialFigures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            self.0
                .iter()
                .map(|(metric, figure)| (field(*metric), figure)),
        )
    }
}

impl TrialRow {
    /// The row of a measured trial.
    pub(crate) fn of(
        record: &TrialRecord,
        measured: &Measured,
        floor: Option<FloorBeside>,
    ) -> Self {
        Self {
            index: record.trial.index,
            variant: record.variant.clone(),
            invocation: record.trial.invocation,
            block: record.trial.block,
            placement: record.trial.placement,
            idle: record.idle,
            timing: record.timing,
            started_at_ms: record.started_at_ms,
            rate: record.rate,
            elapsed_ns: measured.elapsed_ns,
            settled: measured.warmup.settled,
            client_bound: measured.client_share > Some(CLIENT_BOUND_SHARE),
            client_share: measured.client_share,
            started: measured.calls.started,
            answered: measured.calls.answered,
            failed: measured.calls.failed_total(),
            abandoned: measured.calls.abandoned,
            marks_bytes: measured
                .bytes
                .and_then(|bytes| bytes_per_call(measured, bytes.received.marks))
                .filter(|b| *b > 0.0),
            never_begun: measured.calls.never_begun,
            never_sent: measured.calls.never_sent,
            warmup_failed: measured.warmup.failed,
            connections_at_start: measured.connections_at_start,
            connections_opened: measured.connections_opened,
            connects_failed: measured.connects_failed,
            uncompressed_responses: measured.uncompressed_responses,
            errors_without_sample: measured.errors_without_sample,
            retried: measured.calls.retried,
            answered_after_retry: measured.calls.answered_after_retry,
            bodies_late: measured.bodies_late,
            send_delay: SendDelay::of(&measured.send_delay.unpack()),
            server_startup_ns: measured.startup.server_ns,
            client_startup_ns: measured.startup.client_ns,
            floor,
            figures: TrialFigures::of(measured),
        }
    }
}

/// Bytes of a trial, divided by the calls that they are of.
fn bytes_per_call(measured: &Measured, bytes: u64) -> Option<f64> {
    per_call(measured.calls_of_bytes(), bytes)
}

/// Successful calls a second.
pub(crate) fn goodput(answered: u64, elapsed_ns: u64) -> Option<f64> {
    (elapsed_ns > 0).then(|| answered as f64 * 1e9 / elapsed_ns as f64)
}

/// A percentile, where at least one value lies beyond it; a median where there is a value.
pub(crate) fn supported(histogram: &Unpacked, quantile: f64) -> Option<u64> {
    // 100 values are enough for the 99th percentile, although 100 × (1 − 0.99) is a little below 1.
    let beyond = histogram.len() as f64 * (1.0 - quantile);
    (beyond > 1.0 - 1e-6 || quantile <= 0.5).then(|| histogram.value_at_quantile(quantile))
}
