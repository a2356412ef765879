//! `rpcgauge map`: compares ways to call at several sizes, and checks by measurements what is computed for other networks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use rpcgauge_message::MethodKind;
use rpcgauge_report::Findings;
use rpcgauge_study::plan::Plan;
use rpcgauge_study::run::{Run, names};
use rpcgauge_study::scale;

use super::measure::{self, Ended, RunContext};
use super::{compare, subjects};
use crate::args::{CompareArgs, MapArgs, OutputArgs};
use crate::exit::{Failure, Outcome, note};
use crate::inputs::{self, Resolved};
use crate::signals;

/// The factor between two sizes of a map.
const STEP: u32 = 4;
/// The largest size, bytes as JSON, unless the response is larger than a quarter of it.
const MAX_BYTES: usize = 1 << 20;
const MAX_SIZES: usize = 6;

pub(crate) fn run(args: MapArgs) -> Outcome {
    let points = usize::from(args.points);
    if let Some(directory) = args.run.clone() {
        return check_run(&directory, points, &args);
    }
    // This must come first, because it requires that this program has only one thread.
    let is_checked = !args.unchecked && is_possible();
    let Some(mut comparison) = args.comparison() else {
        return Err(Failure::input(
            "--method, --request and --response are missing",
        ));
    };
    comparison.size_sweep = sizes(&comparison, is_checked)?;
    compare::carry_out(comparison, |study, how| {
        let measured = measure::measure(study, how)?;
        let mut of_check = Ended::Well;
        if is_checked && measured.is_complete() {
            // The map is valid without its check.
            of_check = check(measured.directory(), points, how).unwrap_or_else(|failure| {
                note(failure.line());
                Ended::WithFailures
            });
        }
        Ok(measured.report(how)?.max(of_check))
    })
}

/// Whether this machine can emulate networks. If not, the reason is printed.
fn is_possible() -> bool {
    match rpcgauge_link::prepare() {
        Ok(_) => true,
        Err(error) => {
            note(&format!("the map will not be checked here: {error}"));
            false
        }
    }
}

/// The sizes of a map: the given ones, or else powers of [`STEP`]. Refuses what has no map before anything is measured.
fn sizes(args: &CompareArgs, is_checked: bool) -> Result<Vec<u32>, Failure> {
    let (_, own) = inputs::own_workload(&args.schema, &args.method, &args.request, &args.response)?;
    if compare::method_kind(&own)? != MethodKind::Unary {
        let message = format!(
            "{} is a method that streams, and only unary calls can be mapped; see `rpcgauge compare`",
            own.method
        );
        return Err(Failure::input(message));
    }
    if !args.size_sweep.is_empty() {
        let why = match &args.size_sweep[..] {
            [_] => "a map needs at least two sizes",
            sizes if is_checked && !sizes.contains(&1) => {
                "the check needs the size 1, the message itself; add it, or use --unchecked"
            }
            sizes => return Ok(sizes.to_vec()),
        };
        return Err(Failure::input(format!("--sizes: {why}")));
    }
    let limits = inputs::limits(&args.limits)?;
    let bytes = own.response.to_string().len();
    let longer = (1..).map(|power| STEP.saturating_pow(power));
    let longer = longer.take_while(|factor| bytes.saturating_mul(*factor as usize) <= MAX_BYTES);
    // A response that cannot vary is refused before anything is built.
    scale::response(&own, STEP, limits).map_err(Failure::input)?;
    Ok([1, STEP]
        .into_iter()
        .chain(longer.skip(1).take(MAX_SIZES - 2))
        .collect())
}

/// Checks the map of an existing run.
fn check_run(directory: &Path, points: usize, args: &MapArgs) -> Outcome {
    let run = Run::read(directory).map_err(Failure::input)?;
    let findings = Findings::from_run(&run).map_err(Failure::input)?;
    let plan = plan(&run, &findings, points).map_err(Failure::input)?;
    // Its times over loopback are compared with those of this program on this machine.
    let same = run.provenance().and_then(|mut provenance| {
        provenance.add_environment(&rpcgauge_lab::examine(run.plan.idle))
    });
    same.map_err(|difference| {
        let directory = directory.display();
        Failure::input(format!(
            "the map of {directory} cannot be checked: {difference}"
        ))
    })?;
    let mut subjects = subjects::load(&args.subjects)?;
    let variants = plan.variants.iter();
    subjects.add_versions(variants.flat_map(|variant| variant.settings.target.stacks()))?;
    measure::prepare_links([&plan])?;
    let stop = signals::stop_flag()?;
    let how = RunContext {
        output: &args.output,
        stop: &stop,
        live: &BTreeMap::new(),
        subjects: &subjects::commands(&subjects, [&plan], args.output.quiet, &stop)?,
        folders: &args.subjects.folders,
        gate: None,
    };
    let ended = measure_check(directory, plan, how)?;
    let run = Run::read(directory).map_err(Failure::cannot)?;
    let findings = Findings::from_run(&run).map_err(Failure::cannot)?;
    measure::report(&run, &findings, how)?;
    Ok(ended.code())
}

/// Checks the map of a run that was measured just now.
fn check(directory: &Path, points: usize, how: RunContext<'_>) -> Result<Ended, Failure> {
    let run = Run::read(directory).map_err(Failure::cannot)?;
    let findings = Findings::from_run(&run).map_err(Failure::cannot)?;
    let plan = plan(&run, &findings, points).map_err(Failure::input)?;
    measure::prepare_links([&plan])?;
    measure_check(directory, plan, how)
}

/// The plan of a check, or why there is none.
fn plan(run: &Run, findings: &Findings, points: usize) -> Result<Plan, String> {
    let (directory, check) = (run.directory.display(), check_of(&run.directory));
    let check = check.display();
    match &run.map_check {
        Some(earlier) if earlier.trials.len() < earlier.plan.trials.len() => {
            return Err(format!(
                "the check of the map of {directory} was interrupted; continue with `rpcgauge run --resume {check}`, and \
                 then run `rpcgauge report {directory}`"
            ));
        }
        Some(_) => {
            return Err(format!(
                "the map of {directory} was already checked; to check it again, remove {check}"
            ));
        }
        None => {}
    }
    let plan = findings.plan_of_map_check(&run.plan, points);
    plan.map_err(|why| format!("the map of {directory} cannot be checked: {why}"))
}

fn check_of(directory: &Path) -> PathBuf {
    directory.join(names::CHECK)
}

/// Measures the points into a directory within that of the run.
fn measure_check(directory: &Path, plan: Plan, how: RunContext<'_>) -> Result<Ended, Failure> {
    let study = Resolved {
        plan,
        services: BTreeMap::new(),
        text: None,
    };
    let output = OutputArgs {
        name: None,
        out: Some(check_of(directory)),
        json: how.output.json,
        verbose: how.output.verbose,
        quiet: how.output.quiet,
    };
    let how = RunContext {
        output: &output,
        ..how
    };
    if how.stop.load(Ordering::Relaxed) {
        note("interrupted before the map was checked");
        return Ok(Ended::Interrupted);
    }
    let measured = measure::measure(&study, how)?;
    if !measured.is_complete() {
        let check = measured.directory().display();
        note(&format!(
            "interrupted; the map is checked at the points that were measured. Continue with `rpcgauge run --resume {check}`, \
             and then run `rpcgauge report {}`",
            directory.display()
        ));
        return Ok(Ended::Interrupted);
    }
    if measured.has_failures() {
        note("some points could not be measured (see above)");
        return Ok(Ended::WithFailures);
    }
    Ok(Ended::Well)
}
