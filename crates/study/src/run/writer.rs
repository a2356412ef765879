//! Writes a run directory: creates it atomically, then appends one line at a time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::Serialize;

use super::reader::check_file;
use super::{Planned, Resumable, Resumed, Run, RunError, RunInfo, names};
use crate::clock::Utc;
use crate::plan::Plan;
use crate::printable;
use crate::record::{Environment, SCHEMA};

/// The initial contents of a run directory.
#[derive(Debug, Clone, Copy)]
pub struct NewRun<'a, P = Plan> {
    /// The version of rpcgauge that creates the run.
    pub rpcgauge: &'a str,
    /// When the run begins.
    pub created_at: SystemTime,
    /// The study's text, if there was one.
    pub study: Option<&'a str>,
    /// The plan.
    pub plan: &'a P,
}

impl<P: Planned> NewRun<'_, P> {
    pub(super) fn info(&self) -> RunInfo {
        RunInfo {
            schema: SCHEMA,
            rpcgauge: self.rpcgauge.to_owned(),
            created_at: Utc::from(self.created_at).to_string(),
            study: self.plan.name().to_owned(),
            seed: self.plan.seed(),
            kind: P::KIND,
        }
    }
}

/// A run directory that is locked for writing by this process.
#[derive(Debug)]
pub struct RunWriter {
    directory: PathBuf,
    /// Holds the lock: an advisory lock on the open file, which the system releases when the process exits, however it
    /// exits.
    trials: File,
    /// Where the last complete line ends.
    length: u64,
}

impl RunWriter {
    /// Creates a run directory. An existing empty directory is used.
    ///
    /// # Errors
    /// `directory` already exists and is not an empty directory, or it cannot be created or filled. Nothing is left
    /// behind.
    pub fn create<P: Planned>(directory: &Path, new: &NewRun<'_, P>) -> Result<Self, RunError> {
        let failed = |error| RunError::Create(directory.to_owned(), error);
        if is_occupied(directory).map_err(failed)? {
            return Err(RunError::Exists(directory.to_owned()));
        }
        let parent = match directory.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let made = make_parents(parent).map_err(failed)?;
        let draft = Draft::beside(parent).map_err(failed);
        let result = draft.and_then(|draft| {
            // A directory that cannot be filled is removed, so the error names the whole directory.
            draft.fill(new).map_err(|error| match error {
                RunError::Write(_, error) => failed(error),
                other => other,
            })?;
            draft.settle(directory)
        });
        if result.is_err() {
            // Best effort: the first error is the one returned.
            for folder in made.iter().rev() {
                let _ = fs::remove_dir(folder);
            }
        }
        result?;
        Self::open(directory)
    }

    /// Resumes an interrupted run. If the last line was cut off, it is removed from the file. Callers must call
    /// [`Resumed::begin_again`] before they append anything.
    ///
    /// # Errors
    /// The directory cannot be read ([`Run::read`]), is being written by another program, or its plan has limits that
    /// are out of bounds.
    pub fn resume<R: Resumable>(directory: &Path) -> Result<Resumed<R>, RunError> {
        // Locked before it is read, so that the run does not change between reading and appending.
        Run::check(directory)?;
        let mut writer = Self::open(directory)?;
        let run = R::open(directory)?;
        writer.cut_to(run.whole_bytes())?;
        Ok(Resumed::new(writer, run))
    }

    fn open(directory: &Path) -> Result<Self, RunError> {
        let path = directory.join(names::TRIALS);
        let failed = |source| RunError::write(&path, source);
        check_file(directory, names::TRIALS)?;
        let trials = OpenOptions::new().append(true).open(&path);
        let trials = trials.map_err(failed)?;
        let locked = flock(&trials, FlockOperation::NonBlockingLockExclusive);
        locked.map_err(|error| match error {
            Errno::WOULDBLOCK => RunError::Locked(directory.to_owned()),
            _ => failed(error.into()),
        })?;
        let length = trials.metadata().map_err(failed)?.len();
        Ok(Self {
            directory: directory.to_owned(),
            trials,
            length,
        })
    }

