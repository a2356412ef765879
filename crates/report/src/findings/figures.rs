//! What the measured trials of a cell say together.
//!
//! Times are nanoseconds, sizes bytes, shares 0 to 1 (above 1 only where a measured part exceeds
//! its whole by noise). What could not be measured is absent, never 0.

use rpcgauge_study::histogram::Times;
use rpcgauge_study::record::{
    Calls, CodeKind, Cold, ErrorSample, Histogram, Memory, Payload, Stage, Threads,
};
use rpcgauge_study::settings::Idle;
use serde::Serialize;

use super::link::LinkFindings;
use super::timeline::TimelineFindings;

/// The measured trials of a cell together.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Figures {
    /// What became of every call.
    pub calls: Calls,
    /// Calls that were due in the warm-up and not sent when the measured part began, at a rate.
    pub unsent_at_start: u64,
    /// Calls at the starts of slices, which no other count holds.
    pub left_out: u64,
    /// How many of those failed.
    pub left_out_failed: u64,
    /// Measured time of all trials together.
    pub elapsed_ns: u64,
    /// Whether idle states were actually disabled; two values where trials differ.
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
    /// How long after they were due calls were sent.
    pub send_delay: Option<Distribution>,
    /// The client's stages in order, then the spans that overlap them.
    pub stages: Vec<StageFindings>,
    /// The part of the mean call that no stage accounts for.
    pub between_stages_ns: Option<f64>,
    /// What no client could beat here.
    pub floor: Option<Floor>,
    /// Bytes per call on the connections.
    pub bytes: Option<BytesPerCall>,
    /// Sizes of the encoded messages.
    pub payload: Payload,
    /// Processor time per call; absent over a link, whose thread does part of the receiver's work.
    pub cpu: CpuPerCall,
    /// The highest peaks of resident memory.
    pub memory: Memory,
    /// The most threads at the end of a trial.
    pub threads: Threads,
    /// The first calls after a start, where they were timed: each the median over fresh starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cold: Option<Cold>,
    /// The share of its core that the client used: the median over trials.
    pub client_share: Option<f64>,
    /// The highest such share.
    pub client_share_max: Option<f64>,
    /// Whether generated or dynamic code made and read the messages.
    pub code: Vec<CodeKind>,
    /// Connections opened in the measured parts, per call.
    pub connections_per_call: Option<f64>,
    /// Connections of all trials.
    pub connections: Connections,
    /// Responses that came uncompressed although a compression was asked for.
    pub uncompressed_responses: u64,
    /// Calls that were due and had no body yet: begun late by the client's fault.
    pub bodies_late: u64,
    /// Calls in flight, where a number of them is asked for and recorded.
    pub in_flight: Option<InFlight>,
    /// The trials in slices, one after the other.
    pub timeline: TimelineFindings,
    /// A ramp, step by step; empty for other schedules.
    pub steps: Vec<StepFindings>,
    /// The most frequent distinct error texts, as the other side sent them.
    pub errors: Vec<ErrorSample>,
    /// Distinct error texts beyond those listed.
    pub errors_left_out: u64,
    /// Failures whose text was not recorded: a trial keeps only some distinct ones.
    pub errors_without_sample: u64,
}

/// The connections of a cell's trials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Connections {
    /// The fewest that were open when a trial's measured part began.
    pub fewest_at_start: Option<u64>,
    /// Opened in the measured parts.
    pub opened: Option<u64>,
    /// How many of those resumed the TLS session of an earlier one.
    pub tls_resumed: u64,
    /// Attempts to open one that failed, those of the warm-ups included.
    pub failed: u64,
    /// Closed by the server between slices, and opened again outside the figures.
    pub reopened: u64,
}

/// Calls in flight at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InFlight {
    /// As many as the variant asks for, or as a trial has calls.
    pub asked: u64,
    /// The most that were reached, in the trial that reached the fewest.
    pub reached: u64,
}

/// A distribution of times from merged histograms. A percentile is given only where at least one
/// call lies beyond it: the 99.9th from 1,000 calls on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Distribution {
    /// How many values.
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
    /// The merged histogram itself: base64 of HdrHistogram's compressed V2 format, in nanoseconds; after
    /// `ps:` in picoseconds.
    pub histogram: Histogram,
}

impl Distribution {
    /// What a histogram that is not empty says.
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

/// A percentile, where at least one value lies beyond it; a median where there is a value.
pub(crate) fn supported(histogram: &Times, quantile: f64) -> Option<f64> {
    // 100 values are enough for the 99th percentile, although 100 × (1 − 0.99) is a little below 1.
    let beyond = histogram.len() as f64 * (1.0 - quantile);
    (beyond > 1.0 - 1e-6 || quantile <= 0.5).then(|| histogram.quantile(quantile))
}

/// One stage or span of a call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StageFindings {
    /// Which.
    pub stage: Stage,
    /// Mean time over the calls that had it.
    pub mean_ns: f64,
    /// Median time over the same calls.
    pub p50_ns: f64,
    /// Its part of the mean call. A call that did not have one of the client's stages spent no time
    /// in it, so that the means of rare stages count for less here; of a call without marks nothing
    /// is known, so that the means of spans count in full.
    pub per_call_ns: f64,
    /// That part over the mean call.
    pub share: f64,
}

