//! Where records go as they come.

use std::error::Error;

use rpcgauge_study::record::{Environment, Record};

/// Why a record was not kept. The text is one line and names the place.
pub type RecordsError = Box<dyn Error + Send + Sync>;

/// Keeps records as they come: a run directory, or a list in memory.
pub trait Records {
    /// Keeps one record for good before it returns.
    ///
    /// # Errors
    /// When it could not be kept; the run ends then.
    fn append(&mut self, record: &Record) -> Result<(), RecordsError>;

    /// Keeps what is known of the machine and the subjects; called again when more is known.
    ///
    /// # Errors
    /// When it could not be kept; the run ends then.
    fn environment(&mut self, environment: &Environment) -> Result<(), RecordsError>;

    /// The trials that are recorded already, by their place in the plan: they are not run again.
    fn recorded(&self) -> Vec<u32>;
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

    fn recorded(&self) -> Vec<u32> {
        self.iter()
            .filter_map(|record| match record {
                Record::Trial(trial) => Some(trial.trial.index),
                Record::Floor(_) => None,
            })
            .collect()
    }
}
