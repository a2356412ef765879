//! `rpcgauge load`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum, ValueHint};
use rpcgauge_message::Compression;
use rpcgauge_study::FormError;
use rpcgauge_study::expectation::Expectation;
use rpcgauge_study::objective::Objective;
use rpcgauge_study::plan::Metric;
use rpcgauge_study::ramp::Ramp;
use rpcgauge_study::url::Url;
use rpcgauge_study::words::parse_time_ms;

use super::gate::parse_exception_of;
use super::{LimitArgs, OutputArgs, SchemaArgs, StreamArgs, heading, parse_ms, whole};

/// `rpcgauge load`.
#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// What to call: grpc[s]://HOST:PORT/package.Service/Method, http[s]://HOST[:PORT]/path, or a WebSocket,
    /// ws[s]://HOST[:PORT]/path; a name in front, as in new=http://HOST/path, is used in the report
    #[arg(value_name = "TARGET", value_hint = ValueHint::Url)]
    pub(crate) target: NamedTarget,
    #[command(flatten)]
    pub(crate) service: ServiceArgs,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    #[command(flatten)]
    pub(crate) schema: SchemaArgs,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) stream: StreamArgs,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    /// An objective: p99<20ms, errors<0.1%, goodput>500 (repeatable); the exit code is 1 if any is
    /// not reached
    #[arg(long, value_name = "OBJECTIVE", help_heading = heading::RESULT)]
    pub(crate) slo: Vec<Objective>,
    #[command(flatten)]
    pub(crate) versus: VersusArgs,
    /// Print these options as a study, for `rpcgauge run`; call nothing. The values of header
    /// fields are left out
    #[arg(long, help_heading = heading::OUTPUT)]
    pub(crate) print_study: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) exports: ExportArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// A target, with its name in the report if it is given one: `new=http://localhost:8080/orders`.
#[derive(Debug, Clone)]
pub(crate) struct NamedTarget {
    pub(crate) name: Option<String>,
    pub(crate) url: Url,
}

impl FromStr for NamedTarget {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        // A `=` in a path or query does not end a name.
        let before = text.split_once("://").map_or("", |(before, _)| before);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let named = before.split_once('=');
        let named = named.filter(|(name, _)| !name.is_empty() && name.chars().all(is_plain));
        let (name, url) = match named {
            Some((name, _)) => (Some(name.to_ascii_lowercase()), &text[name.len() + 1..]),
            None => (None, text),
        };
        Ok(Self {
            name,
            url: url.parse()?,
        })
    }
}

/// A second target to compare with. Options without `--vs-`, except -H, apply to both targets.
#[derive(Debug, Args)]
pub(crate) struct VersusArgs {
    /// Compare with this target, alternating in blocks
    #[arg(long, value_name = "TARGET", value_hint = ValueHint::Url, conflicts_with = "find_capacity", help_heading = heading::COMPARISON)]
    pub(crate) vs: Option<NamedTarget>,
    /// A header field for calls to the --vs target, to which -H does not apply (repeatable); its
    /// value is never stored
    #[arg(long, value_name = "NAME: VALUE", requires = "vs", value_parser = rpcgauge_study::file::parse_header, help_heading = heading::COMPARISON)]
    pub(crate) vs_header: Vec<(String, String)>,
    /// The message of the --vs target instead of --data
    #[arg(long, value_name = "TEXT", requires = "vs", help_heading = heading::COMPARISON)]
    pub(crate) vs_data: Option<String>,
    /// The rows of the --vs target instead of --rows
    #[arg(long, value_name = "FILE", requires = "vs", value_hint = ValueHint::FilePath, help_heading = heading::COMPARISON)]
    pub(crate) vs_rows: Option<PathBuf>,
    /// A .proto file for the --vs target instead of --proto (repeatable)
    #[arg(long, value_name = "FILE", requires = "vs", value_hint = ValueHint::FilePath, help_heading = heading::COMPARISON)]
    pub(crate) vs_proto: Vec<PathBuf>,
    /// The HTTP method of the --vs target instead of -X
    #[arg(long, value_name = "METHOD", requires = "vs", help_heading = heading::COMPARISON)]
    pub(crate) vs_request_method: Option<String>,
    /// Number of blocks in the comparison; they share the duration and the calls, and each runs a whole ramp
    /// [default: 10; 3 with --ramp]
    #[arg(long, value_name = "N", help_heading = heading::COMPARISON)]
    pub(crate) blocks: Option<u32>,
    /// Exit with 1 if calls to TARGET are slower than those to the --vs target by more than this [5% without a value]
    #[arg(long, value_name = "SHARE", requires = "vs", conflicts_with = "ramp", num_args = 0..=1, require_equals = true, default_missing_value = "5%", value_parser = parse_allowed, help_heading = heading::COMPARISON)]
    pub(crate) fail_if_slower: Option<f64>,
    /// With --fail-if-slower, allow more or less for one latency: p99=20%, p99=off (repeatable)
    #[arg(long, value_name = "METRIC=SHARE", requires = "fail_if_slower", value_parser = parse_exception, value_delimiter = ',', help_heading = heading::COMPARISON)]
    pub(crate) allow: Vec<(Metric, Option<f64>)>,
}

