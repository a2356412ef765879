//! Checks records that are read or will be written: one that contradicts itself would make a report wrong.

use rpcgauge_trial::{MAX_CALLS, are_short, is_amount, is_rate};

use super::{EventsRecord, FloorRecord, MAX_EVENTS, TrialOutcome, TrialRecord};

/// The error is the reason why a record is damaged, as part of a sentence.
type Check = Result<(), String>;

fn holds(holds: bool, what: &str) -> Check {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

impl TrialRecord {
    /// Checks a trial's figures against each other. A record that fails this check must not be written,
    /// because it would make the run directory unreadable.
    ///
    /// # Errors
    /// The reason why the record is damaged, as part of a sentence.
    pub fn check(&self) -> Result<(), String> {
        let is_rate = self.rate.is_none_or(is_rate);
        holds(is_rate, "calls cannot be sent at its rate")?;
        match &self.outcome {
            TrialOutcome::Measured(measured) => measured.check(),
            TrialOutcome::Failed { .. } => Ok(()),
        }
    }
}

impl EventsRecord {
    pub(crate) fn check(&self) -> Check {
        let fit = self.events.len() <= MAX_EVENTS;
        holds(fit, "it has more events than are kept")?;
        let mut events = self.events.iter();
        let are_whole = events.all(|event| event.begin_ns <= event.end_ns);
        holds(are_whole, "one of its events ends before it begins")
    }
}

impl FloorRecord {
    pub(crate) fn check(&self) -> Check {
        let has_calls = (1..=MAX_CALLS).contains(&self.latency.count());
        holds(has_calls, "a floor must have the times of its round trips")?;
        holds(
            are_short(&self.latency),
            "a round trip of a floor is longer than a year",
        )?;
        holds(
            is_amount(self.client_cpu_ns),
            "a floor's CPU time must be a non-negative number",
        )
    }
}
