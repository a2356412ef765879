//! A run of an application's study, as stored on disk.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{AppBlock, AppPlan, AppRecord, AppVariant, SliceOutcome, SliceRecord, StartRecord};
use crate::record::{Difference, Environment, Provenance};
use crate::run::{
    Resumable, Run, RunError, RunInfo, RunKind, each_record, names, optional, read_json, read_text,
};

/// A run of an application's study.
#[derive(Debug, Clone, PartialEq)]
pub struct AppRun {
    /// Its directory.
    pub directory: PathBuf,
    /// The version, study, seed and kind of the run.
    pub info: RunInfo,
    /// The study as given.
    pub study: Option<String>,
    /// The plan.
    pub plan: AppPlan,
    /// The machine; `None` only if the run ended before its first record.
    pub environment: Option<Environment>,
    /// The starts of the services, in order.
    pub starts: Vec<StartRecord>,
    /// The slices that have ended, in the order in which they ended.
    pub slices: Vec<SliceRecord>,
    /// Damage that was tolerated, one line each.
    pub warnings: Vec<String>,
    /// Bytes of `trials.jsonl` up to the end of its last complete line.
    pub whole_bytes: u64,
}

impl AppRun {
    /// Reads the run in `directory`.
    ///
    /// # Errors
    /// The errors of [`Run::read`], or the run is not of an application.
    pub fn read(directory: &Path) -> Result<Self, RunError> {
        let info = Run::check(directory)?;
        info.kind.must_be(RunKind::App, directory)?;
        let plan: AppPlan = read_json(directory, names::PLAN)?;
        plan.check().map_err(|problem| RunError::Damaged {
            path: directory.join(names::PLAN),
            line: None,
            problem,
        })?;
        let mut run = Self {
            directory: directory.to_owned(),
            info,
            study: optional(read_text(directory, names::STUDY))?,
            environment: optional(read_json(directory, names::ENVIRONMENT))?,
            plan,
            starts: Vec::new(),
            slices: Vec::new(),
            warnings: Vec::new(),
            whole_bytes: 0,
        };
        let mut seen = BTreeSet::new();
        let lines = each_record(directory, |_, record: AppRecord| {
            match record {
                AppRecord::Start(start) => run.starts.push(*start),
                AppRecord::Slice(slice) => {
                    belongs(&run.plan, &slice)?;
                    let place = (slice.invocation, slice.block, slice.variant.clone());
                    if !seen.insert(place) {
                        return Err(format!(
                            "the slice of \"{}\" in block {} of invocation {} is already recorded",
                            slice.variant, slice.block, slice.invocation
                        ));
                    }
                    run.slices.push(*slice);
                }
                AppRecord::Restart { invocation } => {
                    run.forget(invocation);
                    seen.retain(|(of, ..)| *of != invocation);
                }
            }
            Ok(())
        })?;
        run.whole_bytes = lines.whole_bytes;
        run.warnings.extend(lines.cut_off);
        run.provenance().map_err(|difference| RunError::Damaged {
            path: directory.join(names::TRIALS),
            line: None,
            problem: format!("its invocations cannot be compared: {difference}"),
        })?;
        Ok(run)
    }

    fn of(&self, invocation: u32) -> impl Iterator<Item = &SliceRecord> {
        let slices = self.slices.iter();
        slices.filter(move |slice| slice.invocation == invocation)
    }

    /// Whether nothing remains to be done in an invocation. A failed slice ends its invocation, or only its own set of
    /// services if the sets did not run at the same time.
    fn is_complete(&self, invocation: u32) -> bool {
        let is_failed = |slice: &&SliceRecord| matches!(slice.outcome, SliceOutcome::Failed { .. });
        let failed = self.of(invocation).filter(is_failed);
        let failed: BTreeSet<&str> = failed.map(|slice| &*slice.variant).collect();
        let is_ended = |(place, variant): (usize, &AppVariant)| {
            let blocks = self.plan.blocks.iter();
            let planned = blocks
                .filter(|block| block.invocation == invocation && block.order.contains(&place));
            let ended = self.of(invocation).filter(|s| s.variant == variant.name);
            failed.contains(&*variant.name) || planned.count() == ended.count()
        };
        let mut starts = self.starts.iter();
        let is_one_by_one = starts
            .any(|start| start.invocation == invocation && start.sets < self.plan.variants.len());
        let mut variants = self.plan.variants.iter().enumerate();
        (!failed.is_empty() && !is_one_by_one) || variants.all(is_ended)
    }

    /// The invocations of the plan that are complete.
    fn complete(&self) -> BTreeSet<u32> {
        let all = 0..self.plan.invocations();
        all.filter(|number| self.is_complete(*number)).collect()
    }
}

impl Resumable for AppRun {
    type Part = AppBlock;

    fn open(directory: &Path) -> Result<Self, RunError> {
        Self::read(directory)
    }

    fn directory(&self) -> &Path {
        &self.directory
    }

    fn whole_bytes(&self) -> u64 {
        self.whole_bytes
    }

    fn missing(&self) -> Vec<AppBlock> {
        let complete = self.complete();
        let mut blocks = self.plan.blocks.clone();
        blocks.retain(|block| !complete.contains(&block.invocation));
        blocks
    }

    fn broken_off(&self) -> BTreeSet<u32> {
        let complete = self.complete();
        let starts = self.starts.iter().map(|start| start.invocation);
        let begun = starts.chain(self.slices.iter().map(|slice| slice.invocation));
        begun.filter(|number| !complete.contains(number)).collect()
    }

    fn failed(&self) -> BTreeSet<u32> {
        let slices = self.slices.iter();
        let failed = slices.filter(|slice| matches!(slice.outcome, SliceOutcome::Failed { .. }));
        failed.map(|slice| slice.invocation).collect()
    }

    fn forget(&mut self, invocation: u32) {
        self.starts.retain(|start| start.invocation != invocation);
        self.slices.retain(|slice| slice.invocation != invocation);
    }

    fn is_begun(&self) -> bool {
        !self.starts.is_empty()
    }

    fn environment(&self) -> Option<&Environment> {
        self.environment.as_ref()
    }

    fn provenance(&self) -> Result<Provenance, Difference> {
        let mut provenance = Provenance::default();
        for start in &self.starts {
            if let Some(environment) = &start.environment {
                provenance.add_environment(environment)?;
            }
            provenance.add_application(&self.plan.app, &start.build, &start.load_generator)?;
        }
        Ok(provenance)
    }
}

/// Checks that a slice is in the plan.
fn belongs(plan: &AppPlan, slice: &SliceRecord) -> Result<(), String> {
    let is_block =
        |block: &&AppBlock| (block.invocation, block.block) == (slice.invocation, slice.block);
    let block = plan.blocks.iter().find(is_block);
    let mut variants = plan.variants.iter();
    let variant = variants.position(|variant| variant.name == slice.variant);
    match (block, variant) {
        (Some(block), Some(variant)) if block.order.contains(&variant) => Ok(()),
        _ => Err(format!(
            "the slice of \"{}\" in block {} of invocation {} is not in the plan",
            slice.variant, slice.block, slice.invocation
        )),
    }
}
