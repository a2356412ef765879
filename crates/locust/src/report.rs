//! What a worker reports to its master.

use std::collections::BTreeMap;
use std::time::{Instant, SystemTime};

/// Calls with the same method and name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calls {
    /// The kind of request, such as `GRPC` or `POST`.
    pub method: String,
    /// The name in the master's table, such as a path.
    pub name: String,
    /// Calls that succeeded.
    pub succeeded: u64,
    /// Calls that failed, by the kind of failure.
    pub failed: BTreeMap<String, u64>,
    /// Response times of all these calls, ns, each with its number of calls.
    pub times: Vec<(u64, u64)>,
    /// Bytes of the responses' bodies.
    pub content_bytes: u64,
}

/// The calls that ended since the last report.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// When the load began.
    pub began: SystemTime,
    /// When the report was made.
    pub until: SystemTime,
    /// The calls.
    pub calls: Calls,
}

impl Calls {
    /// The number of calls that failed.
    pub(crate) fn failures(&self) -> u64 {
        self.failed.values().sum()
    }
}

/// A load whose figures the master collects in a run directory. Its locustfile uses the package rpcgauge-locust for that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectedRun {
    /// The name of the run directory.
    pub name: String,
    /// When the load began at the master, by the clock of this machine: when the master told of it, minus the time since
    /// then by the master's clock.
    pub began: Instant,
}

/// All that a worker has measured in a load so far. The master writes it as it is, in place of the figures before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    /// The name of the run directory.
    pub run: String,
    /// The files of the directory besides those of its workers, each a name and a text. They are the same every time.
    pub files: Vec<(&'static str, String)>,
    /// The name of the worker's file.
    pub name: String,
    /// The text of that file.
    pub text: String,
    /// Whether these are the last figures of the load.
    pub ended: bool,
}
