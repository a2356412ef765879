//! The run directory: what a run leaves on disk, and the only interface between lab and report.
//!
//! ```text
//! runs/20261120T101500Z-quickstart/
//!   run.json          schema, rpcgauge's version, date, study and seed
//!   study.toml        the study as given, if there was a file
//!   plan.json         the resolved plan
//!   environment.json  the machine, once the lab has examined it
//!   trials.jsonl      one record per line, appended as trials end; trials that took turns end together
//!   logs/             the subjects' standard error
//!   check/            the run that checks the map of sizes and networks, if it was measured
//!   workers/          instead of records of trials, the last record of each worker of a cluster, a file each
//! ```
//!
//! The directory appears atomically: it is filled under a temporary name in the same parent directory and then
//! renamed. A line is written with one write and then synced to disk, so a crash can cut off only the last line;
//! [`Run::read`] drops such a line with a warning.

mod error;
mod lock;
mod provenance;
mod reader;
mod resume;
mod workers;
mod writer;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use rpcgauge_trial::is_default;

use crate::clock::Utc;
use crate::plan::Plan;

pub use error::RunError;
pub use lock::Writing;
pub use provenance::MeasuredWith;
pub use reader::Run;
pub(crate) use reader::{each_record, optional, read_json, read_text};
pub use resume::{Resumable, Resumed};
pub use writer::{NewRun, RunWriter};

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
    /// [`crate::record::Record`]s, one per line.
    pub const TRIALS: &str = "trials.jsonl";
    /// The subjects' logs.
    pub const LOGS: &str = "logs";
    /// A run that checks this one's map: a directory like this one.
    pub const CHECK: &str = "check";
    /// [`crate::record::WorkerRecord`]s, one per file.
    pub const WORKERS: &str = "workers";
}

/// `run.json`: identifies the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunInfo {
    /// The version of the run directory's schema.
    pub schema: u32,
    /// The version of rpcgauge that created the directory.
    pub rpcgauge: String,
    /// When the directory was created, in UTC (RFC 3339).
    pub created_at: String,
    /// The study's name.
    pub study: String,
    /// The seed of the run.
    pub seed: u64,
    /// What was measured.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: RunKind,
}

impl RunInfo {
    /// Reads it, and the run's question, without the records.
    ///
    /// # Errors
    /// The directory is not a run directory of this program's schema.
    pub fn with_question(directory: &Path) -> Result<(Self, String), RunError> {
        /// The part of every plan that says what it is about.
        #[derive(Deserialize)]
        struct Asked {
            question: String,
        }
        let info = Run::check(directory)?;
        let asked: Asked = read_json(directory, names::PLAN)?;
        Ok((info, asked.question))
    }
}

/// What a run measures, which determines the form of its plan and its records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RunKind {
    /// Calls, whose plan is `Plan`.
    #[default]
    Calls,
    /// An application, which has a plan and records of its own.
    App,
}

impl RunKind {
    /// The kind of the run in a directory.
    ///
    /// # Errors
    /// The directory is not a run directory.
    pub fn of(directory: &Path) -> Result<Self, RunError> {
        Run::check(directory).map(|info| info.kind)
    }

    fn words(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::App => "an application",
        }
    }

    pub(crate) fn must_be(self, expected: Self, directory: &Path) -> Result<(), RunError> {
        if self == expected {
            Ok(())
        } else {
            Err(RunError::OtherKind(
                directory.to_owned(),
                self.words(),
                expected.words(),
            ))
        }
    }
}

/// A plan that a run directory can be created for.
pub trait Planned: Serialize {
    /// What it measures.
    const KIND: RunKind;

    /// The study's name.
    fn name(&self) -> &str;

    /// The seed of the run.
    fn seed(&self) -> u64;
}

impl Planned for Plan {
    const KIND: RunKind = RunKind::Calls;

    fn name(&self) -> &str {
        &self.name
    }

    fn seed(&self) -> u64 {
        self.seed
    }
}

/// The default directory of a run: `root/<time>-<study>`, followed by a number if that already exists.
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
