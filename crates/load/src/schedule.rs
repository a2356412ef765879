//! When calls are due. Every decision here is a function of the times given, so that it is tested
//! without a clock.

mod arrivals;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use self::arrivals::ArrivalTimes;
use crate::clock::nanos;
use crate::error::LoadError;

/// When calls are due.
#[derive(Debug, Clone, PartialEq)]
pub enum Schedule {
    /// A call is due as soon as one before it ends, this many at a time over all connections.
    Closed {
        /// Calls in flight over all connections, 1 to [`MOST_IN_FLIGHT`].
        in_flight: u32,
    },
    /// Calls arrive at a rate, whatever becomes of the ones before.
    Rate {
        /// Calls a second, more than 0.
        per_second: f64,
        /// How arrivals are spaced.
        arrivals: Arrivals,
    },
    /// Calls arrive at a rate that changes, in steps or linearly. The trial ends with the last
    /// segment at the latest, and has no warm-up: the first segment can be one.
    Ramp {
        /// One after the other, 1 to 200 of them. The first is no pause.
        segments: Vec<Segment>,
        /// How arrivals are spaced.
        arrivals: Arrivals,
    },
}

/// A part of a ramp, in which the rate goes evenly from one value to another. With both the same
/// it is a step; with both 0, a pause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// Calls a second at its start.
    pub from: f64,
    /// Calls a second at its end.
    pub to: f64,
    /// How long it lasts, more than 0.
    pub duration: Duration,
}

/// How arrivals at a rate are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arrivals {
    /// Evenly: the `n`-th call is due when the rate has added up to `n`, counted from 0.
    Constant,
    /// At random around the rate: a Poisson process, whose gaps at an even rate are exponential.
    Poisson {
        /// The seed that makes the gaps repeatable.
        seed: u64,
    },
}

/// The highest rate that is taken, in calls a second: one a nanosecond, the resolution of due times.
const MAX_PER_SECOND: f64 = 1e9;

/// The most calls in flight that a trial can ask for, and the most connections: each takes memory
/// before the first call is made, and beyond this no machine has the ports for them.
pub const MOST_IN_FLIGHT: u32 = 65_536;

/// The most segments of a ramp. Each has a histogram of its own.
const MOST_SEGMENTS: usize = 200;

impl Schedule {
    pub(crate) fn check(&self) -> Result<(), LoadError> {
        let refuse = |what, allowed| Err(LoadError::Setting { what, allowed });
        match self {
            Schedule::Closed { in_flight } if !(1..=MOST_IN_FLIGHT).contains(in_flight) => {
                refuse("the number of calls in flight", "1 to 65,536")
            }
            Schedule::Rate { per_second, .. }
                if !(*per_second > 0.0 && *per_second <= MAX_PER_SECOND) =>
            {
                refuse("the rate", "more than 0 and at most 1e9 calls a second")
            }
            Schedule::Ramp { segments, .. } => check_ramp(segments),
            _ => Ok(()),
        }
    }

    /// How long it goes on, ns. `None` is without end.
    pub(crate) fn lasts(&self) -> Option<u64> {
        match self {
            Schedule::Closed { .. } | Schedule::Rate { .. } => None,
            Schedule::Ramp { segments, .. } => Some(
                segments
                    .iter()
                    .fold(0, |sum: u64, part| sum.saturating_add(nanos(part.duration))),
            ),
        }
    }
}

fn check_ramp(segments: &[Segment]) -> Result<(), LoadError> {
    let refuse = |what, allowed| Err(LoadError::Setting { what, allowed });
    let rate = |rate: f64| (0.0..=MAX_PER_SECOND).contains(&rate);
    if segments.is_empty() || segments.len() > MOST_SEGMENTS {
        return refuse("the number of a ramp's segments", "1 to 200");
    }
    if !segments.iter().all(|part| rate(part.from) && rate(part.to)) {
        return refuse("each rate of a ramp", "0 to 1e9 calls a second");
    }
    if segments.iter().any(|part| part.duration.is_zero()) {
        return refuse("the duration of each segment of a ramp", "more than 0");
    }
    if segments[0].from == 0.0 && segments[0].to == 0.0 {
        return refuse("the first segment of a ramp", "more than a pause");
    }
    Ok(())
}

