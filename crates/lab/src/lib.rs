//! Carries a plan out: starts the subjects, proves each one right, places the processes,
//! calibrates the floor, runs the trials block by block, and appends each record as it comes.
//!
//! ```text
//! Lab::run
//!   for each invocation: fresh subject processes
//!     for each variant:   start, prove its answers right          (subject, verify)
//!     for each block:
//!       for the trials that are measured in turn: place, hold idle     (machine)
//!         warm each up, then go round them, a slice each, with the     (measurer)
//!         floors under them
//! ```
//!
//! The lab judges nothing and draws nothing: what it learns goes to the [`Records`] it is given,
//! and how far it is to an [`Observer`]. Only this crate starts processes.

mod caller;
mod calls;
mod clock;
pub mod doctor;
pub mod environment;
mod error;
mod exchange;
pub mod live;
pub mod machine;
mod measurer;
mod observer;
mod records;
mod run;
mod server;
pub mod subject;
pub mod subjects;
mod verify;

pub use error::{LabError, TrialFailure};
pub use observer::{Event, Observer, Progress, Watch};
pub use records::{Records, RecordsError};
pub use run::{Course, Ending, Lab, Options, Summary};
pub use subject::SubjectCommand;
