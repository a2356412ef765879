//! When calls are due, and when a trial or a slice of it ends.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bounds::{MAX_IN_FLIGHT, OutOfBounds, is_rate};
use crate::ramp::RampPart;

/// When calls are due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Schedule {
    /// Closed loop: a call is due as soon as an earlier one ends.
    Closed {
        /// Calls in flight over all connections, from 1 to [`MAX_IN_FLIGHT`].
        in_flight: u32,
    },
    /// Open loop: calls arrive at a rate, independent of when earlier calls end.
    Rate {
        /// Calls per second, more than 0.
        per_second: f64,
        /// How arrivals are spaced.
        arrivals: Arrivals,
    },
    /// Open loop: calls arrive at a rate that changes in steps or linearly. The trial ends no later
    /// than the last part. There is no warm-up, but the first part can serve as one.
    Ramp {
        /// The parts in order, with 1 to 200 steps in total. The first part must not be a pause.
        parts: Vec<RampPart>,
        /// How arrivals are spaced.
        arrivals: Arrivals,
    },
}

/// How arrivals at a rate are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Evenly: call `n`, numbered from 0, is due when the integral of the rate reaches `n`.
    Constant,
    /// At random, from the trial's seed: a Poisson process. At a constant rate, the gaps are
    /// exponentially distributed.
    Poisson,
}

/// The moment from which the deadline of a call runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeadlineFrom {
    /// When the call was due. A call that has waited for a connection until then is not sent.
    #[default]
    Due,
    /// When the call was passed to a connection, however long it had waited.
    Send,
}

impl Schedule {
    /// Returns an error for a schedule that cannot be run.
    pub fn check(&self) -> Result<(), OutOfBounds> {
        let refuse = |what, allowed| Err(OutOfBounds { what, allowed });
        match self {
            Self::Closed { in_flight } if !(1..=MAX_IN_FLIGHT).contains(in_flight) => {
                refuse("the number of calls in flight", "1 to 65,536")
            }
            Self::Rate { per_second, .. } if !is_rate(*per_second) => {
                refuse("the rate", "more than 0 and at most 1e9 calls per second")
            }
            Self::Ramp { parts, .. } => RampPart::check(parts),
            _ => Ok(()),
        }
    }

    /// The number of calls in flight in a closed loop; `None` for other schedules.
    pub fn in_flight(&self) -> Option<u32> {
        match self {
            Self::Closed { in_flight } => Some(*in_flight),
            Self::Rate { .. } | Self::Ramp { .. } => None,
        }
    }

    /// The parts of a ramp; empty for other schedules.
    pub fn ramp(&self) -> &[RampPart] {
        match self {
            Self::Closed { .. } | Self::Rate { .. } => &[],
            Self::Ramp { parts, .. } => parts,
        }
    }

    /// How long the schedule runs; `None` if it has no end.
    pub fn lasts(&self) -> Option<Duration> {
        match self {
            Self::Closed { .. } | Self::Rate { .. } => None,
            Self::Ramp { parts, .. } => Some(Duration::from_millis(RampPart::time_of(parts))),
        }
    }
}

/// When a trial's measured part, or its warm-up, ends: whichever limit is reached first. A ramp
/// needs neither limit because it ends with its last part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// After this many calls have started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// After this time in ms. Calls that are due this long after the first one are no longer
    /// included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
}

impl Stop {
    /// Creates a time limit only.
    pub const fn after_ms(time_ms: u64) -> Self {
        Self {
            calls: None,
            time_ms: Some(time_ms),
        }
    }

    /// The time limit.
    pub fn time(&self) -> Option<Duration> {
        self.time_ms.map(Duration::from_millis)
    }
}

/// How long a slice of a closed loop is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slice {
    /// The minimum number of calls to skip at the start of the slice.
    pub skip_calls: u64,
    /// The minimum time for which calls are skipped, in µs.
    pub skip_us: u64,
    /// The minimum number of calls to count; 1 or more.
    pub least_calls: u64,
    /// The slice ends after counting calls for this time, in µs, but not before `least_calls`.
    pub time_us: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::MAX_RATE;

    #[test]
    fn an_invalid_rate_or_loop_is_refused() {
        let rate = |per_second| Schedule::Rate {
            per_second,
            arrivals: Arrivals::Constant,
        };
        for per_second in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e9] {
            assert!(rate(per_second).check().is_err(), "{per_second}");
        }
        assert_eq!(rate(MAX_RATE).check(), Ok(()));
        for (in_flight, is_good) in [(0, false), (1, true), (65_536, true), (65_537, false)] {
            assert_eq!(Schedule::Closed { in_flight }.check().is_ok(), is_good);
        }
    }

    #[test]
    fn a_ramp_lasts_as_long_as_its_parts() {
        let part = |time_ms| RampPart {
            from: 1.0,
            to: 2.0,
            time_ms,
        };
        let ramp = Schedule::Ramp {
            parts: vec![part(700), part(300)],
            arrivals: Arrivals::Poisson,
        };
        assert_eq!(ramp.lasts(), Some(Duration::from_secs(1)));
        assert_eq!(Schedule::Closed { in_flight: 1 }.lasts(), None);
    }
}