    /// The run directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Appends one record and syncs it to disk. If that fails, the file still ends with the previous record.
    pub fn append(&mut self, record: &impl Serialize) -> Result<(), RunError> {
        let path = self.directory.join(names::TRIALS);
        let line = serde_json::to_string(record);
        let line = line.map_err(|error| RunError::Encode(path.clone(), error))?;
        let line = printable::json(line) + "\n";
        let written = self.trials.write_all(line.as_bytes());
        if let Err(source) = written.and_then(|()| self.trials.sync_data()) {
            // Part of the line may have been written to a full disk. If truncation fails too, the
            // reader drops the partial line.
            let _ = self.trials.set_len(self.length);
            return Err(RunError::write(&path, source));
        }
        self.length += line.len() as u64;
        Ok(())
    }

    /// Writes `environment.json`, replacing an earlier one. If that fails, the earlier one is kept.
    pub fn write_environment(&self, environment: &Environment) -> Result<(), RunError> {
        let path = self.directory.join(names::ENVIRONMENT);
        let draft = self.directory.join(".environment.json.draft");
        let written = write_json(&draft, environment)
            .and_then(|()| fs::rename(&draft, &path).map_err(|e| RunError::write(&path, e)));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written
    }

    fn cut_to(&mut self, length: u64) -> Result<(), RunError> {
        if length < self.length {
            let path = self.directory.join(names::TRIALS);
            let cut = self.trials.set_len(length);
            cut.map_err(|error| RunError::Write(path, error))?;
            self.length = length;
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn replace_file(&mut self, file: File) {
        self.trials = file;
    }
}

/// Whether something other than an empty directory is at `path`.
fn is_occupied(path: &Path) -> io::Result<bool> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
        Ok(meta) if meta.is_dir() => Ok(fs::read_dir(path)?.next().is_some()),
        Ok(_) => Ok(true),
    }
}

/// Creates any missing folders of a path, and returns those that it created.
fn make_parents(parent: &Path) -> io::Result<Vec<PathBuf>> {
    let is_absent = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let absent = parent.ancestors().take_while(is_absent);
    let mut absent: Vec<PathBuf> = absent.map(Path::to_owned).collect();
    absent.reverse();
    for (made, folder) in absent.iter().enumerate() {
        if let Err(error) = fs::create_dir(folder) {
            for folder in absent[..made].iter().rev() {
                let _ = fs::remove_dir(folder);
            }
            return Err(error);
        }
    }
    Ok(absent)
}

/// A run directory under a temporary name, which is removed on drop unless it has settled. The path is empty once it
/// has.
struct Draft(PathBuf);

impl Draft {
    fn beside(parent: &Path) -> io::Result<Self> {
        let mut number = 0_u32;
        loop {
            let path = parent.join(format!(".rpcgauge-draft-{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    fn fill<P: Planned>(&self, new: &NewRun<'_, P>) -> Result<(), RunError> {
        write_json(&self.0.join(names::RUN), &new.info())?;
        write_json(&self.0.join(names::PLAN), new.plan)?;
        if let Some(text) = new.study {
            write_file(&self.0.join(names::STUDY), text.as_bytes())?;
        }
        write_file(&self.0.join(names::TRIALS), b"")?;
        let logs = self.0.join(names::LOGS);
        fs::create_dir(&logs).map_err(|source| RunError::write(&logs, source))
    }

    fn settle(mut self, place: &Path) -> Result<(), RunError> {
        fs::rename(&self.0, place).map_err(|source| match source.kind() {
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => {
                RunError::Exists(place.to_owned())
            }
            _ => RunError::Create(place.to_owned(), source),
        })?;
        self.0.clear();
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), RunError> {
    let text = serde_json::to_string_pretty(value);
    let text = text.map_err(|error| RunError::Encode(path.to_owned(), error))?;
    write_file(path, (printable::json(text) + "\n").as_bytes())
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    let write = || {
        let mut file = File::create(path)?;
        file.write_all(bytes)?;
        file.sync_data()
    };
    write().map_err(|source| RunError::write(path, source))
}
