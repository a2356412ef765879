//! The destination of a run's records.

use std::error::Error;

use rpcgauge_study::record::{Environment, Record};
use rpcgauge_study::run::RunWriter;

/// Why a record was not kept. The text is one line and names the place.
pub type RecordsError = Box<dyn Error + Send + Sync>;

/// Keeps records as they come: a run directory, or a list in memory.
pub trait Records {
    /// Stores one record durably before it returns.
    ///
    /// # Errors
    /// The record could not be stored; the run ends then.
    fn append(&mut self, record: &Record) -> Result<(), RecordsError>;

    /// Stores what is known about the machine and the subjects. Called before the first record, and
    /// again when more is known.
    ///
    /// # Errors
    /// It could not be stored; the run ends then.
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

/// Records in memory, for a short measurement that leaves nothing behind.
impl Records for Vec<Record> {
    fn append(&mut self, record: &Record) -> Result<(), RecordsError> {
        self.push(record.clone());
        Ok(())
    }

    fn environment(&mut self, _: &Environment) -> Result<(), RecordsError> {
        Ok(())
    }
}
