//! `rpcgauge compare`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use rpcgauge_study::features::Role;

use super::{
    LimitArgs, OutputArgs, SchemaArgs, SubjectFolders, complete, heading, parse_ms, whole,
};

/// `rpcgauge compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) schema: SchemaArgs,
    /// The method to call, as package.Service/Method
    #[arg(long, value_name = "METHOD", help_heading = heading::MESSAGE)]
    pub(crate) method: String,
    /// The request, as a JSON file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = heading::MESSAGE)]
    pub(crate) request: PathBuf,
    /// The response, as a JSON file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = heading::MESSAGE)]
    pub(crate) response: PathBuf,
    /// Compare servers built on these stacks, SUBJECT/STACK, called by rpcgauge's own client
    /// (repeatable)
    #[arg(long, value_name = "STACK", value_delimiter = ',', add = complete::stacks(Role::Server), help_heading = heading::COMPARISON)]
    pub(crate) stack: Vec<String>,
    /// Compare these stacks as clients of each --stack, or of the embedded server, in addition to
    /// rpcgauge's own client (repeatable)
    #[arg(long, value_name = "STACK", value_delimiter = ',', add = complete::stacks(Role::Client), help_heading = heading::COMPARISON)]
    pub(crate) client: Vec<String>,
    /// Compare only the variants with these names; a name that matches no variant exactly selects
    /// all that contain it. Without --stack: rest-json, rest-gzip, rest-http2, grpc, grpc-gzip,
    /// grpc-unix, msgpack, hybrid; for a method that streams also ndjson, sse, websocket,
    /// websocket-in-turn, grpc-in-turn
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = heading::COMPARISON)]
    pub(crate) only: Vec<String>,
    /// The variant to compare all others with [default: rest-json, or the first stack, with
    /// the first client]
    #[arg(long, value_name = "NAME", help_heading = heading::COMPARISON)]
    pub(crate) against: Option<String>,
    /// Compare at several sizes: the response with its repeated fields made this many times as long
    #[arg(long, value_name = "FACTOR", value_delimiter = ',', help_heading = heading::COMPARISON)]
    pub(crate) size_sweep: Vec<u32>,
    /// The option of the command that gives the sizes, for errors about them.
    #[arg(skip = "--size-sweep")]
    pub(crate) sizes_option: &'static str,
    /// Compare over these emulated links, such as wlan or loopback (repeatable; see docs/link.md)
    #[arg(long, value_name = "LINK", value_delimiter = ',', add = complete::links(), help_heading = heading::COMPARISON)]
    pub(crate) link: Vec<String>,
    /// Compare with these numbers of calls in flight [default: 1]
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = heading::COMPARISON)]
    pub(crate) in_flight: Vec<u32>,
    /// How many messages the streaming side of a method that streams sends in each call, the client
    /// if both do [default: 100]
    #[arg(long, value_name = "N", help_heading = heading::COMPARISON)]
    pub(crate) messages: Option<u32>,
    /// Use TLS, with certificates that are generated for the run
    #[arg(long, help_heading = heading::COMPARISON)]
    pub(crate) tls: bool,
    /// About how long to measure, such as 30s or 2m [default: 60s, or longer if the stacks need it
    /// to start and warm up]
    #[arg(long, value_name = "TIME", value_parser = parse_ms, help_heading = heading::COMPARISON)]
    pub(crate) budget: Option<u64>,
    /// Seed of all random choices
    #[arg(long, value_name = "N", value_parser = whole(), help_heading = heading::COMPARISON)]
    pub(crate) seed: Option<u64>,
    /// Print the trials and how long they would take; run nothing
    #[arg(long, help_heading = heading::COMPARISON)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) subjects: SubjectFolders,
    /// Print these options as a study, for `rpcgauge run`; run nothing
    #[arg(long, help_heading = heading::COMPARISON)]
    pub(crate) print_study: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}
