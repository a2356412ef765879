//! The types of a map: which way to call to use, by the size of the message and the rate of the network.

use serde::Serialize;

/// Which way to call to use over networks of many rates. This is computed from latency over loopback, bytes and a model of
/// the network (docs/map.md), and not measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MapFindings {
    /// The rates of the networks, in each direction, bit/s.
    pub bits_per_second: Vec<u64>,
    /// The map for each kind of network.
    pub networks: Vec<MappedNetwork>,
}

/// The map of networks that differ only in their rates.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MappedNetwork {
    /// Whether each call opens a connection, instead of using one that has carried such calls before.
    pub new_connection: bool,
    /// The round trip, ns.
    pub round_trip_ns: u64,
    /// The sizes, in ascending order.
    pub rows: Vec<MapRow>,
}

/// The calls of one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MapRow {
    /// The value of the study's key.
    pub size: u32,
    /// The mean length of a response of the first way that has this figure, encoded but not compressed, bytes.
    pub response_bytes: Option<f64>,
    /// What to use at each rate, in the order of `bits_per_second`.
    pub cells: Vec<MapCell>,
}

/// What to use for calls of one size over one network.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MapCell {
    /// The simplest of the ways whose times exceed the shortest one by no more than the error of the model.
    pub choice: String,
    /// How many ways these are, at least 1.
    pub close: usize,
    /// The median times of the ways that were compared at this size, in the order of the sweep's series.
    pub times: Vec<WayTime>,
}

/// The computed time of one way to call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WayTime {
    /// The name of its series.
    pub series: String,
    /// The median time of a call, ns.
    pub ns: f64,
}
