//! What a worker reports to its master.

use std::collections::BTreeMap;
use std::time::SystemTime;

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