/// What to call on the service, and how.
#[derive(Debug, Args)]
pub(crate) struct ServiceArgs {
    /// The gRPC method, package.Service/Method, if it is not part of the target
    #[arg(long, value_name = "METHOD", help_heading = heading::SERVICE)]
    pub(crate) method: Option<String>,
    /// The HTTP method [default: POST with --data or --rows, otherwise GET]
    #[arg(long, short = 'X', value_name = "METHOD", help_heading = heading::SERVICE)]
    pub(crate) request_method: Option<String>,
    /// A header field or gRPC metadata, with placeholders such as {{uuid}} (repeatable); its value is never stored
    #[arg(long, short = 'H', value_name = "NAME: VALUE", value_parser = rpcgauge_study::file::parse_header, help_heading = heading::SERVICE)]
    pub(crate) header: Vec<(String, String)>,
    /// What a response must be for its call to succeed: status = 404, body contains "ok", $.status = "ok" (repeatable)
    #[arg(long, value_name = "EXPECTATION", help_heading = heading::SERVICE)]
    pub(crate) expect: Vec<Expectation>,
    /// Connect to this Unix domain socket, or abstract socket (@NAME); the target's host is then only sent to the server
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath, help_heading = heading::SERVICE)]
    pub(crate) unix_socket: Option<PathBuf>,
    /// The HTTP version [default: 2 for gRPC, otherwise 1.1]
    #[arg(long, value_enum, value_name = "VERSION", help_heading = heading::SERVICE)]
    pub(crate) http: Option<Http>,
    /// The compression of requests: none, gzip[:level], zstd[:level]
    #[arg(long, value_name = "COMPRESSION", default_value = "none", value_parser = parse_compression, help_heading = heading::SERVICE)]
    pub(crate) request_compression: Compression,
    /// The compression to request for responses: none, gzip, zstd
    #[arg(long, value_name = "COMPRESSION", default_value = "none", value_parser = parse_compression, help_heading = heading::SERVICE)]
    pub(crate) response_compression: Compression,
}

/// An HTTP version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Http {
    /// HTTP/1.1
    #[value(name = "1.1")]
    Http1,
    /// HTTP/2; with prior knowledge unless TLS is used
    #[value(name = "2")]
    Http2,
}

impl Http {
    /// The version in a study.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Http1 => "1.1",
            Self::Http2 => "2",
        }
    }
}

/// TLS options.
#[derive(Debug, Args)]
pub(crate) struct TlsArgs {
    /// Trust only the certificate authorities in this PEM file [default: the system's]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = heading::TLS)]
    pub(crate) cacert: Option<PathBuf>,
    /// A client certificate, as a PEM file
    #[arg(long, value_name = "FILE", requires = "key", value_hint = ValueHint::FilePath, help_heading = heading::TLS)]
    pub(crate) cert: Option<PathBuf>,
    /// The private key of --cert, as a PEM file
    #[arg(long, value_name = "FILE", requires = "cert", value_hint = ValueHint::FilePath, help_heading = heading::TLS)]
    pub(crate) key: Option<PathBuf>,
    /// The server name to send (SNI) and to verify [default: the target's host]
    #[arg(long, value_name = "NAME", help_heading = heading::TLS)]
    pub(crate) server_name: Option<String>,
    /// Do not verify certificates; the report states this
    #[arg(long, short = 'k', help_heading = heading::TLS)]
    pub(crate) insecure: bool,
    /// Use HTTP/2 even if the server does not negotiate it by ALPN
    #[arg(long, help_heading = heading::TLS)]
    pub(crate) allow_missing_alpn: bool,
}

/// Options for the messages.
#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    // This help does not mention the placeholder {{n}}, because clap would replace `{n}` with a
    // line break.
    /// The message as JSON, or the body, with placeholders such as {{uuid}}; @FILE reads it from a
    /// file, @- from standard input. Only its length and SHA-256 are stored
    #[arg(long, value_name = "TEXT", help_heading = heading::MESSAGE)]
    pub(crate) data: Option<String>,
    /// One row per call, as JSON lines (.jsonl, .ndjson) or CSV; fills {{name}}, or is the message
    /// itself
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = heading::MESSAGE)]
    pub(crate) rows: Option<PathBuf>,
    /// The order in which calls use the rows
    #[arg(long, value_enum, default_value_t = Order::InTurn, requires = "rows", help_heading = heading::MESSAGE)]
    pub(crate) order: Order,
    /// Seed of all random choices
    #[arg(long, value_name = "N", value_parser = whole(), help_heading = heading::MESSAGE)]
    pub(crate) seed: Option<u64>,
}

