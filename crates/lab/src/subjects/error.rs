//! Why a subject cannot be had.

use std::io;
use std::path::PathBuf;

use rpcgauge_message::WorkloadError;
use rpcgauge_message::nearest::Nearest;
use rpcgauge_study::StudyError;
use rpcgauge_study::record::Fault;

use crate::error::LabError;

/// Why a subject cannot be had: one line.
#[derive(Debug, thiserror::Error)]
pub enum SubjectsError {
    /// A folder or file of a subject cannot be read.
    #[error("cannot read {}: {}", .0.display(), .1)]
    Read(PathBuf, #[source] io::Error),
    /// Its `subject.toml` is wrong.
    #[error(transparent)]
    Manifest(#[from] StudyError),
    /// A folder, or the `subject.toml` in it, holds no subject, or one that cannot be taken: why, and what
    /// to do.
    #[error("{}: {}", .0.display(), .1)]
    Folder(PathBuf, String),
    /// There is no subject of that name; what may have been meant.
    #[error("there is no subject \"{0}\"{1}")]
    Unknown(String, Nearest),
    /// Something that it needs is not there.
    #[error("the subject \"{subject}\" cannot be built here: {}", missing.join("; "))]
    Missing {
        /// The subject.
        subject: String,
        /// What, and what to do, one each.
        missing: Vec<String>,
    },
    /// A command of its build or its generator failed.
    #[error(transparent)]
    Command(Box<CommandFailed>),
    /// There are no such messages.
    #[error(transparent)]
    Messages(#[from] WorkloadError),
    /// The user's cache folder cannot be used.
    #[error("cannot write {}: {}; set XDG_CACHE_HOME to a folder that can be written", .0.display(), .1)]
    Cache(PathBuf, #[source] io::Error),
    /// There is no place for a cache.
    #[error("there is no folder to build subjects in: set HOME or XDG_CACHE_HOME")]
    NoCache,
    /// There is no folder for sockets and records.
    #[error(transparent)]
    Scratch(#[from] LabError),
    /// It was asked to stop meanwhile.
    #[error("stopped while a subject was built")]
    Stopped,
}

impl SubjectsError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Read(..)
            | Self::Manifest(_)
            | Self::Folder(..)
            | Self::Unknown(..)
            | Self::Messages(_) => Fault::User,
            Self::Missing { .. } | Self::Cache(..) | Self::NoCache | Self::Scratch(_) => {
                Fault::Machine
            }
            Self::Command(failed) => match failed.is_offline {
                true => Fault::Machine,
                false => Fault::Subject,
            },
            Self::Stopped => Fault::Instrument,
        }
    }
}

/// A command of a subject that failed.
#[derive(Debug, thiserror::Error)]
#[error("{line}")]
pub struct CommandFailed {
    /// What failed, how and perhaps why, and where its log is.
    pub(super) line: String,
    /// Whether something could not be fetched.
    pub(super) is_offline: bool,
    /// The last lines of its log.
    pub tail: String,
}
