//! `app`: an application, built, checked, started, or called by its users.

use clap::{Args, Subcommand, ValueHint};

use super::load::parse_rate;
use super::parse_ms;

/// `rpcgauge app`.
#[derive(Debug, Args)]
pub(crate) struct AppArgs {
    #[command(subcommand)]
    pub(crate) command: AppCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AppCommand {
    /// Build an application, as a run does where it needs it
    Build {
        #[command(flatten)]
        app: AppName,
    },
    /// Start an application in every configuration, and check that it responds right, and alike in all
    Check {
        #[command(flatten)]
        app: AppName,
    },
    /// Start an application, print its addresses, and stop it at Ctrl-C
    Up {
        #[command(flatten)]
        app: AppName,
        #[command(flatten)]
        set: SetArgs,
        /// Without a Prometheus beside it
        #[arg(long)]
        no_prometheus: bool,
    },
    /// Start an application, send load once, and print what came of it
    Load {
        #[command(flatten)]
        app: AppName,
        #[command(flatten)]
        set: SetArgs,
        /// How many users, instead of those of app.toml
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
        users: Option<u32>,
        /// Only tasks with one of these tags, instead of those of app.toml
        #[arg(long, value_name = "TAG,TAG", value_delimiter = ',')]
        tags: Vec<String>,
        /// The check of app.toml whose request is sent at a rate, instead of users
        #[arg(
            long,
            value_name = "CHECK",
            requires = "rate",
            conflicts_with_all = ["users", "tags"]
        )]
        call: Option<String>,
        /// Requests per second, whatever became of those before (open loop)
        #[arg(long, value_name = "RATE", value_parser = parse_rate, requires = "call")]
        rate: Option<f64>,
        /// How long the load is measured
        #[arg(long, value_name = "TIME", value_parser = parse_ms, default_value = "20s")]
        duration: u64,
        /// How long the load runs before that
        #[arg(long, value_name = "TIME", value_parser = parse_ms, default_value = "5s")]
        warm_up: u64,
        /// Leave the application running afterwards, with a Prometheus that saw the load, until Ctrl-C
        #[arg(long)]
        stay: bool,
    },
}

/// Which application.
#[derive(Debug, Args)]
pub(crate) struct AppName {
    /// A built-in application's name, or the path of a folder with an app.toml, as in ./shop
    #[arg(value_name = "NAME-OR-PATH", value_hint = ValueHint::DirPath)]
    pub(crate) name: String,
}

/// Its configuration.
#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// A setting's value, instead of its default; repeat it for several
    #[arg(long = "set", value_name = "SETTING=VALUE")]
    pub(crate) set: Vec<String>,
}
