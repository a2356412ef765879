//! `rpcgauge advise`: what to use by one criterion, from the runs that measured it.

use std::path::Path;

use rpcgauge_lab::subjects::Subjects;
use rpcgauge_report::advice::{Advised, AdvisedStack, Snippet};
use rpcgauge_report::findings::decision::{Criterion, Prices};
use rpcgauge_study::run::{Run, RunKind};

use crate::args::{AdviseArgs, By};
use crate::exit::{Failure, Outcome, print};
use crate::show;

pub(crate) fn run(args: AdviseArgs) -> Outcome {
    let criterion = criterion(&args)?;
    let subjects = Subjects::load(&args.subjects.folders).map_err(Failure::input)?;
    let settings = |stack: &mut AdvisedStack| add_settings(&subjects, stack);
    // Every run is read before the first advice is printed.
    let advised = args.runs.iter().map(|directory| {
        let run = read(directory)?;
        let advised = Advised::of(&run, criterion, args.rate, settings).map_err(Failure::input)?;
        match advised.no_advice() {
            Some(why) => Err(Failure::input(format!(
                "no advice from {}: {why}",
                directory.display()
            ))),
            None => Ok(advised),
        }
    });
    let advised = advised.collect::<Result<Vec<_>, Failure>>()?;
    let texts = advised
        .iter()
        .map(|advised| show::document(&advised.document(), &args.format, || advised.to_json()));
    let texts = texts.collect::<Result<Vec<String>, Failure>>()?;
    print(&texts.join("\n"))
}

fn criterion(args: &AdviseArgs) -> Result<Criterion, Failure> {
    let prices = match (args.core_hour, args.per_gb) {
        (None, None) => None,
        (core_hour, gigabyte) => Some(Prices {
            core_hour: core_hour.unwrap_or(0.0),
            gigabyte: gigabyte.unwrap_or(0.0),
        }),
    };
    match (args.by, prices) {
        (None, None) => Ok(Criterion::LatencyAndCpu),
        (Some(By::Latency), None) => Ok(Criterion::Latency),
        (Some(By::Cpu), None) => Ok(Criterion::Cpu),
        (Some(By::Bytes), None) => Ok(Criterion::Bytes),
        (None | Some(By::Price), Some(prices)) => Ok(Criterion::Price(prices)),
        (Some(By::Price), None) => Err(Failure::input(
            "--by price needs a price: --core-hour, --per-gb, or both",
        )),
        (Some(By::Latency | By::Cpu | By::Bytes), Some(_)) => Err(Failure::input(
            "--core-hour and --per-gb are for --by price; omit them, or omit --by",
        )),
    }
}

fn read(directory: &Path) -> Result<Run, Failure> {
    if RunKind::of(directory).map_err(Failure::input)? == RunKind::App {
        return Err(Failure::input(format!(
            "{} is a run of an application; advice is about calls of one kind, from `rpcgauge compare` or a study",
            directory.display()
        )));
    }
    Run::read(directory).map_err(Failure::input)
}

fn add_settings(subjects: &Subjects, stack: &mut AdvisedStack) {
    let gzip = stack.compression != "none";
    // A stack of another run's own subject may be unknown here.
    let Some(settings) = subjects.settings(&stack.stack, stack.role, gzip) else {
        return;
    };
    let recommended = settings.recommended.iter();
    stack.recommended = recommended
        .map(|one| format!("{} ({})", one.setting, one.guide))
        .collect();
    stack.snippet = settings.snippet.map(|(file, code)| Snippet { file, code });
}
