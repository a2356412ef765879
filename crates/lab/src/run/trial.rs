//! Measuring one trial: placed, held awake, warmed up, timed.

use rpcgauge_load as load;
use rpcgauge_study::plan::{TrialSpec, Variant};
use rpcgauge_study::record::{Cpu, Fault, Measured, Memory};
use rpcgauge_study::settings::{Idle, Timing};

use super::measured::{Surroundings, measured};
use super::server::Server;
use super::warmup::Rule;
use super::{Run, Trialled};
use crate::error::TrialFailure;
use crate::machine::idle::IdleHold;
use crate::machine::placement::Bound;
use crate::machine::process::{CpuReading, ProcessMeter};
use crate::verify;

/// A trial that was measured.
pub(super) struct Ended {
    /// Whether idle states were in truth held off.
    pub(super) idle: Idle,
    /// Its figures.
    pub(super) measured: Measured,
}

/// Measures one trial on the calling thread.
pub(super) fn measure(
    run: &Run<'_>,
    server: &mut Server,
    spec: &TrialSpec,
    variant: &Variant,
) -> Trialled<Ended> {
    let trial = server.planned(run.plan, spec, &variant.settings);
    let prepared = match variant.settings.timing() {
        Timing::Stages => None,
        Timing::Load => Some(server.exchange.prepared()?),
    };
    let client = own_meter()?;
    let layout = run.placements.layout(spec.placement)?;
    let bound = Bound::to(&layout.client)?;
    let idle = IdleHold::ask(run.plan.idle);
    client.reset_peak();
    server.subject.meter().reset_peak();
    let result = timed(server, &trial, prepared, run.stop);
    let got = idle.got();
    drop((idle, bound));
    let (measurement, server_cpu) = explained(server, result)?;
    let memory = Memory {
        client_peak: client.peak_bytes().map_err(unmeasured)?,
        server_peak: server.subject.meter().peak_bytes().map_err(unmeasured)?,
    };
    let around = Surroundings {
        server_cpu,
        memory,
        code: server.exchange.code(),
        // The engine knows it wherever it read an answer.
        answer_size: match measurement.payload.response {
            Some(size) => size,
            None => server.exchange.answer_size(),
        },
    };
    Ok(Ended {
        idle: got,
        measured: measured(measurement, &around),
    })
}

/// Runs the engine, and reads the server's processor time over the measured part.
fn timed(
    server: &mut Server,
    trial: &load::Trial,
    prepared: Option<Vec<load::Body>>,
    stop: &std::sync::atomic::AtomicBool,
) -> Trialled<(load::Measurement, Cpu)> {
    let Server {
        subject, exchange, ..
    } = server;
    let bodies = match prepared {
        Some(bodies) => load::Bodies::Prepared {
            bodies,
            verifier: Some(exchange),
        },
        None => load::Bodies::PerCall(exchange),
    };
    let meter = subject.meter();
    let mut before = meter.cpu().map_err(unmeasured)?;
    let mut rule = Rule::new();
    let hooks = load::Hooks {
        settling: &mut |slice| rule.push(&slice),
        measuring: &mut || before = meter.cpu().unwrap_or(before),
        progress: None,
    };
    let measurement = load::measure_with(trial, bodies, hooks, stop).map_err(verify::failure)?;
    let after: CpuReading = meter.cpu().map_err(unmeasured)?;
    Ok((measurement, after.since(&before)))
}

/// A server that died, or answered no call, fails its trial; the reason is looked for in its end
/// and its log.
fn explained(
    server: &Server,
    result: Trialled<(load::Measurement, Cpu)>,
) -> Trialled<(load::Measurement, Cpu)> {
    let log = || server.subject.log_tail();
    if let Some(how) = server.subject.ended() {
        let reason = format!("the subject ended while it was measured ({how}); see its log");
        return Err(TrialFailure::new(Fault::Subject, reason).with_log(log()));
    }
    let (measurement, cpu) = result.map_err(|failure| failure.with_log(log()))?;
    if measurement.ending == load::Ending::Interrupted {
        return Err(TrialFailure::new(
            Fault::Instrument,
            "stopped while it was measured",
        ));
    }
    if measurement.calls.answered == 0 || measurement.ending == load::Ending::GaveUp {
        return Err(verify::unanswered(&measurement).with_log(log()));
    }
    Ok((measurement, cpu))
}

fn own_meter() -> Trialled<ProcessMeter> {
    ProcessMeter::of_self().map_err(unmeasured)
}

fn unmeasured(error: std::io::Error) -> TrialFailure {
    let reason = format!("processor time and memory could not be read from /proc: {error}");
    TrialFailure::new(Fault::Machine, reason)
}
