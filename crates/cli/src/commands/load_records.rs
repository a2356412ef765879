//! The records of a load. They are written to the run directory and also kept in memory, because a
//! load cannot be resumed and its results must survive a full disk.

use rpcgauge_lab::{Records, RecordsError};
use rpcgauge_study::record::{Environment, Record};
use rpcgauge_study::run::{Run, RunError, RunWriter};
use rpcgauge_study::system::sentence;

use crate::exit::Failure;

/// A run directory, and a copy of its records.
pub(super) struct LoadRecords {
    writer: RunWriter,
    run: Run,
    /// Why writing stopped; `None` while writing succeeds.
    unwritten: Option<RunError>,
}

impl LoadRecords {
    /// Creates records for a run directory that has none yet.
    pub(super) fn new(writer: RunWriter) -> Result<Self, Failure> {
        let run = Run::read(writer.directory()).map_err(Failure::cannot)?;
        Ok(Self {
            writer,
            run,
            unwritten: None,
        })
    }

    /// Returns the run, and an error if its directory is incomplete. Releases the directory.
    pub(super) fn finish(self) -> (Run, Option<Failure>) {
        let unwritten = self.unwritten.as_ref().map(|error| {
            let more_room = if is_full(error) {
                ", and give the next load an --out with more room"
            } else {
                ""
            };
            Failure::cannot(format!(
                "{}; the run directory is incomplete: keep what was printed{more_room}",
                what(error)
            ))
        });
        (self.run, unwritten)
    }

    /// Writes, unless an earlier write failed.
    fn write(&mut self, write: impl FnOnce(&mut RunWriter) -> Result<(), RunError>) {
        if self.unwritten.is_none() {
            self.unwritten = write(&mut self.writer).err();
        }
    }
}

impl Records for LoadRecords {
    fn append(&mut self, record: &Record) -> Result<(), RecordsError> {
        match record {
            Record::Trial(trial) => self.run.trials.push((**trial).clone()),
            Record::Floor(floor) => self.run.floors.push(floor.clone()),
            // Only a resumed run needs these records.
            Record::Invocation(_)
            | Record::Subjects(_)
            | Record::Events(_)
            | Record::OwnProcesses { .. }
            | Record::Restart { .. } => {}
        }
        self.write(|writer| writer.append(record));
        Ok(())
    }

    fn environment(&mut self, environment: &Environment) -> Result<(), RecordsError> {
        let is_first = self.run.environment.is_none();
        self.run.environment = Some(environment.clone());
        self.write(|writer| writer.write_environment(environment));
        match &self.unwritten {
            Some(error) if is_first => {
                let other = if is_full(error) {
                    "an --out with more room"
                } else {
                    "another --out"
                };
                Err(format!("{}; no calls were made: give {other}", what(error)).into())
            }
            _ => Ok(()),
        }
    }
}

/// Whether the write failed for lack of space.
fn is_full(error: &RunError) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error, RunError::Write(_, source)
        if matches!(source.kind(), FileTooLarge | QuotaExceeded | StorageFull))
}

/// The error's text without the advice to resume, since a load cannot be resumed.
fn what(error: &RunError) -> String {
    match error {
        RunError::Write(path, source) => {
            format!("cannot write {}: {}", path.display(), sentence(source))
        }
        other => other.to_string(),
    }
}
