//! When a call is sent and what is timed: schedules, connections, the event loop, the recorder.
//!
//! [`measure`] carries out one [`Trial`] on the calling thread and returns its [`Measurement`]:
//!
//! 1. The connections are opened (with [`ConnectionUse::Reuse`]).
//! 2. Calls are made until the warm-up rule says that they have settled, or a bound is reached.
//! 3. Without a pause the measured part follows, until the trial's [`Stop`].
//! 4. What is in flight then may end, for at most [`Trial::drain`]; the rest is abandoned.
//!
//! A call is *due* when the one before it ends (closed loop) or when the schedule says (rate), and
//! its latency runs from then. Nothing is corrected afterwards. Every measured call is accounted
//! for: started = answered + failed + abandoned.
//!
//! This crate is the only one that reads the clock of a call. All times are nanoseconds of
//! CLOCK_MONOTONIC.

mod account;
mod bodies;
mod clock;
mod engine;
mod error;
mod failure;
mod measurement;
mod recorder;
mod schedule;
mod stage;
mod timeline;
mod trial;
mod warmup;

pub mod floor;

pub use bodies::{Bodies, Body, Codec, CodecError};
pub use engine::measure;
pub use error::{Blame, LoadError};
pub use failure::{ErrorSample, FailureKind, Fault};
pub use measurement::{Calls, Cpu, Ending, Marks, Measurement, Payload, WarmupOutcome};
pub use rpcgauge_wire::{ByteCount, Limits, Protocol, Traffic};
pub use schedule::{Arrivals, Schedule};
pub use stage::{Stage, Stages, Timing};
pub use timeline::{Slice, Timeline};
pub use trial::{Address, CallStyle, ConnectionUse, Expect, Request, Stop, Target, Trial};
pub use warmup::{Settling, WarmupBounds, WarmupSlice};

/// A histogram of nanoseconds with three significant digits.
pub type Histogram = hdrhistogram::Histogram<u64>;