/// The order in which calls use rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// From first to last, then from the first again
    InTurn,
    /// A random row for each call
    Random,
}

/// Options for the amount and the pace of the load.
#[derive(Debug, Args)]
pub(crate) struct PaceArgs {
    /// Stop after this many calls
    #[arg(long, short = 'n', value_name = "N", value_parser = whole(), conflicts_with = "find_capacity", help_heading = heading::LOAD)]
    pub(crate) calls: Option<u64>,
    /// Send at most this many requests to each target, including warm-up, the skipped start of each
    /// slice, the A/A check and retries
    #[arg(long, value_name = "N", value_parser = whole(), conflicts_with = "find_capacity", help_heading = heading::LOAD)]
    pub(crate) max_requests: Option<u64>,
    /// Stop after this time, such as 30s or 2m; with --vs, this is the time of each target and of the A/A check
    /// [default: 10s, unless --calls is given]
    #[arg(long, short = 'z', value_name = "TIME", value_parser = parse_ms, conflicts_with = "ramp", help_heading = heading::LOAD)]
    pub(crate) duration: Option<u64>,
    /// Calls in flight over all connections; a new call starts as soon as one ends [default: one
    /// per connection]
    #[arg(long, value_name = "N", conflicts_with = "arrivals", help_heading = heading::LOAD)]
    pub(crate) in_flight: Option<u32>,
    /// Calls per second, sent without waiting for earlier ones
    #[arg(
        long,
        value_name = "R",
        value_parser = parse_rate,
        // Otherwise a negative rate would be reported as an unknown option.
        allow_negative_numbers = true,
        group = "arrivals",
        help_heading = heading::LOAD
    )]
    pub(crate) rate: Option<f64>,
    /// A sequence of rates and times: steps (100,200,400:10s), slopes (0..1000:30s), pauses (0:5s),
    /// or any mix (100:5s,100..1000:1m,0:5s)
    #[arg(long, value_name = "RAMP", group = "arrivals", help_heading = heading::LOAD)]
    pub(crate) ramp: Option<Ramp>,
    /// Search for the highest rate that meets every --slo, in trials of --duration [5s]
    #[arg(long, requires = "slo", group = "arrivals", help_heading = heading::LOAD)]
    pub(crate) find_capacity: bool,
    /// The first rate of the search [default: one with enough calls in --duration]
    #[arg(long, value_name = "R", value_parser = parse_rate, requires = "find_capacity", help_heading = heading::LOAD)]
    pub(crate) start_rate: Option<f64>,
    /// The highest rate of the search
    #[arg(long, value_name = "R", value_parser = parse_rate, requires = "find_capacity", help_heading = heading::LOAD)]
    pub(crate) max_rate: Option<f64>,
    /// Stop the search when the highest rate that passes and the lowest that fails are this close
    /// [default: 5%]
    #[arg(long, value_name = "SHARE", value_parser = parse_share, requires = "find_capacity", help_heading = heading::LOAD)]
    pub(crate) precision: Option<f64>,
    /// Space the calls of a rate or ramp randomly (Poisson) instead of evenly
    #[arg(long, requires = "arrivals", help_heading = heading::LOAD)]
    pub(crate) poisson: bool,
    /// Connections to each target, kept open [default: 1; if a connection can carry only one call
    /// at a time, --in-flight, or 64 with a rate]
    #[arg(long, value_name = "C", help_heading = heading::LOAD)]
    pub(crate) connections: Option<u32>,
    /// Threads that make the calls, each on its part of the connections; auto: one per core, as far as there are
    /// connections [default: 1]
    #[arg(long, value_name = "N", help_heading = heading::LOAD)]
    pub(crate) threads: Option<Threads>,
    /// Open a new connection for each call
    #[arg(long, help_heading = heading::LOAD)]
    pub(crate) connect_per_call: bool,
    /// Which addresses of the target's name to call
    #[arg(long, value_enum, default_value_t = LbStrategy::PickFirst, help_heading = heading::LOAD)]
    pub(crate) lb_strategy: LbStrategy,
    /// Keep silent connections alive and detect dead ones: after this long without a byte from the
    /// server, send a PING (HTTP/2) and enable keepalive probes (TCP)
    #[arg(long, value_name = "TIME", value_parser = parse_ms, help_heading = heading::LOAD)]
    pub(crate) keepalive: Option<u64>,
    /// How long to wait for a reply to a keepalive probe [default: 20s]
    #[arg(long, value_name = "TIME", value_parser = parse_ms, requires = "keepalive", help_heading = heading::LOAD)]
    pub(crate) keepalive_timeout: Option<u64>,
    /// Maximum warm-up time; its calls are not measured; 0s for none [default: until latency has
    /// settled, but at most 5s, the measured time and the measured number of calls]
    #[arg(long, value_name = "TIME", value_parser = parse_warmup, help_heading = heading::LOAD)]
    pub(crate) warmup: Option<u64>,
    #[command(flatten)]
    pub(crate) deadline: DeadlineArgs,
    /// What to do with calls in flight when the duration is over
    #[arg(long, value_enum, default_value_t = AtEnd::Wait, help_heading = heading::LOAD)]
    pub(crate) at_end: AtEnd,
}

