//! `rpcgauge gate`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use rpcgauge_study::plan::Metric;
use rpcgauge_study::url::Url;
use rpcgauge_study::words::Named as _;

use super::load::parse_allowed;
use super::{LimitArgs, OutputArgs, SchemaArgs, ServiceArgs, TlsArgs, heading, parse_ms, whole};

/// `rpcgauge gate`.
#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// The command that starts the old version, for sh; {port} stands for the port to listen on, which is also in the
    /// environment variable PORT
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString, help_heading = heading::VERSIONS)]
    pub(crate) old: String,
    /// The command that starts the new version
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString, help_heading = heading::VERSIONS)]
    pub(crate) new: String,
    /// How long a version may take until it listens on its port [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_ms, help_heading = heading::VERSIONS)]
    pub(crate) ready_within: Option<u64>,
    /// What to call: http://127.0.0.1:{port}/path or grpc://127.0.0.1:{port}/package.Service/Method (repeatable)
    #[arg(long, value_name = "TARGET", value_hint = ValueHint::Url, required = true, help_heading = heading::SERVICE)]
    pub(crate) call: Vec<Url>,
    /// The message as JSON, or the body; @FILE reads it from a file. Give it once for all calls, or once for each, where
    /// '' means none
    #[arg(long, value_name = "TEXT", help_heading = heading::MESSAGE)]
    pub(crate) data: Vec<String>,
    #[command(flatten)]
    pub(crate) service: ServiceArgs,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    #[command(flatten)]
    pub(crate) schema: SchemaArgs,
    /// Exit with 1 if a metric is worse by more than this
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = parse_allowed, help_heading = heading::RESULT)]
    pub(crate) fail_if_slower: f64,
    /// Allow more or less for one metric: latency-p99=20%, server-memory=off (repeatable)
    #[arg(long, value_name = "METRIC=SHARE", value_parser = parse_exception, value_delimiter = ',', help_heading = heading::RESULT)]
    pub(crate) allow: Vec<(Metric, Option<f64>)>,
    /// Append the result as Markdown to this file, such as "$GITHUB_STEP_SUMMARY"
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = heading::OUTPUT)]
    pub(crate) summary: Option<PathBuf>,
    /// How long to measure all calls, not including start-up or a longer --warmup
    #[arg(long, short = 'z', value_name = "TIME", default_value = "2m", value_parser = parse_ms, help_heading = heading::LOAD)]
    pub(crate) duration: u64,
    /// How often to start both versions, at least 5 times
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = heading::LOAD)]
    pub(crate) starts: u32,
    /// Maximum warm-up after each start [default: a quarter of the time]
    #[arg(long, value_name = "TIME", value_parser = parse_ms, help_heading = heading::LOAD)]
    pub(crate) warmup: Option<u64>,
    /// Calls in flight; a new call starts as soon as one ends [default: 1]
    #[arg(long, value_name = "N", help_heading = heading::LOAD)]
    pub(crate) in_flight: Option<u32>,
    /// Connections to each version [default: those that --in-flight needs]
    #[arg(long, value_name = "C", help_heading = heading::LOAD)]
    pub(crate) connections: Option<u32>,
    /// Fail a call that has no response within this time [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse_ms, help_heading = heading::LOAD)]
    pub(crate) deadline: Option<u64>,
    /// Seed of all random choices
    #[arg(long, value_name = "N", value_parser = whole(), help_heading = heading::LOAD)]
    pub(crate) seed: Option<u64>,
    /// Print these options as a study, for `rpcgauge run`; start nothing. The values of header fields are left out
    #[arg(long, help_heading = heading::OUTPUT)]
    pub(crate) print_study: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// The metrics that a gate judges.
pub(crate) const GATED: [Metric; 4] = [
    Metric::LatencyP50,
    Metric::LatencyP99,
    Metric::ServerCpu,
    Metric::ServerMemory,
];

fn parse_exception(text: &str) -> Result<(Metric, Option<f64>), String> {
    parse_exception_of(&GATED, text)
}

/// Parses `METRIC=SHARE` for one of these metrics. Latencies also have the names that objectives have.
pub(super) fn parse_exception_of(
    judged: &[Metric],
    text: &str,
) -> Result<(Metric, Option<f64>), String> {
    let (name, allowed) = text
        .split_once('=')
        .ok_or("write METRIC=SHARE, as in latency-p99=20%")?;
    let metric = match name {
        "p50" => Some(Metric::LatencyP50),
        "p99" => Some(Metric::LatencyP99),
        name => Metric::from_name(name),
    };
    let metric = metric.filter(|metric| judged.contains(metric));
    let metric = metric.ok_or_else(|| {
        let known: Vec<&str> = judged.iter().map(|metric| metric.as_str()).collect();
        format!("\"{name}\" is not judged here; write {}", known.join(", "))
    })?;
    match allowed {
        "off" => Ok((metric, None)),
        share => Ok((metric, Some(parse_allowed(share)?))),
    }
}
