//! `rpcgauge report`: regenerates the report of a run from its directory.

use rpcgauge_report::{Document, Findings, csv, files, html, json, markdown};
use rpcgauge_study::run::{Run, RunKind, Writing};

use super::app_study;
use crate::args::{Format, ReportArgs};
use crate::exit::{Failure, Outcome, note, print};
use crate::show;

pub(crate) fn run(args: ReportArgs) -> Outcome {
    if RunKind::of(&args.run).map_err(Failure::input)? == RunKind::App {
        return app_study::report(&args);
    }
    let run = Run::read(&args.run).map_err(Failure::input)?;
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
    Ok(printed)
}
