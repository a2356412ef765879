//! The emulated link of a variant: what was set, and what its trials found.

use rpcgauge_study::link::Congestion;
use serde::Serialize;

use super::caution::is_zero;

/// What the link of a variant did in its measured trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LinkFindings {
    /// Its name in the study.
    pub name: String,
    /// What a preset is like: of a wireless one, that it is a wire with wireless figures.
    pub like: Option<String>,
    /// The congestion control of both ends.
    pub congestion: Congestion,
    /// Client to server.
    pub up: LinkDirection,
    /// Server to client.
    pub down: LinkDirection,
    /// The round trip that is set: both delays.
    pub set_round_trip_ns: u64,
    /// The median round trip of probes before anything else was on it: the median over links.
    pub round_trip_ns: u64,
    /// What the machine itself adds to a round trip, taken off the set delay: the median over links.
    pub base_ns: u64,
    /// How much later than due the median packet left: the median over trials.
    pub lateness_p50_ns: u64,
    /// The highest 99th percentile of a trial.
    pub lateness_p99_ns: u64,
    /// The latest packet.
    pub lateness_max_ns: u64,
    /// Packets that were lost outside of the link's queues.
    pub foreign_drops: u64,
    /// Segments that both ends sent again.
    pub retransmits: u64,
    /// Trials over it.
    pub trials: u64,
    /// In how many of these it was held.
    pub held: u64,
}

/// One direction of a link.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LinkDirection {
    /// The rate that is set, bit/s; absent where there is none, or a trace.
    pub rate_bits: Option<u64>,
    /// The trace's file, where the rate goes by one.
    pub trace: Option<String>,
    /// The delay that is set, one way.
    pub delay_ns: u64,
    /// Its standard deviation.
    #[serde(skip_serializing_if = "is_zero")]
    pub jitter_ns: u64,
    /// The part of packets that is to be lost.
    pub loss: Option<f64>,
    /// Packets per call; absent without a call.
    pub packets_per_call: Option<f64>,
    /// Bytes of IP a call.
    pub bytes_per_call: Option<f64>,
    /// Packets that were lost, as set.
    pub lost: u64,
    /// Packets that were dropped at the tail of the queue.
    pub dropped: u64,
    /// The mean wait of a packet that found room in the queue; absent without one.
    pub queued_ns: Option<f64>,
}
