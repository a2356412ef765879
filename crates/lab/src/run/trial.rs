//! Measuring one trial: placed, held awake, warmed up, timed.

use rpcgauge_load as load;
use rpcgauge_study::plan::{TrialSpec, Variant};
use rpcgauge_study::ramp;
use rpcgauge_study::record::{Cpu, Fault, Measured, Memory};
use rpcgauge_study::settings::{Idle, Schedule};

use super::measured::{Surroundings, measured};
use super::server::Server;
use super::warmup::Rule;
use super::{Run, Trialled};
use crate::error::TrialFailure;
use crate::machine::idle::IdleHold;
use crate::machine::placement::Bound;
use crate::machine::process::{CpuReading, ProcessMeter};
use crate::observer::Watch;
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
    run: &mut Run<'_>,
    server: &mut Server,
    spec: &TrialSpec,
    variant: &Variant,
) -> Trialled<Ended> {
    let trial = server.planned(run.plan, spec, &variant.settings);
    let process = server.meter().cloned();
    let bodies = server.bodies(trial.timing)?;
    let client = own_meter()?;
    let layout = run.placements.layout(spec.placement)?;
    let bound = Bound::to(&layout.client)?;
    let idle = IdleHold::ask(run.plan.idle);
    client.reset_peak();
    if let Some(process) = &process {
        process.reset_peak();
    }
    let watch = run.observer.watch();
    let result = timed(&trial, bodies, process.as_ref(), watch, run.stop);
    let got = idle.got();
    drop((idle, bound));
    let (measurement, server_cpu) = explained(server, result)?;
    let memory = Memory {
        client_peak: client.peak_bytes().map_err(unmeasured)?,
        server_peak: match &process {
            Some(process) => Some(process.peak_bytes().map_err(unmeasured)?),
            None => None,
        },
    };
    let around = Surroundings {
        server_cpu,
        memory,
        code: server.code(),
        // The engine knows it wherever it read an answer.
        answer_size: measurement
            .payload
            .response
            .or_else(|| server.answer_size()),
        steps: match &variant.settings.schedule {
            Schedule::Ramp { parts, .. } => ramp::steps(parts),
            Schedule::Closed { .. } | Schedule::Rate { .. } => Vec::new(),
        },
    };
    Ok(Ended {
        idle: got,
        measured: measured(measurement, &around),
    })
}

/// Runs the engine, and reads the processor time of the server's process over the measured part,
/// where there is one.
fn timed(
    trial: &load::Trial,
    bodies: load::Bodies<'_>,
    process: Option<&ProcessMeter>,
    mut watch: Option<&mut dyn Watch>,
    stop: &std::sync::atomic::AtomicBool,
) -> Trialled<(load::Measurement, Option<Cpu>)> {
    let read = || process.map(|meter| meter.cpu().map_err(unmeasured));
    let mut before = read().transpose()?;
    let mut rule = Rule::new();
    let every = watch.as_ref().map(|watch| watch.every());
    let mut look = |progress: &mut load::Progress<'_>| {
        if let Some(watch) = &mut watch {
            watch.look(progress);
        }
    };
    let hooks = load::Hooks {
        settling: &mut |slice| rule.push(&slice),
        measuring: &mut || {
            if let Some(Ok(now)) = read() {
                before = Some(now);
            }
        },
        progress: every.map(|every| load::ProgressHook {
            every,
            look: &mut look,
        }),
    };
    let measurement = load::measure_with(trial, bodies, hooks, stop).map_err(verify::failure)?;
    let after: Option<CpuReading> = read().transpose()?;
    let used = after
        .zip(before)
        .map(|(after, before)| after.since(&before));
    Ok((measurement, used))
}

/// A subject that died, or answered no call, fails its trial; the reason is looked for in its end
/// and its log. Of a live service everything that was measured is kept.
fn explained(
    server: &Server,
    result: Trialled<(load::Measurement, Option<Cpu>)>,
) -> Trialled<(load::Measurement, Option<Cpu>)> {
    let log = || server.log_tail();
    if let Some(how) = server.ended() {
        let reason = format!("the subject ended while it was measured ({how}); see its log");
        return Err(TrialFailure::new(Fault::Subject, reason).with_log(log()));
    }
    let (measurement, cpu) = result.map_err(|failure| failure.with_log(log()))?;
    if server.keeps_what_was_measured() && measurement.calls.started > 0 {
        return Ok((measurement, cpu));
    }
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