/// The due times of a trial's calls, in order. Each end of a call makes one of a closed loop due;
/// arrivals do not wait. However far they get ahead, the queue of due calls is only a counter.
#[derive(Debug)]
pub(crate) enum Dues {
    /// The due times of calls that were not taken yet.
    Closed(VecDeque<u64>),
    /// The arrivals, and the due time of the next; `None` once a ramp has no more.
    Arrivals {
        arrivals: ArrivalTimes,
        next: Option<u64>,
    },
}

impl Dues {
    /// Starts `schedule` at `start` (ns): all calls of a closed loop, or the first of a rate, are
    /// due then.
    pub(crate) fn new(schedule: &Schedule, start: u64) -> Dues {
        let mut arrivals = match schedule {
            Schedule::Closed { in_flight } => {
                return Dues::Closed(std::iter::repeat_n(start, *in_flight as usize).collect());
            }
            Schedule::Rate {
                per_second,
                arrivals,
            } => ArrivalTimes::steady(*per_second, *arrivals, start),
            Schedule::Ramp { segments, arrivals } => ArrivalTimes::ramp(segments, *arrivals, start),
        };
        let next = arrivals.next();
        Dues::Arrivals { arrivals, next }
    }

    /// When the next call is or was due. `None` while all of a closed loop's calls are in flight,
    /// and after a ramp's last.
    pub(crate) fn next(&self) -> Option<u64> {
        match self {
            Dues::Closed(waiting) => waiting.front().copied(),
            Dues::Arrivals { next, .. } => *next,
        }
    }

    /// The same, where calls arrive at a rate; `None` for a closed loop.
    pub(crate) fn next_arrival(&self) -> Option<u64> {
        match self {
            Dues::Closed(_) => None,
            Dues::Arrivals { next, .. } => *next,
        }
    }

    /// Takes the next call.
    pub(crate) fn take(&mut self) -> Option<u64> {
        match self {
            Dues::Closed(waiting) => waiting.pop_front(),
            Dues::Arrivals { arrivals, next } => {
                let due = (*next)?;
                *next = arrivals.next();
                Some(due)
            }
        }
    }

    /// A call that was taken has ended at `at`.
    pub(crate) fn call_ended(&mut self, at: u64) {
        if let Dues::Closed(waiting) = self {
            waiting.push_back(at);
        }
    }

    /// Makes the calls of a closed loop that wait due at `at`, as if the loop began there. Arrivals
    /// stay where they are.
    pub(crate) fn start_again(&mut self, at: u64) {
        if let Dues::Closed(waiting) = self {
            waiting.iter_mut().for_each(|due| *due = at);
        }
    }

    /// How many calls were due by `now` and not taken: at most the loop's in a closed loop. For
    /// arrivals only none is exact; more are `usize::MAX`.
    pub(crate) fn waiting(&self, now: u64) -> usize {
        match self {
            Dues::Closed(waiting) => waiting.len(),
            Dues::Arrivals { next, .. } if next.is_some_and(|next| next <= now) => usize::MAX,
            Dues::Arrivals { .. } => 0,
        }
    }

    /// Whether calls arrive at a rate.
    pub(crate) fn is_at_a_rate(&self) -> bool {
        matches!(self, Dues::Arrivals { .. })
    }

    /// Up to when the calls that were taken reach: the next arrival or, after a ramp's last call,
    /// the ramp's end. `None` for a closed loop.
    pub(crate) fn reach(&self) -> Option<u64> {
        match self {
            Dues::Closed(_) => None,
            Dues::Arrivals { arrivals, next } => Some(next.unwrap_or(arrivals.end())),
        }
    }
}
