//! Defines the command line: options, help texts and examples.

mod about;
mod advise;
mod app;
mod compare;
pub(crate) mod complete;
mod gate;
mod link;
mod load;
mod map;
mod message;
mod other_tools;
mod report;
mod run;
mod serve;
mod stream;
mod subjects;
mod worker;

use std::io::Write as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use rpcgauge_report::escape;
use rpcgauge_study::words::parse_time_ms;

pub(crate) use about::{CompletionsArgs, DoctorArgs, RunsArgs, StudiesArgs, StudiesCommand};
pub(crate) use advise::{AdviseArgs, By};
pub(crate) use app::{AppArgs, AppCommand, AppName, SetArgs};
pub(crate) use compare::CompareArgs;
pub(crate) use gate::{GATED, GateArgs};
pub(crate) use link::{LinkArgs, LinkCommand};
pub(crate) use load::{
    AtEnd, DataArgs, DeadlineArgs, ExportArgs, Http, LbStrategy, LoadArgs, NamedTarget, Order,
    ServiceArgs, Threads, TlsArgs, VersusArgs,
};
pub(crate) use map::MapArgs;
pub(crate) use message::{LimitArgs, SchemaArgs, SizeArgs};
pub(crate) use report::{DiffArgs, DocumentFormat, Format, FormatArgs, ReportArgs};
pub(crate) use run::{OutputArgs, OverrideArgs, PlanArgs, RunArgs};
pub(crate) use serve::{ServeArgs, ServedWorkload};
pub(crate) use stream::StreamArgs;
pub(crate) use subjects::{SubjectFolders, SubjectsArgs, SubjectsCommand};
pub(crate) use worker::WorkerArgs;

use crate::exit::BAD_INPUT;

/// Find the best way to call a service: measure protocols, encodings, compression, transports and
/// connection handling with your own messages.
#[derive(Debug, Parser)]
#[command(name = "rpcgauge", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Headings that group options in the help.
mod heading {
    pub(super) const COMPARISON: &str = "Comparison";
    pub(super) const LIMITS: &str = "Limits";
    pub(super) const LOAD: &str = "Load";
    pub(super) const LOCUST: &str = "Locust";
    pub(super) const MAP: &str = "Map";
    pub(super) const MESSAGE: &str = "Message";
    pub(super) const OUTPUT: &str = "Output";
    pub(super) const RESULT: &str = "Result";
    pub(super) const SERVER: &str = "Server";
    pub(super) const SERVICE: &str = "Service";
    pub(super) const STREAMS: &str = "Streaming calls";
    pub(super) const STUDY: &str = "Study";
    pub(super) const TLS: &str = "TLS";
    pub(super) const VERSIONS: &str = "Versions";
    pub(super) const WORKLOAD: &str = "Workload";
}

/// Parses an integer that TOML can represent.
fn whole() -> clap::builder::RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(..=i64::MAX as u64)
}

/// Parses a time in the format of study files. Returns milliseconds.
fn parse_ms(text: &str) -> Result<u64, String> {
    parse_time_ms(text.trim())
}

/// Parses the command line. Prints help, version or an error in clap's format and exits if there is
/// no command to run.
pub(crate) fn parse() -> Arguments {
    Arguments::try_parse().unwrap_or_else(|mut error| {
        if matches!(
            error.kind(),
            ErrorKind::DisplayHelp
                | ErrorKind::DisplayVersion
                | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        ) {
            error.exit();
        }
        hide_secret(&mut error);
        if error.kind() == ErrorKind::MissingRequiredArgument {
            // It would list the options that were given as if they were required.
            error.remove(ContextKind::Usage);
        }
        other_tools::hint(&mut error);
        let text = escape::page(&error.render().to_string());
        // If standard error is closed, the exit code still shows the error.
        let _ = std::io::stderr().write_all(text.as_bytes());
        std::process::exit(i32::from(BAD_INPUT))
    })
}

/// Hides an invalid value in an error message if it may contain a secret, such as a password in a
/// URL or a token in a header field.
fn hide_secret(error: &mut clap::Error) {
    let argument = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    let argument = argument.unwrap_or_default();
    if argument.ends_with("<TARGET>") || argument.ends_with("<NAME: VALUE>") {
        let hidden = ContextValue::String("…".to_owned());
        error.insert(ContextKind::InvalidValue, hidden);
    }
}

