//! What a runtime did by itself: a garbage collection, say, which no call asked for.

use serde::{Deserialize, Serialize};

/// The most characters of an event's detail that are kept.
pub const MOST_DETAIL: usize = 120;

/// Something that a runtime did, at times of CLOCK_MONOTONIC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeEvent {
    /// What it was.
    pub kind: EventKind,
    /// When it began, ns.
    pub begin_ns: u64,
    /// When it was over, ns; its begin, where it has no length.
    pub end_ns: u64,
    /// More of it, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What runtimes do by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// All threads stood still for a garbage collection.
    GcPause,
    /// All threads stood still for something else.
    Safepoint,
    /// A method was thrown back from compiled code to slower code.
    Deoptimization,
    /// A method was compiled while the program ran.
    Compilation,
}
