//! The result of a trial.

use std::collections::BTreeMap;
use std::time::Duration;

use rpcgauge_trial::{
    Calls, Cpu, Ending, ErrorSample, LateCalls, Payload, Stage, Stalls, StreamForm, Timeline,
    Warmup,
};
use rpcgauge_wire::Traffic;

use crate::Histogram;
use crate::histogram::histogram;
use crate::secrets::without_values;
use crate::slow::SlowCalls;
use crate::steps::{CallFigures, StepFigures};

/// Time in each stage of the successful calls, ns. A stage that no call went through is absent.
pub type Stages = BTreeMap<Stage, Histogram>;

/// The figures of a trial. Times are in nanoseconds unless stated otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// The measured calls, counted by outcome.
    pub calls: Calls,
    /// The warm-up before the first measured call.
    pub warmup: Warmup,
    /// The denominator of calls per second. In a closed loop, it runs from the due time of the first measured
    /// call until the end of the last one or, if calls were abandoned, until they were. At a rate, it is the
    /// time in which calls were due: until [`rpcgauge_trial::Stop::time_ms`], the ramp's end, the due time
    /// after the last call if a number of calls ended the trial, or the interruption. Calls that end later do
    /// not extend it. For a session, it is the sum over its slices, each until the due time of the next call.
    pub elapsed: Duration,
    /// The time over which [`Measurement::cpu`] was used: [`Measurement::elapsed`] plus, at a rate, the time
    /// until the last calls ended.
    pub spent_over: Duration,
    /// Latency of successful calls, from due to done.
    pub latency: Histogram,
    /// Latency of failed calls.
    pub failed_latency: Histogram,
    /// How long after its due time each call began. For a call that failed before it began, how long it
    /// waited.
    pub send_delay: Histogram,
    /// Times of successful calls without the wait before they were sent; `None` unless they were requested
    /// ([`crate::Trial::keeps_detail`]).
    pub service: Option<ServiceTimes>,
    /// Time in each stage; empty unless [`crate::Trial::timing`] is [`rpcgauge_trial::Timing::Stages`].
    pub stages: Stages,
    /// How many of the server's marks were usable.
    pub marks: Marks,
    /// The messages of streaming calls; `None` for other calls.
    pub messages: Option<Box<MessageFigures>>,
    /// When the first measured call was due, by CLOCK_MONOTONIC. The timeline begins at this time.
    pub began: Option<u64>,
    /// The trial, divided into slices.
    pub timeline: Timeline,
    /// Calls that took far longer than those before them; empty unless they were requested
    /// ([`crate::Trial::keeps_slow`]).
    pub slow: SlowCalls,
    /// The figures of a ramp's steps; empty for other schedules.
    pub steps: Vec<StepFigures>,
    /// The figures of each call of [`crate::Trial::mix`]. Calls that ended before they began are divided among
    /// them by weight.
    pub mix: Vec<CallFigures>,
    /// Bytes on the connections from the first measured call until the end of the last one. What TLS adds,
    /// including handshakes, is overhead: the bytes on the socket minus the plaintext bytes. At a rate, this
    /// includes what late calls of the warm-up carried; a closed loop waits for those first. For a session,
    /// these are the bytes of all its slices, including the skipped calls ([`SliceCount::skipped`]). In a
    /// stage trial, the server's marks are counted separately.
    pub traffic: Traffic,
    /// Requests passed to the transport, including those of the warm-up and of calls that slices skip, and
    /// retries.
    pub requests_sent: u64,
    /// Calls of the warm-up that were still waiting or in flight when the first measured call was due. What
    /// they used from then on is included in [`Measurement::traffic`] and [`Measurement::cpu`].
    pub late: LateCalls,
    /// How many of those late calls succeeded while measured calls were due. Only at a rate. Together with
    /// the measured calls that did not end late, these are all the calls that succeeded in that time.
    pub late_answered: u64,
    /// The slices of a session; `None` if the measured part was not divided.
    pub slices: Option<SliceCount>,
    /// The sizes of the messages.
    pub sizes: MessageSizes,
    /// CPU time of the measuring threads over [`Measurement::spent_over`].
    pub cpu: Cpu,
    /// The share of a core that the measuring thread, or the busiest of them, used over its own time, 0 to 1.
    pub busiest_share: f64,
    /// Connections that were open when the measured part began.
    pub connections_at_start: u64,
    /// Connections opened during the measured part.
    pub connections_opened: u64,
    /// Connections that a session reopened between its slices because the server had closed them.
    pub connections_reopened: u64,
    /// How many of the connections opened in the measured part resumed the TLS session of an earlier one (see
    /// [`crate::TlsSettings::resumption`]).
    pub tls_resumed: u64,
    /// Failed attempts to open a connection, including the warm-up. With
    /// [`rpcgauge_trial::ConnectionUse::Reuse`], a failed attempt fails no call while another connection is
    /// open, but calls then use fewer connections than requested. The error text is among
    /// [`Measurement::error_samples`].
    pub connects_failed: u64,
    /// Calls that were due but had no body yet ([`crate::Bodies::Streamed`]). They began late because of the
    /// client, not the server.
    pub bodies_late: u64,
    /// Periods of the measured part in which this process did not run. Calls that were open or due then
    /// failed as [`rpcgauge_trial::FailureKind::ClientStalled`], and the time is excluded from
    /// [`Measurement::elapsed`] and [`Measurement::spent_over`].
    pub stalls: Stalls,
    /// Maximum number of concurrent calls in the measured part; with several threads, the sum of their maxima. It
    /// can be lower than a closed loop requests, for example if the server allows fewer streams on its connections.
    pub most_in_flight: u64,
    /// Responses that were uncompressed although [`crate::Expect::encoding`] specifies an encoding.
    pub uncompressed_responses: u64,
    /// Responses to measured calls whose content was checked ([`crate::Checked::All`]); `None` without such a
    /// check.
    pub checked_responses: Option<u64>,
    /// Up to ten distinct error texts, each with its count.
    pub error_samples: Vec<ErrorSample>,
    /// Failures whose text is not among the samples because there were too many distinct texts.
    pub errors_without_sample: u64,
    /// Why the trial ended. Whatever the reason, all figures are valid for the part that was measured.
    pub ending: Ending,
}

