//! `studies`, `runs`, `doctor`, `completions`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::complete;

/// `rpcgauge studies`.
#[derive(Debug, Args)]
pub(crate) struct StudiesArgs {
    #[command(subcommand)]
    pub(crate) command: Option<StudiesCommand>,
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StudiesCommand {
    /// Print the file of a built-in study
    Show {
        /// The study's name
        #[arg(add = complete::built_in_studies())]
        name: String,
    },
}

/// `rpcgauge runs`.
#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// The folder of the run directories [default: runs]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `rpcgauge doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Skip the short noise measurement
    #[arg(long)]
    pub(crate) no_noise: bool,
    /// Print the findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `rpcgauge completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell to generate for
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}
