//! `rpcgauge worker`.

use clap::{Args, ValueHint};
use rpcgauge_locust::Master;
use rpcgauge_trial::MAX_IN_FLIGHT;

use super::load::parse_rate;
use super::{
    DataArgs, DeadlineArgs, LimitArgs, NamedTarget, SchemaArgs, ServiceArgs, StreamArgs, TlsArgs,
    heading,
};

/// `rpcgauge worker`.
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// What to call: grpc[s]://HOST:PORT/package.Service/Method, or http[s]://HOST[:PORT]/path; a name in front, as in
    /// orders=http://HOST/path, is the name of the calls on Locust's page
    #[arg(value_name = "TARGET", value_hint = ValueHint::Url)]
    pub(crate) target: NamedTarget,
    /// The Locust master to join
    #[arg(long, value_name = "HOST:PORT", help_heading = heading::LOCUST)]
    pub(crate) master: Master,
    /// The name of this worker on Locust's page, which no other worker has [default: the host's name and a random number]
    #[arg(long, value_name = "NAME", help_heading = heading::LOCUST)]
    pub(crate) name: Option<String>,
    /// Only users of this class of the locustfile make calls [default: all users]
    #[arg(long, value_name = "CLASS", help_heading = heading::LOCUST)]
    pub(crate) class: Option<String>,
    /// Calls per second of each user, sent without waiting for earlier ones [default: one call in flight per user]
    #[arg(long, value_name = "R", value_parser = parse_rate, allow_negative_numbers = true, help_heading = heading::LOAD)]
    pub(crate) rate_per_user: Option<f64>,
    /// Space the calls randomly (Poisson) instead of evenly
    #[arg(long, requires = "rate_per_user", help_heading = heading::LOAD)]
    pub(crate) poisson: bool,
    /// Connections to the target, kept open [default: 1; if a connection can carry only one call at a time, one per
    /// user, or 64 with --rate-per-user]
    #[arg(long, value_name = "C", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_IN_FLIGHT)), help_heading = heading::LOAD)]
    pub(crate) connections: Option<u32>,
    #[command(flatten)]
    pub(crate) deadline: DeadlineArgs,
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
    pub(crate) limits: LimitArgs,
    /// Print only errors
    #[arg(long, short, help_heading = heading::OUTPUT)]
    pub(crate) quiet: bool,
}
