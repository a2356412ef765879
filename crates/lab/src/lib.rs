//! Carries a plan out: starts the subjects, proves each one right, places the processes,
//! calibrates the floor, runs the trials block by block, and appends each record as it comes.
//!
//! ```text
//! Lab::run
//!   for each invocation: fresh subject processes
//!     for each variant:   start, prove its answers right          (subject, verify)
//!     for each block:
//!       for each trial:   place, hold idle, warm up, measure       (machine, trial)
//!     for each distinct transport, placement and size: a window of the floor    (floor)
//! ```
//!
//! The lab judges nothing and draws nothing: what it learns goes to the [`Records`] it is given,
//! and how far it is to an [`Observer`]. Only this crate starts processes.

mod calls;
pub mod doctor;
pub mod environment;
mod error;
mod exchange;
mod floor;
pub mod live;
pub mod machine;
mod observer;
mod records;
mod run;
pub mod subject;
mod verify;

pub use error::{LabError, TrialFailure};
pub use observer::{Event, Observer, Progress, Watch};
pub use records::{Records, RecordsError};
pub use run::{Course, Ending, Lab, Options, Summary};
pub use subject::SubjectCommand;
