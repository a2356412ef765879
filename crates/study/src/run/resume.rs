//! Resumes an interrupted run: which of its records are valid, and what remains to be done.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Run, RunError, RunWriter, names};
use crate::plan::TrialSpec;
use crate::record::{Difference, Environment, Provenance, Record, TrialOutcome};

/// A resumed run.
#[derive(Debug)]
pub struct Resumed<R: Resumable = Run> {
    /// Appends to the run.
    pub writer: RunWriter,
    /// The valid part of the run, with warnings about it. Interrupted invocations are not valid.
    pub run: R,
    /// What remains to be done, in the plan's order. This includes all parts of an interrupted invocation, because it
    /// begins again.
    pub missing: Vec<R::Part>,
    /// The interrupted invocations.
    broken_off: BTreeSet<u32>,
}

/// A run that can be resumed invocation by invocation: figures that are compared must come from the same processes.
pub trait Resumable: Sized {
    /// The unit of work that an invocation consists of.
    type Part;

    /// Reads a run in order to continue it.
    ///
    /// # Errors
    /// The run cannot be read, or cannot be continued the way it began.
    fn open(directory: &Path) -> Result<Self, RunError>;

    /// Its directory.
    fn directory(&self) -> &Path;

    /// Bytes of `trials.jsonl` up to the end of its last complete line.
    fn whole_bytes(&self) -> u64;

    /// The parts of the plan that remain to be done, in the plan's order. A failed part counts as done.
    fn missing(&self) -> Vec<Self::Part>;

    /// The interrupted invocations: those that have a record, but not for all of their parts.
    fn broken_off(&self) -> BTreeSet<u32>;

    /// The invocations in which something failed.
    fn failed(&self) -> BTreeSet<u32>;

    /// Drops what was recorded for an invocation.
    fn forget(&mut self, invocation: u32);

    /// Whether the run has any valid measurements.
    fn is_begun(&self) -> bool;

    /// The machine.
    fn environment(&self) -> Option<&Environment>;

    /// The provenance of the valid part; empty if it is not recorded.
    ///
    /// # Errors
    /// The invocations were not all measured with the same programs on the same machine.
    fn provenance(&self) -> Result<Provenance, Difference>;
}

impl Resumable for Run {
    type Part = TrialSpec;

    fn open(directory: &Path) -> Result<Self, RunError> {
        let run = Self::read(directory)?;
        let limits = run.plan.limits.checked();
        limits.map_err(|error| RunError::damaged(directory.join(names::PLAN), error))?;
        Ok(run)
    }

    fn directory(&self) -> &Path {
        &self.directory
    }

    fn whole_bytes(&self) -> u64 {
        self.whole_bytes
    }

    fn missing(&self) -> Vec<TrialSpec> {
        Self::missing(self)
    }

    fn broken_off(&self) -> BTreeSet<u32> {
        let missing: BTreeSet<u32> = self.missing().iter().map(|t| t.invocation).collect();
        let trials = self.trials.iter().map(|record| record.trial.invocation);
        let begun = trials
            .chain(self.floors.iter().map(|floor| floor.invocation))
            .chain(self.invocations.keys().copied());
        begun.filter(|number| missing.contains(number)).collect()
    }

    fn failed(&self) -> BTreeSet<u32> {
        let trials = self.trials.iter();
        let failed = trials.filter(|record| matches!(record.outcome, TrialOutcome::Failed { .. }));
        failed.map(|record| record.trial.invocation).collect()
    }

    fn forget(&mut self, invocation: u32) {
        Self::forget(self, invocation, &mut []);
    }

    fn is_begun(&self) -> bool {
        !self.trials.is_empty()
    }

    fn environment(&self) -> Option<&Environment> {
        self.environment.as_ref()
    }

    fn provenance(&self) -> Result<Provenance, Difference> {
        Self::provenance(self)
    }
}

impl<R: Resumable> Resumed<R> {
    pub(super) fn new(writer: RunWriter, mut run: R) -> Self {
        let broken_off = run.broken_off();
        for invocation in &broken_off {
            run.forget(*invocation);
        }
        Self {
            writer,
            missing: run.missing(),
            run,
            broken_off,
        }
    }

    /// Makes invocations in which something failed begin again, as if they had been interrupted.
    pub fn retry_failed(&mut self) {
        let invocations = self.run.failed();
        for invocation in &invocations {
            self.run.forget(*invocation);
        }
        self.missing = self.run.missing();
        self.broken_off.extend(invocations);
    }

    /// Records that the interrupted invocations begin again. This is separate from [`RunWriter::resume`] so that a run
    /// that is read but then refused keeps its records.
    pub fn begin_again(&mut self) -> Result<(), RunError> {
        for invocation in std::mem::take(&mut self.broken_off) {
            // This line is the same in runs of every kind.
            self.writer.append(&Record::Restart { invocation })?;
        }
        Ok(())
    }
}
