//! Reads a run directory, and checks that it is complete and consistent.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use rpcgauge_message::{whole_file, without_position};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{MeasuredWith, RunError, RunInfo, RunKind, names};
use crate::plan::{Plan, TrialSpec, Variant};
use crate::read::refusal_of_json;
use crate::record::{
    Environment, EventsRecord, FloorRecord, Record, SCHEMA, TrialOutcome, TrialRecord, WorkerRecord,
};
use crate::settings::Placement;

/// The maximum length of a line of `trials.jsonl`, bytes. The record of a trial has about ten thousand.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// A variant that has a floor: the invocation, the block, the placement and the variant's index.
type Under = (u32, u32, Placement, usize);

/// A run, as stored on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its directory.
    pub directory: PathBuf,
    /// The version, study, seed and kind of the run.
    pub info: RunInfo,
    /// The study as given, if there was a file.
    pub study: Option<String>,
    /// The plan.
    pub plan: Plan,
    /// The machine; `None` only if the run ended before its first record.
    pub environment: Option<Environment>,
    /// What each invocation was measured with; empty for a run by an earlier version that did not record it.
    pub invocations: BTreeMap<u32, MeasuredWith>,
    /// The trials that have ended, in the order in which they ended.
    pub trials: Vec<TrialRecord>,
    /// The floors, in the order in which they were measured.
    pub floors: Vec<FloorRecord>,
    /// The events of runtimes, in the order in which their processes exited.
    pub events: Vec<EventsRecord>,
    /// The workers of a cluster, in the order in which they began; empty for every other run. Each trial merges what
    /// the workers of one variant measured.
    pub workers: Vec<WorkerRecord>,
    /// The run that checks the map of this one, if it was measured.
    pub map_check: Option<Box<Self>>,
    /// Damage that was tolerated, one line each.
    pub warnings: Vec<String>,
    /// Bytes of `trials.jsonl` up to the end of its last complete line.
    pub(super) whole_bytes: u64,
}

impl Run {
    /// Reads the run in `directory`.
    ///
    /// An incomplete last line of `trials.jsonl`, as a crash can leave it, is dropped with a warning.
    ///
    /// # Errors
    /// The directory is not a run directory, was written by a version with another schema, has a missing or damaged
    /// file, or has a record that does not belong to the plan.
    pub fn read(directory: &Path) -> Result<Self, RunError> {
        let mut run = Self::read_one(directory)?;
        let check = directory.join(names::CHECK);
        if check.join(names::RUN).exists() {
            // The run is valid without it.
            match Self::read_one(&check) {
                Ok(check) => run.map_check = Some(Box::new(check)),
                Err(error) => run
                    .warnings
                    .push(format!("the check of the map is left out: {error}")),
            }
        }
        Ok(run)
    }

    /// Reads the run in `directory`, without a check of its map.
    fn read_one(directory: &Path) -> Result<Self, RunError> {
        let info = Self::check(directory)?;
        info.kind.must_be(RunKind::Calls, directory)?;
        let plan: Plan = read_json(directory, names::PLAN)?;
        let damaged = |problem| RunError::damaged(directory.join(names::PLAN), problem);
        plan.check().map_err(damaged)?;
        let mut run = Self {
            directory: directory.to_owned(),
            info,
            study: optional(read_text(directory, names::STUDY))?,
            plan,
            environment: optional(read_json(directory, names::ENVIRONMENT))?,
            invocations: BTreeMap::new(),
            trials: Vec::new(),
            floors: Vec::new(),
            events: Vec::new(),
            workers: Vec::new(),
            map_check: None,
            warnings: Vec::new(),
            whole_bytes: 0,
        };
        run.read_records()?;
        run.read_workers()?;
        run.check_provenance()
            .map_err(|problem| RunError::damaged(directory.join(names::TRIALS), problem))?;
        if run.environment.is_none() && !(run.trials.is_empty() && run.floors.is_empty()) {
            return Err(RunError::Missing(directory.join(names::ENVIRONMENT)));
        }
        Ok(run)
    }

