//! What slow calls are explained by.

use rpcgauge_study::record::EventKind;
use serde::Serialize;

/// What explains a spike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The runtime of client or server collected garbage: it was stopped, or its collector continued after the pause.
    GcPause,
    /// It was stopped for something else.
    Safepoint,
    /// The hypervisor gave a core to others.
    Host,
    /// Client or server waited for a core that another program had.
    OtherProgram,
    /// Code was compiled.
    Compilation,
    /// Compiled code was given up.
    Deoptimization,
    /// Nothing that is known.
    Unexplained,
}

impl Cause {
    /// All of them, in the order in which they are asked for.
    pub const ALL: [Self; 7] = [
        Self::GcPause,
        Self::Safepoint,
        Self::Host,
        Self::OtherProgram,
        Self::Compilation,
        Self::Deoptimization,
        Self::Unexplained,
    ];
}

/// The slow calls of a cell by what explains them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SpikeCauses {
    /// Spikes of all causes; slow calls that were not kept one by one are spikes of their own.
    pub spikes: u64,
    /// By how much their calls took longer than usual, together.
    pub lost_ns: u64,
    /// The share of that which a cause explains.
    pub explained: f64,
    /// The causes that explain some, and what is unexplained, the one with the most lost time first.
    pub causes: Vec<OfCause>,
    /// Processes whose events are known.
    pub runtimes: u64,
    /// What the runtimes did, where it stands in the timeline.
    pub events: Vec<EventMark>,
}

/// What one cause explains.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OfCause {
    /// The cause.
    pub cause: Cause,
    /// Its spikes.
    pub spikes: u64,
    /// Their lost time.
    pub lost_ns: u64,
    /// Its share of all lost time.
    pub share: f64,
}

/// What a runtime did, counted over the measured time of all trials so far; neighbours of one kind
/// together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EventMark {
    /// What it was.
    pub kind: EventKind,
    /// When it began.
    pub start_ns: u64,
    /// How long it took.
    pub length_ns: u64,
}
