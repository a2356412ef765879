//! When calls are due.

use crate::error::LoadError;

/// When calls are due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Schedule {
    /// A call is due as soon as one before it ends, this many at a time over all connections.
    Closed {
        /// Calls in flight over all connections, at least 1.
        in_flight: u32,
    },
    /// Calls arrive at a rate, whatever becomes of the ones before.
    Rate {
        /// Calls a second, more than 0.
        per_second: f64,
        /// How arrivals are spaced.
        arrivals: Arrivals,
    },
}

/// How arrivals at a rate are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arrivals {
    /// Evenly.
    Constant,
    /// With exponential gaps: a Poisson process.
    Poisson {
        /// The seed that makes the gaps repeatable.
        seed: u64,
    },
}

/// The highest rate that is taken, in calls a second: one a nanosecond, the resolution of due times.
const MAX_PER_SECOND: f64 = 1e9;

impl Schedule {
    pub(crate) fn check(&self) -> Result<(), LoadError> {
        let refuse = |what, allowed| Err(LoadError::Setting { what, allowed });
        match *self {
            Schedule::Closed { in_flight: 0 } => refuse("calls in flight", "at least 1"),
            Schedule::Rate { per_second, .. }
                if !(per_second > 0.0 && per_second <= MAX_PER_SECOND) =>
            {
                refuse("the rate", "more than 0 and at most 1e9 calls a second")
            }
            _ => Ok(()),
        }
    }
}
