//! `subjects`, and the option for folders with the user's own subjects.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::complete;

/// Folders with the user's own subjects.
#[derive(Debug, Default, Args)]
pub(crate) struct SubjectFolders {
    /// A folder with your own subjects, one per subfolder, in addition to the built-in ones
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
    /// Build subjects, as a run does when needed
    Build {
        /// The subjects' names [default: all]
        #[arg(add = complete::subjects())]
        names: Vec<String>,
    },
    /// Check that subjects do what they declare: correct responses, rejections, slices, a clean
    /// shutdown
    Check {
        /// The subjects' names [default: all with an installed toolchain]
        #[arg(add = complete::subjects())]
        names: Vec<String>,
        /// Check only this stack, of a single subject
        #[arg(long, value_name = "NAME")]
        stack: Option<String>,
        /// Try every combination of the declared values instead of only every pair
        #[arg(long)]
        every_combination: bool,
    },
}
