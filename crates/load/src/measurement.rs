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

/// The figures of a trial. Times are nanoseconds unless stated otherwise.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// The measured calls, counted by outcome.
    pub calls: Calls,
    /// The warm-up before the first measured call.
    pub warmup: Warmup,
    /// The denominator of calls per second. In a closed loop it lasts from the first measured call's due time
    /// to the last one's end or, if calls were abandoned, to when they were. At a rate it is the time in
    /// which calls were due: until [`rpcgauge_trial::Stop::time_ms`], the ramp's end, the due time after the
    /// last call if a number of calls ended the trial, or the interruption. Calls that end later do not
    /// extend it. For a session it is the sum of its slices, each until the due time of the next call.
    pub elapsed: Duration,
    /// The time over which [`Measurement::cpu`] was used: [`Measurement::elapsed`] and, at a rate, the time
    /// until the last calls ended.
    pub spent_over: Duration,
    /// Latency of the calls that succeeded, from due to done.
    pub latency: Histogram,
    /// Latency of the calls that failed.
    pub failed_latency: Histogram,
    /// How long after its due time each call was begun; for a call that failed before that, how long it
    /// waited.
    pub send_delay: Histogram,
    /// Time in each stage; empty unless [`crate::Trial::timing`] is
    /// [`rpcgauge_trial::Timing::Stages`].
    pub stages: Stages,
    /// How many of the server's marks were usable.
    pub marks: Marks,
    /// When the first measured call was due, by CLOCK_MONOTONIC. The timeline begins there.
    pub began: Option<u64>,
    /// The trial in slices.
    pub timeline: Timeline,
    /// Calls that took far longer than those before them; none unless they were asked for
    /// ([`crate::Trial::keeps_slow`]).
    pub slow: SlowCalls,
    /// The figures of a ramp's steps; empty for other schedules.
    pub steps: Vec<StepFigures>,
    /// Bytes on the connections from the first measured call to the last one's end. What TLS adds, including
    /// handshakes, is overhead: the bytes on the socket less the plain ones. At a rate they include what late
    /// calls of the warm-up carried; a closed loop waits for those first. For a session they are the bytes of
    /// all its slices, including the skipped calls ([`SliceCount::skipped`]). In a stage trial the server's
    /// marks are counted separately.
    pub traffic: Traffic,
    /// Requests given to the transport, including the warm-up's, those of calls that slices leave out, and
    /// retries.
    pub requests_sent: u64,
    /// Calls of the warm-up that still waited or were in flight when the first measured one was due. What
    /// they used from then on is in [`Measurement::traffic`] and [`Measurement::cpu`].
    pub late: LateCalls,
    /// How many of those late calls succeeded while measured calls were due, at a rate. Together with the
    /// measured calls that did not end late, they are all calls that succeeded in that time.
    pub late_answered: u64,
    /// A session's slices; `None` if the measured part was one piece.
    pub slices: Option<SliceCount>,
    /// Sizes of the messages.
    pub payload: Payload,
    /// Processor time of the measuring thread over [`Measurement::spent_over`].
    pub cpu: Cpu,
    /// Connections open when the measured part began.
    pub connections_at_start: u64,
    /// Connections opened during the measured part.
    pub connections_opened: u64,
    /// Connections that a session reopened between its slices because the server had closed them.
    pub connections_reopened: u64,
    /// How many of the connections opened in the measured part resumed the TLS session of an earlier one (see
    /// [`crate::TlsSettings::resumption`]).
    pub tls_resumed: u64,
    /// Attempts to open a connection that failed, warm-up included. With
    /// [`rpcgauge_trial::ConnectionUse::Reuse`] a failed attempt fails no call while another connection is
    /// open, but calls then use fewer connections than asked for; its text is among
    /// [`Measurement::error_samples`].
    pub connects_failed: u64,
    /// Calls that were due and had no body yet ([`crate::Bodies::Streamed`]): they were begun late through
    /// the client's fault, not the server's.
    pub bodies_late: u64,
    /// Times of the measured part in which this program did not run. Calls that were open or due then failed
    /// as [`rpcgauge_trial::FailureKind::ClientStalled`], and the time is not in [`Measurement::elapsed`] or
    /// [`Measurement::spent_over`].
    pub stalls: Stalls,
    /// The maximum number of calls in flight at a time in the measured part. It can be lower than a closed
    /// loop asks for, for example if the server allows fewer streams on its connections.
    pub most_in_flight: u64,
    /// Responses that were uncompressed although [`crate::Expect::encoding`] names an encoding.
    pub uncompressed_responses: u64,
    /// Up to ten distinct error texts, each with its count.
    pub error_samples: Vec<ErrorSample>,
    /// Failures whose text is not among the samples, because there were too many distinct ones.
    pub errors_without_sample: u64,
    /// Why the trial ended. Whatever the reason, all figures are valid for the part that was measured.
    pub ending: Ending,
}

/// The slices of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SliceCount {
    /// How many there were.
    pub slices: u64,
    /// Calls at their starts that were left out of all figures but the bytes.
    pub skipped: u64,
    /// How many of the skipped calls failed.
    pub skipped_failed: u64,
    /// How many of the skipped calls that failed were never given to the transport.
    pub skipped_never_sent: u64,
}

/// How many succeeded calls of a stage trial had usable marks of the server's handler.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// Both marks are inside the call and in order.
    pub used: u64,
    /// No marks, or only one.
    pub absent: u64,
    /// Marks that are not numbers, out of order, or outside the call, for example from another host's clock.
    pub implausible: u64,
}
