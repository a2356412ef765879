//! One row a measured trial: what the CSV holds and what two runs are compared by.

use rpcgauge_study::histogram::Unpacked;
use rpcgauge_study::plan::Metric;
use rpcgauge_study::record::{
    CLIENT_BOUND_SHARE, FloorRecord, Histogram, Measured, Stage, TrialRecord,
};
use rpcgauge_study::settings::{Idle, Placement, Timing};
use serde::{Deserialize, Serialize};

/// Every metric, in the order in which columns hold them.
pub const METRICS: [Metric; 11] = [
    Metric::LatencyP50,
    Metric::LatencyMean,
    Metric::LatencyP99,
    Metric::RequestTime,
    Metric::ResponseTime,
    Metric::DecodeTime,
    Metric::Goodput,
    Metric::ResponseBytes,
    Metric::CallBytes,
    Metric::ClientCpu,
    Metric::ServerCpu,
];

/// The figures of one measured trial. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Measured time.
    pub elapsed_ns: u64,
    /// Whether latency had stopped drifting before measuring began.
    pub settled: bool,
    /// Whether the client used more than 80% of its core.
    pub client_bound: bool,
    /// The share of its core that the client used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks_bytes: Option<f64>,
    /// How many of the abandoned ones were due but never begun.
    #[serde(default)]
    pub never_begun: u64,
    /// How many of the failed and abandoned ones were never sent.
    #[serde(default)]
    pub never_sent: u64,
    /// Calls of the warm-up that failed.
    #[serde(default)]
    pub warmup_failed: u64,
    /// Connections open when the measured part began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections_at_start: Option<u64>,
    /// Connections opened in the measured part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections_opened: Option<u64>,
    /// Attempts to open a connection that failed, those of the warm-up included.
    #[serde(default)]
    pub connects_failed: u64,
    /// Answers that came uncompressed although a compression was asked for.
    #[serde(default)]
    pub uncompressed_answers: u64,
    /// Failures whose text was not recorded.
    #[serde(default)]
    pub errors_without_sample: u64,
    /// Sends of calls beyond their first.
    #[serde(default)]
    pub retried: u64,
    /// How many of the answered calls were sent more than once.
    #[serde(default)]
    pub answered_after_retry: u64,
    /// Calls that were due and had no body yet.
    #[serde(default)]
    pub bodies_late: u64,
    /// How long after they were due calls were sent; absent where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_delay: Option<SendDelay>,
    /// What two bare loops took beside it for the same bytes; absent where they did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<FloorBeside>,
    /// The figures that pairs and claims compare, as far as the trial has them.
    pub figures: TrialFigures,
}

/// What two bare loops took beside one trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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

    /// What of it a metric is held against, in the metric's sense: a floor's calls a second for
    /// goodput. None of what the machine has no part in.
    pub(crate) fn beside(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Goodput => Some(1e9 / self.round_trip_ns),
            Metric::ClientCpu | Metric::ServerCpu => Some(self.client_cpu_ns),
            _ if is_counted(metric) => None,
            _ => Some(self.round_trip_ns),
        }
    }
}

/// Whether a metric is counted, and no matter of the machine.
pub(crate) fn is_counted(metric: Metric) -> bool {
    matches!(metric, Metric::ResponseBytes | Metric::CallBytes)
}

/// How long after they were due the calls of one trial were sent, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendDelay {
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile; absent with fewer than 100 calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

/// The figures of one trial that can be compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrialFigures {
    /// Median latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_p50: Option<f64>,
    /// Mean latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_mean: Option<f64>,
    /// 99th percentile of latency; absent with fewer than 100 calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_p99: Option<f64>,
    /// Mean request time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_time: Option<f64>,
    /// Mean response time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_time: Option<f64>,
    /// Mean time to decode the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decode_time: Option<f64>,
    /// Successful calls a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput: Option<f64>,
    /// Bytes of the answer's body, as carried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_bytes: Option<f64>,
    /// All bytes of a call but the handler marks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_bytes: Option<f64>,
    /// CPU of the client a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cpu: Option<f64>,
    /// CPU of the server a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpu: Option<f64>,
}

