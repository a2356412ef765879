//! The types of computed times: how long a decision's calls would take over other networks.

use serde::Serialize;

/// How long calls would take over a network. This is computed from what they take over loopback, the bytes that they move
/// and a model of the network (docs/map.md), and not measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NetworkFindings {
    /// What it is like.
    pub name: String,
    /// The network in the notation of `--link`, which measures over it.
    pub link: String,
    /// Its rate in each direction, bit/s.
    pub bits_per_second: u64,
    /// Its round trip, ns.
    pub round_trip_ns: u64,
    /// The time of each of the decision's variants that can use a network.
    pub variants: Vec<ComputedTimes>,
}

/// The times of one variant's calls over a network.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComputedTimes {
    /// Its name.
    pub variant: String,
    /// The median time of a call over a connection that has carried such calls before, ns. Absent if its packets do not
    /// fit into the network's queue, so that it cannot be computed.
    pub kept_ns: Option<f64>,
    /// The median time of a call that opens its connection, without the CPU time of opening it, ns. Absent for the same
    /// reason.
    pub new_ns: Option<f64>,
}

/// The rate of the network at which a variant and the choice take the same time, over connections that are kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Turn {
    /// The variant.
    pub variant: String,
    /// The rate, bit/s.
    pub rate: f64,
    /// The rates that the interval of the latencies' ratio allows, bit/s; the second one is absent if there is no limit.
    pub interval: Option<(f64, Option<f64>)>,
}
