//! When a trial, or a slice of it, ends.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// When a trial's measured part, or its warm-up, ends: whichever comes first. A ramp needs neither and
/// ends with its last part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// After this many calls were started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Calls due this long after the first measured one are no part of it any more, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
}

impl Stop {
    /// Its time.
    pub fn time(&self) -> Option<Duration> {
        self.time_ms.map(Duration::from_millis)
    }
}

/// What a slice of a closed loop is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// Calls at its start that are left out of the figures, at least.
    pub skip_calls: u64,
    /// And so long calls are left out, at least, µs.
    pub skip_us: u64,
    /// Calls that count, at least; 1 or more.
    pub least_calls: u64,
    /// After this time of counted calls, and its least number of them, the slice ends, µs.
    pub time_us: u64,
}
