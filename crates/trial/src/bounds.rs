//! Upper limits of settings, and the error for values that are out of bounds.

use std::fmt;

/// The maximum number of calls in flight and of connections in a trial. Each needs memory before
/// the first call is issued, and no machine has more ports.
pub const MAX_IN_FLIGHT: u32 = 65_536;

/// The maximum rate in calls per second: one call per nanosecond, the resolution of due times.
pub const MAX_RATE: f64 = 1e9;

/// The maximum time in any setting, in ms: one day.
pub const MAX_MS: u64 = 24 * 60 * 60 * 1_000;

/// Whether a number of calls per second is a valid rate.
pub fn is_rate(per_second: f64) -> bool {
    per_second > 0.0 && per_second <= MAX_RATE
}

/// A setting that is out of bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfBounds {
    /// The setting's name.
    pub what: &'static str,
    /// The allowed values.
    pub allowed: &'static str,
}

impl fmt::Display for OutOfBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be {}", self.what, self.allowed)
    }
}

impl std::error::Error for OutOfBounds {}
