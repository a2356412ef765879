//! The events of runtimes.

use serde::{Deserialize, Serialize};

/// Maximum length of an event's detail, in characters. The rest is cut off.
pub const MAX_DETAIL_CHARS: usize = 120;

/// Something that a runtime did on its own, not for a call. Times are CLOCK_MONOTONIC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeEvent {
    /// The kind of event.
    pub kind: EventKind,
    /// When the event began, in ns.
    pub begin_ns: u64,
    /// When the event ended, in ns; equal to `begin_ns` for an event without a duration.
    pub end_ns: u64,
    /// Details in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// Kinds of events that runtimes cause on their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// All threads were stopped for garbage collection.
    GcPause,
    /// All threads were stopped for another reason.
    Safepoint,
    /// A method fell back from compiled code to slower code.
    Deoptimization,
    /// A method was compiled while the program was running.
    Compilation,
}
