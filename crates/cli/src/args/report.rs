//! Commands that read run directories: `report` and `diff`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

/// `rpcgauge report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run directory
    #[arg(value_name = "RUN", value_hint = ValueHint::DirPath)]
    pub(crate) run: PathBuf,
    /// What to print; the report's files are written to the run directory in any case
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Print all verdicts, claims and failures as text, not only the summary and the figures
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

/// What `rpcgauge report` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Summary and figures for a terminal
    Text,
    /// The findings (docs/report-schema.md)
    Json,
    /// For a pull request
    Markdown,
    /// One row per trial
    Csv,
    /// The page itself
    Html,
}

/// `rpcgauge diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The run directory to compare with
    #[arg(value_name = "BEFORE", value_hint = ValueHint::DirPath)]
    pub(crate) before: PathBuf,
    /// The run directory that is judged
    #[arg(value_name = "AFTER", value_hint = ValueHint::DirPath)]
    pub(crate) after: PathBuf,
    /// Exit with 1 if a latency or the calls per second got worse relative to both the floor and
    /// the variant that it is compared with; exit with 2 if none of them can be judged, as for an
    /// application
    #[arg(long)]
    pub(crate) fail_if_slower: bool,
    /// What to print
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    pub(crate) format: DiffFormat,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}

/// What `rpcgauge diff` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// For a terminal
    Text,
    /// The differences (docs/report-schema.md)
    Json,
    /// For a pull request
    Markdown,
    /// A page
    Html,
}

impl DiffArgs {
    /// The format to print, by either option.
    pub(crate) fn format(&self) -> DiffFormat {
        if self.json {
            DiffFormat::Json
        } else {
            self.format
        }
    }
}
