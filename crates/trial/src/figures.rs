//! The figures of a trial: what its client counted, and what the machine reports about its processes.
//!
//! The engine fills in what it counts and a client subject what it reports, the lab adds what only the operating system
//! knows, and records contain the result.

mod check;
mod merge;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::calls::{Calls, Cpu, Ending, LateCalls, Payload, Stalls, Warmup};
use crate::code::CodeKind;
use crate::failure::{ErrorSample, FailureKind};
use crate::histogram::Histogram;
use crate::is_default;
use crate::link::LinkCounts;
use crate::schedule::Slice;
use crate::slow::Watched;
use crate::stage::Stage;
use crate::streaming::StreamForm;
use crate::timeline::Timeline;

pub use self::check::{MAX_CALLS, are_short, is_amount};
pub use self::merge::Concurrency;

/// The figures of a trial that ran to completion. Times are in nanoseconds. The default is a trial without calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialFigures {
    /// The outcomes of the calls.
    pub calls: Calls,
    /// The warm-up before the first measured call.
    pub warmup: Warmup,
    /// The denominator of calls per second. In a closed loop, the time from when the first measured call was due until
    /// the last one ended or, if calls were abandoned, until they were. At a rate, the time in which calls were due:
    /// until [`crate::Stop::time_ms`], the ramp's end, the due time after the last call if a number of calls ended the
    /// trial, or the interruption; without the time that late calls took to end. In slices, their sum, each until the due
    /// time of the next call.
    pub elapsed_ns: u64,
    /// Latency of the calls that succeeded, from due to completed.
    pub latency: Histogram,
    /// Latency of the calls that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_latency: Option<Histogram>,
    /// How long after its due time each call was sent; empty if unknown.
    pub send_delay: Histogram,
    /// Service time of the calls that succeeded; absent unless they called a live service, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_time: Option<Histogram>,
    /// Time to first byte of the same calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<Histogram>,
    /// The messages of streaming calls; absent for other calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Box<MessageFigures>>,
    /// Time in each stage, for [`crate::Timing::Stages`] trials.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stages: BTreeMap<Stage, Histogram>,
    /// The course of the trial in at least 100 slices of equal length.
    pub timeline: Timeline,
    /// The steps of a ramp; empty for other schedules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// The calls of a mix; empty if all calls are the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mix: Vec<MixFigures>,
    /// The number of all requests sent, including the warm-up, calls that slices leave out, and retries; absent if
    /// another client calls, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_sent: Option<u64>,
    /// Warm-up calls that ended in the measured part.
    #[serde(flatten)]
    pub late: LateCalls,
    /// The slices in which the trial was measured; absent if it was measured in one piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<Slices>,
    /// When the first measured call was due, milliseconds since the Unix epoch. The timeline begins at
    /// this time. Absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_from_ms: Option<u64>,
    /// Its slow calls and their possible causes; absent unless the study enables events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<Watched>,
    /// Bytes on the connections, in both directions, from the first measured call until the end of the last one, with
    /// those of late calls of the warm-up and of calls that slices leave out. What TLS adds is overhead. Absent if
    /// another client calls, and for a codec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// What the emulated link did, if calls went over one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkCounts>,
    /// The encoded message sizes, before and after compression.
    pub payload: Payload,
    /// CPU time during the measured part and, at a rate, until the last calls ended.
    pub cpu: CpuTimes,
    /// Peak resident memory.
    pub memory: Memory,
    /// The number of threads at the end of the measured part.
    pub threads: Threads,
    /// How long its processes took to start.
    #[serde(default, skip_serializing_if = "is_default")]
    pub startup: Startup,
    /// The share of its core that the engine, or its busiest thread, used, 0 to 1; absent if another client calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_share: Option<f64>,
    /// Whether generated or dynamic code encoded and decoded the messages on the client; absent if bodies were sent as
    /// given, for example to a live service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeKind>,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ending: Ending,
    /// Connections that were open when the measured part began;
    /// absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections_at_start: Option<u64>,
    /// Connections that were opened during the measured part; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections_opened: Option<u64>,
    /// Connections that the server closed between slices and that were reopened; the figures do not include the
    /// reopening.
    #[serde(default, skip_serializing_if = "is_default")]
    pub connections_reopened: u64,
    /// Connections opened during the measured part that resumed the TLS session of an earlier one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tls_resumed: u64,
    /// Failed attempts to open a connection, including attempts during the warm-up. While another connection is open,
    /// they fail no call, but calls are then made over fewer connections than requested.
    #[serde(default, skip_serializing_if = "is_default")]
    pub connects_failed: u64,
    /// Responses to measured calls that were uncompressed although compression was requested.
    #[serde(default, skip_serializing_if = "is_default")]
    pub uncompressed_responses: u64,
    /// Responses to measured calls whose content was checked; absent if nothing is expected of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_responses: Option<u64>,
    /// Calls that were due before their body was ready, so that the client began them late.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bodies_late: u64,
    /// Periods in which the client did not run. Calls that were open or due then failed as
    /// [`FailureKind::ClientStalled`]. The periods are not part of `elapsed_ns`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stalls: Stalls,
    /// The maximum number of calls in flight at the same time; with several threads, the sum of their maxima. Absent in
    /// older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_in_flight: Option<u64>,
    /// A few distinct error texts, as the server or system sent them, each with its count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub error_samples: Vec<ErrorSample>,
    /// Failures whose text is not among the samples because there were too many distinct texts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub errors_without_sample: u64,
}