impl Measurement {
    /// Replaces the values of header fields in the error texts ([`without_values`]).
    pub fn hide_values(&mut self, headers: &[(String, String)]) {
        for sample in &mut self.error_samples {
            sample.text = without_values(&sample.text, headers);
        }
    }
}

/// The share of a core that `cpu_ns` are, at most 1. The CPU clock and the wall clock differ slightly, so a busy core could
/// seem to exceed 100%.
pub(crate) fn share(cpu_ns: u64, over: Duration) -> f64 {
    let over_ns = over.as_nanos() as f64;
    if over_ns == 0.0 {
        0.0
    } else {
        (cpu_ns as f64 / over_ns).min(1.0)
    }
}

/// Times of successful calls from just before the first write of the request, or of its last retry. Writes and
/// reads carry many calls, so the times include what else was in the same write and read.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceTimes {
    /// Until the read that brought the last byte of the response.
    pub whole: Histogram,
    /// Until the read that brought its first byte.
    pub first_byte: Histogram,
}

/// The messages of measured streaming calls ([`crate::Trial::streaming`]). All times are in ns.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageFigures {
    /// Which side streams.
    pub form: StreamForm,
    /// Messages passed to the transport, including those of retries.
    pub sent: u64,
    /// Messages received.
    pub received: u64,
    /// The time over which they were counted: [`Measurement::spent_over`].
    pub over: Duration,
    /// Successful calls that the server ended before all messages were sent.
    pub ended_early: u64,
    /// Bidirectional calls that received one message for each that they sent, as far as they ended: calls that
    /// the server completed, and those that wait for each response.
    pub paired: u64,
    /// Bidirectional calls that did not. If there are any, or none that did, [`MessageFigures::latency`] means
    /// nothing.
    pub unpaired: u64,
    /// From the due time of a call to its first message. Like the other times, without those in which this
    /// process was stalled.
    pub first: Histogram,
    /// Between a message of a call and the next. Messages that arrive in one read have no time between them.
    pub gap: Histogram,
    /// From the due time of a message to the message that the server sent in return, which is the one with the
    /// same number. An unpaced message is due when it is sent. Empty unless streams are bidirectional.
    pub latency: Histogram,
}

impl MessageFigures {
    pub(crate) fn new(form: StreamForm) -> MessageFigures {
        MessageFigures {
            form,
            sent: 0,
            received: 0,
            over: Duration::ZERO,
            ended_early: 0,
            paired: 0,
            unpaired: 0,
            first: histogram(),
            gap: histogram(),
            latency: histogram(),
        }
    }
}

/// Sums of message sizes over measured calls, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageSizes {
    /// Requests that were sent.
    pub requests: u64,
    /// Their messages before compression.
    pub request_plain: u64,
    /// Their messages as carried.
    pub request_carried: u64,
    /// Successful responses.
    pub responses: u64,
    /// Their messages as carried.
    pub response_carried: u64,
    /// Responses whose uncompressed size is known, including verified ones of the warm-up.
    pub plain_responses: u64,
    /// Their uncompressed messages.
    pub response_plain: u64,
}

impl MessageSizes {
    /// The mean sizes.
    pub fn means(&self) -> Payload {
        let mean = |sum: u64, count: u64| sum as f64 / count.max(1) as f64;
        Payload {
            request: Some(mean(self.request_plain, self.requests)),
            request_compressed: Some(mean(self.request_carried, self.requests)),
            response: (self.plain_responses > 0)
                .then(|| mean(self.response_plain, self.plain_responses)),
            response_compressed: Some(mean(self.response_carried, self.responses)),
        }
    }
}

/// The slices of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SliceCount {
    /// Number of slices.
    pub slices: u64,
    /// Calls at the start of slices that were excluded from all figures except the bytes.
    pub skipped: u64,
    /// How many of the skipped calls failed.
    pub skipped_failed: u64,
    /// How many of the skipped calls that failed were never passed to the transport.
    pub skipped_never_sent: u64,
}

/// How many successful calls of a stage trial had usable marks of the server's handler.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// Both marks are within the call and in order.
    pub used: u64,
    /// No marks, or only one.
    pub absent: u64,
    /// Marks that are not numbers, are out of order, or lie outside the call, for example because of another
    /// host's clock.
    pub implausible: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_share() {
        let share = |cpu_ns, over_ns| share(cpu_ns, Duration::from_nanos(over_ns));
        assert_eq!(share(1, 0), 0.0);
        assert_eq!(share(25, 100), 0.25);
        assert_eq!(share(101, 100), 1.0);
    }
}
