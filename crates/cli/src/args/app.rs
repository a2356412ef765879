//! `app`: builds, checks, starts or loads an application.

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
    /// Build an application, as a run does if it needs it
    Build {
        #[command(flatten)]
        app: AppName,
    },
    /// Start an application in every configuration, and check that its responses are correct and
    /// the same in all
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
        /// Do not start a Prometheus for it
        #[arg(long)]
        no_prometheus: bool,
    },
    /// Start an application, send load once, and print the results
    Load {
        #[command(flatten)]
        app: AppName,
        #[command(flatten)]
        set: SetArgs,
        /// The number of users, instead of that in app.toml
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
        users: Option<u32>,
        /// Only tasks with one of these tags, instead of those in app.toml
        #[arg(long, value_name = "TAG,TAG", value_delimiter = ',')]
        tags: Vec<String>,
        /// The check in app.toml whose request is sent at a rate, instead of load by users
        #[arg(
            long,
            value_name = "CHECK",
            requires = "rate",
            conflicts_with_all = ["users", "tags"]
        )]
        call: Option<String>,
        /// Requests per second, sent without waiting for earlier ones (open loop)
        #[arg(long, value_name = "RATE", value_parser = parse_rate, requires = "call")]
        rate: Option<f64>,
        /// How long the load is measured
        #[arg(long, value_name = "TIME", value_parser = parse_ms, default_value = "20s")]
        duration: u64,
        /// How long the load runs before it is measured
        #[arg(long, value_name = "TIME", value_parser = parse_ms, default_value = "5s")]
        warm_up: u64,
        /// Keep the application running afterwards until Ctrl-C, with a Prometheus that scraped it
        /// during the load
        #[arg(long)]
        stay: bool,
    },
}

/// The application.
#[derive(Debug, Args)]
pub(crate) struct AppName {
    /// A built-in application's name, or the path of a folder with an app.toml, as in ./shop
    #[arg(value_name = "NAME-OR-PATH", value_hint = ValueHint::DirPath)]
    pub(crate) name: String,
}

/// An application's configuration.
#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// A setting's value, instead of its default (repeatable)
    #[arg(long = "set", value_name = "SETTING=VALUE")]
    pub(crate) set: Vec<String>,
}
