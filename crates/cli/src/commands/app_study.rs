//! Plans, runs and reports studies of an application.

use std::fmt::{Display, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use rpcgauge_lab::RunEnding;
use rpcgauge_lab::app::{AppLab, AppPackage, AppRunError, Progress};
use rpcgauge_report::app::AppFindings;
use rpcgauge_report::{Style, escape, files};
use rpcgauge_study::app::{AppBlock, AppPlan, AppRun};
use rpcgauge_study::run::{NewRun, Resumed, RunWriter, Writing, default_directory, names};

use super::app;
use super::measure::{self, RUNS};
use crate::args::{Format, OutputArgs, ReportArgs, RunArgs};
use crate::exit::{
    Failure, INTERRUPTED, NOT_ALL_WELL, Outcome, note, print, print_json, print_plain,
};
use crate::inputs::OfApp;
use crate::screen::{Screen, clock};
use crate::show;
use crate::signals;

const BAR: &str = "{bar:28} {pos}/{len} {prefix:>14}  {wide_msg}";

/// Prints what a run would do.
pub(crate) fn plan(plan: &AppPlan, as_json: bool) -> Outcome {
    if as_json {
        return print_json(plan);
    }
    let mut text = format!(
        "{}: {}\n\n{}: {}\n",
        plan.name, plan.question, plan.app, plan.description
    );
    for variant in &plan.variants {
        let control = variant
            .repeats
            .as_ref()
            .map(|of| format!("  (A/A: a second set of {of})"));
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "  {}: {}{}",
            variant.name,
            variant.configuration,
            control.unwrap_or_default()
        );
    }
    let [warm_up, settle, slice] =
        [plan.warm_up_ms, plan.settle_ms, plan.slice_ms].map(|ms| ms as f64 / 1e3);
    let _ = write!(
        text,
        "\n{} each; {} fresh starts of the services; {} slices of {slice} s after {settle} s of settling, \
         {warm_up} s of warm-up for each variant and start\nabout {} without building and starting\n",
        plan.load,
        plan.invocations(),
        plan.slices(),
        clock(Duration::from_millis(plan.estimate_ms()))
    );
    print_plain(&text)
}

/// Runs the study in a new run directory and shows its report.
pub(crate) fn run(study: &OfApp, output: &OutputArgs) -> Outcome {
    let stop = signals::stop_flag()?;
    let built = app::build(&study.package, output.quiet, &stop)?;
    let locust = app::locust_for(&study.plan.load, output.quiet, &stop)?;
    let now = SystemTime::now();
    let mut plan = study.plan.clone();
    plan.name = output.name.clone().unwrap_or(plan.name);
    let plan = &plan;
    let directory = match &output.out {
        Some(directory) => directory.clone(),
        None => default_directory(Path::new(RUNS), &plan.name, now),
    };
    let new = NewRun {
        rpcgauge: env!("CARGO_PKG_VERSION"),
        created_at: now,
        study: Some(&study.text),
        plan,
    };
    let writer = RunWriter::create(&directory, &new).map_err(Failure::input)?;
    let lab = AppLab {
        plan,
        built: &built,
        locust: locust.as_ref(),
        logs: directory.join(names::LOGS),
        stop: &stop,
        earlier: None,
    };
    carry_out(&lab, &plan.blocks, writer, output)
}

/// Resumes the interrupted run in `directory` and shows its report.
pub(crate) fn resume(directory: &Path, args: &RunArgs) -> Outcome {
    let refused =
        |why: &dyn Display| Failure::input(format!("cannot resume {}: {why}", directory.display()));
    let mut resumed: Resumed<AppRun> = RunWriter::resume(directory).map_err(Failure::input)?;
    if args.retry_failed {
        resumed.retry_failed();
    }
    let earlier = measure::earlier(&resumed)?;
    let plan = resumed.run.plan.clone();
    let package = match &plan.folder {
        Some(folder) => AppPackage::read(folder),
        None => AppPackage::find(&plan.app),
    };
    let package = package.map_err(|error| refused(&error))?;
    if !plan.is_of(package.app()) {
        return Err(refused(&format!(
            "the settings or metrics of {} have changed since the run began; start a new run",
            plan.app
        )));
    }
    let stop = signals::stop_flag()?;
    let output = &args.output;
    let built = app::build(&package, output.quiet, &stop)?;
    let locust = app::locust_for(&plan.load, output.quiet, &stop)?;
    let lab = AppLab {
        plan: &plan,
        built: &built,
        locust: locust.as_ref(),
        logs: directory.join(names::LOGS),
        stop: &stop,
        earlier,
    };
    lab.check_unchanged().map_err(|error| refused(&error))?;
    resumed.begin_again().map_err(Failure::input)?;
    carry_out(&lab, &resumed.missing, resumed.writer, output)
}

