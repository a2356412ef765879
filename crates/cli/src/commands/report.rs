//! `rpcgauge report`: the report of a run, from its directory alone.

use rpcgauge_report::{Findings, csv, files, html, json, markdown};
use rpcgauge_study::run::Run;

use crate::args::{Format, ReportArgs};
use crate::exit::{Failure, Outcome, print};
use crate::show;

pub(crate) fn run(args: ReportArgs) -> Outcome {
    let run = Run::read(&args.run).map_err(Failure::input)?;
    let findings = Findings::from_run(&run).map_err(Failure::input)?;
    files::write_all(&args.run, &findings).map_err(Failure::input)?;
    let text = match args.format {
        Format::Text => rpcgauge_report::terminal::render(&findings, show::style()),
        Format::Json => json::render(&findings).map_err(Failure::cannot)?,
        Format::Markdown => markdown::render(&findings),
        Format::Csv => csv::render(&findings),
        Format::Html => html::render(&findings).map_err(Failure::cannot)?,
    };
    print(&text)
}
