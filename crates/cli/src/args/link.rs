//! `rpcgauge link`.

use std::ffi::OsString;

use clap::{Args, Subcommand};

use super::complete;

/// `rpcgauge link`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LinkArgs {
    #[command(subcommand)]
    pub(crate) command: Option<LinkCommand>,
    /// A preset, or values such as rate=50Mbit/s+delay=4ms or wlan+loss=1% [default: list the
    /// presets]
    #[arg(add = complete::links())]
    pub(crate) link: Option<String>,
    /// A shell command to run at the server's end; the client starts once it is listening
    #[arg(long, value_name = "CMD", requires = "link")]
    pub(crate) server: Option<String>,
    /// A shell command to run at the client's end
    #[arg(
        long,
        value_name = "CMD",
        requires = "link",
        conflicts_with = "program"
    )]
    pub(crate) client: Option<String>,
    /// The program to run at the client's end, with its arguments
    #[arg(last = true, value_name = "CMD", requires = "link")]
    pub(crate) program: Vec<OsString>,
    /// Seed of the random loss and jitter
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LinkCommand {
    /// Measure how accurately this machine emulates links: round trip, rate, queue, loss, packets
    /// per second
    Check {
        /// Presets or values [default: all presets]
        #[arg(value_name = "LINK", add = complete::links())]
        links: Vec<String>,
    },
}
