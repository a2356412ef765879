//! Monotonic time.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds on the host's monotonic clock.
pub type Nanos = u64;

/// Nanoseconds in a millisecond.
pub const MILLISECOND: Nanos = 1_000_000;

/// Nanoseconds in a second.
pub const SECOND: Nanos = 1_000_000_000;

/// The current time.
pub fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}
