//! The engine's measurement as it stands in a record.

use rpcgauge_load as load;
use rpcgauge_study::plan::Slice;
use rpcgauge_study::ramp::RampStep;
use rpcgauge_study::record::{
    Bytes, Calls, Code, Cpu, CpuTimes, Ending, ErrorSample, Histogram, Measured, Memory, Payload,
    Slices, Stage, Step, Timeline, TimelineSlice, Traffic, Warmup,
};

/// What the operating system knows of a trial, and what does not change from call to call.
#[derive(Debug, Clone)]
pub(super) struct Surroundings {
    pub(super) server_cpu: Option<Cpu>,
    pub(super) memory: Memory,
    pub(super) code: Option<Code>,
    /// Mean size of the responses, encoded and not compressed, bytes.
    pub(super) response_size: Option<f64>,
    /// The steps of a ramp as they were asked for; empty for other schedules.
    pub(super) steps: Vec<RampStep>,
    /// What each slice was to be, where the trial was measured in slices.
    pub(super) slice: Option<Slice>,
    pub(super) measured_from_ms: Option<u64>,
}

/// Puts both together. Every field is named, so that one that is new in the engine cannot get lost
/// here.
pub(super) fn measured(from: load::Measurement, around: Surroundings) -> Measured {
    let load::Measurement {
        calls,
        warmup,
        elapsed,
        spent_over,
        latency,
        failed_latency,
        send_delay,
        stages,
        // How many were used is the count of the request times.
        marks: _,
        timeline,
        segments,
        traffic,
        warmup_ended_after,
        slices,
        payload,
        cpu,
        connections_at_start,
        connections_opened,
        connections_reopened,
        tls_resumed,
        connects_failed,
        bodies_late,
        most_in_flight,
        uncompressed_answers,
        error_samples,
        errors_without_sample,
        ending,
    } = from;
    Measured {
        calls: self::calls(calls),
        warmup: self::warmup(warmup),
        elapsed_ns: nanos(elapsed),
        latency: Histogram::from(latency),
        failed_latency: Some(failed_latency)
            .filter(|h| !h.is_empty())
            .map(Histogram::from),
        send_delay: Histogram::from(send_delay),
        stages: stages
            .into_iter()
            .map(|(s, h)| (stage(s), Histogram::from(h)))
            .collect(),
        timeline: self::timeline(&timeline),
        steps: steps(segments, &around.steps),
        warmup_ended_after,
        slices: slices.zip(around.slice).map(|(count, each)| Slices {
            count: count.slices,
            each,
            skipped: count.skipped,
            skipped_failed: count.skipped_failed,
        }),
        measured_from_ms: around.measured_from_ms,
        bytes: Some(Bytes {
            sent: bytes(&traffic.sent),
            received: bytes(&traffic.received),
        }),
        payload: Payload {
            request: Some(payload.request),
            request_compressed: Some(payload.request_carried),
            response: around.response_size,
            response_compressed: Some(payload.response_carried),
        },
        cpu: CpuTimes {
            client: Some(Cpu {
                total_ns: cpu.total_ns,
                user_ns: Some(cpu.user_ns),
                system_ns: Some(cpu.system_ns),
            }),
            server: around.server_cpu,
        },
        memory: around.memory,
        client_share: Some(share(cpu.total_ns, nanos(spent_over))),
        code: around.code,
        ending: self::ending(ending),
        connections_at_start: Some(connections_at_start),
        connections_opened: Some(connections_opened),
        connections_reopened,
        tls_resumed,
        connects_failed,
        bodies_late,
        most_in_flight: Some(most_in_flight),
        uncompressed_answers,
        error_samples: self::error_samples(error_samples),
        errors_without_sample,
    }
}

fn calls(from: load::Calls) -> Calls {
    let load::Calls {
        started,
        answered,
        answered_late,
        failed,
        abandoned,
        never_begun,
        never_sent,
        retried,
        answered_after_retry,
    } = from;
    let failed = failed.into_iter();
    Calls {
        started,
        answered,
        answered_late,
        failed: failed.map(|(kind, n)| (kind.to_string(), n)).collect(),
        abandoned,
        never_begun,
        never_sent,
        retried,
        answered_after_retry,
    }
}

fn ending(from: load::Ending) -> Ending {
    match from {
        // The bodies of a trial are as many as its calls: that they are used up is its end.
        load::Ending::Complete | load::Ending::BodiesUsedUp => Ending::Complete,
        load::Ending::Interrupted => Ending::Interrupted,
        load::Ending::GaveUp => Ending::GaveUp,
    }
}

fn warmup(from: load::WarmupOutcome) -> Warmup {
    let load::WarmupOutcome {
        calls,
        failed,
        elapsed,
        settled,
    } = from;
    Warmup {
        calls,
        failed,
        elapsed_ns: nanos(elapsed),
        settled,
    }
}

