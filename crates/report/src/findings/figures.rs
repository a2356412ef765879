//! The figures of a cell's measured trials together.
//!
//! Times are nanoseconds, sizes bytes, shares 0 to 1 (above 1 only if a measured part exceeds
//! its whole by noise). What could not be measured is absent, never 0.

use rpcgauge_study::histogram::Times;
use rpcgauge_study::record::{
    Calls, CodeKind, Cold, ErrorSample, Histogram, Memory, Payload, Stage, Threads,
};
use rpcgauge_study::settings::Idle;
use serde::Serialize;

use super::link::LinkFindings;
use super::timeline::TimelineFindings;

/// The figures of all measured trials of a cell together.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Figures {
    /// The calls by outcome.
    pub calls: Calls,
    /// At a rate: calls that were due in the warm-up but not yet sent when the measured part began.
    pub unsent_at_start: u64,
    /// Calls at the starts of slices, which are in no other count.
    pub left_out: u64,
    /// How many of those failed.
    pub left_out_failed: u64,
    /// Whether `memory`, `threads` and the time to start are those of a process that other variants share.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared_process: bool,
    /// Measured time of all trials together.
    pub elapsed_ns: u64,
    /// Whether idle states were actually disabled; two values if trials differ.
    pub idle: Vec<Idle>,
    /// The emulated link that calls went over; absent for loopback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkFindings>,
    /// Successful calls per second, over the measured time.
    pub goodput: f64,
    /// Latency of calls that succeeded.
    pub latency: Option<Distribution>,
    /// Latency of calls that failed.
    pub failed_latency: Option<Distribution>,
    /// The send delay: the time from when calls were due until they were sent.
    pub send_delay: Option<Distribution>,
    /// The client's stages in order, then the spans that overlap them.
    pub stages: Vec<StageFindings>,
    /// The part of the mean call that no stage accounts for.
    pub between_stages_ns: Option<f64>,
    /// The floor: the round trip that no client could beat on this machine.
    pub floor: Option<Floor>,
    /// Bytes per call on the connections.
    pub bytes: Option<BytesPerCall>,
    /// Sizes of the encoded messages.
    pub payload: Payload,
    /// CPU time per call; absent over a link, whose thread does part of the receiver's work.
    pub cpu: CpuPerCall,
    /// The peak resident memory: the maximum over trials.
    pub memory: Memory,
    /// The number of threads at the end of a trial: the maximum over trials.
    pub threads: Threads,
    /// The first calls after a start: medians over fresh starts. Absent if they were not timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cold: Option<Cold>,
    /// The share of its core that the client used: the median over trials.
    pub client_share: Option<f64>,
    /// The maximum of that share over trials.
    pub client_share_max: Option<f64>,
    /// Whether generated or dynamic code encoded and decoded the messages.
    pub code: Vec<CodeKind>,
    /// Connections opened in the measured parts, per call.
    pub connections_per_call: Option<f64>,
    /// Connections of all trials.
    pub connections: Connections,
    /// Responses that came uncompressed although a compression was asked for.
    pub uncompressed_responses: u64,
    /// Calls that began late because the client had not made their body in time.
    pub bodies_late: u64,
    /// Calls in flight; absent without a closed loop, or if they were not recorded.
    pub in_flight: Option<InFlight>,
    /// The trials in time slices, one trial after the other.
    pub timeline: TimelineFindings,
    /// A ramp, step by step; empty for other schedules.
    pub steps: Vec<StepFindings>,
    /// The most frequent distinct error texts, as the other side sent them.
    pub errors: Vec<ErrorSample>,
    /// Distinct error texts beyond those listed.
    pub errors_left_out: u64,
    /// Failures whose text was not recorded: a trial keeps a limited number of distinct texts.
    pub errors_without_sample: u64,
}

/// The connections of a cell's trials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Connections {
    /// The minimum over trials of those open when the measured part began.
    pub fewest_at_start: Option<u64>,
    /// Opened in the measured parts.
    pub opened: Option<u64>,
    /// How many of those resumed the TLS session of an earlier one.
    pub tls_resumed: u64,
    /// Failed attempts to open one, including those of the warm-ups.
    pub failed: u64,
    /// Closed by the server between slices, and opened again outside the figures.
    pub reopened: u64,
}

