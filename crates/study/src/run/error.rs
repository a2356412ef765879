//! Errors of run directories.

use std::io;
use std::path::{Path, PathBuf};

use crate::record::SCHEMA;
use crate::system::sentence;

/// Why a run directory cannot be written or read. One line: what, where, what to do.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The path already exists.
    #[error("{} already exists: give --out another directory, or --resume it", .0.display())]
    Exists(PathBuf),
    /// The directory cannot be created.
    #[error("cannot create the run directory {}: {}; give --out a directory that can be written", .0.display(), sentence(.1))]
    Create(PathBuf, #[source] io::Error),
    /// A file of the run cannot be written.
    #[error("cannot write {}: {}; everything written before is kept{}", .0.display(), sentence(.1), advice(.1))]
    Write(PathBuf, #[source] io::Error),
    /// A file of the run cannot be read.
    #[error("cannot read {}: {}", .0.display(), sentence(.1))]
    Read(PathBuf, #[source] io::Error),
    /// The path is not a run directory.
    #[error("{} is not a run directory: it has no {}; give the directory that rpcgauge run wrote", .0.display(), super::names::RUN)]
    NoRun(PathBuf),
    /// The path does not exist.
    #[error("there is no directory {}; give the directory that rpcgauge run wrote", .0.display())]
    NoDirectory(PathBuf),
    /// A file that every run must have is missing.
    #[error("the run is damaged: {} is missing{REPAIR}", .0.display())]
    Missing(PathBuf),
    /// A file of the run does not contain what it should.
    #[error("the run is damaged: {}{}: {problem}{REPAIR}", .path.display(), at_line(*.line))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1, in a file of lines.
        line: Option<usize>,
        /// What is wrong with it.
        problem: String,
    },
    /// The directory was written by a version with another schema.
    #[error("{} was written by rpcgauge {rpcgauge} (schema {schema}, this version reads {SCHEMA}): read it with that version, or measure again", .directory.display())]
    OtherSchema {
        /// The run directory.
        directory: PathBuf,
        /// Its schema.
        schema: u32,
        /// The version of rpcgauge that wrote it.
        rpcgauge: String,
    },
    /// The run is of another kind of study.
    #[error("{} is a run of {}, but this command is for runs of {}", .0.display(), .1, .2)]
    OtherKind(PathBuf, &'static str, &'static str),
    /// Another program is writing the directory.
    #[error("{} is being written by another rpcgauge: wait for it to finish", .0.display())]
    Locked(PathBuf),
    /// A value could not be serialized as JSON.
    #[error("cannot write {} as JSON: {}", .0.display(), .1)]
    Encode(PathBuf, serde_json::Error),
}

impl RunError {
    pub(super) fn write(path: &Path, source: io::Error) -> Self {
        Self::Write(path.to_owned(), source)
    }

    /// A file is damaged as a whole.
    pub(super) fn damaged(path: PathBuf, problem: impl ToString) -> Self {
        Self::Damaged {
            path,
            line: None,
            problem: problem.to_string(),
        }
    }
}

/// The advice for a damaged run.
const REPAIR: &str = "; restore it from a copy, or run the study again";

fn at_line(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(":{line}"))
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ": make room, then continue with --resume"
        }
        _ => ": fix this, then continue with --resume",
    }
}
