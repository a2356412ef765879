//! `rpcgauge report`: regenerates the report of a run from its directory.

use std::process::ExitCode;

use rpcgauge_report::{Document, Findings, csv, files, html, json, markdown};
use rpcgauge_study::run::{Run, RunKind, Writing};

use super::app_study;
use crate::args::{Format, ReportArgs};
use crate::exit::{self, Failure, Outcome, note, print};
use crate::show;

pub(crate) fn run(args: ReportArgs) -> Outcome {
    let refused = |what| {
        Err(Failure::input(format!(
            "--slo applies to a load, and {what}"
        )))
    };
    if RunKind::of(&args.run).map_err(Failure::input)? == RunKind::App {
        return match args.slo[..] {
            [] => app_study::report(&args),
            _ => refused("this is a run of an application"),
        };
    }
    let mut run = Run::read(&args.run).map_err(Failure::input)?;
    if !args.slo.is_empty() {
        if !run.plan.is_live() {
            return refused("this run does not call a live service");
        }
        if run.plan.capacity.is_some() {
            return refused("this run is a search, which its own objectives have decided");
        }
        run.plan.objectives.clone_from(&args.slo);
    }
    let mut findings = Findings::from_run(&run).map_err(Failure::input)?;
    findings.progress.running = Writing::of(&args.run);
    let text = match args.format {
        Format::Text => show::text(&findings, args.verbose),
        Format::Summary => Document::summary(&findings).terminal(show::style()),
        Format::Json => json::render(&findings).map_err(Failure::cannot)?,
        Format::Markdown => markdown::render(&findings),
        Format::Csv => csv::render(&findings),
        Format::Html => html::render(&findings),
    };
    let printed = print(&text)?;
    if let Err(error) = files::write_all(&args.run, &findings) {
        // The report was printed, so this is only a warning: an archived run may be read-only.
        note(&format!("warning: {error}; the report was only printed"));
    }
    if !args.slo.is_empty() && !findings.is_reached() {
        return Ok(ExitCode::from(exit::NOT_ALL_WELL));
    }
    Ok(printed)
}
