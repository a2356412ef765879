//! `rpcgauge serve`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::{LimitArgs, SchemaArgs, heading};

/// `rpcgauge serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The workload to serve
    #[arg(long, value_enum, default_value_t = ServedWorkload::Hello, conflicts_with = "method", help_heading = heading::WORKLOAD)]
    pub(crate) workload: ServedWorkload,
    /// The number of items, rows, strings or ids in the message, for workloads that have them
    #[arg(long, value_name = "N", conflicts_with = "method", help_heading = heading::WORKLOAD)]
    pub(crate) n: Option<u32>,
    #[command(flatten)]
    pub(crate) schema: SchemaArgs,
    /// Serve your own method, package.Service/Method
    #[arg(long, value_name = "METHOD", requires_all = ["request", "response"], help_heading = heading::MESSAGE)]
    pub(crate) method: Option<String>,
    /// A request, as a JSON file
    #[arg(long, value_name = "FILE", requires = "method", value_hint = ValueHint::FilePath, help_heading = heading::MESSAGE)]
    pub(crate) request: Option<PathBuf>,
    /// The response, as a JSON file
    #[arg(long, value_name = "FILE", requires = "method", value_hint = ValueHint::FilePath, help_heading = heading::MESSAGE)]
    pub(crate) response: Option<PathBuf>,
    /// The address to listen on: host:port, or unix:/path
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", help_heading = heading::SERVER)]
    pub(crate) listen: String,
    /// Use TLS, with a certificate that is generated and printed at startup
    #[arg(long, help_heading = heading::SERVER)]
    pub(crate) tls: bool,
    /// The compression of responses for clients that accept it: none, gzip[:level], zstd[:level]
    #[arg(long, value_name = "COMPRESSION", default_value = "none", help_heading = heading::SERVER)]
    pub(crate) compression: String,
    /// The number of serving threads
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = heading::SERVER)]
    pub(crate) threads: u32,
    /// Turn off gRPC Server Reflection, which describes the method and its messages to clients
    #[arg(long, help_heading = heading::SERVER)]
    pub(crate) no_reflection: bool,
    /// Maximum total size of unfinished requests and responses in memory; further calls are
    /// rejected [default: a quarter of the machine's memory]
    #[arg(long, value_name = "BYTES", help_heading = heading::LIMITS)]
    pub(crate) max_memory: Option<usize>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Print the address and the methods as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The built-in workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServedWorkload {
    /// The response equals the request
    Echo,
    /// The request is a name, the response a greeting
    Hello,
    /// The request is short, the response has n items
    List,
    /// The request is an id, the response one item of `list`; also streams of items, of 100 from
    /// the server
    Items,
    /// The response is n rows of the bird strikes data
    Records,
    /// The request is an id, the response a member's profile
    Profile,
    /// The request is an id, the response n ids
    Followers,
}
