//! What a worker of a cluster reports while a Locust master controls its users (docs/distributed.md).

use serde::{Deserialize, Serialize};

use super::{Environment, TrialFigures};
use crate::plan::Variant;

/// All that one worker has measured in one load so far. A later record of the same worker and load replaces it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerRecord {
    /// The version of the run directory's schema.
    pub schema: u32,
    /// Its name at the master.
    pub worker: String,
    /// How it calls.
    pub variant: Variant,
    /// When its first users began, ns after the load began at the master. No clocks of two machines are subtracted: it
    /// is the time until the master told the worker of the load, by the master's clock, and from then on, by the
    /// worker's clock.
    pub began_ns: u64,
    /// When its first users began, milliseconds since the Unix epoch.
    pub started_at_ms: u64,
    /// The largest number of users that it had.
    pub users: u32,
    /// Whether its load has ended. The last record of a worker that was lost says no.
    pub ended: bool,
    /// The machine that it runs on.
    pub environment: Environment,
    /// The figures of its calls.
    pub figures: TrialFigures,
}

impl WorkerRecord {
    /// When its measured part ended, or the record was made, ns after the load began at the master.
    pub fn until_ns(&self) -> u64 {
        self.began_ns.saturating_add(self.figures.elapsed_ns)
    }
}