const EXAMPLES: &str = "\
Examples:
  rpcgauge run quickstart                   a small version of the five questions, about a minute
  rpcgauge compare --proto orders.proto --method shop.Orders/Get \\
      --request req.json --response resp.json
                                            reasonable ways to call your own method
  rpcgauge load http://localhost:8080/health --rate 500 --slo 'p99<20ms'
                                            how a running service responds
  rpcgauge size --proto orders.proto --message shop.Order --sample order.json
                                            only prints encoded sizes
  rpcgauge doctor                           what this machine can measure, and how noisy it is

Exit codes: 0 success; 1 some trials failed, an objective was not reached or something got slower;
2 invalid input; 3 not possible on this machine; 130 interrupted, with results so far kept.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run studies and write their reports
    #[command(after_help = "\
Examples:
  rpcgauge run quickstart
  rpcgauge run several gzip                 two built-in studies, one after the other
  rpcgauge run my-study.toml --out runs/mine
  rpcgauge run --resume runs/mine           continue an interrupted run")]
    Run(RunArgs),
    /// Compare reasonable ways to call your own method
    #[command(after_help = "\
Examples:
  rpcgauge compare --proto orders.proto --method shop.Orders/Get \\
      --request req.json --response resp.json
  rpcgauge compare ... --only rest-json,grpc --against rest-json
  rpcgauge compare ... --size-sweep 1,10,100 --budget 3m")]
    Compare(Box<CompareArgs>),
    /// Map which way to call is the fastest, by the size of the message and the network, and check the map
    #[command(after_help = "\
Examples:
  rpcgauge map --proto orders.proto --method shop.Orders/Get \\
      --request req.json --response resp.json
  rpcgauge map ... --stack go/grpc-go,go/net-http
  rpcgauge map ... --unchecked              without measurements over emulated networks
  rpcgauge map runs/20261120T101500Z-list   check the map of an earlier run")]
    Map(Box<MapArgs>),
    /// Call a running service and report what its callers experience
    #[command(after_help = "\
Examples:
  rpcgauge load http://localhost:8080/health
  rpcgauge load grpc://localhost:50051/shop.Orders/Get --proto orders.proto \\
      --data '{\"id\": \"{{uuid}}\"}' --rate 500 --duration 30s --slo 'p99<20ms'
  rpcgauge load https://localhost:8443/orders -X POST --data @order.json --connections 50
  rpcgauge load grpc://localhost:50051/shop.Orders/Get --vs grpc://localhost:50052/shop.Orders/Get

Exit codes: 0 success; 1 an objective was not reached or, without objectives, no call succeeded;
2 invalid input, or the service cannot be reached; 3 not possible on this machine; 130 interrupted,
with results so far reported.

Send load only to services that you own and that can handle it.")]
    Load(Box<LoadArgs>),
    /// Make the calls of a Locust master's users, beside workers on other machines (docs/distributed.md)
    #[command(after_help = "\
Examples:
  rpcgauge worker --master locust.example:5557 http://service.example:8080/orders
  rpcgauge worker --master locust.example:5557 --rate-per-user 10 \\
      grpc://service.example:50051/shop.Orders/Get --data '{\"id\": \"{{uuid}}\"}'

Exit codes: 0 the master has ended; 2 invalid input, or the service or the master cannot be reached;
3 not possible on this machine; 130 interrupted.

Send load only to services that you own and that can handle it.")]
    Worker(Box<WorkerArgs>),
    /// Start two versions of a service several times, and fail if the new one is slower
    #[command(after_help = "\
Examples:
  rpcgauge gate --old './main --port {port}' --new './pr --port {port}' \\
      --call 'http://127.0.0.1:{port}/search?q=shoes'
  rpcgauge gate --old ./main --new ./pr --call grpc://127.0.0.1:{port}/shop.Orders/Get \\
      --data '{\"id\": \"1\"}' --fail-if-slower 2% --allow server-memory=10%

Exit codes: 0 passed; 1 a metric is worse by more than is allowed, or could not be judged; 2 invalid
input, or a version does not start or respond; 3 not possible on this machine; 130 interrupted.")]
    Gate(Box<GateArgs>),
    /// Print the trials a study would run and how long they would take; run nothing
    #[command(after_help = "\
