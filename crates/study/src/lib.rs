//! Studies, plans and records: what to measure, and what was measured.
//!
//! A study file is parsed as written ([`mod@file`]), resolved into a [`plan::Plan`] with no defaults left, and what
//! the lab measures is appended as [`record`]s to a run directory ([`run`]). This crate neither measures nor renders:
//! the lab writes the records that it defines, and the report reads them.

pub mod app;
pub mod builtin;
pub mod capacity;
pub mod clock;
mod error;
pub mod expectation;
pub mod features;
pub mod file;
pub mod link;
pub mod objective;
pub mod only;
pub mod pair_by;
pub mod plan;
pub mod printable;
pub mod ramp;
mod read;
pub mod record;
pub mod resolve;
pub mod run;
pub mod scale;
pub mod setting;
pub mod settings;
pub mod subject;
pub mod system;
pub mod url;
pub mod words;

pub use error::{FormError, Position, StudyError};
pub use rpcgauge_trial::histogram;
