//! The workers of a cluster.

use rpcgauge_study::record::{Calls, WorkerRecord};
use serde::Serialize;

use super::supported;
use crate::document::machine;
use crate::metric::{filled, goodput};

/// What one worker of a cluster measured. The figures of a variant merge those of its workers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkerFindings {
    /// Its name at the master.
    pub worker: String,
    /// The variant whose calls it made.
    pub variant: String,
    /// The machine that it ran on.
    pub machine: String,
    /// The largest number of users that it had.
    pub users: u32,
    /// When its first users began, ns after the load began.
    pub began_ns: u64,
    /// When its measured part ended, ns after the load began.
    pub until_ns: u64,
    /// Whether it ended with the load. A worker that did not was lost, unless the load is still running.
    pub ended: bool,
    /// Its calls by outcome.
    pub calls: Calls,
    /// Its successful calls per second.
    pub goodput: f64,
    /// The median latency of its successful calls.
    pub p50_ns: Option<f64>,
    /// Their 99th percentile.
    pub p99_ns: Option<f64>,
    /// The share of its core that it used; absent if it was lost.
    pub client_share: Option<f64>,
}

impl WorkerFindings {
    pub(crate) fn of(record: &WorkerRecord) -> Self {
        let figures = &record.figures;
        let calls = figures.calls.clone();
        let latency = filled(&figures.latency);
        let in_time = calls.answered - calls.answered_late;
        Self {
            worker: record.worker.clone(),
            variant: record.variant.name.clone(),
            machine: machine(&record.environment),
            users: record.users,
            began_ns: record.began_ns,
            until_ns: record.until_ns(),
            ended: record.ended,
            goodput: goodput(in_time, figures.elapsed_ns).unwrap_or(0.0),
            p50_ns: latency.as_ref().map(|times| times.quantile(0.5)),
            p99_ns: latency.as_ref().and_then(|times| supported(times, 0.99)),
            client_share: figures.client_share,
            calls,
        }
    }
}
