//! The run directory: what a run leaves on disk, and the only place where lab and report meet.
//!
//! ```text
//! runs/20261120T101500Z-quickstart/
//!   run.json          schema, rpcgauge's version, when, which study, which seed
//!   study.toml        the study as given, when there was a file
//!   plan.json         the resolved plan
//!   environment.json  the machine, once the lab has looked at it
//!   trials.jsonl      one record per line, appended as trials end, several at once where they took turns
//!   logs/             what the subjects wrote to their standard error
//! ```
//!
//! The directory comes into being whole: it is filled under a temporary name beside its place and
//! then renamed. A line is written with one write and then handed to the disk, so that a crash
//! can cut off the last line and nothing else; [`Run::read`] drops such a line and says so.

mod error;
mod provenance;
mod reader;
mod writer;
mod writing;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::clock::Utc;

pub use error::RunError;
pub use provenance::MeasuredWith;
pub use reader::Run;
pub use writer::{NewRun, Resumed, RunWriter};
pub use writing::Writing;

/// Names of the files in a run directory.
pub mod names {
    /// [`super::RunInfo`].
    pub const RUN: &str = "run.json";
    /// The study as given.
    pub const STUDY: &str = "study.toml";
    /// [`crate::plan::Plan`].
    pub const PLAN: &str = "plan.json";
    /// [`crate::record::Environment`].
    pub const ENVIRONMENT: &str = "environment.json";
    /// [`crate::record::Record`]s, one a line.
    pub const TRIALS: &str = "trials.jsonl";
    /// The subjects' logs.
    pub const LOGS: &str = "logs";
}

/// `run.json`: what this directory is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInfo {
    /// The version of the directory's schema: [`crate::record::SCHEMA`] when written by this
    /// program.
    pub schema: u32,
    /// The version of rpcgauge that made it.
    pub rpcgauge: String,
    /// When it was made, in UTC (RFC 3339).
    pub created_at: String,
    /// The study's name.
    pub study: String,
    /// The seed of the run.
    pub seed: u64,
}

/// Where a run goes when no place was asked for: `root/<time>-<study>`, with a number behind it
/// if that is taken.
pub fn default_directory(root: &Path, study: &str, now: SystemTime) -> PathBuf {
    let first = root.join(format!("{}-{study}", Utc::from(now).compact()));
    let mut place = first.clone();
    for number in 2_u32.. {
        if place.symlink_metadata().is_err() {
            break;
        }
        place = PathBuf::from(format!("{}-{number}", first.display()));
    }
    place
}
