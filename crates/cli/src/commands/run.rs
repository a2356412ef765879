//! `rpcgauge run`: runs studies and writes their reports.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use rpcgauge_lab::Stacks;
use rpcgauge_study::run::RunKind;

use super::measure::{self, Ended, RunContext};
use super::{app_study, subjects};
use crate::args::RunArgs;
use crate::exit::{Failure, Outcome, note};
use crate::inputs::{self, Resolved};
use crate::services;
use crate::signals;
use crate::watch::Exports;

pub(crate) fn run(args: RunArgs) -> Outcome {
    let of_one = [
        ("--out", args.output.out.is_some()),
        ("--name", args.output.name.is_some()),
    ];
    if let Some((option, _)) = of_one.into_iter().find(|(_, given)| *given)
        && args.studies.len() > 1
    {
        return Err(Failure::input(format!(
            "{option} is for one run, but there are several studies; run them one by one"
        )));
    }
    if let Some(directory) = &args.resume
        && RunKind::of(directory).map_err(Failure::input)? == RunKind::App
    {
        return app_study::resume(directory, &args);
    }
    let mut subjects = subjects::load(&args.subjects)?;
    let limits = inputs::limits(&args.limits)?;
    // Resolve all studies before the first one runs, so that an error in the last one is reported
    // immediately.
    let mut studies = Vec::new();
    for word in &args.studies {
        let written = inputs::written(word)?;
        match inputs::of_app(&written, &args.overrides)? {
            Some(of_app) if args.studies.len() == 1 => {
                return app_study::run(&of_app, &args.output);
            }
            Some(_) => {
                let why = "is a study of an application; run it alone";
                return Err(Failure::input(format!("{word} {why}")));
            }
            None => {}
        }
        let stacks = subjects::named_in(&written.text);
        subjects.add_versions(stacks.iter().map(String::as_str))?;
        studies.push(inputs::study(
            written,
            &args.overrides,
            limits,
            &subjects,
            true,
        )?);
    }
    // This must come before the handler that makes Ctrl-C only set a flag. Otherwise Ctrl-C could
    // not interrupt the wait for a pipe that has no writer.
    for study in &mut studies {
        services::look_up(study)?;
    }
    let prepared = studies.iter().map(services::prepare);
    let prepared = prepared.collect::<Result<Vec<_>, _>>()?;
    let stop = signals::stop_flag()?;
    let (none, live) = (Stacks::default(), BTreeMap::new());
    let how = RunContext {
        output: &args.output,
        stop: &stop,
        live: &live,
        subjects: &none,
        folders: &args.subjects.folders,
        gate: None,
    };
    if let Some(directory) = &args.resume {
        return measure::resume(directory, &args, &mut subjects, how).map(Ended::code);
    }
    let plans = studies.iter().map(|study| &study.plan);
    measure::prepare_links(plans.clone())?;
    let how = RunContext {
        subjects: &subjects::commands(&subjects, plans, args.output.quiet, &stop)?,
        ..how
    };
    let mut ended = Ended::Well;
    for (number, (study, prepared)) in studies.iter().zip(&prepared).enumerate() {
        // Ctrl-C may have been pressed while the report of the previous study was being written.
        if stop.load(Ordering::Relaxed) {
            name_left_out(&studies[number..]);
            return Ok(Ended::Interrupted.code());
        }
        let live = services::find(prepared, &study.plan, &stop)?;
        let how = RunContext { live: &live, ..how };
        ended = ended.max(measure::start(study, how, Exports::default())?);
    }
    Ok(ended.code())
}

/// Reports the studies that were not started.
fn name_left_out(studies: &[Resolved]) {
    let names: Vec<&str> = studies.iter().map(|study| &*study.plan.name).collect();
    note(&format!("interrupted; not started: {}", names.join(", ")));
}
