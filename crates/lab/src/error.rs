//! The errors of a run and of a trial, with whose fault they are.

use std::io;
use std::path::PathBuf;

use rpcgauge_link::LinkError;
use rpcgauge_study::record::{Difference, Fault, TrialOutcome};
use thiserror::Error;

use crate::machine::placement::PlacementError;
use crate::run::RecordsError;

/// Why a run could not continue at all. What was recorded before stays valid.
#[derive(Debug, Error)]
pub enum LabError {
    /// A record could not be kept.
    #[error("could not keep a record of the run: {0}")]
    Records(#[from] RecordsError),
    /// The machine does not show or allow what trials need.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// The plan contradicts itself: it was written by hand or damaged.
    #[error("the plan is damaged: {0}; make it again from its study")]
    Plan(String),
    /// What would be measured next cannot be compared with what is recorded.
    #[error(
        "{0}, so new trials cannot be compared with the recorded ones; start a new run, and compare both with `rpcgauge diff`"
    )]
    Changed(#[from] Difference),
    /// A folder for sockets or logs could not be made.
    #[error("could not make the folder {}: {}; choose another with TMPDIR or --out", .0.display(), .1)]
    Folder(PathBuf, #[source] io::Error),
    /// Emulated links cannot be made here.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// The result of a step that can fail a trial.
pub(crate) type TrialResult<T = ()> = Result<T, TrialFailure>;

/// Why one trial could not be measured. The run continues.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct TrialFailure {
    /// One line: what, where, and what to do.
    pub reason: String,
    /// Whose fault it is.
    pub fault: Fault,
    /// Requests that the trial had sent before it failed; `None` if unknown.
    pub requests_sent: Option<u64>,
    /// The last lines of the subject's log.
    pub log: String,
}

impl TrialFailure {
    /// A failure without a log, before anything was sent.
    pub fn new(fault: Fault, reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            fault,
            requests_sent: Some(0),
            log: String::new(),
        }
    }

    /// The same failure, with the last lines of the subject's log.
    #[must_use]
    pub fn with_log(mut self, log: String) -> Self {
        self.log = log;
        self
    }

    /// The same failure, with the number of requests that the trial had sent.
    #[must_use]
    pub(crate) fn after(mut self, requests_sent: Option<u64>) -> Self {
        self.requests_sent = requests_sent;
        self
    }

    /// The failure as it is recorded.
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
