//! `subjects`, and where a user's own are.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// Where a user's own subjects are.
#[derive(Debug, Default, Args)]
pub(crate) struct SubjectFolders {
    /// A folder of your own subjects, a folder each, beside the built-in ones
    #[arg(long = "subjects", value_name = "DIR", value_hint = ValueHint::DirPath, global = true)]
    pub(crate) folders: Vec<PathBuf>,
}

/// `rpcgauge subjects`.
#[derive(Debug, Args)]
pub(crate) struct SubjectsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SubjectsCommand>,
    #[command(flatten)]
    pub(crate) subjects: SubjectFolders,
    /// Print the list as JSON, with all that each stack declares
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SubjectsCommand {
    /// Build subjects, as a run does where it needs them
    Build {
        /// Their names; all where there is none
        names: Vec<String>,
    },
    /// Try all that subjects declare: right responses, refusals, slices, a clean end
    Check {
        /// Their names; all whose toolchain is there where there is none
        names: Vec<String>,
        /// Only this stack of one subject
        #[arg(long, value_name = "NAME")]
        stack: Option<String>,
        /// Try every combination of what a stack declares, and not only every two values together
        #[arg(long)]
        every_combination: bool,
    },
}
