//! The merged figures of a cell's measured trials.
//!
//! Times are in nanoseconds, sizes in bytes, and shares from 0 to 1 (above 1 only if a measured part exceeds
//! its whole by noise). A figure that could not be measured is absent, never 0.

use std::collections::BTreeMap;

use rpcgauge_study::histogram::Times;
use rpcgauge_study::record::{
    Calls, CodeKind, ErrorSample, FailureKind, Histogram, Memory, Payload, Stage, Startup,
    StreamForm, Threads,
};
use rpcgauge_study::settings::Idle;
use serde::Serialize;

use super::link::LinkFindings;
use super::objective::Checked;
use super::timeline::TimelineFindings;

/// The merged figures of all measured trials of a cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Figures {
    /// The calls by outcome.
    pub calls: Calls,
    /// At a rate: calls that were due in the warm-up but not yet sent when the measured part began.
    pub unsent_at_start: u64,
    /// Calls at the starts of slices, which no other count includes.
    pub left_out: u64,
    /// How many of the left-out calls failed.
    pub left_out_failed: u64,
    /// Whether `memory`, `threads` and the start-up times are those of a process that other variants share.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared_process: bool,
    /// The total measured time of all trials.
    pub elapsed_ns: u64,
    /// Whether idle states were actually disabled; two values if trials differ.
    pub idle: Vec<Idle>,
    /// The emulated link that calls went over; absent for loopback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkFindings>,
    /// The target rate, calls per second; absent in a closed loop and for a ramp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_rate: Option<f64>,
    /// Successful calls per second, over the measured time.
    pub goodput: f64,
    /// Latency of calls that succeeded.
    pub latency: Option<Distribution>,
    /// Latency of calls that failed.
    pub failed_latency: Option<Distribution>,
    /// The send delay: the time from when calls were due until they were sent.
    pub send_delay: Option<Distribution>,
    /// Service time of calls that succeeded: from just before the first write of the request until the last byte of
    /// the response. Only of a live service.
    pub service_time: Option<Distribution>,
    /// Time to first byte of the same calls: from the same start until the first byte of the response.
    pub first_byte: Option<Distribution>,
    /// The messages of streaming calls; absent for other calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Box<MessageFindings>>,
    /// The client's stages in order, then the spans that overlap them.
    pub stages: Vec<StageFindings>,
    /// The time of the mean call that no stage accounts for.
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
    /// The starts of its processes, and the first calls after them: medians over fresh starts.
    pub startup: Startup,
    /// The share of its core that the client, or its busiest thread, used: the median over trials.
    pub client_share: Option<f64>,
    /// The maximum of the client's share over trials.
    pub client_share_max: Option<f64>,
    /// The kinds of code that encoded and decoded the messages; two values if trials differ.
    pub code: Vec<CodeKind>,
    /// Connections opened in the measured parts, per call.
    pub connections_per_call: Option<f64>,
    /// Connections of all trials.
    pub connections: Connections,
    /// Responses that were uncompressed although compression was requested.
    pub uncompressed_responses: u64,
    /// Responses whose content was checked; absent if nothing is expected of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked_responses: Option<u64>,
    /// Calls that started late because the client had not built their body in time.
    pub bodies_late: u64,
    /// Calls in flight; absent without a closed loop, or if they were not recorded.
    pub in_flight: Option<InFlight>,
    /// The consecutive trials as one timeline of slices.
    pub timeline: TimelineFindings,
    /// A ramp, step by step; empty for other schedules.
    pub steps: Vec<StepFindings>,
    /// The calls of a mix; absent if all calls are the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<MixFindings>,
    /// The most frequent distinct error texts, as the other side sent them.
    pub errors: Vec<ErrorSample>,
    /// Distinct error texts beyond those listed.
    pub errors_left_out: u64,
    /// Failures whose text was not recorded, since a trial records a limited number of distinct texts.
    pub errors_without_sample: u64,
}