    /// Reads only `run.json`, to check that the directory contains a run with a schema that this program supports.
    pub(crate) fn check(directory: &Path) -> Result<RunInfo, RunError> {
        /// The part of `run.json` that every schema has.
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
            #[serde(default)]
            rpcgauge: String,
        }
        let version: Version = match read_json(directory, names::RUN) {
            Err(RunError::Missing(_)) if !directory.exists() => {
                return Err(RunError::NoDirectory(directory.to_owned()));
            }
            Err(RunError::Missing(_)) => return Err(RunError::NoRun(directory.to_owned())),
            other => other?,
        };
        if version.schema != SCHEMA {
            return Err(RunError::OtherSchema {
                directory: directory.to_owned(),
                schema: version.schema,
                rpcgauge: version.rpcgauge,
            });
        }
        read_json(directory, names::RUN)
    }

    fn read_records(&mut self) -> Result<(), RunError> {
        let mut done: Vec<Option<usize>> = vec![None; self.plan.trials.len()];
        let mut under = BTreeSet::new();
        let directory = self.directory.clone();
        let lines = each_record(&directory, |number, record: Record| {
            match record {
                Record::Invocation(record) => self.add_invocation(*record)?,
                Record::Subjects(record) => self.add_subjects(record)?,
                Record::Trial(trial) => {
                    self.belongs(&trial, &mut done, number)?;
                    trial.check()?;
                    self.trials.push(*trial);
                }
                Record::Floor(floor) => {
                    self.stands(&floor, &mut under)?;
                    floor.check()?;
                    self.floors.push(floor);
                }
                Record::Events(events) => {
                    self.is_of_plan(&events)?;
                    events.check()?;
                    self.events.push(events);
                }
                Record::OwnProcesses { variants, reason } => {
                    self.plan.separate(&variants, &reason)?;
                }
                Record::Restart { invocation } => {
                    self.forget(invocation, &mut done);
                    under.retain(|(of, ..)| *of != invocation);
                }
            }
            Ok(())
        })?;
        self.whole_bytes = lines.whole_bytes;
        self.warnings.extend(lines.cut_off);
        Ok(())
    }

    /// Drops what was read for an invocation that begins again.
    pub(super) fn forget(&mut self, invocation: u32, done: &mut [Option<usize>]) {
        self.invocations.remove(&invocation);
        self.trials
            .retain(|record| record.trial.invocation != invocation);
        self.floors.retain(|floor| floor.invocation != invocation);
        self.events.retain(|events| events.invocation != invocation);
        for (trial, seen) in self.plan.trials.iter().zip(done) {
            if trial.invocation == invocation {
                *seen = None;
            }
        }
    }

    /// Checks a trial against the plan. `done` has the line of each trial that was seen before.
    fn belongs(
        &self,
        record: &TrialRecord,
        done: &mut [Option<usize>],
        line: usize,
    ) -> Result<(), String> {
        let index = record.trial.index;
        let (Some(planned), Some(seen)) = (
            self.plan.trials.get(index as usize),
            done.get_mut(index as usize),
        ) else {
            let count = self.plan.trials.len();
            return Err(format!(
                "trial {index} is not in the plan, which has {count} trials"
            ));
        };
        if *planned != record.trial {
            return Err(format!("trial {index} differs from the plan"));
        }
        let Variant { name, settings, .. } = &self.plan.variants[planned.variant as usize];
        if let TrialOutcome::Measured(measured) = &record.outcome
            && measured.link.is_none()
            && let Some(link) = settings.target.link()
        {
            return Err(format!(
                "trial {index} does not record what its link {} did",
                link.name
            ));
        }
        if *name != record.variant {
            return Err(format!(
                "trial {index} is of variant \"{}\", but of \"{name}\" in the plan",
                record.variant
            ));
        }
        if let Some(before) = seen.replace(line) {
            return Err(format!(
                "trial {index} was already recorded in line {before}"
            ));
        }
        Ok(())
    }

    /// Checks a floor against the plan. `under` has the variants that already have a floor.
    fn stands(&self, floor: &FloorRecord, under: &mut BTreeSet<Under>) -> Result<(), String> {
        let (invocation, block, placement) = (floor.invocation, floor.block, floor.placement);
        if !self.plan.has_block(invocation, block, placement) {
            let problem =
                "the floor is for an invocation, block or placement that is not in the plan";
            return Err(problem.to_owned());
        }
        for name in &floor.variants {
            let mut variants = self.plan.variants.iter();
            let variant = variants.position(|variant| variant.name == *name);
            let variant = variant.ok_or_else(|| {
                format!("the floor names the variant \"{name}\", which is not in the plan")
            })?;
            if !under.insert((invocation, block, placement, variant)) {
                return Err(format!(
                    "the variant \"{name}\" already has a floor in block {block} of invocation {invocation}"
                ));
            }
        }
        if floor.variants.is_empty() {
            Err("the floor names no variant".to_owned())
        } else {
            Ok(())
        }
    }

    /// Checks events against the plan.
    fn is_of_plan(&self, events: &EventsRecord) -> Result<(), String> {
        let (plan, name) = (&self.plan, &events.variant);
        if plan.variant(name).is_none() {
            return Err(format!(
                "the events name the variant \"{name}\", which is not in the plan"
            ));
        }
        let is_there =
            events.invocation < plan.invocations && plan.placements.contains(&events.placement);
        if is_there {
            Ok(())
        } else {
            Err("the events are for an invocation or placement that is not in the plan".to_owned())
        }
    }

    /// The trials of the plan that have no record yet, in the plan's order. Failed trials have a record.
    pub fn missing(&self) -> Vec<TrialSpec> {
        let done: BTreeSet<u32> = self.trials.iter().map(|one| one.trial.index).collect();
        let is_missing = |trial: &&TrialSpec| !done.contains(&trial.index);
        self.plan
            .trials
            .iter()
            .filter(is_missing)
            .cloned()
            .collect()
    }
}

