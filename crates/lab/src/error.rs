//! The errors of a run and of a trial, and whose fault they are.

use std::path::Path;

use rpcgauge_study::record::{Fault, TrialOutcome};
use thiserror::Error;

use crate::machine::placement::PlacementError;
use crate::records::RecordsError;

/// Why a run could not go on at all. What was recorded before stays valid.
#[derive(Debug, Error)]
pub enum LabError {
    /// A record could not be kept.
    #[error("could not keep a record of the run: {0}")]
    Records(#[from] RecordsError),
    /// The machine does not show or allow what every trial needs.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// The plan does not hold together: it was written by hand or damaged.
    #[error("the plan is damaged: {0}; make it anew from its study")]
    Plan(String),
    /// A folder for sockets or logs could not be made.
    #[error("could not make the folder {path}: {source}; choose another with TMPDIR or --out")]
    Folder {
        /// The folder.
        path: String,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl LabError {
    pub(crate) fn folder(path: &Path, source: std::io::Error) -> Self {
        Self::Folder {
            path: path.display().to_string(),
            source,
        }
    }
}

/// What can fail one trial.
pub(crate) type TrialResult<T = ()> = Result<T, TrialFailure>;

/// Why one trial could not be measured. The run goes on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct TrialFailure {
    /// One line: what, where, and what to do.
    pub reason: String,
    /// Whose fault it is.
    pub fault: Fault,
    /// The last lines of the subject's log.
    pub log: String,
}

impl TrialFailure {
    /// A failure without a log.
    pub fn new(fault: Fault, reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            fault,
            log: String::new(),
        }
    }

    /// With the last lines of the subject's log.
    #[must_use]
    pub fn with_log(mut self, log: String) -> Self {
        self.log = log;
        self
    }

    /// As written in a record.
    pub fn into_outcome(self) -> TrialOutcome {
        TrialOutcome::Failed {
            reason: self.reason,
            fault: self.fault,
            log: self.log,
        }
    }
}

impl From<PlacementError> for TrialFailure {
    fn from(error: PlacementError) -> Self {
        Self::new(Fault::Machine, error.to_string())
    }
}
