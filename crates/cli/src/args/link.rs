//! `rpcgauge link`.

use std::ffi::OsString;

use clap::{Args, Subcommand};

/// `rpcgauge link`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LinkArgs {
    #[command(subcommand)]
    pub(crate) command: Option<LinkCommand>,
    /// A preset, or values as rate=50Mbit/s+delay=4ms or wlan+loss=1%; presets are listed where none is given
    pub(crate) link: Option<String>,
    /// A command for the shell that listens at the server's end; the client starts when it does
    #[arg(long, value_name = "CMD", requires = "link")]
    pub(crate) server: Option<String>,
    /// A command for the shell at the client's end
    #[arg(
        long,
        value_name = "CMD",
        requires = "link",
        conflicts_with = "program"
    )]
    pub(crate) client: Option<String>,
    /// A program and its arguments at the client's end
    #[arg(last = true, value_name = "CMD", requires = "link")]
    pub(crate) program: Vec<OsString>,
    /// Decides which packets are lost, and the jitter
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LinkCommand {
    /// Measure how well this machine holds links: round trip, rate, queue, loss, packets per second
    Check {
        /// Presets or values; all presets where none is given
        #[arg(value_name = "LINK")]
        links: Vec<String>,
    },
}
