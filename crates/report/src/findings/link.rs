//! The emulated link of a variant: its settings and its figures.

use rpcgauge_study::link::Congestion;
use serde::Serialize;

use super::caution::is_zero;

/// The settings of a variant's link, and its behavior in the measured trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LinkFindings {
    /// Its name in the study.
    pub name: String,
    /// What a preset resembles, and how it differs: a wireless preset is a wire with wireless figures.
    pub like: Option<String>,
    /// The congestion control of both ends.
    pub congestion: Congestion,
    /// Client to server.
    pub up: LinkDirection,
    /// Server to client.
    pub down: LinkDirection,
    /// The configured round trip: the sum of both delays.
    pub set_round_trip_ns: u64,
    /// The median round trip of probes on the idle link: the median over trials.
    pub round_trip_ns: u64,
    /// The time that the machine itself adds to a round trip, subtracted from the configured delay: the median over
    /// trials.
    pub base_ns: u64,
    /// The median lateness of packets (the time from when a packet is due until it leaves): the median over trials.
    pub lateness_p50_ns: u64,
    /// The 99th percentile of the lateness: the maximum over trials.
    pub lateness_p99_ns: u64,
    /// The maximum lateness of a packet.
    pub lateness_max_ns: u64,
    /// Packets that were lost outside the link's queues.
    pub foreign_drops: u64,
    /// TCP segments retransmitted by both ends.
    pub retransmits: u64,
    /// Trials over the link.
    pub trials: u64,
    /// Trials in which the link was held.
    pub held: u64,
}

/// One direction of a link.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LinkDirection {
    /// The configured rate, bit/s; absent if it is unlimited or follows a trace.
    pub rate_bits: Option<u64>,
    /// The trace's file, if the rate follows one.
    pub trace: Option<String>,
    /// The configured one-way delay.
    pub delay_ns: u64,
    /// The standard deviation of the delay.
    #[serde(skip_serializing_if = "is_zero")]
    pub jitter_ns: u64,
    /// The configured share of lost packets.
    pub loss: Option<f64>,
    /// Packets per call; absent without calls.
    pub packets_per_call: Option<f64>,
    /// Bytes of IP packets per call; absent without calls.
    pub bytes_per_call: Option<f64>,
    /// Packets lost by the configured loss.
    pub lost: u64,
    /// Packets that were dropped at the tail of the queue.
    pub dropped: u64,
    /// The mean time in the queue of packets that were not dropped; absent without such packets.
    pub queued_ns: Option<f64>,
}