/// Calls in flight at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InFlight {
    /// The number that the variant asks for, or a trial's number of calls if that is lower.
    pub asked: u64,
    /// The maximum that was reached, in the trial that reached the fewest.
    pub reached: u64,
}

/// A distribution of times from merged histograms. A percentile is given only if at least one
/// call lies beyond it: the 99.9th from 1,000 calls on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Distribution {
    /// The number of values.
    pub count: u64,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Smallest.
    pub min_ns: f64,
    /// Median.
    pub p50_ns: f64,
    /// 90th percentile.
    pub p90_ns: Option<f64>,
    /// 95th percentile.
    pub p95_ns: Option<f64>,
    /// 99th percentile.
    pub p99_ns: Option<f64>,
    /// 99.9th percentile.
    pub p999_ns: Option<f64>,
    /// Largest.
    pub max_ns: f64,
    /// The merged histogram: base64 of HdrHistogram's compressed V2 format. Values are nanoseconds, or
    /// picoseconds with the prefix `ps:`.
    pub histogram: Histogram,
}

impl Distribution {
    /// The distribution of a histogram, which must not be empty.
    pub(crate) fn of(histogram: Times) -> Self {
        let percentile = |quantile| supported(&histogram, quantile);
        Self {
            count: histogram.len(),
            mean_ns: histogram.mean(),
            min_ns: histogram.min(),
            p50_ns: histogram.quantile(0.5),
            p90_ns: percentile(0.9),
            p95_ns: percentile(0.95),
            p99_ns: percentile(0.99),
            p999_ns: percentile(0.999),
            max_ns: histogram.max(),
            histogram: Histogram::from(histogram),
        }
    }
}

/// A quantile, if at least one value lies beyond it. The median and lower quantiles are always given.
pub(crate) fn supported(histogram: &Times, quantile: f64) -> Option<f64> {
    // 100 values are enough for the 99th percentile, although 100 × (1 − 0.99) is computed as a little below 1.
    let beyond = histogram.len() as f64 * (1.0 - quantile);
    (beyond > 1.0 - 1e-6 || quantile <= 0.5).then(|| histogram.quantile(quantile))
}

/// One stage or span of a call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StageFindings {
    /// The stage.
    pub stage: Stage,
    /// Mean time over the calls that had it.
    pub mean_ns: f64,
    /// Median time over the same calls.
    pub p50_ns: f64,
    /// Its part of the mean call. A call without one of the client's stages spent no time in it, so rare
    /// stages count for less than their mean. Spans count in full, since nothing is known about a call
    /// without handler marks.
    pub per_call_ns: f64,
    /// That part divided by the mean call.
    pub share: f64,
}

/// The floor of a call: two bare loops that exchange the same bytes over the same transport, measured in turn with
/// the calls.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Floor {
    /// The median round trip of all blocks.
    pub round_trip_ns: f64,
    /// The mean round trip of all blocks.
    pub mean_ns: f64,
    /// The median of the lowest block.
    pub lowest_round_trip_ns: f64,
    /// The median of the highest block: shows how much the machine's speed varied.
    pub highest_round_trip_ns: f64,
    /// The number of measured blocks.
    pub blocks: u64,
    /// Round trips measured, in all blocks.
    pub count: u64,
    /// The calling loop's CPU time per call: the median of the blocks. Absent over a link.
    pub client_cpu_ns: Option<f64>,
    /// Bytes sent per call, in the first block.
    pub request_bytes: u64,
    /// Bytes received per call.
    pub response_bytes: u64,
    /// The kernel's share of a call: the median over blocks of the floor's median round trip divided by
    /// the median call. Absent for load trials, whose calls wait for each other, and if the floor took longer
    /// than the call.
    pub share: Option<f64>,
    /// Its 95% interval; absent with fewer than two invocations.
    pub share_interval: Option<[f64; 2]>,
}

/// Bytes per call on the connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BytesPerCall {
    /// Client to server.
    pub sent: TrafficPerCall,
    /// Server to client.
    pub received: TrafficPerCall,
}

