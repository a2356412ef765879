//! What a load is planned from, and why it cannot be planned.

use std::path::PathBuf;

use rpcgauge_message::{Compression, Limits};

use crate::capacity::CapacityOptions;
use crate::objective::Objective;
use crate::settings::{
    AtEnd, ConnectionUse, HttpVersion, Keepalive, Messages, Schedule, Stop, TlsChoice,
};
use crate::target::Target;

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadOptions {
    /// What is called.
    pub target: Target,
    /// What it is compared with.
    pub versus: Option<Target>,
    /// Interleaved blocks of the comparison.
    pub blocks: Option<u32>,
    /// A Unix domain socket to connect to instead of the target's address.
    pub unix_socket: Option<PathBuf>,
    /// The gRPC method, where the URL names none.
    pub method: Option<String>,
    /// The method of HTTP calls; where there is none, GET, or POST with a body.
    pub http_method: Option<String>,
    /// The version of HTTP, where it is not the protocol's usual one.
    pub http: Option<HttpVersion>,
    /// The names of the user's own header fields: the target's, and those of what it is compared with.
    pub header_names: [Vec<String>; 2],
    /// How TLS is spoken.
    pub tls: TlsChoice,
    /// What is sent.
    pub messages: Messages,
    /// What becomes of calls in flight when the time is up.
    pub at_end: AtEnd,
    /// How silent connections are kept alive, or found dead.
    pub keepalive: Option<Keepalive>,
    /// How requests are compressed.
    pub request_compression: Compression,
    /// The compression that answers are asked for in.
    pub response_compression: Compression,
    /// Connections open at the same time; where none are given each target has as many as its protocol
    /// needs.
    pub connections: Option<u32>,
    /// Whether they are kept.
    pub connection: ConnectionUse,
    /// When calls are sent.
    pub schedule: Schedule,
    /// When it ends; a ramp ends with its last part at the latest.
    pub stop: Stop,
    /// Longest warm-up, ms; 0 for none.
    pub warmup_ms: Option<u64>,
    /// When a call has failed, ms.
    pub deadline_ms: Option<u64>,
    /// What must be reached.
    pub objectives: Vec<Objective>,
    /// Search for the highest rate that reaches it; [`LoadOptions::schedule`] is then a rate, of
    /// which only the spacing counts.
    pub capacity: Option<CapacityOptions>,
    /// Seed of every random choice.
    pub seed: Option<u64>,
    /// Bounds of messages.
    pub limits: Limits,
}

/// Why a load cannot be planned. One line each, naming the option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadPlanError {
    /// A gRPC target without a method.
    #[error(
        "{0}: which method? Write it behind the address, as in grpc://HOST:PORT/package.Service/Method, or give --method"
    )]
    NoMethod(String),
    /// Two methods for one call.
    #[error("--method {given}: the target names {named} already; leave one of the two out")]
    TwoMethods {
        /// The option's.
        given: String,
        /// The URL's.
        named: String,
    },
    /// A method that is none.
    #[error("--method: \"{0}\" is no gRPC method; write package.Service/Method")]
    BadMethod(String),
    /// An option of HTTP for gRPC, of gRPC for HTTP, or of TLS without it.
    #[error("{option}: {target} {why}")]
    NotFor {
        /// The option.
        option: &'static str,
        /// The target.
        target: String,
        /// What it is not for, and what to do.
        why: &'static str,
    },
    /// A placeholder where none is filled.
    #[error(
        "{0}: placeholders are filled in --data alone, and every call has the same path and query; \
         write a value in place of {{{{…}}}}, or %7B%7B where braces are meant"
    )]
    Placeholder(String),
    /// A number that cannot be carried out.
    #[error("{option}: {what}")]
    Number {
        /// The option.
        option: &'static str,
        /// What is wrong, and what may be.
        what: String,
    },
    /// The parts do not make a plan.
    #[error("{0}")]
    Plan(String),
}