impl TrialFigures {
    /// How long the measured part took, including the time between its slices.
    pub fn spanned_ns(&self) -> u64 {
        let slices = self.timeline.slices.len() as u64;
        self.elapsed_ns
            .max(self.timeline.slice_ns.saturating_mul(slices))
    }

    /// The divisor of CPU time and connections: the calls that were sent. A call that never reached the
    /// transport cost nothing.
    pub fn sent_calls(&self) -> u64 {
        self.calls.sent().saturating_add(self.late.sent())
    }

    /// The number of calls by which to divide the sent bytes: all calls sent while bytes were counted. This includes the
    /// calls at the start of a slice, which count only towards the bytes.
    pub fn calls_of_sent_bytes(&self) -> u64 {
        let skipped = self.slices.map_or(0, |slices| {
            slices.skipped.saturating_sub(slices.skipped_never_sent)
        });
        let sent = self.calls.sent().saturating_add(skipped);
        sent.saturating_add(self.late.sent_after())
    }

    /// The divisor of received bytes: the calls that succeeded.
    pub fn calls_of_received_bytes(&self) -> u64 {
        let skipped = self.slices.map_or(0, |slices| {
            slices.skipped.saturating_sub(slices.skipped_failed)
        });
        let answered = self.calls.answered.saturating_add(skipped);
        answered.saturating_add(self.late.answered())
    }
}

/// The slices of a trial that took turns with other trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slices {
    /// The number of slices.
    pub count: u64,
    /// The planned form of each slice.
    pub each: Slice,
    /// Calls at the start of slices, which are left out of all figures except the bytes.
    pub skipped: u64,
    /// How many of the skipped calls failed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub skipped_failed: u64,
    /// How many of the failed skipped calls were never sent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub skipped_never_sent: u64,
}

/// The outcomes of the calls that were due in one step of a ramp.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The requested calls per second at its start.
    pub from: f64,
    /// The requested calls per second at its end.
    pub to: f64,
    /// Its planned length.
    pub time_ns: u64,
    /// Calls that were due in this step.
    pub started: u64,
    /// How many of these calls were never sent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub never_sent: u64,
    /// How many of these calls succeeded.
    pub answered: u64,
    /// Calls that succeeded during this step, whenever they were due.
    pub answered_within: u64,
    /// How many of these calls failed.
    pub failed: u64,
    /// How many of the failed calls failed because the client was stalled.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stalled: u64,
    /// Latency of the calls that succeeded, from due to completed.
    pub latency: Histogram,
    /// How long after its due time each call began; for a call that failed before it began, how long it waited.
    pub send_delay: Histogram,
}

