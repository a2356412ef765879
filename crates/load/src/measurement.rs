//! The result of a trial.

use std::collections::BTreeMap;
use std::time::Duration;

use rpcgauge_trial::{
    Calls, Cpu, Ending, ErrorSample, LateCalls, Payload, Stage, Stalls, Timeline, Warmup,
};
use rpcgauge_wire::Traffic;

use crate::Histogram;
use crate::slow::SlowCalls;
use crate::steps::StepFigures;

/// Times in each stage of the calls that succeeded, ns. A stage that no call had is absent.
pub type Stages = BTreeMap<Stage, Histogram>;

/// The figures of a trial. All times are nanoseconds where nothing else is said.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// What became of every measured call.
    pub calls: Calls,
    /// The warm-up before the first measured call.
    pub warmup: Warmup,
    /// The denominator of calls per second. In a closed loop: from the first measured call's due time to
    /// the last one's end or, if calls were abandoned, to when they were. At a rate: the time in which
    /// calls were due, which ends by [`rpcgauge_trial::Stop::time_ms`], with the ramp, when the next call would
    /// have been due if the number of calls ended the trial, or when it was interrupted. Calls that end
    /// later do not extend it. Of a session: its slices together, each to when the next call would have
    /// been due.
    pub elapsed: Duration,
    /// The time over which [`Measurement::cpu`] was used: [`Measurement::elapsed`] and, at a rate, the time that calls took
    /// to end after it.
    pub spent_over: Duration,
    /// Latency of the calls that succeeded, from due to done.
    pub latency: Histogram,
    /// Latency of the calls that failed.
    pub failed_latency: Histogram,
    /// How long after it was due each call was begun; of those that failed before that, how long they
    /// waited.
    pub send_delay: Histogram,
    /// Time in each stage; empty unless [`rpcgauge_trial::Timing::Stages`] was asked for.
    pub stages: Stages,
    /// What became of the server's marks.
    pub marks: Marks,
    /// When the first measured call was due, by CLOCK_MONOTONIC: where the timeline begins.
    pub began: Option<u64>,
    /// The trial in slices.
    pub timeline: Timeline,
    /// Calls that took far longer than those before them; none unless they were asked for
    /// ([`crate::Trial::keeps_slow`]).
    pub slow: SlowCalls,
    /// What became of the calls that were due in each step of a ramp; empty for other schedules.
    pub steps: Vec<StepFigures>,
    /// Bytes on the connections from the first measured call to the last one's end. What TLS adds,
    /// its handshakes included, is overhead: the bytes on the socket less the plain ones. At a rate,
    /// what is carried of calls of the warm-up that had not ended is among them; a closed loop lets
    /// them end before. Of a session, all bytes of its slices, those of the calls that were left out
    /// ([`SliceCount::skipped`]) with them. In a stage trial the server's marks are counted apart.
    pub traffic: Traffic,
    /// Requests that were given to the transport, with those of the warm-up, of the calls that slices leave out,
    /// and of retries.
    pub requests_sent: u64,
    /// Calls of the warm-up that still waited or were in flight when the first measured one was due. What they
    /// took then is in [`Measurement::traffic`] and [`Measurement::cpu`].
    pub late: LateCalls,
    /// How many of them succeeded at a rate while calls were due. Together with the measured ones that did not end late,
    /// these are the calls that succeeded in that time.
    pub late_answered: u64,
    /// A session's slices; `None` where the measured part was one piece.
    pub slices: Option<SliceCount>,
    /// Sizes of the messages.
    pub payload: Payload,
    /// Processor time of the measuring thread over the same span.
    pub cpu: Cpu,
    /// Connections open when the measured part began.
    pub connections_at_start: u64,
    /// Connections opened during the measured part.
    pub connections_opened: u64,
    /// Connections that a session opened again between its slices, since the server had closed them.
    pub connections_reopened: u64,
    /// How many of those opened in the measured part resumed the TLS session of an earlier one (see
    /// [`crate::TlsSettings::resumption`]).
    pub tls_resumed: u64,
    /// Attempts to open a connection that failed, warm-up included. With
    /// [`rpcgauge_trial::ConnectionUse::Reuse`] no call fails by one while another connection is open, but
    /// calls are then made over fewer connections than asked for; its text is among the samples.
    pub connects_failed: u64,
    /// Calls that were due and had no body yet ([`crate::Bodies::Streamed`]): begun late through the client's
    /// fault, not the server's.
    pub bodies_late: u64,
    /// Times of the measured part in which this program did not run. The calls that were open then, or due,
    /// failed as [`rpcgauge_trial::FailureKind::ClientStalled`], and the time is not in
    /// [`Measurement::elapsed`] or [`Measurement::spent_over`].
    pub stalls: Stalls,
    /// The most calls that were in flight at a time in the measured part. Fewer than a closed loop
    /// asks for where a server allows fewer streams on its connections, say.
    pub most_in_flight: u64,
    /// Responses that came uncompressed although [`crate::Expect::encoding`] names an encoding.
    pub uncompressed_responses: u64,
    /// Up to ten distinct error texts with how often each came.
    pub error_samples: Vec<ErrorSample>,
    /// Failures whose text is in none of the samples, since there were too many distinct ones.
    pub errors_without_sample: u64,
    /// Why the trial ended. All figures are right for the part measured, whatever the reason.
    pub ending: Ending,
}

/// The slices of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SliceCount {
    /// How many there were.
    pub slices: u64,
    /// Calls at their starts that were left out of all figures but the bytes.
    pub skipped: u64,
    /// How many of them failed.
    pub skipped_failed: u64,
    /// How many of those were never given to the transport.
    pub skipped_never_sent: u64,
}

/// How many succeeded calls of a stage trial had usable marks of the server's handler.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// Both marks inside the call and in order.
    pub used: u64,
    /// No marks, or only one.
    pub absent: u64,
    /// Marks that are not numbers, out of order, or outside the call: another host's clock, say.
    pub implausible: u64,
}