impl TrialFigures {
    /// The figure of a metric.
    #[must_use]
    pub fn get(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::LatencyP50 => self.latency_p50,
            Metric::LatencyMean => self.latency_mean,
            Metric::LatencyP99 => self.latency_p99,
            Metric::RequestTime => self.request_time,
            Metric::ResponseTime => self.response_time,
            Metric::DecodeTime => self.decode_time,
            Metric::Goodput => self.goodput,
            Metric::ResponseBytes => self.response_bytes,
            Metric::CallBytes => self.call_bytes,
            Metric::ClientCpu => self.client_cpu,
            Metric::ServerCpu => self.server_cpu,
        }
    }

    fn of(measured: &Measured) -> Self {
        let latency = Some(measured.latency.unpack()).filter(|h| !h.is_empty());
        let latency = latency.as_ref();
        let stage = |stage| {
            let unpacked = measured.stages.get(&stage).map(Histogram::unpack);
            unpacked.filter(|h| !h.is_empty()).map(|h| h.mean())
        };
        let per_call = |amount| per_call(measured.carried_calls(), amount);
        Self {
            latency_p50: latency.map(|h| h.value_at_quantile(0.5) as f64),
            latency_mean: latency.map(|h| h.mean()),
            latency_p99: latency.and_then(|h| supported(h, 0.99)).map(|ns| ns as f64),
            request_time: stage(Stage::RequestTime),
            response_time: stage(Stage::ResponseTime),
            decode_time: stage(Stage::Decode),
            goodput: goodput(measured.calls.answered, measured.elapsed_ns),
            response_bytes: measured
                .payload
                .response_compressed
                .filter(|_| measured.calls.answered > 0),
            call_bytes: measured.bytes.and_then(|bytes| {
                let both = bytes.sent.of_call();
                bytes_per_call(measured, both.saturating_add(bytes.received.of_call()))
            }),
            client_cpu: measured.cpu.client.and_then(|cpu| per_call(cpu.total_ns)),
            server_cpu: measured.cpu.server.and_then(|cpu| per_call(cpu.total_ns)),
        }
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
            failed: failed_total(measured),
            abandoned: measured.calls.abandoned,
            marks_bytes: measured
                .bytes
                .and_then(|bytes| bytes_per_call(measured, bytes.received.marks))
                .filter(|b| *b > 0.0),
            never_begun: measured.calls.never_begun,
            never_sent: measured.calls.unsent(),
            warmup_failed: measured.warmup.failed,
            connections_at_start: measured.connections_at_start,
            connections_opened: measured.connections_opened,
            connects_failed: measured.connects_failed,
            uncompressed_answers: measured.uncompressed_answers,
            errors_without_sample: measured.errors_without_sample,
            retried: measured.calls.retried,
            answered_after_retry: measured.calls.answered_after_retry,
            bodies_late: measured.bodies_late,
            send_delay: SendDelay::of(&measured.send_delay.unpack()),
            floor,
            figures: TrialFigures::of(measured),
        }
    }
}

/// Bytes of a trial, divided by the calls that they are of.
fn bytes_per_call(measured: &Measured, bytes: u64) -> Option<f64> {
    per_call(measured.calls_of_bytes(), bytes)
}

/// A trial's sum divided by the calls that it is of.
fn per_call(calls: u64, amount: u64) -> Option<f64> {
    (calls > 0).then(|| amount as f64 / calls as f64)
}

/// Successful calls a second.
pub(crate) fn goodput(answered: u64, elapsed_ns: u64) -> Option<f64> {
    (elapsed_ns > 0).then(|| answered as f64 * 1e9 / elapsed_ns as f64)
}

/// A percentile, where at least one value lies beyond it.
pub(crate) fn supported(histogram: &Unpacked, quantile: f64) -> Option<u64> {
    // 100 values are enough for the 99th percentile, although 100 × (1 − 0.99) is a little below 1.
    let beyond = histogram.len() as f64 * (1.0 - quantile);
    (beyond > 1.0 - 1e-6).then(|| histogram.value_at_quantile(quantile))
}

fn failed_total(measured: &Measured) -> u64 {
    measured
        .calls
        .failed
        .values()
        .fold(0, |sum, n| sum.saturating_add(*n))
}
