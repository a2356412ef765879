//! Checks records that are read or will be written: one that contradicts itself would make a report wrong.

use rpcgauge_trial::{MAX_CALLS, are_short, is_amount, is_rate};

use super::{EventsRecord, FloorRecord, MAX_EVENTS, TrialOutcome, TrialRecord};

impl TrialRecord {
    /// Checks a trial's figures against each other. A record that fails this check must not be written,
    /// because it would make the run directory unreadable.
    ///
    /// # Errors
    /// The reason why the record is damaged, as part of a sentence.
    pub fn check(&self) -> Result<(), String> {
        if !self.rate.is_none_or(is_rate) {
            return Err("calls cannot be sent at its rate".to_owned());
        }
        match &self.outcome {
            TrialOutcome::Measured(measured) => measured.check(),
            TrialOutcome::Failed { .. } => Ok(()),
        }
    }
}

impl EventsRecord {
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut events = self.events.iter();
        let problem = if self.events.len() > MAX_EVENTS {
            "it has more events than are kept"
        } else if events.any(|event| event.begin_ns > event.end_ns) {
            "one of its events ends before it begins"
        } else {
            return Ok(());
        };
        Err(problem.to_owned())
    }
}

impl FloorRecord {
    pub(crate) fn check(&self) -> Result<(), String> {
        let problem = if !(1..=MAX_CALLS).contains(&self.latency.count()) {
            "a floor must have the times of its round trips"
        } else if !are_short(&self.latency) {
            "a round trip of a floor is longer than a year"
        } else if !is_amount(self.client_cpu_ns) {
            "a floor's CPU time must be a non-negative number"
        } else {
            return Ok(());
        };
        Err(problem.to_owned())
    }
}
