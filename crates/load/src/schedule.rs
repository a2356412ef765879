//! When calls are due. Everything here is a function of the given times, so it can be tested without a clock.

mod arrivals;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use rpcgauge_trial::Schedule;

use self::arrivals::ArrivalTimes;
use crate::shard::Shard;

/// The due times of a trial's calls, in order. In a closed loop, each call that ends makes another one due.
/// Arrivals do not wait for calls, and a backlog of them uses no memory.
#[derive(Debug, Clone)]
pub(crate) enum DueTimes {
    /// Due times of the calls that have not been taken yet.
    Closed(VecDeque<u64>),
    /// The arrivals, and the due time of the next one; `None` once a ramp has no more.
    Arrivals {
        arrivals: ArrivalTimes,
        next: Option<u64>,
    },
}

impl DueTimes {
    /// Starts `schedule` at `start` (ns), when all calls of a closed loop, or the first call of a rate, are
    /// due. `seed` makes random arrivals repeatable.
    pub(crate) fn new(schedule: &Schedule, seed: u64, start: u64) -> DueTimes {
        DueTimes::of_shard(schedule, Shard::WHOLE, seed, start)
    }

    /// Like [`DueTimes::new`], but only the arrivals of a shard. A closed loop is not divided here.
    pub(crate) fn of_shard(schedule: &Schedule, shard: Shard, seed: u64, start: u64) -> DueTimes {
        let mut arrivals = match schedule {
            Schedule::Closed { in_flight } => {
                return DueTimes::Closed(std::iter::repeat_n(start, *in_flight as usize).collect());
            }
            Schedule::Rate {
                per_second,
                arrivals,
            } => ArrivalTimes::steady(*per_second, (*arrivals, seed), start),
            Schedule::Ramp { parts, arrivals } => {
                ArrivalTimes::ramp(parts, (*arrivals, seed), start)
            }
        };
        arrivals.only(shard);
        let next = arrivals.next();
        DueTimes::Arrivals { arrivals, next }
    }

    /// Changes the number of calls of a closed loop. `in_flight` of them have begun and not ended; these may be more
    /// than `calls`.
    pub(crate) fn set_calls(&mut self, calls: usize, in_flight: usize, now: u64) {
        if let DueTimes::Closed(waiting) = self {
            waiting.resize(calls.saturating_sub(in_flight), now);
        }
    }

    /// Changes a steady rate. Calls that were due before `now` remain due.
    pub(crate) fn set_rate(&mut self, per_second: f64, now: u64) {
        if let DueTimes::Arrivals { arrivals, next } = self
            && per_second != arrivals.last_rate()
        {
            arrivals.change_rate(per_second, now);
            if next.is_none_or(|due| due >= now) {
                *next = arrivals.due_again(now);
            }
        }
    }

    /// When the next call is or was due, ns. `None` while all calls of a closed loop are in flight, and after
    /// a ramp's last call.
    pub(crate) fn next(&self) -> Option<u64> {
        match self {
            DueTimes::Closed(waiting) => waiting.front().copied(),
            DueTimes::Arrivals { next, .. } => *next,
        }
    }

    /// When the next arrival is or was due, ns; `None` for a closed loop.
    pub(crate) fn next_arrival(&self) -> Option<u64> {
        match self {
            DueTimes::Closed(_) => None,
            DueTimes::Arrivals { next, .. } => *next,
        }
    }

    pub(crate) fn take(&mut self) -> Option<u64> {
        match self {
            DueTimes::Closed(waiting) => waiting.pop_front(),
            DueTimes::Arrivals { arrivals, next } => {
                let due = (*next)?;
                *next = arrivals.next();
                Some(due)
            }
        }
    }

    /// Notes that a call has ended at `at`. In a closed loop, another one is due then.
    pub(crate) fn call_ended(&mut self, at: u64) {
        if let DueTimes::Closed(waiting) = self {
            waiting.push_back(at);
        }
    }

    /// Moves the due times of a closed loop's waiting calls to `at`, as if the loop began then. Arrivals are
    /// unchanged.
    pub(crate) fn start_again(&mut self, at: u64) {
        if let DueTimes::Closed(waiting) = self {
            waiting.iter_mut().for_each(|due| *due = at);
        }
    }

    /// How many calls are due by `at` and have not been taken. If arrivals are random, only the first one is
    /// known; for the others, this is their expected number.
    pub(crate) fn waiting(&self, at: u64) -> u64 {
        match self {
            DueTimes::Closed(waiting) => waiting.iter().filter(|due| **due <= at).count() as u64,
            DueTimes::Arrivals { arrivals, next } if next.is_some_and(|next| next <= at) => {
                1 + arrivals.due_by(at)
            }
            DueTimes::Arrivals { .. } => 0,
        }
    }

    pub(crate) fn is_at_a_rate(&self) -> bool {
        matches!(self, DueTimes::Arrivals { .. })
    }

    /// The next arrival or, after a ramp's last call, the ramp's end, ns. `None` for a closed loop.
    pub(crate) fn reach(&self) -> Option<u64> {
        match self {
            DueTimes::Closed(_) => None,
            DueTimes::Arrivals { arrivals, next } => Some(next.unwrap_or(arrivals.end())),
        }
    }

    /// The end of the time that the calls taken so far cover, ns. It is the next arrival, even if that is another
    /// shard's, or a ramp's end. `None` for a closed loop.
    pub(crate) fn covered_until(&self) -> Option<u64> {
        match self {
            DueTimes::Closed(_) => None,
            DueTimes::Arrivals { arrivals, .. } => {
                Some(arrivals.after_previous().unwrap_or(arrivals.end()))
            }
        }
    }

    /// The first arrival that is due at `at` (ns) or later, or that follows `most` earlier ones. In a closed loop, or
    /// if there are too many before it, this is `at`.
    pub(crate) fn first_from(&self, at: u64, most: u64) -> u64 {
        const TOO_MANY: u64 = 10_000_000;
        if !self.is_at_a_rate() {
            return at;
        }
        let mut due_times = self.clone();
        let all = (0..TOO_MANY).zip(std::iter::from_fn(|| due_times.take()));
        let mut after = all.skip_while(|(before, due)| *before < most && *due < at);
        after.next().map_or(at, |(_, due)| due)
    }
}
