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
    /// Build an application, as a run does when needed
    Build {
        #[command(flatten)]
        app: AppName,
    },
    /// Start an application in every configuration, and check that its responses are correct and
    /// identical in all of them
    Check {
        #[command(flatten)]
        app: AppName,
    },
    /// Start an application, print its addresses, and stop it on Ctrl-C
    Up {
        #[command(flatten)]
        app: AppName,
        #[command(flatten)]
        set: SetArgs,
        /// Do not start Prometheus
        #[arg(long)]
        no_prometheus: bool,
    },
    /// Start an application, send load to it once, and print the results
    Load {
        #[command(flatten)]
        app: AppName,
        #[command(flatten)]
        set: SetArgs,
        /// The number of users, overriding app.toml
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
        users: Option<u32>,
        /// Run only tasks with one of these tags, overriding app.toml
        #[arg(long, value_name = "TAG,TAG", value_delimiter = ',')]
        tags: Vec<String>,
        /// The check in app.toml whose request is sent at a fixed rate, instead of load from users
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
        /// How long to measure the load
        #[arg(long, value_name = "TIME", value_parser = parse_ms, default_value = "20s")]
        duration: u64,
        /// How long to send load before measuring
        #[arg(long, value_name = "TIME", value_parser = parse_ms, default_value = "5s")]
        warm_up: u64,
        /// Keep the application running afterwards until Ctrl-C, with a Prometheus that has scraped
        /// it during the load
        #[arg(long)]
        stay: bool,
    },
}

/// The application.
#[derive(Debug, Args)]
pub(crate) struct AppName {
    /// Name of a built-in application, or path of a folder with an app.toml, such as ./shop
    #[arg(value_name = "NAME-OR-PATH", value_hint = ValueHint::DirPath)]
    pub(crate) name: String,
}

/// An application's configuration.
#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// Override the default value of a setting (repeatable)
    #[arg(long = "set", value_name = "SETTING=VALUE")]
    pub(crate) set: Vec<String>,
}