/// The messages of streaming calls.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MessageFindings {
    /// Which side streams.
    pub form: StreamForm,
    /// Messages passed to the transport, including those of retries.
    pub sent: u64,
    /// The same, per second of the time until the last call ended.
    pub sent_per_second: f64,
    /// Messages received.
    pub received: u64,
    /// The same, per second of the time until the last call ended.
    pub received_per_second: f64,
    /// Calls that the server ended before all messages were sent.
    pub ended_early: u64,
    /// Bidirectional calls that received one message for each that they sent. Of calls that ended early, this is known
    /// only if they wait for each response. If responses are paired with messages by a value, calls with a response to at
    /// least one message.
    pub paired: u64,
    /// Bidirectional calls that did not.
    pub unpaired: u64,
    /// If responses are paired with messages by a value, messages received that are the response to none.
    pub unmatched: u64,
    /// In that case, messages sent that had no response when their call ended.
    pub unanswered: u64,
    /// The time from when a call was due to its first message.
    pub first: Option<Distribution>,
    /// The time between a message of a call and the next.
    pub gap: Option<Distribution>,
    /// The time from when a message was due to its response, which is the message with the same value or, by default, the
    /// same number. Only of bidirectional calls, and absent if any of them is unpaired, or none is known to be paired.
    pub latency: Option<Distribution>,
}

/// The connections of a cell's trials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Connections {
    /// Connections open when the measured part began: the minimum over trials.
    pub fewest_at_start: Option<u64>,
    /// Connections opened in the measured parts.
    pub opened: Option<u64>,
    /// How many of the opened connections resumed the TLS session of an earlier one.
    pub tls_resumed: u64,
    /// Failed attempts to open a connection, including those of the warm-ups.
    pub failed: u64,
    /// Connections that the server closed between slices and the client reopened outside the measured time.
    pub reopened: u64,
}

/// The number of calls in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InFlight {
    /// The number that the variant requests, or a trial's number of calls if that is lower.
    pub asked: u64,
    /// The maximum number in a trial: the minimum over trials.
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
    /// Minimum.
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
    /// Maximum.
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
    is_supported(histogram.len(), quantile).then(|| histogram.quantile(quantile))
}

/// Whether a quantile of this many values is given.
pub(crate) fn is_supported(values: u64, quantile: f64) -> bool {
    // 100 values are enough for the 99th percentile, although 100 × (1 − 0.99) is slightly below 1 in floating point.
    let beyond = values as f64 * (1.0 - quantile);
    beyond > 1.0 - 1e-6 || quantile <= 0.5
}

/// One stage or span of a call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StageFindings {
    /// The stage.
    pub stage: Stage,
    /// Mean time over the calls that had the stage.
    pub mean_ns: f64,
    /// Median time over the same calls.
    pub p50_ns: f64,
    /// The stage's part of the mean call. A call without one of the client's stages spent no time in it, so the part
    /// of a rare stage is less than its mean. The part of a span is its mean, since nothing is known about a call
    /// without handler marks.
    pub per_call_ns: f64,
    /// `per_call_ns` divided by the mean call.
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
    /// The lowest median round trip of a block.
    pub lowest_round_trip_ns: f64,
    /// The highest median round trip of a block. The range shows how much the machine's speed varied.
    pub highest_round_trip_ns: f64,
    /// The number of measured blocks.
    pub blocks: u64,
    /// Round trips measured, in all blocks.
    pub count: u64,
    /// The calling loop's CPU time per call: the median of the blocks. Absent over a link.
    pub client_cpu_ns: Option<f64>,
    /// Bytes sent per call, in the first block.
    pub request_bytes: u64,
    /// Bytes received per call, in the first block.
    pub response_bytes: u64,
    /// The kernel's share of a call: the floor's median round trip divided by the median call, as the median over
    /// blocks. Absent for load trials, whose calls wait for each other, and if the floor took longer than the call.
    pub share: Option<f64>,
    /// The 95% interval of `share`; absent with fewer than two invocations.
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
    /// The sum of both directions, without the marks.
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
    /// The handler marks' header fields, which the other fields do not include.
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

