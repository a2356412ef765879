//! Carries a plan out: starts the subjects, proves each one right, places the processes,
//! calibrates the floor, runs the trials block by block, and appends each record as it comes.
//!
//! ```text
//! Lab::run
//!   for each invocation: fresh subject processes
//!     for each variant:   start, prove its responses right        (subject, verify)
//!     for each block:
//!       for the trials that are measured in turn: place, hold idle     (machine)
//!         warm each up, then go round them, a slice each, with the     (measurer)
//!         floors under them
//! ```
//!
//! The lab judges nothing and draws nothing: its records go to [`Records`], and its events to an
//! [`Observer`]. Only this crate starts processes.

pub mod app;
mod caller;
mod calls;
pub mod doctor;
mod environment;
mod error;
mod exchange;
pub mod live;
pub mod machine;
mod measurer;
mod observer;
mod records;
mod regular;
mod role;
mod run;
mod scratch;
mod server;
mod stacks;
pub mod subject;
pub mod subjects;
mod verify;
mod warmup;

pub use error::{LabError, TrialFailure};
pub use observer::{Event, Observer, RunProgress, Watch};
pub use records::{Records, RecordsError};
pub use run::{Earlier, Lab, Options, RateSearch, RunEnding, Summary};
pub use stacks::Stacks;
pub use subject::{RuntimeFlags, SubjectCommand};
