//! A run of a study of an application as it lies on disk.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{AppPlan, AppRecord, SliceRecord, StartRecord};
use crate::record::Environment;
use crate::run::{
    Run, RunError, RunInfo, RunKind, each_record, names, optional, read_json, read_text,
};

/// A run of a study of an application.
#[derive(Debug, Clone, PartialEq)]
pub struct AppRun {
    /// Where it lies.
    pub directory: PathBuf,
    /// What it is.
    pub info: RunInfo,
    /// The study as given.
    pub study: Option<String>,
    /// What was to be done.
    pub plan: AppPlan,
    /// The machine; absent only in a run that ended before its first record.
    pub environment: Option<Environment>,
    /// The starts of the services, in their order.
    pub starts: Vec<StartRecord>,
    /// The slices that ended, in the order in which they did.
    pub slices: Vec<SliceRecord>,
    /// What is damaged and was tolerated, one line each.
    pub warnings: Vec<String>,
}

impl AppRun {
    /// Reads the run in `directory`.
    ///
    /// # Errors
    /// As [`Run::read`], or it is a run of calls.
    pub fn read(directory: &Path) -> Result<Self, RunError> {
        let info = Run::check(directory)?;
        info.kind.must_be(RunKind::App, directory)?;
        let plan: AppPlan = read_json(directory, names::PLAN)?;
        plan.check().map_err(|problem| RunError::Damaged {
            path: directory.join(names::PLAN),
            line: None,
            problem,
        })?;
        let (mut starts, mut slices) = (Vec::new(), Vec::new());
        let mut seen = BTreeSet::new();
        let lines = each_record(directory, |_, record: AppRecord| {
            match record {
                AppRecord::Start(start) => starts.push(start),
                AppRecord::Slice(slice) => {
                    belongs(&plan, &slice)?;
                    let place = (slice.invocation, slice.block, slice.variant.clone());
                    if !seen.insert(place) {
                        return Err(format!(
                            "the slice of \"{}\" in block {} of invocation {} was recorded already",
                            slice.variant, slice.block, slice.invocation
                        ));
                    }
                    slices.push(*slice);
                }
            }
            Ok(())
        })?;
        Ok(Self {
            directory: directory.to_owned(),
            info,
            study: optional(read_text(directory, names::STUDY))?,
            environment: optional(read_json(directory, names::ENVIRONMENT))?,
            plan,
            starts,
            slices,
            warnings: lines.cut_off.into_iter().collect(),
        })
    }
}

/// Whether a slice is one of the plan.
fn belongs(plan: &AppPlan, slice: &SliceRecord) -> Result<(), String> {
    let is_round =
        |round: &&super::Round| (round.invocation, round.block) == (slice.invocation, slice.block);
    let round = plan.rounds.iter().find(is_round);
    let mut variants = plan.variants.iter();
    let variant = variants.position(|variant| variant.name == slice.variant);
    match (round, variant) {
        (Some(round), Some(variant)) if round.order.contains(&variant) => Ok(()),
        _ => Err(format!(
            "the slice of \"{}\" in block {} of invocation {} is not in the plan",
            slice.variant, slice.block, slice.invocation
        )),
    }
}
