//! Errors that stop a run or fail a single trial, and who is at fault.

use std::io;
use std::path::PathBuf;

use rpcgauge_link::LinkError;
use rpcgauge_study::record::{Difference, Fault, TrialOutcome};
use thiserror::Error;

use crate::machine::placement::PlacementError;
use crate::run::RecordsError;

/// An error that stops the whole run. Trials recorded earlier remain valid.
#[derive(Debug, Error)]
pub enum LabError {
    /// A record could not be written.
    #[error("could not write a record of the run: {0}")]
    Records(#[from] RecordsError),
    /// Client and server could not be placed on cores.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// The plan is inconsistent because it was edited by hand or damaged.
    #[error("the plan is damaged: {0}; regenerate it from its study")]
    Plan(String),
    /// New trials would not be comparable with the recorded ones.
    #[error(
        "{0}, so new trials cannot be compared with the recorded ones; start a new run, and compare both with `rpcgauge diff`"
    )]
    Changed(#[from] Difference),
    /// A folder for sockets or logs could not be created.
    #[error("could not create the folder {}: {}; choose another with TMPDIR or --out", .0.display(), .1)]
    Folder(PathBuf, #[source] io::Error),
    /// An emulated link could not be created.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// The result of a step that can fail a trial.
pub(crate) type TrialResult<T = ()> = Result<T, TrialFailure>;

/// Why one trial could not be measured. The run continues.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct TrialFailure {
    /// One line: what failed, where, and what to do about it.
    pub reason: String,
    /// Who is at fault.
    pub fault: Fault,
    /// Requests sent before the failure; `None` if unknown.
    pub requests_sent: Option<u64>,
    /// The last lines of the subject's log.
    pub log: String,
}

impl TrialFailure {
    /// A failure with no log, from before any request was sent.
    pub fn new(fault: Fault, reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            fault,
            requests_sent: Some(0),
            log: String::new(),
        }
    }

    /// Adds the last lines of the subject's log.
    #[must_use]
    pub fn with_log(mut self, log: String) -> Self {
        self.log = log;
        self
    }

    /// Sets the number of requests sent before the failure.
    #[must_use]
    pub(crate) fn after(mut self, requests_sent: Option<u64>) -> Self {
        self.requests_sent = requests_sent;
        self
    }

    /// Converts the failure to the form in which it is recorded.
    pub(crate) fn into_outcome(self) -> TrialOutcome {
        TrialOutcome::Failed {
            reason: self.reason,
            fault: self.fault,
            requests_sent: self.requests_sent,
            log: self.log,
        }
    }
}

impl From<LinkError> for TrialFailure {
    fn from(error: LinkError) -> Self {
        Self::new(Fault::Machine, error.to_string())
    }
}

impl From<PlacementError> for TrialFailure {
    fn from(error: PlacementError) -> Self {
        Self::new(Fault::Machine, error.to_string())
    }
}
