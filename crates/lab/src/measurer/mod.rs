//! Measurers, each of which measures one variant of a block, a slice at a time.

mod caller;
mod cover;
mod engine;
mod floor;
mod link;
mod measured;
mod reached;
mod rotation;
mod sum;
mod watch;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rpcgauge_trial::Stop;

pub(crate) use self::caller::{CallerMeasurer, WarmUp};
pub(crate) use self::engine::{EngineMeasurer, without_values};
pub(crate) use self::floor::{FloorKey, FloorMeasurer, FloorUnder, note};
pub(crate) use self::link::{LinkMeter, OverLink};
pub(crate) use self::rotation::Rotation;
pub(crate) use self::watch::Watch;
use crate::error::TrialResult;

/// Measures one variant or floor, so that several can be measured in turn on one thread: the engine that
/// calls a server, a client or codec subject, two bare loops, or, in tests, plain values.
pub(crate) trait Measurer<T> {
    /// Connects and warms up. Afterwards nothing happens until a slice is asked for.
    ///
    /// # Errors
    /// Why the variant cannot be measured, in this and all methods below; the others of its block still can.
    fn prepare(&mut self, stop: &AtomicBool) -> TrialResult;

    /// Warms up for one more slice where that is done in turn with the other ways of a process. Returns whether it is
    /// over; it continues while that of another way is not.
    fn warm_up_slice(&mut self, _stop: &AtomicBool) -> TrialResult<bool> {
        Ok(true)
    }

    /// Measures one slice. Returns the fraction that is measured so far, from 0 to 1; at 1 no more slices are
    /// needed.
    fn slice(&mut self, stop: &AtomicBool) -> TrialResult<f64>;

    /// Whether the trial is measured in one piece, with its warm-up: then the measurer itself notes when calls
    /// begin to count.
    fn warms_up_in_slice(&self) -> bool {
        false
    }

    /// Requests sent so far, including those of the warm-up; `None` if unknown, as for a client subject.
    fn requests_sent(&self) -> Option<u64> {
        None
    }

    /// What the calls so far carried; `None` if unknown, as on a client subject's own connections.
    fn carried(&self) -> Option<Carried> {
        None
    }

    /// Ends the measurement. Returns the figures of all slices together.
    fn finish(self: Box<Self>) -> TrialResult<Box<T>>;
}

/// How many calls were made, and all bytes on their connections, including the handler marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Carried {
    pub(crate) calls: u64,
    /// From the client to the server.
    pub(crate) sent: u64,
    /// From the server to the client.
    pub(crate) received: u64,
}

/// How much of a trial is measured, from 0 to 1: by its calls or its time, whichever ends it first.
fn part_done(stop: Stop, started: u64, elapsed: Duration) -> f64 {
    let by_calls = stop
        .calls
        .map_or(0.0, |calls| started as f64 / calls.max(1) as f64);
    let by_time = stop
        .time()
        .map_or(0.0, |time| elapsed.as_secs_f64() / time.as_secs_f64());
    by_calls.max(by_time)
}

/// Milliseconds since the Unix epoch, for records: no figure depends on the wall clock.
pub(crate) fn epoch_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
