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
    /// How computed times compare with measured ones; absent unless the map was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<MapCheck>,
}

/// Computed times beside times that were measured over emulated networks, at points between those of the map.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MapCheck {
    /// The seed with which the points were drawn.
    pub seed: u64,
    /// The points at which every way was measured.
    pub points: Vec<CheckedPoint>,
    /// The points that are left out because the network was not held.
    pub not_held: usize,
    /// The points that are left out because a way was not measured, or some of its calls failed.
    pub not_measured: usize,
    /// The errors of the computed times, if there are points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<MapErrors>,
}

/// The errors of computed times, relative to the measured ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MapErrors {
    /// The number of times.
    pub times: usize,
    /// The median of their absolute values: 0.02 for 2%.
    pub median: f64,
    /// Their 95th percentile.
    pub p95: f64,
    /// The largest one, with its sign.
    pub worst: f64,
    /// The points at which the chosen way was the fastest one, or took at most 5% longer than it.
    pub right: usize,
    /// How much longer the chosen way took than the fastest one, at worst: 0.05 for 5%.
    pub worst_regret: f64,
}

/// A point at which every way was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckedPoint {
    /// The value of the study's key.
    pub size: u32,
    /// The rate of the network, in each direction, bit/s.
    pub bits_per_second: u64,
    /// Its round trip, ns.
    pub round_trip_ns: u64,
    /// The connection of each call, kept or new.
    pub connection: MappedConnection,
    /// Whether the computed times of the two fastest ways differ by at most 10%.
    pub is_close: bool,
    /// The way that the map chooses there, as in a cell.
    pub choice: String,
    /// How much longer its median call took than that of the fastest way, both measured: 0.05 for 5%.
    pub regret: f64,
    /// The median times.
    pub times: Vec<CheckedTime>,
}

/// A chosen way is right if it takes at most this much longer than the fastest one: 5%.
const MAX_REGRET: f64 = 0.05;

impl CheckedPoint {
    /// Whether the chosen way is the fastest one, or hardly slower.
    pub(crate) fn is_right(&self) -> bool {
        self.regret <= MAX_REGRET
    }
}

/// The computed and the measured time of one way to call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckedTime {
    /// The name of its series.
    pub series: String,
    /// The computed median time of a call, ns.
    pub computed_ns: f64,
    /// The measured one, ns.
    pub measured_ns: f64,
}

/// The connection of the calls of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MappedConnection {
    /// It has carried such calls before.
    Kept,
    /// It has carried such calls before, but was idle for so long that it is in slow start again (RFC 5681, 4.1).
    Idle,
    /// Each call opens its own.
    New,
}

/// The map of networks that differ only in their rates.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MappedNetwork {
    /// The connection of each call.
    pub connection: MappedConnection,
    /// The round trip, ns.
    pub round_trip_ns: u64,
    /// The sizes, in ascending order.
    pub rows: Vec<MapRow>,
    /// What to use at sizes and rates between those of the rows, by ascending size.
    pub regions: Vec<RegionRow>,
}

/// What to use for calls of one size at every rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RegionRow {
    /// The value of the study's key.
    pub size: u32,
    /// From the lowest rate to the highest.
    pub stretches: Vec<RateStretch>,
}

/// Rates at which the map chooses one way.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RateStretch {
    /// The lowest and the highest rate, bit/s.
    pub bits_per_second: [u64; 2],
    /// As in a cell.
    pub choice: String,
    /// Whether no other way is too close to be told apart.
    pub is_clear: bool,
}

/// The calls of one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MapRow {
    /// The value of the study's key.
    pub size: u32,
    /// The mean length of a response of the first way at the smallest size, encoded but not compressed, bytes; absent where
    /// this way was not compared.
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
    /// How much of it a call takes over loopback, as measured, ns. The network adds the rest.
    pub loopback_ns: f64,
}
