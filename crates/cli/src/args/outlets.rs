//! Where a load's figures go beside its run directory.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Where a load's figures go beside its run directory.
#[derive(Debug, Args)]
pub(crate) struct OutletArgs {
    /// Write the latency percentiles here, as HdrHistogram's plotting tools read them (ms)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["vs", "find_capacity"], value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) hgrm: Option<PathBuf>,
    /// Write the latencies of each second here, as an HdrHistogram interval log (.hlog)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub(crate) interval_log: Option<PathBuf>,
    /// Answer OpenMetrics at http://HOST:PORT/metrics while it runs; port 0 is any that is free
    #[arg(long, value_name = "HOST:PORT", help_heading = "Output")]
    pub(crate) metrics: Option<String>,
}