/// What two bare loops took for the same bytes over the same transport, measured in turn with the calls
/// that stand on them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Floor {
    /// The median round trip of all blocks.
    pub round_trip_ns: f64,
    /// The mean round trip of all blocks.
    pub mean_ns: f64,
    /// The median of the lowest block.
    pub lowest_round_trip_ns: f64,
    /// The median of the highest block: how far the machine's speed moved the floor.
    pub highest_round_trip_ns: f64,
    /// Blocks it was measured in.
    pub blocks: u64,
    /// Round trips measured, in all blocks.
    pub count: u64,
    /// The calling loop's processor time per call: the median of the blocks. Absent over a link.
    pub client_cpu_ns: Option<f64>,
    /// Bytes sent per call, in the first block.
    pub request_bytes: u64,
    /// Bytes received per call.
    pub response_bytes: u64,
    /// The kernel's share of a call: the median over the blocks of the floor's median round trip over
    /// the median call. Absent for load trials, whose calls wait for each other,
    /// and where the floor took longer than the call.
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
    /// The call's own bytes of this direction: all but the marks.
    pub fn total(&self) -> f64 {
        self.headers + self.bodies + self.overhead
    }

    /// All bytes of this direction, with the marks.
    pub fn carried(&self) -> f64 {
        self.total() + self.marks
    }
}

/// Processor time per call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuPerCall {
    /// The measuring thread, or the process of a client or codec that reports it.
    pub client: Option<CpuSide>,
    /// The subject's process; absent for a live service.
    pub server: Option<CpuSide>,
}

/// Processor time per call of one side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuSide {
    /// User and system together.
    pub total_ns: f64,
    /// In user mode, in the trials in which that is known; absent, as is `system_ns`, where it is in
    /// none.
    pub user_ns: Option<f64>,
    /// In the kernel, in the same trials.
    pub system_ns: Option<f64>,
    /// User and system together, in the trials that do not tell them apart; absent where all do.
    pub unsplit_ns: Option<f64>,
}

/// What became of the calls that were due in one step of a ramp.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepFindings {
    /// Calls per second that were asked for at its start.
    pub from: f64,
    /// Calls per second that were asked for at its end.
    pub to: f64,
    /// When it began, after the ramp did.
    pub start_ns: u64,
    /// How long it was to last.
    pub time_ns: u64,
    /// How long it lasted: less if the load ended before its ramp, 0 if it ended before this step. The
    /// time in which the client did not run is left out.
    pub lasted_ns: u64,
    /// Calls that were due in it.
    pub started: u64,
    /// How many of them were sent, then or later.
    pub sent: u64,
    /// How many succeeded, then or later.
    pub answered: u64,
    /// Calls that succeeded while it lasted, whenever they were due.
    pub answered_within: u64,
    /// How many failed. What is neither was still open when the ramp ended.
    pub failed: u64,
    /// How many of the failed ones are the client's fault, which did not run; absent where none are.
    #[serde(skip_serializing_if = "super::caution::is_zero")]
    pub stalled: u64,
    /// Calls that succeeded while it lasted, per second of that time.
    pub goodput: f64,
    /// Latency of those that succeeded.
    pub latency: Option<Distribution>,
    /// How long after they were due they were begun, or failed before that.
    pub send_delay: Option<Distribution>,
}

impl StepFindings {
    /// Whether calls were asked for in it, and the load had ended before.
    pub(crate) fn is_not_reached(&self) -> bool {
        let is_pause = self.from == 0.0 && self.to == 0.0;
        self.lasted_ns == 0 && self.started == 0 && !is_pause
    }
}

/// The mean call in four parts, over a link five, which add up to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Parts {
    /// The mean call.
    pub call_ns: f64,
    /// What the link must take: its delays, and the sending of the same bytes; absent on loopback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Part>,
    /// The floor: the mean round trip of two bare loops with the same bytes, beyond the network.
    pub kernel: Part,
    /// What the client does beyond the floor and its codec; absent where its processor time is not known,
    /// and then in the server's part.
    pub client: Option<Part>,
    /// Making and reading both messages, as far as it is known.
    pub codec: Part,
    /// The rest.
    pub server: Part,
    /// What of the codec's part is the client's; where it is absent, it is in the client's own part.
    pub codec_of_client_ns: Option<f64>,
    /// What of it is the server's; where it is absent, it is in the server's own part.
    pub codec_of_server_ns: Option<f64>,
    /// The variants that measured the codecs.
    pub codecs: Vec<String>,
}

/// A part of a call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Part {
    /// Time of it.
    pub ns: f64,
    /// That time over the mean call.
    pub share: f64,
}
