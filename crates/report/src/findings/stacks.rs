//! Comparisons of servers with servers, and of clients with clients: the cost of the same message in each stack.

use rpcgauge_study::features::Role;
use serde::Serialize;

/// A stack in one role, and its cost for one message, under the study's own placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StackFindings {
    /// A server that the engine calls, or a client.
    pub role: Role,
    /// Its name in a study; `engine` for rpcgauge's own client.
    pub stack: String,
    /// The settings that distinguish it if the stack is measured in several ways: `grpc`.
    pub way: String,
    /// What is called: `list n=1000`.
    pub called: String,
    /// The variant with few calls in flight.
    pub few: Option<StackVariant>,
    /// The variant with many calls in flight; the same as `few` if the study has only one number of calls in flight.
    pub many: Option<StackVariant>,
    /// Median latency with few calls in flight, ns.
    pub latency_p50: Option<Typical>,
    /// 99th percentile of the latency with few calls in flight, ns.
    pub latency_p99: Option<Typical>,
    /// Successful calls per second with many calls in flight.
    pub goodput: Option<Typical>,
    /// Its own CPU time per call with many calls in flight, ns.
    pub cpu: Option<Typical>,
    /// The time from the start of its process until it is ready, ns; absent for the engine.
    pub startup: Option<Typical>,
    /// Its peak resident memory: the maximum over trials; absent for the engine.
    pub peak_bytes: Option<u64>,
    /// The threads of its process at the end of a trial: the maximum over trials; absent for the engine.
    pub threads: Option<u64>,
    /// Its size on disk without its language's runtime, if known.
    pub disk_bytes: Option<u64>,
}

/// A variant of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StackVariant {
    /// Its name in the study.
    pub variant: String,
    /// The number of calls in flight.
    pub in_flight: u32,
}

/// A figure of one variant: the median of its trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Typical {
    /// The median.
    pub value: f64,
    /// The interval of the median over fresh starts; absent with fewer than two starts.
    pub interval: Option<[f64; 2]>,
}
