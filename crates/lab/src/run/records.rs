//! Where a run's records are written.

use std::error::Error;

use rpcgauge_study::record::{Environment, Record};
use rpcgauge_study::run::RunWriter;

/// Why a record was not stored. The text is one line and names the file or folder.
pub type RecordsError = Box<dyn Error + Send + Sync>;

/// Stores records as they are completed: in a run directory or a list in memory.
pub trait Records {
    /// Stores one record durably before returning.
    ///
    /// # Errors
    /// The record could not be stored; this ends the run.
    fn append(&mut self, record: &Record) -> Result<(), RecordsError>;

    /// Stores what is known about the machine and the subjects. Called before the first record, and
    /// again whenever more is known.
    ///
    /// # Errors
    /// The environment could not be stored; this ends the run.
    fn environment(&mut self, environment: &Environment) -> Result<(), RecordsError>;
}

impl Records for RunWriter {
    fn append(&mut self, record: &Record) -> Result<(), RecordsError> {
        Ok(RunWriter::append(self, record)?)
    }

    fn environment(&mut self, environment: &Environment) -> Result<(), RecordsError> {
        Ok(self.write_environment(environment)?)
    }
}

/// Stores records in memory, for a short measurement that leaves nothing behind.
impl Records for Vec<Record> {
    fn append(&mut self, record: &Record) -> Result<(), RecordsError> {
        self.push(record.clone());
        Ok(())
    }

    fn environment(&mut self, _: &Environment) -> Result<(), RecordsError> {
        Ok(())
    }
}
