//! Measurers. Each one measures one variant or floor of a block, slice by slice.

mod caller;
mod cover;
mod engine;
mod floor;
mod link;
mod message_sum;
pub(crate) mod processes;
mod reached;
mod rotation;
mod sum;
mod watch;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rpcgauge_trial::Stop;

pub(crate) use self::caller::CallerMeasurer;
pub(crate) use self::engine::EngineMeasurer;
pub(crate) use self::floor::{FloorKey, FloorMeasurer, FloorUnder, note};
pub(crate) use self::link::{LinkMeter, OverLink};
pub(crate) use self::rotation::Rotation;
pub(crate) use self::watch::Watch;
use crate::error::TrialResult;

/// Measures one variant or floor, so that several can alternate on one thread. Implementations are the engine that
/// calls a server, a client or codec subject, two bare loops and, in tests, plain values.
pub(crate) trait Measurer<T> {
    /// Connects. Afterwards, nothing happens until a slice is requested.
    ///
    /// # Errors
    /// Why the variant cannot be measured. This also applies to all methods below. Other variants of the block are
    /// not affected.
    fn prepare(&mut self, stop: &AtomicBool) -> TrialResult;

    /// Warms up for one more slice, or a few. Returns whether the warm-up is over.
    fn warm_up_slice(&mut self, _stop: &AtomicBool) -> TrialResult<bool> {
        Ok(true)
    }

    /// Measures one slice. Returns the fraction measured so far, from 0 to 1. At 1, no more slices are needed.
    fn slice(&mut self, stop: &AtomicBool) -> TrialResult<f64>;

    /// Whether the trial is measured in one piece together with its warm-up. If so, the measurer itself signals when
    /// measuring begins.
    fn warms_up_in_slice(&self) -> bool {
        false
    }

    /// The number of requests sent so far, including the warm-up; `None` if unknown, as for a client subject.
    fn requests_sent(&self) -> Option<u64> {
        None
    }

    /// What the calls carried so far; `None` if unknown, as for a client subject's own connections.
    fn carried(&self) -> Option<Carried> {
        None
    }

    /// Ends the measurement and returns the figures of all slices together.
    fn finish(self: Box<Self>) -> TrialResult<Box<T>>;
}

/// The number of calls, and all bytes on their connections, including handler marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Carried {
    pub(crate) calls: u64,
    /// Bytes from the client to the server.
    pub(crate) sent: u64,
    /// Bytes from the server to the client.
    pub(crate) received: u64,
}

/// The fraction of a trial that has been measured, from 0 to 1: by calls or by time, whichever is further along.
fn part_done(stop: Stop, started: u64, elapsed: Duration) -> f64 {
    let by_calls = stop
        .calls
        .map_or(0.0, |calls| started as f64 / calls.max(1) as f64);
    let by_time = stop
        .time()
        .map_or(0.0, |time| elapsed.as_secs_f64() / time.as_secs_f64());
    by_calls.max(by_time)
}

/// Milliseconds since the Unix epoch, for records. No figure depends on the wall clock.
pub(crate) fn epoch_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
