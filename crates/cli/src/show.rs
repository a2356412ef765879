//! Prints plans and findings on standard output, as text or JSON.

use std::io::IsTerminal as _;

use rpcgauge_report::{Document, Findings, ReportError, Style, json, terminal};

use rpcgauge_study::plan::Plan;

use crate::args::{DocumentFormat, FormatArgs, OutputArgs};
use crate::exit::{Failure, Outcome, print, print_json, print_plain};

pub(crate) fn plan(plan: &Plan, as_json: bool) -> Outcome {
    if as_json {
        print_json(plan)
    } else {
        print_plain(&plan.text(columns()))
    }
}

/// Prints findings in the format selected by the options.
pub(crate) fn findings(findings: &Findings, output: &OutputArgs) -> Result<(), Failure> {
    let text = if output.json {
        json::render(findings).map_err(Failure::cannot)?
    } else {
        text(findings, output.verbose)
    };
    print(&text).map(drop)
}

/// Formats findings as text: everything if `verbose`, otherwise the summary and the figures.
pub(crate) fn text(findings: &Findings, verbose: bool) -> String {
    let style = Style { verbose, ..style() };
    terminal::render(findings, style)
}

/// A document in the format selected by the options.
pub(crate) fn document(
    document: &Document,
    format: &FormatArgs,
    json: impl FnOnce() -> Result<String, ReportError>,
) -> Result<String, Failure> {
    match format.selected() {
        DocumentFormat::Text => Ok(document.terminal(style())),
        DocumentFormat::Json => json().map_err(Failure::cannot),
        DocumentFormat::Markdown => Ok(document.markdown()),
        DocumentFormat::Html => Ok(document.html()),
    }
}

/// The style that standard output supports.
pub(crate) fn style() -> Style {
    let no_color = std::env::var("NO_COLOR").ok();
    Style::new(
        std::io::stdout().is_terminal(),
        no_color.as_deref(),
        columns(),
    )
}

/// The terminal's width in columns; `None` if standard output is not a terminal.
fn columns() -> Option<usize> {
    rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
}

/// `first` followed by `text`, wrapped to the terminal's width; a single line without a terminal.
pub(crate) fn wrapped(first: &str, text: &str) -> String {
    match columns() {
        Some(_) => style().wrap(first, text),
        None => format!("{first}{text}"),
    }
}
