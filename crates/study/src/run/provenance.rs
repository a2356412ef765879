//! The provenance of a run's invocations: reads it, and compares invocations with each other.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::Run;
use crate::record::{
    Difference, Environment, InvocationRecord, Provenance, StackRecord, SubjectsRecord,
    TrialOutcome,
};

/// What an invocation was measured with.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredWith {
    /// The program and the machine.
    pub environment: Environment,
    /// The stacks of each variant whose subjects were ready, by its name.
    pub stacks: BTreeMap<String, Vec<StackRecord>>,
}

/// A caution about a run of several invocations.
const UNKNOWN: &str = "the run does not record what each invocation was measured with, because an earlier \
    version of rpcgauge recorded it: if a subject, rpcgauge or the machine changed before the run was resumed, its \
    figures mix results from before and after the change";

impl Run {
    /// What all invocations were measured with; empty if they do not record it.
    ///
    /// # Errors
    /// The invocations were not all measured with the same programs on the same machine. [`Run::read`] refuses such a
    /// run.
    pub fn provenance(&self) -> Result<Provenance, Difference> {
        let mut provenance = Provenance::default();
        for (number, with) in &self.invocations {
            provenance.add_environment(&with.environment)?;
            for (variant, stacks) in &with.stacks {
                provenance.add_subjects(&SubjectsRecord {
                    invocation: *number,
                    variant: variant.clone(),
                    stacks: stacks.clone(),
                })?;
            }
        }
        Ok(provenance)
    }

    /// Adds an invocation that has begun.
    pub(super) fn add_invocation(&mut self, record: InvocationRecord) -> Result<(), String> {
        let number = record.invocation;
        if number >= self.plan.invocations {
            return Err(format!("invocation {number} is not in the plan"));
        }
        match self.invocations.entry(number) {
            Entry::Occupied(_) => Err(format!("invocation {number} has already begun")),
            Entry::Vacant(new) => {
                new.insert(MeasuredWith {
                    environment: record.environment,
                    stacks: BTreeMap::new(),
                });
                Ok(())
            }
        }
    }

    /// Adds the subjects of a variant.
    pub(super) fn add_subjects(&mut self, record: SubjectsRecord) -> Result<(), String> {
        let SubjectsRecord {
            invocation,
            variant,
            stacks,
        } = record;
        let planned = self.plan.variant(&variant);
        let planned = planned.map(|variant| variant.settings.target.stacks());
        if !planned.is_some_and(|planned| planned.eq(stacks.iter().map(|s| s.stack.as_str()))) {
            return Err(format!(
                "the stacks differ from those of the variant \"{variant}\" in the plan"
            ));
        }
        let Some(with) = self.invocations.get_mut(&invocation) else {
            return Err(format!("invocation {invocation} has not begun"));
        };
        match with.stacks.insert(variant, stacks) {
            Some(_) => Err("the stacks of this variant are already recorded".to_owned()),
            None => Ok(()),
        }
    }

    /// Refuses invocations that were measured with different builds, versions or machines, and invocations that do not
    /// record what they were measured with, unless none of them does.
    pub(super) fn check_provenance(&mut self) -> Result<(), String> {
        let differs = |difference| format!("its invocations cannot be compared: {difference}");
        self.provenance().map_err(differs)?;
        if self.invocations.is_empty() {
            let mut numbers = self.trials.iter().map(|record| record.trial.invocation);
            let first = numbers.next();
            if numbers.any(|number| Some(number) != first) && !self.plan.is_live() {
                self.warnings.push(UNKNOWN.to_owned());
            }
            return Ok(());
        }
        for record in &self.trials {
            let (number, variant) = (record.trial.invocation, &record.variant);
            let target = &self.plan.variants[record.trial.variant as usize]
                .settings
                .target;
            let has_subjects = matches!(record.outcome, TrialOutcome::Measured(_))
                && target.stacks().next().is_some();
            let with = self.invocations.get(&number);
            if !with.is_some_and(|with| !has_subjects || with.stacks.contains_key(variant)) {
                return Err(format!(
                    "no record states what \"{variant}\" was measured with in invocation {number}"
                ));
            }
        }
        Ok(())
    }
}
