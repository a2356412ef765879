//! The engine's measurement as it stands in a record.

use rpcgauge_load as load;
use rpcgauge_study::record::{
    Bytes, Calls, Code, Cpu, CpuTimes, ErrorSample, Histogram, Measured, Memory, Payload, Slice,
    Stage, Timeline, Traffic, Warmup,
};

/// What the operating system knows of a trial, and what does not change from call to call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings {
    pub(super) server_cpu: Cpu,
    pub(super) memory: Memory,
    pub(super) code: Code,
    /// Mean size of the answers, encoded and not compressed, bytes.
    pub(super) answer_size: f64,
}

/// Puts both together.
pub(super) fn measured(from: load::Measurement, around: &Surroundings) -> Measured {
    let elapsed_ns = nanos(from.elapsed);
    let client = Cpu {
        total_ns: from.cpu.total_ns,
        user_ns: from.cpu.user_ns,
        system_ns: from.cpu.system_ns,
    };
    Measured {
        calls: calls(&from.calls),
        warmup: Warmup {
            calls: from.warmup.calls,
            failed: from.warmup.failed,
            elapsed_ns: nanos(from.warmup.elapsed),
            settled: from.warmup.settled,
        },
        elapsed_ns,
        latency: Histogram::from(from.latency),
        failed_latency: Some(from.failed_latency)
            .filter(|h| !h.is_empty())
            .map(Histogram::from),
        send_delay: Histogram::from(from.send_delay),
        stages: from
            .stages
            .into_iter()
            .map(|(s, h)| (stage(s), Histogram::from(h)))
            .collect(),
        timeline: timeline(&from.timeline),
        bytes: Bytes {
            sent: traffic(&from.traffic.sent),
            received: traffic(&from.traffic.received),
        },
        payload: Payload {
            request: from.payload.request,
            request_compressed: from.payload.request_carried,
            response: around.answer_size,
            response_compressed: from.payload.response_carried,
        },
        cpu: CpuTimes {
            client,
            server: around.server_cpu,
        },
        memory: around.memory,
        client_share: share(client.total_ns, elapsed_ns),
        code: around.code,
        connections_at_start: Some(from.connections_at_start),
        connections_opened: from.connections_opened,
        connects_failed: from.connects_failed,
        uncompressed_answers: from.uncompressed_answers,
        error_samples: error_samples(&from.error_samples),
        errors_without_sample: from.errors_without_sample,
    }
}

fn calls(from: &load::Calls) -> Calls {
    Calls {
        started: from.started,
        answered: from.answered,
        failed: from
            .failed
            .iter()
            .map(|(kind, count)| (kind.to_string(), *count))
            .collect(),
        abandoned: from.abandoned,
        never_begun: from.never_begun,
    }
}

fn timeline(from: &load::Timeline) -> Timeline {
    let slice = |slice: &load::Slice| Slice {
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

fn traffic(from: &load::ByteCount) -> Traffic {
    Traffic {
        headers: from.header,
        bodies: from.body,
        overhead: from.overhead,
    }
}

fn error_samples(from: &[load::ErrorSample]) -> Vec<ErrorSample> {
    let sample = |sample: &load::ErrorSample| ErrorSample {
        kind: sample.kind.to_string(),
        text: sample.text.clone(),
        count: sample.count,
    };
    from.iter().map(sample).collect()
}

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
fn share(cpu_ns: u64, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 {
        0.0
    } else {
        (cpu_ns as f64 / elapsed_ns as f64).min(1.0)
    }
}

fn nanos(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_share() {
        assert_eq!(share(1, 0), 0.0);
        assert_eq!(share(25, 100), 0.25);
        assert_eq!(share(101, 100), 1.0);
    }

    #[test]
    fn kinds_keep_their_names_and_counts() {
        let mut from = load::Calls {
            started: 3,
            answered: 1,
            ..load::Calls::default()
        };
        from.failed.insert(load::FailureKind::HttpStatus(503), 2);
        let calls = calls(&from);
        assert_eq!(calls.failed.get("http-503"), Some(&2));
        assert_eq!(
            calls.started,
            calls.answered + calls.failed_total() + calls.abandoned
        );
    }
}
