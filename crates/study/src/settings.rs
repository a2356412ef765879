//! The settings of a trial, with every value spelled out.

mod live;
mod stream;
mod target;
mod wire;
mod written;

use std::fmt;

pub use live::{
    AtEnd, LbStrategy, LiveService, Messages, MixCall, RowsSource, StartCommand, TemplateSource,
    TlsChoice,
};
pub use stream::{AllRows, MessageCount, StreamOptions};
pub use target::{CallOptions, CodecWork, LiveCall, SubjectCall, Target};
pub use wire::{LiveWire, Wire};

pub use rpcgauge_contract::{HttpVersion, MAX_THREADS, Operation, Protocol, Style};
pub use rpcgauge_message::Sample;
use rpcgauge_trial::is_default;
pub use rpcgauge_trial::{
    Arrivals, ConnectionUse, DeadlineFrom, Keepalive, MAX_IN_FLIGHT, Pace, RampPart, Schedule,
    Stop, Timing,
};
use serde::{Deserialize, Serialize};

use crate::words::words;
use written::Written;

/// The name of the embedded subject's one stack.
pub const REFERENCE: &str = "reference";

/// The name of rpcgauge's own client, which makes the calls unless a study sets a client subject.
pub const ENGINE: &str = "engine";

/// Everything that decides what one variant does, with no defaults left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Settings {
    /// What is measured, with the settings that apply to it.
    pub target: Target,
    /// When a trial ends.
    pub stop: Stop,
}

/// The runtime settings of a variant's stacks, and whether to record what may explain slow calls. Each setting applies
/// to every stack that supports it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Runtime {
    /// The garbage collector, under the name that a subject defines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gc: Option<String>,
    /// The initial and maximum size of the heap, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heap_bytes: Option<u64>,
    /// Whether to start from an ahead-of-time cache, which a training run writes.
    #[serde(skip_serializing_if = "is_default")]
    pub aot_cache: bool,
    /// Whether to record events that may explain a slow call.
    #[serde(skip_serializing_if = "is_default")]
    pub events: bool,
}

/// A client subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// The client as SUBJECT/STACK.
    pub stack: String,
    /// How its library is called.
    pub style: Style,
}

/// The length of a trial that a study bounds neither by calls nor by time.
pub const DEFAULT_STOP: Stop = Stop::after_ms(1_000);
/// The default deadline of a call, ms.
pub const DEFAULT_DEADLINE_MS: u64 = 10_000;

/// The transport of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP; to a subject, over the loopback interface.
    Tcp,
    /// A Unix domain socket.
    Unix,
}

impl Settings {
    /// Settings with the default bounds of a trial.
    pub fn new(target: impl Into<Target>) -> Self {
        Self {
            target: target.into(),
            stop: DEFAULT_STOP,
        }
    }

    /// Stage timing needs one call in flight in a closed loop, and a server that marks its handler;
    /// everything else is timed as load.
    pub fn timing(&self) -> Timing {
        match &self.target {
            Target::Call(call) => call.timing(),
            Target::Codec(_) => Timing::Stages,
            Target::Live(_) => Timing::Load,
        }
    }
}

/// The cores that client and server run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Client and server share one core.
    OneCore,
    /// Client and server each have their own core.
    TwoCores,
    /// The scheduler decides.
    Free,
}

/// Whether an idle core may sleep while a trial runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Idle {
    /// Idle states are disabled by the PM QoS request on `/dev/cpu_dma_latency`.
    Held,
    /// Idle states are left as they are.
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
            Self::Held => "idle states off",
            Self::AsIs => "idle states unchanged",
        })
    }
}

words!(Transport, "transport": "tcp" => Tcp, "unix" => Unix);

words!(Arrivals, "spacing of arrivals": "constant" => Constant, "poisson" => Poisson);
words!(DeadlineFrom, "start of the deadline": "due" => Due, "send" => Send);
words!(Placement, "placement": "one-core" => OneCore, "two-cores" => TwoCores, "free" => Free);

words!(Idle, "idle state": "held" => Held, "as-is" => AsIs);
