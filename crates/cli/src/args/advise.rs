//! `rpcgauge advise`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::{FormatArgs, SubjectFolders};

/// `rpcgauge advise`.
#[derive(Debug, Args)]
pub(crate) struct AdviseArgs {
    /// The run directories
    #[arg(value_name = "RUN", required = true, value_hint = ValueHint::DirPath)]
    pub(crate) runs: Vec<PathBuf>,
    /// What decides [default: latency and CPU, or the price if there is one]
    #[arg(long, value_enum)]
    pub(crate) by: Option<By>,
    /// The price of a core for an hour, in any currency
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true, value_parser = parse_price)]
    pub(crate) core_hour: Option<f64>,
    /// The price of a gigabyte that is sent or received, in the same currency
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true, value_parser = parse_price)]
    pub(crate) per_gb: Option<f64>,
    /// The calls per second that amounts per month are for
    #[arg(long, value_name = "CALLS", allow_negative_numbers = true, default_value_t = 1_000.0, value_parser = parse_rate)]
    pub(crate) rate: f64,
    #[command(flatten)]
    pub(crate) subjects: SubjectFolders,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// What decides between variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// The p50 latency
    Latency,
    /// The CPU of client and server together
    Cpu,
    /// The bytes of a call
    Bytes,
    /// What CPU and bytes cost
    Price,
}

fn parse_price(text: &str) -> Result<f64, String> {
    positive(text).ok_or_else(|| "a price is a number above 0".to_owned())
}

fn parse_rate(text: &str) -> Result<f64, String> {
    positive(text).ok_or_else(|| "a rate is a number of calls per second above 0".to_owned())
}

fn positive(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number)
}
