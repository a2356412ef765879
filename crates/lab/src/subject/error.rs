//! Errors in communicating with a subject.

use std::io;
use std::time::Duration;

use rpcgauge_contract as contract;
use rpcgauge_study::record::Fault;
use thiserror::Error;

use crate::error::{LabError, TrialFailure};

/// Why a subject could not be used.
#[derive(Debug, Error)]
pub(crate) enum SubjectError {
    #[error(
        "could not start the subject {program}: {source}; check that it is installed and executable"
    )]
    Start { program: String, source: io::Error },
    /// The subject exited without writing a line; how it ended, in words.
    #[error("the subject exited before it was ready ({0}); see its log")]
    Ended(String),
    #[error("the subject was not ready after {} s; see its log", .0.as_secs_f64())]
    NotReady(Duration),
    #[error("the subject did not answer within {} s; see its log", .0.as_secs_f64())]
    Silent(Duration),
    /// How the subject ended, in words.
    #[error("the subject exited instead of answering ({0}); see its log")]
    Died(String),
    #[error("the subject broke the contract: {0}; see contract/README.md")]
    Contract(String),
    #[error("the subject reported an error: {}", one_line(.0.error.as_str()))]
    Refused(contract::Failed),
    #[error(
        "could not communicate with the subject: {0}; check the limits on open files and threads"
    )]
    Pipe(#[source] io::Error),
    #[error("the processor time of the subject's process {pid} cannot be read: {source}")]
    Meter { pid: u32, source: io::Error },
    #[error(transparent)]
    Temporary(#[from] LabError),
    #[error("stopped while waiting for the subject")]
    Stopped,
}

impl SubjectError {
    fn fault(&self) -> Fault {
        match self {
            Self::Start { .. } | Self::Pipe(_) | Self::Temporary(_) => Fault::Machine,
            Self::Ended(_)
            | Self::NotReady(_)
            | Self::Silent(_)
            | Self::Died(_)
            | Self::Contract(_)
            | Self::Meter { .. } => Fault::Subject,
            Self::Refused(failed) => failed.fault,
            Self::Stopped => Fault::Instrument,
        }
    }
}

impl From<SubjectError> for TrialFailure {
    fn from(error: SubjectError) -> Self {
        Self::new(error.fault(), error.to_string())
    }
}

/// The maximum length of a subject's text in messages, in characters.
const MAX_SHOWN: usize = 400;

/// A subject's text as one line, shortened if it is long.
pub(crate) fn one_line(text: &str) -> String {
    start_of(text, MAX_SHOWN)
}

/// Like [`one_line`], limited to `most` characters.
pub(super) fn start_of(text: &str, most: usize) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let mut shown: String = text.trim().chars().take(most).map(clean).collect();
    if text.trim().chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_subject_says_becomes_one_line() {
        assert_eq!(one_line("a\nb\u{1b}[31m\t \n"), "a b [31m");
        let long = one_line(&"x".repeat(1_000));
        assert_eq!(long.chars().count(), MAX_SHOWN + 1);
        assert_eq!(start_of(" äöü ", 3), "äöü");
        assert_eq!(start_of("äöüß", 3), "äöü…");
    }

    #[test]
    fn a_refusal_keeps_its_fault() {
        let failed = contract::Failed {
            error: "no".into(),
            fault: contract::Fault::User,
        };
        assert_eq!(SubjectError::Refused(failed).fault(), Fault::User);
    }
}