pub(super) fn timeline(from: &load::Timeline) -> Timeline {
    let slice = |slice: &load::Slice| TimelineSlice {
        answered: slice.answered,
        failed: slice.failed,
        latency_sum_ns: slice.latency_sum_ns,
        latency_max_ns: slice.latency_max_ns,
    };
    Timeline {
        slice_ns: from.slice_ns,
        slices: from.slices.iter().map(slice).collect(),
    }
}

/// The engine has a segment for each step that it was asked for.
fn steps(from: Vec<load::SegmentFigures>, asked: &[RampStep]) -> Vec<Step> {
    let step = |(figures, asked): (load::SegmentFigures, &RampStep)| {
        let load::SegmentFigures {
            started,
            sent,
            answered,
            failed,
            latency,
            send_delay,
        } = figures;
        Step {
            from: asked.from,
            to: asked.to,
            time_ns: nanos(asked.time),
            started,
            never_sent: started - sent,
            answered,
            failed,
            latency: Histogram::from(latency),
            send_delay: Histogram::from(send_delay),
        }
    };
    from.into_iter().zip(asked).map(step).collect()
}

fn bytes(from: &load::ByteCount) -> Traffic {
    Traffic {
        headers: from.header,
        bodies: from.body,
        overhead: from.overhead,
        marks: from.marks,
    }
}

fn error_samples(from: Vec<load::ErrorSample>) -> Vec<ErrorSample> {
    let sample = |sample: load::ErrorSample| ErrorSample {
        kind: sample.kind.to_string(),
        text: sample.text,
        count: sample.count,
    };
    from.into_iter().map(sample).collect()
}

/// The engine and the records each have their list of stages, since neither knows the other. A stage
/// that is new in the engine's does not compile here; one that is new in the records', not in the
/// test below.
fn stage(from: load::Stage) -> Stage {
    match from {
        load::Stage::Connect => Stage::Connect,
        load::Stage::Encode => Stage::Encode,
        load::Stage::Compress => Stage::Compress,
        load::Stage::Send => Stage::Send,
        load::Stage::Wait => Stage::Wait,
        load::Stage::Receive => Stage::Receive,
        load::Stage::Decompress => Stage::Decompress,
        load::Stage::Decode => Stage::Decode,
        load::Stage::RequestTime => Stage::RequestTime,
        load::Stage::HandlerTime => Stage::HandlerTime,
        load::Stage::ResponseTime => Stage::ResponseTime,
    }
}

/// Clocks of processor time and of time differ by a little, so that a busy core can seem busier
/// than it can be.
fn share(cpu_ns: u64, over_ns: u64) -> f64 {
    if over_ns == 0 {
        0.0
    } else {
        (cpu_ns as f64 / over_ns as f64).min(1.0)
    }
}

fn nanos(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::settings;

    use super::*;

    #[test]
    fn a_share_is_a_share() {
        assert_eq!(share(1, 0), 0.0);
        assert_eq!(share(25, 100), 0.25);
        assert_eq!(share(101, 100), 1.0);
    }

    /// The other way round from [`stage`].
    fn timed(stage: Stage) -> load::Stage {
        match stage {
            Stage::Connect => load::Stage::Connect,
            Stage::Encode => load::Stage::Encode,
            Stage::Compress => load::Stage::Compress,
            Stage::Send => load::Stage::Send,
            Stage::Wait => load::Stage::Wait,
            Stage::Receive => load::Stage::Receive,
            Stage::Decompress => load::Stage::Decompress,
            Stage::Decode => load::Stage::Decode,
            Stage::RequestTime => load::Stage::RequestTime,
            Stage::HandlerTime => load::Stage::HandlerTime,
            Stage::ResponseTime => load::Stage::ResponseTime,
        }
    }

    #[test]
    fn the_records_have_the_engines_stages_in_its_order() {
        let recorded = load::Stage::ALL.map(stage);
        assert_eq!(recorded.map(timed), load::Stage::ALL);
        assert!(recorded.is_sorted_by(|a, b| a < b), "{recorded:?}");
        assert_eq!(recorded[..Stage::CLIENT.len()], Stage::CLIENT);
    }

    #[test]
    fn a_study_may_ask_for_what_the_engine_can_do() {
        assert_eq!(settings::MOST_IN_FLIGHT, load::MOST_IN_FLIGHT);
    }

    #[test]
    fn kinds_keep_their_names_and_counts() {
        let mut from = load::Calls {
            started: 3,
            answered: 1,
            retried: 4,
            answered_after_retry: 1,
            ..load::Calls::default()
        };
        from.failed.insert(load::FailureKind::HttpStatus(503), 2);
        let calls = calls(from);
        assert_eq!(calls.failed.get("http-503"), Some(&2));
        assert_eq!((calls.retried, calls.answered_after_retry), (4, 1));
        assert_eq!(
            calls.started,
            calls.answered + calls.failed_total() + calls.abandoned
        );
    }
}