Examples:
  rpcgauge plan quickstart
  rpcgauge plan my-study.toml --json")]
    Plan(PlanArgs),
    /// List the built-in studies, or print one as a starting point for your own
    #[command(after_help = "\
Examples:
  rpcgauge studies
  rpcgauge studies show gzip > my-gzip.toml")]
    Studies(StudiesArgs),
    /// List the subjects (stacks in other languages and libraries), or build or check them
    #[command(after_help = "\
Examples:
  rpcgauge subjects
  rpcgauge subjects build python
  rpcgauge subjects check mine --subjects .  check your own subject in ./mine")]
    Subjects(SubjectsArgs),
    /// Build, check, start or load an application made of several services
    /// (docs/measure-an-application.md)
    #[command(after_help = "\
Examples:
  rpcgauge app check examples/app-shop      check every response in every configuration
  rpcgauge app up examples/app-shop --set connections=per-call
  rpcgauge app load examples/app-shop --duration 30s
  rpcgauge app load examples/app-shop --call offer --rate 200
  rpcgauge run examples/app-shop/study.toml  compare its configurations")]
    App(AppArgs),
    /// Print a sample's size in every encoding and compression; run nothing
    #[command(after_help = "\
Examples:
  rpcgauge size --proto orders.proto --message shop.Order --sample order.json
  rpcgauge size --proto orders.proto --method shop.Orders/Get --sample req.json
  rpcgauge size --descriptor-set shop.binpb --message shop.Order --sample order.json --json")]
    Size(SizeArgs),
    /// Regenerate the report of a run from its directory
    #[command(after_help = "\
Examples:
  rpcgauge report runs/20261120T101500Z-quickstart
  rpcgauge report runs/mine --format markdown > comment.md")]
    Report(ReportArgs),
    /// Recommend what to use by latency, CPU, bytes or price: what it saves, and the settings for it
    #[command(after_help = "\
Examples:
  rpcgauge advise runs/mine
  rpcgauge advise runs/mine --by cpu --rate 2000
  rpcgauge advise runs/mine --core-hour 0.04 --per-gb 0.01
  rpcgauge advise runs/mine --by bytes --format markdown > advice.md")]
    Advise(AdviseArgs),
    /// List the runs in a folder, the newest first
    Runs(RunsArgs),
    /// Compare two runs
    #[command(after_help = "\
Examples:
  rpcgauge diff runs/before runs/after
  rpcgauge diff runs/before runs/after --format html > diff.html
  rpcgauge diff runs/main runs/change --fail-if-slower
                                            exit code 1 if it got slower, for CI")]
    Diff(DiffArgs),
    /// Serve a workload with the embedded reference server until interrupted
    #[command(after_help = "\
Examples:
  rpcgauge serve                            hello on 127.0.0.1, on a free port
  rpcgauge serve --workload list --n 100 --listen 127.0.0.1:6565
  rpcgauge serve --listen unix:/tmp/hello.sock
  rpcgauge serve --proto orders.proto --method shop.Orders/Get \\
      --request req.json --response resp.json")]
    Serve(ServeArgs),
    /// Run programs over an emulated link, or check how accurately this machine emulates links
    #[command(after_help = "\
Examples:
  rpcgauge link                             list the presets
  rpcgauge link wlan --server './server' --client 'curl http://198.18.0.2:8080/'
  rpcgauge link lte --server 'iperf3 -s -1' -- iperf3 -c 198.18.0.2
  rpcgauge link lte -- bash                 a shell at the client's end
  rpcgauge link rate=50Mbit/s+delay=4ms+loss=1% -- bash
  rpcgauge link check                       measure every link on this machine

The server's address is 198.18.0.2, which is also in the environment variable RPCGAUGE_SERVER. The
exit code is that of the client.")]
    Link(LinkArgs),
    /// Show what this machine can measure, how noisy it is, and how to improve it
    #[command(after_help = "\
Examples:
  rpcgauge doctor
  rpcgauge doctor --no-noise --json         skip the short noise measurement")]
    Doctor(DoctorArgs),
    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  rpcgauge completions bash > ~/.local/share/bash-completion/completions/rpcgauge
  rpcgauge completions zsh > ~/.zfunc/_rpcgauge
  rpcgauge completions fish > ~/.config/fish/completions/rpcgauge.fish")]
    Completions(CompletionsArgs),
    /// Follow the subject contract on standard input and output (contract/README.md)
    #[command(hide = true)]
    Subject,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