/// The outcomes of one of the calls of a mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixFigures {
    /// The name of the call.
    pub name: String,
    /// Calls that were due. Those that ended before they began are divided among the mix by weight.
    pub started: u64,
    /// How many of these calls were never sent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub never_sent: u64,
    /// How many of these calls succeeded.
    pub answered: u64,
    /// How many of these calls failed, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<FailureKind, u64>,
    /// Latency of the calls that succeeded, from due to completed.
    pub latency: Histogram,
}

/// The messages of streaming calls. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageFigures {
    /// Which side streams.
    pub form: StreamForm,
    /// Messages passed to the transport, including those of retries.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// The time over which they were counted, until the last call ended.
    pub over_ns: u64,
    /// Calls that the server ended before all messages were sent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ended_early: u64,
    /// Bidirectional calls that received one message for each that they sent or, if responses are paired with messages by a
    /// value, a response to at least one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub paired: u64,
    /// Bidirectional calls that did not. If there are any, or none that did, `latency` means nothing. Pairing by a value has
    /// none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unpaired: u64,
    /// Messages received that are the response to none, if responses are paired with messages by a value.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unmatched: u64,
    /// Messages sent that had no response when their call ended, if responses are paired with messages by a value.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unanswered: u64,
    /// From when a call was due to its first message.
    pub first: Histogram,
    /// Between a message of a call and the next.
    pub gap: Histogram,
    /// From when a message was due to its response, the message with the same number or value that the server sent; only
    /// of bidirectional calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Histogram>,
}

/// Bytes on the connections, by direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// Client to server.
    pub sent: BytesByClass,
    /// Server to client.
    pub received: BytesByClass,
}

/// Bytes in one direction, by class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BytesByClass {
    /// Header blocks and trailers.
    pub headers: u64,
    /// Bodies, as encoded and compressed.
    pub bodies: u64,
    /// Frames, chunking, message prefixes, connection set-up.
    pub overhead: u64,
    /// The header fields of handler marks, which `headers` does not include: the server sends them only if stages are
    /// timed, and they are not part of the call. Absent if there are none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub marks: u64,
}

impl BytesByClass {
    /// All bytes.
    pub fn total(&self) -> u64 {
        self.of_call().saturating_add(self.marks)
    }

    /// The call's own bytes: everything except the marks.
    pub fn of_call(&self) -> u64 {
        // A damaged record may contain any numbers.
        self.headers
            .saturating_add(self.bodies)
            .saturating_add(self.overhead)
    }
}

/// CPU time of both sides, where known, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    /// The measuring thread, or the process of a client or codec that reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Cpu>,
    /// The subject's process; absent for a live service. Its split into user and system time is the
    /// kernel's estimate in clock ticks, which is accurate only over many trials; the total is exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Cpu>,
}

/// Peak resident memory, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Memory {
    /// The process that calls: the instrument's own, or that of a client or codec.
    pub client_peak: u64,
    /// The subject's process; absent for a live service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_peak: Option<u64>,
}

/// The number of threads of a process and of the workers that it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Threads {
    /// The process that calls: the instrument's own, or that of a client or codec.
    pub client: u64,
    /// The subject's process; absent for a live service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<u64>,
}

/// How long processes took to start, ns: from just before a process is created until the lab has read its ready line.
/// A process serves all trials of its variant in an invocation, and each of these trials records the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Startup {
    /// A client or codec; absent if the engine calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_ns: Option<u64>,
    /// The server; absent for a live service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_ns: Option<u64>,
    /// The first calls after the start; absent unless requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold: Option<Cold>,
}

/// The latency of the first calls after a start, made one at a time, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cold {
    /// The latency of the first call.
    pub first_ns: u64,
    /// The mean latency of all of them.
    pub mean_ns: u64,
}

impl Cold {
    /// Summarizes latencies in the order of the calls; `None` if there are none.
    pub fn of(latencies_ns: &[u64]) -> Option<Self> {
        let first_ns = *latencies_ns.first()?;
        let sum: u128 = latencies_ns.iter().map(|ns| u128::from(*ns)).sum();
        let mean_ns = (sum / latencies_ns.len() as u128) as u64;
        Some(Self { first_ns, mean_ns })
    }
}