/// A number of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Threads {
    /// As many as this machine can run at the same time.
    Auto,
    Count(u32),
}

impl FromStr for Threads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            text => {
                let count = text.parse().map(Self::Count);
                count.map_err(|_| {
                    format!("\"{text}\" is not a number of threads; write it as 2, or auto")
                })
            }
        }
    }
}

/// How long a call may take.
#[derive(Debug, Args)]
pub(crate) struct DeadlineArgs {
    /// Fail a call that has no response within this time after it was due [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse_ms, help_heading = heading::LOAD)]
    pub(crate) deadline: Option<u64>,
    /// Like --deadline, but the time runs from when a call is sent: a call that waits for a connection is sent however
    /// late
    #[arg(long, value_name = "TIME", value_parser = parse_ms, conflicts_with = "deadline", help_heading = heading::LOAD)]
    pub(crate) timeout: Option<u64>,
}

/// Where to write a load's figures in addition to its run directory.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Write the latency percentiles (ms) to this file, in the format of HdrHistogram's plotting
    /// tools
    #[arg(long, value_name = "FILE", conflicts_with_all = ["vs", "find_capacity"], value_hint = ValueHint::FilePath, help_heading = heading::OUTPUT)]
    pub(crate) hgrm: Option<PathBuf>,
    /// Write each second's latencies to this file, as an HdrHistogram interval log (.hlog)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = heading::OUTPUT)]
    pub(crate) interval_log: Option<PathBuf>,
    /// Serve OpenMetrics at http://HOST:PORT/metrics while the load runs; port 0 picks a free port
    #[arg(long, value_name = "HOST:PORT", help_heading = heading::OUTPUT)]
    pub(crate) metrics: Option<String>,
    /// Push the same metrics to http[s]://HOST:PORT/PATH every 5 s and at the end, by Prometheus remote write
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, help_heading = heading::OUTPUT)]
    pub(crate) metrics_push: Option<String>,
    /// A header field for --metrics-push, such as 'authorization: Bearer TOKEN' (repeatable); its value is never stored
    #[arg(long, value_name = "NAME: VALUE", requires = "metrics_push", value_parser = rpcgauge_study::file::parse_header, help_heading = heading::OUTPUT)]
    pub(crate) metrics_push_header: Vec<(String, String)>,
}

/// Which addresses of the target's name to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LbStrategy {
    /// The first that accepts a connection
    PickFirst,
    /// All of them, each by its share of the connections
    RoundRobin,
}

/// What to do with calls in flight at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AtEnd {
    /// Wait until each one ends or reaches its deadline
    Wait,
    /// Cancel them and count them as abandoned
    Cancel,
}

/// Parses a maximum warm-up; 0 means none.
fn parse_warmup(text: &str) -> Result<u64, String> {
    match text.trim() {
        "0" | "0s" | "0ms" => Ok(0),
        text => parse_time_ms(text),
    }
}

pub(super) fn parse_rate(text: &str) -> Result<f64, String> {
    let number = text.trim();
    let number = number.strip_suffix("/s").unwrap_or(number);
    number
        .parse()
        .map_err(|_| format!("\"{text}\" is not a number of calls per second"))
}

/// Parses by how much a latency may be worse.
fn parse_exception(text: &str) -> Result<(Metric, Option<f64>), String> {
    parse_exception_of(&[Metric::LatencyP50, Metric::LatencyP99], text)
}

/// Parses by how much a metric may be worse.
pub(super) fn parse_allowed(text: &str) -> Result<f64, String> {
    let share = parse_share(text)?;
    if (0.0..1.0).contains(&share) {
        Ok(share)
    } else {
        Err(format!(
            "\"{text}\" is not a share from 0% to below 100%; write it as 5% or 0.05"
        ))
    }
}

/// Parses a share, written as `5%` or `0.05`.
fn parse_share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text.trim(), 1.0),
    };
    match number.parse::<f64>() {
        Ok(share) => Ok(share * unit),
        Err(_) => Err(format!("\"{text}\" is not a share; write it as 5% or 0.05")),
    }
}

fn parse_compression(text: &str) -> Result<Compression, String> {
    Compression::from_str(text).map_err(|error| error.to_string())
}
