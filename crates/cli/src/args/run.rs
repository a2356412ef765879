//! `run` and `plan`, and options for the output of runs.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser as _};
use clap::{Args, ValueHint};

use super::{LimitArgs, SubjectFolders, heading};

/// `rpcgauge run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Names of built-in studies (`rpcgauge studies`) or paths to .toml files
    #[arg(required_unless_present = "resume", conflicts_with = "resume", value_name = "STUDY", value_hint = ValueHint::FilePath)]
    pub(crate) studies: Vec<String>,
    /// Continue the interrupted run in this directory
    #[arg(
        long,
        value_name = "RUN",
        value_hint = ValueHint::DirPath,
        // The plan and the directory of a resumed run are fixed.
        conflicts_with_all = ["only", "invocations", "blocks", "seed", "out"],
    )]
    pub(crate) resume: Option<PathBuf>,
    /// With --resume: rerun the invocations in which a trial failed
    #[arg(long, requires = "resume", conflicts_with = "studies")]
    pub(crate) retry_failed: bool,
    #[command(flatten)]
    pub(crate) overrides: OverrideArgs,
    #[command(flatten)]
    pub(crate) subjects: SubjectFolders,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// What the command line may change in a study.
#[derive(Debug, Args)]
pub(crate) struct OverrideArgs {
    /// Only the variants with these names; a name that no variant has selects all whose name
    /// contains it
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = heading::STUDY)]
    pub(crate) only: Vec<String>,
    /// The number of invocations: fresh starts of the subjects
    #[arg(long, value_name = "N", help_heading = heading::STUDY)]
    pub(crate) invocations: Option<NonZeroU32>,
    /// The number of blocks in each invocation
    #[arg(long, value_name = "N", help_heading = heading::STUDY)]
    pub(crate) blocks: Option<NonZeroU32>,
    /// Seed of every random choice
    #[arg(long, value_name = "N", help_heading = heading::STUDY)]
    pub(crate) seed: Option<u64>,
}

/// Where a run is written and how it is shown.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// The run directory to create [default: runs/<time>-<study>]
    #[arg(long, value_name = "DIR", value_parser = PathBufValueParser::new().try_map(unlike_an_option), value_hint = ValueHint::DirPath, help_heading = heading::OUTPUT)]
    pub(crate) out: Option<PathBuf>,
    /// Print the findings as JSON instead of text
    #[arg(long, help_heading = heading::OUTPUT)]
    pub(crate) json: bool,
    /// Print all verdicts, claims and failures, not only the summary and the figures
    #[arg(long, short, help_heading = heading::OUTPUT)]
    pub(crate) verbose: bool,
    /// No progress bar
    #[arg(long, short, help_heading = heading::OUTPUT)]
    pub(crate) quiet: bool,
}

/// `rpcgauge plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Name of a built-in study or path to a .toml file
    #[arg(value_name = "STUDY", value_hint = ValueHint::FilePath)]
    pub(crate) study: String,
    #[command(flatten)]
    pub(crate) overrides: OverrideArgs,
    #[command(flatten)]
    pub(crate) subjects: SubjectFolders,
    /// Print the plan as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// Refuses a name that begins with `-`, since later commands would take it for an option.
fn unlike_an_option(path: PathBuf) -> Result<PathBuf, String> {
    if path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        let shown = path.display();
        return Err(format!(
            "{shown} would be read as an option by `rpcgauge report` and `diff`; write ./{shown}"
        ));
    }
    Ok(path)
}
