//! A trial's settings and figures, in the form that plans and records use.
//!
//! The engine, studies, plans and records share these types, so no conversions are needed between
//! them. This crate measures nothing, reads no files and depends on no other crate of this project.

mod bounds;
mod calls;
mod code;
mod connection;
mod failure;
mod figures;
pub mod histogram;
mod latency_counts;
mod link;
mod mix;
mod ramp;
mod random;
mod schedule;
mod slow;
mod stage;
mod streaming;
mod timeline;

pub use bounds::{MAX_IN_FLIGHT, MAX_MS, MAX_RATE, OutOfBounds, is_rate};
pub use calls::{Calls, Cpu, Ending, LateCalls, Payload, Stalls, Warmup};
pub use code::CodeKind;
pub use connection::{Address, ConnectionUse, Keepalive, MAX_SOCKET_PATH_BYTES, abstract_name};
pub use failure::{ErrorSample, ErrorSamples, FailureKind, Fault};
pub use figures::{
    Bytes, BytesByClass, Cold, Concurrency, CpuTimes, MAX_CALLS, Memory, MessageFigures,
    MixFigures, Slices, Startup, Step, Threads, TrialFigures, are_short, is_amount,
};
pub use histogram::Histogram;
pub use latency_counts::LatencyCounts;
pub use link::{
    Calibration, Congestion, DEFAULT_MTU, Direction, DirectionCounts, IP_AND_TCP, Lateness, Link,
    LinkCounts, LinkRate, Loss, MAX_LATENESS_NS, MAX_OFF_NS, MAX_OPPORTUNITIES, Queue, Trace,
    TraceError,
};
pub use mix::MixOrder;
pub use ramp::{RampPart, RampStep};
pub use random::Random;
pub use schedule::{Arrivals, DeadlineFrom, Schedule, Slice, Stop};
pub use slow::{Disturbed, MAX_SLOW, SlowCall, Watched};
pub use stage::{HANDLER_END, HANDLER_START, Stage, Timing};
pub use streaming::{Pace, StreamForm, Streaming};
pub use timeline::{Timeline, TimelineSlice};

/// Whether a value can be omitted from a record. For example, counts of abnormal events are omitted
/// if they are 0.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
