//! Converts the engine's measurement to a record's figures.

use std::io;

use rpcgauge_load as load;
use rpcgauge_study::record::{
    Bytes, BytesByClass, CodeKind, CpuTimes, FailureKind, Histogram, Memory, MessageFigures,
    MixFigures, Slices, Startup, Step, Threads, TrialFigures, Watched,
};
use rpcgauge_trial::{Cpu, Payload, Slice};

use crate::machine::process::ProcessMeter;
use crate::subject::Subject;
use crate::variant::server::Running;

/// What the operating system reports about a trial, and values that are the same for all of its calls.
#[derive(Debug, Clone)]
pub(crate) struct ProcessFigures {
    pub(crate) server_cpu: Option<Cpu>,
    pub(crate) memory: Memory,
    pub(crate) threads: Threads,
    pub(crate) startup: Startup,
    pub(crate) code: Option<CodeKind>,
    /// The mean size of the responses, encoded but not compressed, bytes.
    pub(crate) response_size: Option<f64>,
    /// The settings of the slices, if the trial was measured in slices.
    pub(crate) slice: Option<Slice>,
    pub(crate) measured_from_ms: Option<u64>,
    pub(crate) watched: Option<Watched>,
    /// The names of the calls of a mix.
    pub(crate) mix_names: Vec<String>,
}

impl ProcessFigures {
    /// Reads the resources used by the processes of both sides, and how long they took to start. `caller` is a
    /// client or codec subject. There is no `server` for a service that was already running or a codec.
    pub(crate) fn of(
        client: &ProcessMeter,
        caller: Option<&Subject>,
        server: Option<Running<'_>>,
    ) -> io::Result<Self> {
        let meter = server.map(Running::meter);
        Ok(Self {
            server_cpu: None,
            memory: Memory {
                client_peak: client.peak_bytes()?,
                server_peak: meter.as_ref().map(ProcessMeter::peak_bytes).transpose()?,
            },
            threads: Threads {
                client: client.threads()?,
                server: meter.as_ref().map(ProcessMeter::threads).transpose()?,
            },
            startup: Startup {
                client_ns: caller.map(|caller| nanos(caller.startup)),
                server_ns: server.map(|server| nanos(server.startup())),
                cold: server.and_then(Running::cold),
            },
            code: None,
            response_size: None,
            slice: None,
            measured_from_ms: None,
            watched: None,
            mix_names: Vec::new(),
        })
    }
}

/// Combines both. Every field is named, so that a new field of the engine cannot be forgotten.
pub(crate) fn trial_figures(from: load::Measurement, processes: ProcessFigures) -> TrialFigures {
    let load::Measurement {
        calls,
        warmup,
        elapsed,
        // `busiest_share` is over this time.
        spent_over: _,
        latency,
        failed_latency,
        send_delay,
        service,
        messages,
        stages,
        // The number of request times shows how many marks were used.
        marks: _,
        // `watched` contains these two, if requested.
        began: _,
        slow: _,
        timeline,
        steps,
        mix,
        traffic,
        late,
        // Goodput includes only the measured calls.
        late_answered: _,
        requests_sent,
        slices,
        sizes,
        cpu,
        busiest_share,
        connections_at_start,
        connections_opened,
        connections_reopened,
        tls_resumed,
        connects_failed,
        bodies_late,
        stalls,
        most_in_flight,
        uncompressed_responses,
        checked_responses,
        error_samples,
        errors_without_sample,
        ending,
    } = from;
    let (service_time, first_byte) = service
        .map(|times| {
            (
                Histogram::from(times.whole),
                Histogram::from(times.first_byte),
            )
        })
        .unzip();
    TrialFigures {
        calls,
        warmup,
        elapsed_ns: nanos(elapsed),
        latency: Histogram::from(latency),
        failed_latency: Some(failed_latency)
            .filter(|h| !h.is_empty())
            .map(Histogram::from),
        send_delay: Histogram::from(send_delay),
        service_time,
        first_byte,
        messages: messages.map(|messages| Box::new(message_figures(*messages))),
        stages: stages
            .into_iter()
            .map(|(stage, times)| (stage, Histogram::from(times)))
            .collect(),
        timeline,
        steps: steps.into_iter().map(step).collect(),
        mix: mix
            .into_iter()
            .zip(processes.mix_names)
            .map(mix_call)
            .collect(),
        late,
        requests_sent: Some(requests_sent),
        slices: slices.zip(processes.slice).map(|(count, each)| Slices {
            count: count.slices,
            each,
            skipped: count.skipped,
            skipped_failed: count.skipped_failed,
            skipped_never_sent: count.skipped_never_sent,
        }),
        measured_from_ms: processes.measured_from_ms,
        watched: processes.watched,
        // Added by `OverLink`.
        link: None,
        bytes: Some(Bytes {
            sent: bytes(&traffic.sent),
            received: bytes(&traffic.received),
        }),
        payload: Payload {
            response: processes.response_size,
            ..sizes.means()
        },
        cpu: CpuTimes {
            client: Some(cpu),
            server: processes.server_cpu,
        },
        memory: processes.memory,
        threads: processes.threads,
        startup: processes.startup,
        client_share: Some(busiest_share),
        code: processes.code,
        ending,
        connections_at_start: Some(connections_at_start),
        connections_opened: Some(connections_opened),
        connections_reopened,
        tls_resumed,
        connects_failed,
        bodies_late,
        stalls,
        most_in_flight: Some(most_in_flight),
        uncompressed_responses,
        checked_responses,
        error_samples,
        errors_without_sample,
    }
}

fn step(from: load::StepFigures) -> Step {
    let load::StepFigures {
        step,
        calls,
        answered_within,
        send_delay,
    } = from;
    let stalled = calls.failed.get(&FailureKind::ClientStalled);
    Step {
        from: step.from,
        to: step.to,
        time_ns: nanos(step.time),
        started: calls.started,
        never_sent: calls.started - calls.sent,
        answered: calls.answered,
        answered_within,
        failed: calls.failed.values().sum(),
        stalled: stalled.copied().unwrap_or(0),
        latency: Histogram::from(calls.latency),
        send_delay: Histogram::from(send_delay),
    }
}

fn mix_call((from, name): (load::CallFigures, String)) -> MixFigures {
    let load::CallFigures {
        started,
        sent,
        answered,
        failed,
        latency,
    } = from;
    MixFigures {
        name,
        started,
        never_sent: started - sent,
        answered,
        failed,
        latency: Histogram::from(latency),
    }
}

fn message_figures(from: load::MessageFigures) -> MessageFigures {
    let load::MessageFigures {
        form,
        sent,
        received,
        over,
        ended_early,
        paired,
        unpaired,
        first,
        gap,
        latency,
    } = from;
    MessageFigures {
        form,
        sent,
        received,
        over_ns: nanos(over),
        ended_early,
        paired,
        unpaired,
        first: Histogram::from(first),
        gap: Histogram::from(gap),
        latency: Some(latency).filter(|h| !h.is_empty()).map(Histogram::from),
    }
}

fn bytes(from: &load::ByteCount) -> BytesByClass {
    BytesByClass {
        headers: from.header,
        bodies: from.body,
        overhead: from.overhead,
        marks: from.marks,
    }
}

fn nanos(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
