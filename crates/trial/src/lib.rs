//! The terms of a trial and what it counts, in the form that plans and records keep.
//!
//! The engine carries these out and counts in them, studies and plans write them down, and records
//! hold them: one type each, so that nothing is converted in between. This crate measures nothing,
//! reads no file and uses none of the others.

mod address;
mod bounds;
mod calls;
mod connection;
mod cpu;
mod failure;
mod fault;
mod ramp;
mod random;
mod schedule;
mod stage;
mod stop;
mod timeline;

pub use address::Address;
pub use bounds::{LONGEST_MS, MOST_IN_FLIGHT, MOST_RATE, OutOfBounds, is_rate};
pub use calls::{Calls, Ending, Payload, Warmup};
pub use connection::{ConnectionUse, Keepalive};
pub use cpu::Cpu;
pub use failure::{ErrorSample, ErrorSamples, FailureKind};
pub use fault::Fault;
pub use ramp::{RampPart, RampStep};
pub use random::Random;
pub use schedule::{Arrivals, Schedule};
pub use stage::{Stage, Timing};
pub use stop::{Slice, Stop};
pub use timeline::{Timeline, TimelineSlice};

/// Counts of what should not happen are left out of a record where it did not.
fn is_zero(count: &u64) -> bool {
    *count == 0
}