impl BytesPerCall {
    /// Both directions together, without the marks.
    pub fn total(&self) -> f64 {
        self.sent.total() + self.received.total()
    }
}

/// Bytes per call in one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrafficPerCall {
    /// Header blocks and trailers.
    pub headers: f64,
    /// Bodies, as encoded and compressed.
    pub bodies: f64,
    /// Frames, chunking, message prefixes, connection set-up.
    pub overhead: f64,
    /// The handler marks' header fields, which are in none of the others.
    pub marks: f64,
}

impl TrafficPerCall {
    /// All bytes of this direction except the marks.
    pub fn total(&self) -> f64 {
        self.headers + self.bodies + self.overhead
    }

    /// All bytes of this direction, including the marks.
    pub fn carried(&self) -> f64 {
        self.total() + self.marks
    }
}

/// CPU time per call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuPerCall {
    /// The measuring thread, or the process of a client or codec.
    pub client: Option<CpuSide>,
    /// The subject's process; absent for a live service.
    pub server: Option<CpuSide>,
}

/// CPU time per call of one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuSide {
    /// User and system together.
    pub total_ns: f64,
    /// User mode, over the trials in which it is known; if there are none, it and `system_ns` are absent.
    pub user_ns: Option<f64>,
    /// System (kernel) mode, over the same trials.
    pub system_ns: Option<f64>,
    /// User and system together, over the trials that do not tell them apart; absent if all do.
    pub unsplit_ns: Option<f64>,
}

/// The calls that were due in one step of a ramp, by outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepFindings {
    /// The target rate at its start, calls per second.
    pub from: f64,
    /// The target rate at its end, calls per second.
    pub to: f64,
    /// When it began, counted from the start of the ramp.
    pub start_ns: u64,
    /// Its planned length.
    pub time_ns: u64,
    /// Its actual length: shorter if the load ended within it, 0 if the load ended before it. Time in which
    /// the client was stalled is left out.
    pub lasted_ns: u64,
    /// Calls that were due in it.
    pub started: u64,
    /// How many of them were sent, during the step or later.
    pub sent: u64,
    /// How many succeeded, during the step or later.
    pub answered: u64,
    /// Calls that succeeded while it lasted, whenever they were due.
    pub answered_within: u64,
    /// How many failed. Calls that neither succeeded nor failed were in flight when the ramp ended.
    pub failed: u64,
    /// How many of the failed ones were due while the client was stalled; absent if none were.
    #[serde(skip_serializing_if = "super::caution::is_zero")]
    pub stalled: u64,
    /// Calls that succeeded while it lasted, per second of that time.
    pub goodput: f64,
    /// Latency of those that succeeded.
    pub latency: Option<Distribution>,
    /// The send delay: the time from when a call was due until it was sent, or failed before that.
    pub send_delay: Option<Distribution>,
}

impl StepFindings {
    /// Whether the load ended before this step, which is not a pause.
    pub(crate) fn is_not_reached(&self) -> bool {
        let is_pause = self.from == 0.0 && self.to == 0.0;
        self.lasted_ns == 0 && self.started == 0 && !is_pause
    }
}

/// The parts of the mean call, which add up to it: four, or five over a link.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Parts {
    /// The mean call.
    pub call_ns: f64,
    /// The minimum time that the link takes: its delays, and the sending of the same bytes; absent on loopback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Part>,
    /// The floor: the mean round trip of two bare loops with the same bytes, beyond the network.
    pub kernel: Part,
    /// The client's time beyond the floor and its codec. If its CPU time is not known, this is absent and counted
    /// in `server`.
    pub client: Option<Part>,
    /// Encoding and decoding of both messages, as far as it is known.
    pub codec: Part,
    /// The rest.
    pub server: Part,
    /// The client's share of the codec part; if absent, it is counted in `client`.
    pub codec_of_client_ns: Option<f64>,
    /// The server's share of the codec part; if absent, it is counted in `server`.
    pub codec_of_server_ns: Option<f64>,
    /// The variants that measured the codecs.
    pub codecs: Vec<String>,
}

/// A part of a call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Part {
    /// Its time.
    pub ns: f64,
    /// That time divided by the mean call.
    pub share: f64,
}
