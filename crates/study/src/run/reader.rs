//! Reading a run directory, and finding out whether it is whole.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use rpcgauge_message::whole_file;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{RunError, RunInfo, names};
use crate::plan::{Plan, TrialSpec};
use crate::record::{Environment, FloorRecord, Record, SCHEMA, TrialRecord};

/// The most bytes of a line of `trials.jsonl`: a trial's record has some ten thousand.
const MOST_LINE_BYTES: u64 = 64 << 20;

/// A run as it lies on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Where it lies.
    pub directory: PathBuf,
    /// What it is.
    pub info: RunInfo,
    /// The study as given, when there was a file.
    pub study: Option<String>,
    /// What was to be done.
    pub plan: Plan,
    /// The machine; absent only in a run that ended before its first record.
    pub environment: Option<Environment>,
    /// The trials that ended, in the order they ended.
    pub trials: Vec<TrialRecord>,
    /// The floors, in the order they were calibrated.
    pub floors: Vec<FloorRecord>,
    /// What was found amiss and tolerated, one line each.
    pub warnings: Vec<String>,
    /// Bytes of `trials.jsonl` up to the end of its last whole line.
    pub(super) whole_bytes: u64,
}

impl Run {
    /// Reads the run in `directory`.
    ///
    /// A last line of `trials.jsonl` without its end, as a crash leaves it, is dropped with a
    /// warning.
    ///
    /// # Errors
    ///
    /// When it is no run directory, was written by a version with another schema, a file of it is missing or
    /// damaged, or a record does not belong to the plan.
    pub fn read(directory: &Path) -> Result<Self, RunError> {
        let info = Self::check(directory)?;
        let plan: Plan = read_json(directory, names::PLAN)?;
        check_plan(&directory.join(names::PLAN), &plan)?;
        let mut run = Self {
            directory: directory.to_owned(),
            info,
            study: optional(read_text(directory, names::STUDY))?,
            plan,
            environment: optional(read_json(directory, names::ENVIRONMENT))?,
            trials: Vec::new(),
            floors: Vec::new(),
            warnings: Vec::new(),
            whole_bytes: 0,
        };
        run.read_records()?;
        if run.environment.is_none() && !(run.trials.is_empty() && run.floors.is_empty()) {
            return Err(missing(directory, names::ENVIRONMENT));
        }
        Ok(run)
    }

    /// Reads `run.json` alone: whether there is a run here, of a schema that this program knows.
    pub(super) fn check(directory: &Path) -> Result<RunInfo, RunError> {
        /// The part of `run.json` that every schema has.
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
            #[serde(default)]
            rpcgauge: String,
        }
        let version: Version = match read_json(directory, names::RUN) {
            Err(RunError::Missing { .. }) if !directory.exists() => {
                return Err(RunError::NoDirectory(directory.to_owned()));
            }
            Err(RunError::Missing { .. }) => return Err(RunError::NoRun(directory.to_owned())),
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
        let path = self.directory.join(names::TRIALS);
        let unreadable = |source| RunError::read(&path, source);
        let mut lines = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(missing(&self.directory, names::TRIALS));
            }
            other => BufReader::new(other.map_err(unreadable)?),
        };
        let mut done: Vec<Option<usize>> = vec![None; self.plan.trials.len()];
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let most = MOST_LINE_BYTES + 1;
            let mut within = (&mut lines).take(most);
            let read = within.read_until(b'\n', &mut line).map_err(unreadable)?;
            let damaged = |problem: String| RunError::Damaged {
                path: path.clone(),
                line: Some(number),
                problem,
            };
            if line.last() != Some(&b'\n') {
                if line.len() as u64 == most {
                    let most = MOST_LINE_BYTES >> 20;
                    return Err(damaged(format!("the line has more than {most} MiB")));
                }
                break;
            }
            self.whole_bytes += read as u64;
            match serde_json::from_slice(&line).map_err(|error| damaged(json_problem(&error)))? {
                Record::Trial(trial) => {
                    self.belongs(&trial, &mut done, number).map_err(damaged)?;
                    self.trials.push(*trial);
                }
                Record::Floor(floor) => self.floors.push(floor),
                Record::Restart { invocation } => self.forget(invocation, &mut done),
            }
        }
        if !line.is_empty() {
            self.warnings.push(format!(
                "{}: the last line was cut off, as by a crash; the {} bytes of it were dropped",
                path.display(),
                line.len()
            ));
        }
        Ok(())
    }

    /// Drops what was read of an invocation, which begins again.
    pub(super) fn forget(&mut self, invocation: u32, done: &mut [Option<usize>]) {
        self.trials
            .retain(|record| record.trial.invocation != invocation);
        self.floors.retain(|floor| floor.invocation != invocation);
        for (trial, seen) in self.plan.trials.iter().zip(done) {
            if trial.invocation == invocation {
                *seen = None;
            }
        }
    }

    /// Checks a trial against the plan. `done` holds the line of each trial seen before.
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
            return Err(format!("trial {index} is another one in the plan"));
        }
        let name = &self.plan.variants[planned.variant as usize].name;
        if *name != record.variant {
            return Err(format!(
                "trial {index} says variant \"{}\", the plan says \"{name}\"",
                record.variant
            ));
        }
        if let Some(before) = seen.replace(line) {
            return Err(format!(
                "trial {index} was recorded already in line {before}"
            ));
        }
        Ok(())
    }

    /// The trials of the plan that have no record yet, in the plan's order. A trial that failed
    /// has one.
    pub fn missing(&self) -> Vec<TrialSpec> {
        let mut done = vec![false; self.plan.trials.len()];
        for record in &self.trials {
            if let Some(done) = done.get_mut(record.trial.index as usize) {
                *done = true;
            }
        }
        let trials = self.plan.trials.iter().zip(done);
        trials
            .filter(|(_, done)| !done)
            .map(|(trial, _)| trial.clone())
            .collect()
    }

    /// The invocations that were begun and broken off: some of their trials or floors have a record,
    /// and some of their trials have none.
    pub(super) fn broken_off(&self) -> BTreeSet<u32> {
        let missing: BTreeSet<u32> = self.missing().iter().map(|t| t.invocation).collect();
        let trials = self.trials.iter().map(|record| record.trial.invocation);
        let begun = trials.chain(self.floors.iter().map(|floor| floor.invocation));
        begun.filter(|number| missing.contains(number)).collect()
    }

    /// Checks that this run's plan is `expected`.
    ///
    /// # Errors
    ///
    /// [`RunError::OtherPlan`] with the first difference.
    pub fn ensure_plan(&self, expected: &Plan) -> Result<(), RunError> {
        match expected.difference_from(&self.plan) {
            None => Ok(()),
            Some(difference) => Err(RunError::OtherPlan {
                directory: self.directory.clone(),
                difference,
            }),
        }
    }
}

