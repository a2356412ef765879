//! Commands that read run directories: `report` and `diff`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use rpcgauge_study::objective::Objective;

/// `rpcgauge report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run directory
    #[arg(value_name = "RUN", value_hint = ValueHint::DirPath)]
    pub(crate) run: PathBuf,
    /// The format to print; the report files in the run directory are always rewritten
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Judge a load by this objective instead of its own: p99<20ms, errors<0.1%, goodput>500 (repeatable); the exit code
    /// is 1 if one is not met
    #[arg(long, value_name = "OBJECTIVE")]
    pub(crate) slo: Vec<Objective>,
    /// Print all verdicts, claims and failures as text, not only the summary and the figures
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

/// What `rpcgauge report` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Summary and figures for a terminal
    Text,
    /// One screen: decisions, headline verdicts, and the result of a load
    Summary,
    /// The findings (docs/report-schema.md)
    Json,
    /// Markdown for a pull request
    Markdown,
    /// One row per trial
    Csv,
    /// The HTML page
    Html,
}

/// `rpcgauge diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The baseline run directory
    #[arg(value_name = "BEFORE", value_hint = ValueHint::DirPath)]
    pub(crate) before: PathBuf,
    /// The run directory to compare with the baseline
    #[arg(value_name = "AFTER", value_hint = ValueHint::DirPath)]
    pub(crate) after: PathBuf,
    /// Exit with 1 if a latency or calls per second regressed relative to both the floor and the
    /// variant that it is compared with, and with 2 if nothing can be judged, as for applications
    #[arg(long)]
    pub(crate) fail_if_slower: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// The format of a document.
#[derive(Debug, Args)]
pub(crate) struct FormatArgs {
    /// The format to print
    #[arg(long, value_enum, default_value_t = DocumentFormat::Text)]
    format: DocumentFormat,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// The formats of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocumentFormat {
    /// Text for a terminal
    Text,
    /// Data (docs/report-schema.md for differences, docs/advise.md for advice)
    Json,
    /// Markdown for a pull request
    Markdown,
    /// An HTML page
    Html,
}

impl FormatArgs {
    /// The format selected by either option.
    pub(crate) fn selected(&self) -> DocumentFormat {
        if self.json {
            DocumentFormat::Json
        } else {
            self.format
        }
    }
}
