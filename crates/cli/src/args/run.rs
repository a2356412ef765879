//! `run` and `plan`, and options for the output of runs.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser as _};
use clap::{Args, ValueHint};

use super::{LimitArgs, SubjectFolders, complete, heading};

/// `rpcgauge run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Names of built-in studies (`rpcgauge studies`) or paths to .toml files
    #[arg(required_unless_present = "resume", conflicts_with = "resume", value_name = "STUDY", add = complete::studies())]
    pub(crate) studies: Vec<String>,
    /// Continue the interrupted run in this directory
    #[arg(
        long,
        value_name = "RUN",
        value_hint = ValueHint::DirPath,
        // A resumed run already has a plan and a directory.
        conflicts_with_all = ["only", "invocations", "blocks", "seed", "name", "out"],
    )]
    pub(crate) resume: Option<PathBuf>,
    /// With --resume, rerun the invocations in which a trial failed
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

/// Settings of a study that the command line can override.
#[derive(Debug, Args)]
pub(crate) struct OverrideArgs {
    /// Run only the variants with these names; a name that matches no variant exactly selects all
    /// that contain it
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = heading::STUDY)]
    pub(crate) only: Vec<String>,
    /// Number of invocations, each with freshly started subjects
    #[arg(long, value_name = "N", help_heading = heading::STUDY)]
    pub(crate) invocations: Option<NonZeroU32>,
    /// Number of blocks in each invocation
    #[arg(long, value_name = "N", help_heading = heading::STUDY)]
    pub(crate) blocks: Option<NonZeroU32>,
    /// Seed of all random choices
    #[arg(long, value_name = "N", help_heading = heading::STUDY)]
    pub(crate) seed: Option<u64>,
}

/// Where to write a run, and how to show it.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// The run's name, in its report, in `rpcgauge runs` and in the default directory [default: made from the study's
    /// file name, or from what is called]
    #[arg(long, value_name = "NAME", value_parser = parse_name, help_heading = heading::OUTPUT)]
    pub(crate) name: Option<String>,
    /// The run directory to create [default: runs/<time>-<name>]
    #[arg(long, value_name = "DIR", value_parser = PathBufValueParser::new().try_map(unlike_an_option), value_hint = ValueHint::DirPath, help_heading = heading::OUTPUT)]
    pub(crate) out: Option<PathBuf>,
    /// Print the findings as JSON instead of text
    #[arg(long, help_heading = heading::OUTPUT)]
    pub(crate) json: bool,
    /// Print all verdicts, claims and failures, not only the summary and the figures
    #[arg(long, short, help_heading = heading::OUTPUT)]
    pub(crate) verbose: bool,
    /// Do not show a progress bar
    #[arg(long, short, help_heading = heading::OUTPUT)]
    pub(crate) quiet: bool,
}

/// `rpcgauge plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Name of a built-in study or path to a .toml file
    #[arg(value_name = "STUDY", add = complete::studies())]
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

/// Parses a run's name, which is part of a folder's name.
fn parse_name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if text.is_empty() || !text.chars().all(is_plain) {
        return Err("a name may contain letters, digits, \"-\", \".\" and \"_\"".to_owned());
    }
    Ok(text.to_owned())
}

/// Rejects a name that begins with `-`, because later commands would parse it as an option.
fn unlike_an_option(path: PathBuf) -> Result<PathBuf, String> {
    if path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        let shown = path.display();
        return Err(format!(
            "{shown} would be read as an option by `rpcgauge report` and `diff`; write ./{shown}"
        ));
    }
    Ok(path)
}
