//! Why a subject cannot be used.

use std::io;
use std::path::PathBuf;

use rpcgauge_message::WorkloadError;
use rpcgauge_message::nearest::Nearest;
use rpcgauge_study::StudyError;
use rpcgauge_study::record::Fault;
use rpcgauge_study::subject::{Manifest, Stack};

use crate::error::LabError;

/// Why a subject cannot be used: one line.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages describe the variants")]
pub enum SubjectsError {
    #[error("cannot read {}: {}", .0.display(), .1)]
    Read(PathBuf, #[source] io::Error),
    #[error(transparent)]
    Manifest(#[from] StudyError),
    /// A folder, or the `subject.toml` in it, contains no usable subject: why, and what to do.
    #[error("{}: {}", .0.display(), .1)]
    Folder(PathBuf, String),
    /// There is no subject with that name. The suggestion contains the names that may have been meant.
    #[error("there is no subject \"{0}\"{1}")]
    Unknown(String, Nearest),
    /// A stack cannot be used with that version of its library: why.
    #[error("\"{0}\": {1}")]
    Version(String, String),
    #[error(
        "there is no application \"{0}\"{1}; to use your own, give a path with a /, as in ./{0}"
    )]
    UnknownApp(String, Nearest),
    #[error("{owner} cannot be built here: {}", missing.join("; "))]
    Missing {
        /// For example `the subject "go"`.
        owner: String,
        missing: Vec<String>,
    },
    #[error(transparent)]
    Command(Box<CommandFailed>),
    /// The commands succeeded, but did not create what the subject needs to run.
    #[error("the subject \"{subject}\" was built without errors, but {} is missing; its log is {}", .path.display(), .log.display())]
    Incomplete {
        subject: String,
        path: PathBuf,
        log: PathBuf,
    },
    #[error(transparent)]
    Messages(#[from] WorkloadError),
    #[error("cannot write {}: {}; set XDG_CACHE_HOME to a writable folder", .0.display(), .1)]
    Cache(PathBuf, #[source] io::Error),
    #[error("there is no folder to build in; set HOME or XDG_CACHE_HOME")]
    NoCache,
    #[error(transparent)]
    Scratch(#[from] LabError),
    #[error("stopped during a build")]
    Stopped,
}

impl SubjectsError {
    pub(super) fn incomplete(subject: &Manifest, path: PathBuf, log: PathBuf) -> Self {
        let subject = subject.name.clone();
        Self::Incomplete { subject, path, log }
    }

    /// Whether the given stack of the same subject would fail in the same way.
    pub fn is_of(&self, stack: &Stack) -> bool {
        match self {
            Self::Command(failed) => {
                let program = failed.program.as_ref();
                program.is_none_or(|program| stack.programs.contains(program))
            }
            Self::Incomplete { .. } => false,
            _ => true,
        }
    }

    /// Who is at fault.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Read(..)
            | Self::Manifest(_)
            | Self::Folder(..)
            | Self::Unknown(..)
            | Self::Version(..)
            | Self::UnknownApp(..)
            | Self::Messages(_) => Fault::User,
            Self::Missing { .. } | Self::Cache(..) | Self::NoCache | Self::Scratch(_) => {
                Fault::Machine
            }
            Self::Incomplete { .. } => Fault::Subject,
            Self::Command(failed) => {
                if failed.is_offline {
                    Fault::Machine
                } else {
                    Fault::Subject
                }
            }
            Self::Stopped => Fault::Instrument,
        }
    }
}

/// A subject's command that failed.
#[derive(Debug, thiserror::Error)]
#[error("{line}")]
pub struct CommandFailed {
    /// What failed, how, possibly why, and where the log is.
    pub(super) line: String,
    /// Whether something could not be fetched.
    pub(super) is_offline: bool,
    /// The program that the command builds; `None` if all programs depend on the command.
    pub(super) program: Option<String>,
    /// The last lines of the log.
    pub tail: String,
}
