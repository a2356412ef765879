//! Executes a plan: starts and verifies the subjects, places the processes, measures the floors, runs the
//! trials block by block, and writes each record as soon as it is complete.
//!
//! ```text
//! Lab::run
//!   for each invocation: fresh subject processes
//!     for each variant: start, verify its responses                   (subject, variant)
//!     for each block:
//!       for each rotation: place processes, disable idle states       (machine)
//!         warm up each trial, then alternate between the trials       (measurer)
//!         and their floors, slice by slice
//! ```
//!
//! The lab neither evaluates nor presents results: it passes records to [`Records`] and events to an
//! [`Observer`]. Only this crate starts processes.

pub mod app;
pub mod doctor;
mod environment;
mod error;
mod files;
pub mod live;
pub mod machine;
mod measurer;
mod run;
pub mod subject;
pub mod subjects;
mod variant;

pub use environment::examine;
pub use error::{LabError, TrialFailure};
pub use run::{
    Earlier, Event, Lab, Observer, Options, RateSearch, Records, RecordsError, RunEnding,
    RunProgress, Summary, Watch,
};
pub use subject::{RuntimeFlags, SubjectCommand};
pub use subjects::Stacks;