/// What was found in `trials.jsonl`.
pub(crate) struct Lines {
    /// Bytes up to the end of the last complete line.
    pub(crate) whole_bytes: u64,
    /// A warning if the last line was cut off.
    pub(crate) cut_off: Option<String>,
}

/// Calls `of` with each record of a run and its line number, from 1. Errors name the line. An incomplete last line, as
/// a crash can leave it, is dropped with a warning.
pub(crate) fn each_record<T: DeserializeOwned>(
    directory: &Path,
    mut of: impl FnMut(usize, T) -> Result<(), String>,
) -> Result<Lines, RunError> {
    let path = directory.join(names::TRIALS);
    let unreadable = |source| RunError::Read(path.clone(), source);
    check_file(directory, names::TRIALS)?;
    let mut lines = BufReader::new(File::open(&path).map_err(unreadable)?);
    let (mut whole_bytes, mut line) = (0, Vec::new());
    for number in 1.. {
        line.clear();
        let most = MAX_LINE_BYTES + 1;
        let mut within = (&mut lines).take(most);
        let read = within.read_until(b'\n', &mut line).map_err(unreadable)?;
        let damaged = |problem: String| RunError::Damaged {
            path: path.clone(),
            line: Some(number),
            problem,
        };
        if line.last() != Some(&b'\n') {
            if line.len() as u64 == most {
                let most = MAX_LINE_BYTES >> 20;
                return Err(damaged(format!("the line is longer than {most} MiB")));
            }
            break;
        }
        whole_bytes += read as u64;
        let record = serde_json::from_slice(&line);
        let record = record.map_err(|error| damaged(json_problem::<T>(&line, &error)))?;
        of(number, record).map_err(damaged)?;
    }
    let cut_off = (!line.is_empty()).then(|| {
        format!(
            "{}: the last line was cut off, probably by a crash; its {} bytes were dropped",
            path.display(),
            line.len()
        )
    });
    Ok(Lines {
        whole_bytes,
        cut_off,
    })
}

pub(crate) fn optional<T>(result: Result<T, RunError>) -> Result<Option<T>, RunError> {
    match result {
        Err(RunError::Missing(_)) => Ok(None),
        other => other.map(Some),
    }
}

/// Ensures that a file of the run is a regular file or a link to one: opening a pipe would wait for its
/// writer, and reading a device might never end.
pub(super) fn check_file(directory: &Path, file: &str) -> Result<(), RunError> {
    let path = directory.join(file);
    match path.metadata() {
        Ok(about) if about.is_file() => Ok(()),
        Ok(_) => Err(RunError::damaged(path, "it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(RunError::Missing(path)),
        Err(error) => Err(RunError::Read(path, error)),
    }
}

pub(crate) fn read_text(directory: &Path, file: &str) -> Result<String, RunError> {
    let path = directory.join(file);
    check_file(directory, file)?;
    whole_file::read_text(&path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => RunError::damaged(path, error),
        _ => RunError::Read(path, error),
    })
}

pub(crate) fn read_json<T: DeserializeOwned>(directory: &Path, file: &str) -> Result<T, RunError> {
    let text = read_text(directory, file)?;
    serde_json::from_str(&text).map_err(|error| RunError::Damaged {
        path: directory.join(file),
        line: (!error.is_data()).then(|| error.line()),
        problem: json_problem::<T>(text.as_bytes(), &error),
    })
}

/// Why JSON is not a valid `T`. The column is relative to `json`: a line of a file, or all of it.
pub(super) fn json_problem<T: DeserializeOwned>(json: &[u8], error: &serde_json::Error) -> String {
    let value = serde_json::from_slice(json).ok();
    let sentence = match value.and_then(refusal_of_json::<T>) {
        Some(refusal) => refusal.to_string(),
        None => without_position(error),
    };
    // The sentence repeats unknown names, which may contain anything.
    let sentence = sentence.replace(char::is_control, " ");
    match error.column() {
        column if column > 0 && !error.is_data() => format!("{sentence} (column {column})"),
        // The refusal may be about another key than `error`: the two read keys in a different order.
        _ => sentence,
    }
}