impl CpuPerCall {
    /// The CPU time of client and server, ns; `None` unless both are known.
    pub(crate) fn both_ns(&self) -> Option<f64> {
        Some(self.client?.total_ns + self.server?.total_ns)
    }
}

/// CPU time per call of one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuSide {
    /// The sum of user and system mode.
    pub total_ns: f64,
    /// User mode, over the trials in which it is known; absent with `system_ns` if there are no such trials.
    pub user_ns: Option<f64>,
    /// System (kernel) mode, over the same trials.
    pub system_ns: Option<f64>,
    /// The sum of both, over the trials that do not tell them apart; absent if there are no such trials.
    pub unsplit_ns: Option<f64>,
}

/// The calls that were due in one step of a ramp, by outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepFindings {
    /// The target rate at the start of the step, calls per second.
    pub from: f64,
    /// The target rate at the end of the step, calls per second.
    pub to: f64,
    /// When the step began, from the start of the ramp.
    pub start_ns: u64,
    /// The planned length.
    pub time_ns: u64,
    /// The actual length, summed over blocks: shorter if the load ended within the step, 0 if it ended before the step.
    /// Time in which the client was stalled is left out.
    pub lasted_ns: u64,
    /// Calls that were due in the step.
    pub started: u64,
    /// How many of the started calls were sent, during the step or later.
    pub sent: u64,
    /// How many of the started calls succeeded, during the step or later.
    pub answered: u64,
    /// Calls that succeeded during the step, no matter when they were due.
    pub answered_within: u64,
    /// How many of the started calls failed. Calls that neither succeeded nor failed were in flight when the ramp
    /// ended.
    pub failed: u64,
    /// How many of the failed calls were due while the client was stalled; absent if none were.
    #[serde(skip_serializing_if = "super::caution::is_zero")]
    pub stalled: u64,
    /// `answered_within` per second of `lasted_ns`.
    pub goodput: f64,
    /// What was measured for the objectives.
    #[serde(flatten)]
    pub checked: Checked,
    /// Latency of the started calls that succeeded.
    pub latency: Option<Distribution>,
    /// The send delay: the time from when a call was due until it was sent, or failed before that.
    pub send_delay: Option<Distribution>,
}

/// One of the calls of a mix, by outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MixFindings {
    /// Its name.
    pub name: String,
    /// Its share of the calls is its weight divided by the sum of all weights.
    pub weight: u32,
    /// What it calls, with what it sends and what is expected of its responses.
    pub called: String,
    /// Calls that were due. Those that ended before they began are divided among the mix by weight.
    pub started: u64,
    /// How many of the started calls were sent.
    pub sent: u64,
    /// How many of the started calls succeeded.
    pub answered: u64,
    /// How many of the started calls failed, by kind.
    pub failed: BTreeMap<FailureKind, u64>,
    /// Latency of the started calls that succeeded.
    pub latency: Option<Distribution>,
}

impl StepFindings {
    /// Whether the load ended before this step. Pauses are never unreached.
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
    /// The minimum time on the link: its delays, and the time to send the same bytes; absent on loopback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Part>,
    /// The floor: the mean round trip of two bare loops with the same bytes, beyond the network.
    pub kernel: Part,
    /// The client's time beyond the floor and its codec. Absent if its CPU time is unknown; `server` then includes
    /// this part.
    pub client: Option<Part>,
    /// Encoding and decoding of both messages, as far as known.
    pub codec: Part,
    /// The rest.
    pub server: Part,
    /// The client's share of the codec part; if absent, `client` includes it.
    pub codec_of_client_ns: Option<f64>,
    /// The server's share of the codec part; if absent, `server` includes it.
    pub codec_of_server_ns: Option<f64>,
    /// The variants that measured the codecs.
    pub codecs: Vec<String>,
}

/// A part of a call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Part {
    /// The time of the part.
    pub ns: f64,
    /// `ns` divided by the mean call.
    pub share: f64,
}
