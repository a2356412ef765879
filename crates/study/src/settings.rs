//! What can be set for a trial, every value spelled out.

use std::fmt;

pub use rpcgauge_message::contract::{HttpVersion, Protocol};
use rpcgauge_message::{Compression, Encoding, workload::WorkloadSpec};
use serde::{Deserialize, Serialize};

/// Everything that decides how one variant calls its service. No defaults are left in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The stack under test, `reference` for the embedded server.
    pub subject: String,
    /// What is called and with which message.
    pub workload: WorkloadSpec,
    /// The protocol of the call.
    pub protocol: Protocol,
    /// The HTTP version that carries it. gRPC needs HTTP/2.
    pub http: HttpVersion,
    /// How the message becomes bytes.
    pub encoding: Encoding,
    /// How the request's bytes are compressed.
    pub request_compression: Compression,
    /// How the answer's bytes are compressed.
    pub response_compression: Compression,
    /// What carries the connection.
    pub transport: Transport,
    /// Whether a connection serves many calls or one.
    pub connection: ConnectionUse,
    /// Connections open at the same time.
    pub connections: u32,
    /// When calls are sent.
    pub schedule: Schedule,
    /// When a trial ends.
    pub stop: Stop,
    /// A call that has not ended after this many milliseconds has failed.
    pub deadline_ms: u64,
}

/// What carries a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP on the loopback interface.
    Tcp,
    /// A Unix domain socket.
    Unix,
}

/// Whether a connection serves many calls or one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionUse {
    /// Connections are opened once and kept.
    Reuse,
    /// Every call opens a connection of its own and closes it.
    PerCall,
}

/// The most calls in flight, and the most connections, that the client can be asked for.
pub const MOST_IN_FLIGHT: u32 = 65_536;

/// When calls are sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Schedule {
    /// A new call as soon as one before it ends, this many at a time over all connections.
    Closed {
        /// Calls in flight over all connections.
        in_flight: u32,
    },
    /// Arrivals at a rate, whether or not earlier calls have ended.
    Rate {
        /// Calls a second.
        per_second: f64,
        /// How arrivals are spaced.
        arrivals: Arrivals,
    },
}

/// How arrivals at a rate are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Evenly.
    Constant,
    /// With exponential gaps from the trial's seed.
    Poisson,
}

/// When a trial ends: whichever comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// Measured calls, if the trial is bounded by them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Milliseconds of measuring, if the trial is bounded by them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
}

/// What a trial times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timing {
    /// One call in flight, from the start of encoding to the end of decoding, with stage stamps.
    Stages,
    /// Many calls in flight or arrivals at a rate: requests encoded beforehand, latency from due
    /// to the last byte of the answer, without stamps.
    Load,
}

impl Settings {
    /// Stage timing needs one call in flight in a closed loop; everything else is timed as load.
    pub fn timing(&self) -> Timing {
        match self.schedule {
            Schedule::Closed { in_flight: 1 } => Timing::Stages,
            _ => Timing::Load,
        }
    }
}

/// On which cores client and server run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Client and server share one core.
    OneCore,
    /// The client has a core, the server another.
    TwoCores,
    /// The scheduler decides.
    Free,
}

/// Whether an idle core may sleep while a trial runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Idle {
    /// Idle states are held off by the PM QoS request on `/dev/cpu_dma_latency`.
    Held,
    /// The machine's own habit.
    AsIs,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneCore => "one core",
            Self::TwoCores => "two cores",
            Self::Free => "free",
        })
    }
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Held => "idle held",
            Self::AsIs => "idle as is",
        })
    }
}
