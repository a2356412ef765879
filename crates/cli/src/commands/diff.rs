//! `rpcgauge diff`: compares two runs.

use std::path::Path;

use rpcgauge_report::app::AppDiff;
use rpcgauge_report::diff::{self, Diff};
use rpcgauge_report::{Findings, escape};
use rpcgauge_study::app::AppRun;
use rpcgauge_study::run::{Run, RunKind};

use crate::args::DiffArgs;
use crate::exit::{Failure, Outcome, print};
use crate::show;

pub(crate) fn run(args: DiffArgs) -> Outcome {
    let kind = |directory| RunKind::of(directory).map_err(Failure::input);
    match (kind(&args.before)?, kind(&args.after)?) {
        (RunKind::Calls, RunKind::Calls) => of_calls(&args),
        (RunKind::App, RunKind::App) => of_app(&args),
        (RunKind::Calls, RunKind::App) | (RunKind::App, RunKind::Calls) => {
            Err(Failure::input(format!(
                "one of {} and {} is a run of an application, but the other is not; compare two runs of the same kind",
                args.before.display(),
                args.after.display()
            )))
        }
    }
}

fn of_app(args: &DiffArgs) -> Outcome {
    if args.fail_if_slower {
        return Err(Failure::input(
            "--fail-if-slower cannot be judged: an application has no floor to separate its speed from the \
             machine's; omit the option, and compare the ratios of the pairs instead",
        ));
    }
    let read = |directory| AppRun::read(directory).map_err(Failure::input);
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    let both = format!("{} and {}", args.before.display(), args.after.display());
    if before.plan.app != after.plan.app {
        return Err(Failure::input(format!(
            "{both} are of different applications, {} and {}; compare runs of the same application",
            before.plan.app, after.plan.app
        )));
    }
    let difference = AppDiff::of(&before, &after);
    if !difference.has_figures() {
        return Err(Failure::input(format!(
            "{both} have no measured variant in common; compare runs that share one"
        )));
    }
    let text = show::document(&difference.document(), &args.format, || {
        difference.to_json()
    })?;
    print(&text)
}

fn of_calls(args: &DiffArgs) -> Outcome {
    let before = findings(&args.before)?;
    let after = findings(&args.after)?;
    if !diff::share_a_variant(&before, &after) {
        return Err(Failure::input(format!(
            "{} and {} share no variant: {} measured {}, and {} measured {}; compare runs with variants of the \
             same name",
            args.before.display(),
            args.after.display(),
            before.study.name,
            variants(&before),
            after.study.name,
            variants(&after),
        )));
    }
    let difference = diff::compare(&before, &after);
    if args.fail_if_slower && !difference.judges_speed() {
        return Err(Failure::input(
            "--fail-if-slower cannot be judged: neither a latency nor the calls per second can be compared with \
             something that both runs share. This requires at least two invocations, a floor, an A/A pair and a \
             second variant that calls in the same way in both runs. Live services have no floor: give both loads \
             the same --vs target, or an objective (--slo) instead",
        ));
    }
    let text = show::document(&difference.document(), &args.format, || {
        difference.to_json()
    })?;
    let printed = print(&text);
    if args.fail_if_slower && difference.slower().next().is_some() {
        printed?;
        return Err(Failure::not_all_well(slower(&difference)));
    }
    printed
}

fn findings(directory: &Path) -> Result<Findings, Failure> {
    let run = Run::read(directory).map_err(Failure::input)?;
    Findings::from_run(&run).map_err(Failure::input)
}

/// The names of a run's first few variants.
fn variants(findings: &Findings) -> String {
    const MAX: usize = 3;
    let names = findings.variants.iter().map(|variant| &*variant.name);
    let mut shown: Vec<&str> = names.take(MAX).collect();
    if findings.variants.len() > MAX {
        shown.push("…");
    }
    shown.join(", ")
}

/// A line with the names of the variants that got slower.
fn slower(difference: &Diff) -> String {
    let mut names: Vec<&str> = difference.slower().map(|c| &*c.variant).collect();
    names.dedup();
    escape::terminal(&format!("slower than before: {}", names.join(", ")))
}
