//! `subjects`, and the folders of the user's own subjects.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// The folders of the user's own subjects.
#[derive(Debug, Default, Args)]
pub(crate) struct SubjectFolders {
    /// A folder with your own subjects, each in its own folder, in addition to the built-in ones
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
    /// Print the list as JSON, with everything that each stack declares
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SubjectsCommand {
    /// Build subjects, as a run does if it needs them
    Build {
        /// Their names [default: all]
        names: Vec<String>,
    },
    /// Check everything that subjects declare: correct responses, refusals, slices, a clean
    /// shutdown
    Check {
        /// Their names [default: all whose toolchain is installed]
        names: Vec<String>,
        /// Only this stack of one subject
        #[arg(long, value_name = "NAME")]
        stack: Option<String>,
        /// Try every combination of what a stack declares, not only every pair of values
        #[arg(long)]
        every_combination: bool,
    },
}
