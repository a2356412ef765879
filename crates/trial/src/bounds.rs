//! Upper bounds of settings, and the error for what is out of bounds.

use std::fmt;

/// The most calls in flight and connections of a trial: each takes memory
/// before the first call is made, and beyond this no machine has the ports for them.
pub const MAX_IN_FLIGHT: u32 = 65_536;

/// The highest rate, calls per second: one per nanosecond, the resolution of due times.
pub const MAX_RATE: f64 = 1e9;

/// The longest time of any setting, ms: a day.
pub const MAX_MS: u64 = 24 * 60 * 60 * 1_000;

/// Whether calls can be sent at a rate, calls per second.
pub fn is_rate(per_second: f64) -> bool {
    per_second > 0.0 && per_second <= MAX_RATE
}

/// A setting that is out of bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfBounds {
    /// The setting.
    pub what: &'static str,
    /// What it may be.
    pub allowed: &'static str,
}

impl fmt::Display for OutOfBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be {}", self.what, self.allowed)
    }
}

impl std::error::Error for OutOfBounds {}