/// A plan whose trials point outside of it would make every later look-up fail.
fn check_plan(path: &Path, plan: &Plan) -> Result<(), RunError> {
    let wrong = |problem: String| {
        Err(RunError::Damaged {
            path: path.to_owned(),
            line: None,
            problem,
        })
    };
    for (place, trial) in plan.trials.iter().enumerate() {
        if trial.index as usize != place {
            return wrong(format!(
                "trial {place} says that it is trial {}",
                trial.index
            ));
        }
        if trial.variant as usize >= plan.variants.len() {
            return wrong(format!(
                "trial {place} is of variant {}, which is not there",
                trial.variant
            ));
        }
    }
    for pair in &plan.pairs {
        for name in [&pair.of, &pair.against] {
            if plan.variant(name).is_none() {
                return wrong(format!(
                    "pair {} names the variant \"{name}\", which is not there",
                    pair.name
                ));
            }
        }
    }
    for claim in &plan.claims {
        for name in [&claim.of, &claim.against] {
            if plan.variant(name).is_none() {
                return wrong(format!(
                    "claim {} names the variant \"{name}\", which is not there",
                    claim.name
                ));
            }
        }
    }
    Ok(())
}

fn missing(directory: &Path, file: &'static str) -> RunError {
    RunError::Missing {
        directory: directory.to_owned(),
        file,
    }
}

fn optional<T>(result: Result<T, RunError>) -> Result<Option<T>, RunError> {
    match result {
        Err(RunError::Missing { .. }) => Ok(None),
        other => other.map(Some),
    }
}

fn read_text(directory: &Path, file: &'static str) -> Result<String, RunError> {
    let path = directory.join(file);
    whole_file::read_text(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => missing(directory, file),
        io::ErrorKind::InvalidData => RunError::Damaged {
            path,
            line: None,
            problem: source.to_string(),
        },
        _ => RunError::Read { path, source },
    })
}

fn read_json<T: DeserializeOwned>(directory: &Path, file: &'static str) -> Result<T, RunError> {
    let text = read_text(directory, file)?;
    serde_json::from_str(&text).map_err(|error| RunError::Damaged {
        path: directory.join(file),
        line: Some(error.line()),
        problem: json_problem(&error),
    })
}

/// serde_json's sentence without the position, which counts within the line here.
fn json_problem(error: &serde_json::Error) -> String {
    // It repeats names that it does not know, with whatever is in them.
    let text = error.to_string().replace(char::is_control, " ");
    let sentence = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(sentence, _)| sentence);
    match error.column() {
        0 => sentence.to_owned(),
        column => format!("{sentence} (column {column})"),
    }
}
