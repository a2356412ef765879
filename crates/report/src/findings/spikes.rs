//! Causes of slow calls.

use rpcgauge_study::record::EventKind;
use serde::Serialize;

/// The cause of a spike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The runtime of client or server collected garbage: it was paused, or its collector continued after the pause.
    GcPause,
    /// The runtime was stopped for another reason.
    Safepoint,
    /// The hypervisor gave a core to another guest.
    Host,
    /// Client or server waited for a core that another program used.
    OtherProgram,
    /// Code was compiled.
    Compilation,
    /// Compiled code was discarded.
    Deoptimization,
    /// The cause is unknown.
    Unexplained,
}

impl Cause {
    /// All causes, in the order in which they are checked.
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

/// The slow calls of a cell by cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SpikeCauses {
    /// Spikes of all causes; each slow call without a record of its own counts as one spike.
    pub spikes: u64,
    /// The total time that the slow calls took beyond the usual time.
    pub lost_ns: u64,
    /// The share of the lost time that has a known cause.
    pub explained: f64,
    /// The causes that occurred, including `unexplained`, by descending lost time.
    pub causes: Vec<OfCause>,
    /// The number of event records, one per watched process.
    pub runtimes: u64,
    /// The runtimes' events, at their places in the timeline.
    pub events: Vec<EventMark>,
}

/// The spikes of one cause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OfCause {
    /// The cause.
    pub cause: Cause,
    /// The number of its spikes.
    pub spikes: u64,
    /// The lost time of its spikes.
    pub lost_ns: u64,
    /// The cause's share of all lost time.
    pub share: f64,
}

/// A runtime event, or several events of one kind that are close together. Times are positions in the measured time
/// of all trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EventMark {
    /// The kind of event.
    pub kind: EventKind,
    /// When it began.
    pub start_ns: u64,
    /// Its length.
    pub length_ns: u64,
}