fn carry_out(
    lab: &AppLab<'_>,
    blocks: &[AppBlock],
    mut writer: RunWriter,
    output: &OutputArgs,
) -> Outcome {
    let plan = lab.plan;
    let directory = writer.directory().to_owned();
    let slices: usize = blocks.iter().map(|block| block.order.len()).sum();
    let screen = Screen::new(output.quiet, BAR);
    let (mut ended, mut shown) = (0, String::new());
    let measured = lab.run(blocks, &mut writer, &mut |progress| {
        let what = match progress {
            Progress::Starting(title) => format!("starting {title}"),
            Progress::Checking(name) => format!("checking the responses of {name}"),
            Progress::WarmingUp(name) => format!("warming {name} up"),
            Progress::Measuring(name) => format!("measuring {name}"),
            Progress::Ended => {
                ended += 1;
                return;
            }
        };
        let is_slice = matches!(progress, Progress::Measuring(_));
        if screen.has_lines() && !is_slice && what != shown {
            screen.line(&what);
        }
        screen.draw(|bar| {
            bar.set_length(slices as u64);
            bar.set_position(ended);
            let left = (slices as u64).saturating_sub(ended) * (plan.settle_ms + plan.slice_ms);
            bar.set_prefix(format!("{} left", clock(Duration::from_millis(left))));
            bar.set_message(escape::terminal(&what));
        });
        shown = what;
    });
    screen.finish();
    // Release the lock before writing the report, which only reads.
    drop(writer);
    let run = AppRun::read(&directory).map_err(Failure::cannot)?;
    let findings = AppFindings::from_run(&run);
    let reported = match findings.measured {
        0 => Ok(()),
        _ => show_report(&findings, &directory, output),
    };
    let resume = measure::resume_command(&directory, &[]);
    let ending = match measured {
        Ok(ending) => ending,
        Err(AppRunError::Failed(mut failure)) => {
            reported?;
            if findings.measured > 0 {
                failure.reason += &format!(
                    "; the slices measured so far are in {}; continue with `{resume}`",
                    directory.display()
                );
            }
            return Err(app::shown(failure));
        }
        Err(error @ AppRunError::Records(_)) => return Err(Failure::cannot(error)),
    };
    reported?;
    Ok(match ending {
        RunEnding::Stopped => {
            note(&format!(
                "interrupted; the measured slices are kept. Continue with: {resume}"
            ));
            ExitCode::from(INTERRUPTED)
        }
        // Failures from before the run was resumed are included.
        RunEnding::Complete if !findings.failures.is_empty() => {
            note(&format!(
                "some slices failed and ended their invocations; once that is fixed, continue with: {resume} --retry-failed"
            ));
            ExitCode::from(NOT_ALL_WELL)
        }
        RunEnding::Complete => ExitCode::SUCCESS,
    })
}

/// Prints the findings and writes the report files.
fn show_report(
    findings: &AppFindings,
    directory: &Path,
    output: &OutputArgs,
) -> Result<(), Failure> {
    let text = if output.json {
        findings.json().map_err(Failure::cannot)?
    } else {
        terminal(findings, output.verbose)
    };
    let shown = print(&text);
    let written = findings.write_all(directory).map_err(|error| {
        Failure::cannot(format!(
            "{error}; the measured slices are kept; write the report with `rpcgauge report {}`",
            directory.display()
        ))
    })?;
    shown?;
    if let Some(page) = written.iter().find(|path| path.ends_with(files::HTML))
        && !output.json
    {
        let page = escape::terminal(&page.display().to_string());
        print(&format!("\nReport: {page}\n"))?;
    }
    Ok(())
}

fn terminal(findings: &AppFindings, verbose: bool) -> String {
    findings.document().terminal(Style {
        verbose,
        ..show::style()
    })
}

/// Regenerates the report of a run.
pub(crate) fn report(args: &ReportArgs) -> Outcome {
    let run = AppRun::read(&args.run).map_err(Failure::input)?;
    let mut findings = AppFindings::from_run(&run);
    findings.running = Writing::of(&args.run);
    let printed = print(&match args.format {
        Format::Text => terminal(&findings, args.verbose),
        Format::Summary => terminal(&findings, false),
        Format::Json => findings.json().map_err(Failure::cannot)?,
        Format::Markdown => findings.document().markdown(),
        Format::Csv => findings.csv(),
        Format::Html => findings.document().html(),
    })?;
    if let Err(error) = findings.write_all(&args.run) {
        note(&format!("warning: {error}; the report was only printed"));
    }
    Ok(printed)
}
