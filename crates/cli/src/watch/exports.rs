//! Outputs of a load's figures in addition to its run directory.

use std::io::Write as _;

use rpcgauge_study::run::Run;

use super::hgrm;
use super::metrics::{Endpoint, Push};
use super::output_file::OutputFile;
use crate::args::ExportArgs;
use crate::exit::Failure;

/// Open output files and a bound address. They are acquired before the first call, so that errors
/// show early.
#[derive(Debug, Default)]
pub(crate) struct Exports {
    /// Latency percentiles of the whole run.
    hgrm: Option<OutputFile>,
    /// Latencies of each second.
    pub(super) interval_log: Option<OutputFile>,
    /// Serves metrics while the load runs.
    pub(super) metrics: Option<Endpoint>,
    /// Pushes metrics while the load runs.
    pub(super) push: Option<Push>,
}

impl Exports {
    pub(crate) fn open(args: &ExportArgs) -> Result<Self, Failure> {
        let file = |option, path: &Option<_>| {
            let path = path.clone();
            path.map(|path| OutputFile::open(option, path)).transpose()
        };
        let hgrm = file("--hgrm", &args.hgrm)?;
        let interval_log = file("--interval-log", &args.interval_log)?;
        let both = hgrm.as_ref().zip(interval_log.as_ref());
        if both.is_some_and(|(hgrm, log)| hgrm.is_same(log)) {
            return Err(Failure::input(
                "--hgrm and --interval-log name the same file; give each its own",
            ));
        }
        let push = args.metrics_push.as_deref();
        let push = push.map(|url| Push::to(url, &args.metrics_push_header));
        Ok(Self {
            hgrm,
            interval_log,
            metrics: args.metrics.as_deref().map(Endpoint::bind).transpose()?,
            push: push.transpose()?,
        })
    }

    /// Writes the exports that need the complete run.
    pub(crate) fn finish(self, run: &Run) -> Result<(), Failure> {
        let Some(mut file) = self.hgrm else {
            return Ok(());
        };
        let text = hgrm::text(&run.trials);
        file.write_all(text.as_bytes())
            .map_err(|error| file.failure(&error))
    }
}
