//! The run of a cluster: each worker reports what its calls took, and a program that need not understand it writes that
//! into one run directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::PathBuf;

use serde::Deserialize;

use super::{NewRun, Run, RunError, Writing, names, read_json};
use crate::plan::{Plan, TrialSpec, Variant};
use crate::printable;
use crate::record::{Concurrency, Environment, SCHEMA, TrialOutcome, TrialRecord, WorkerRecord};

impl NewRun<'_> {
    /// The files of a run directory besides those of its workers, each a name and a text.
    ///
    /// # Errors
    /// A value cannot be written as JSON.
    pub fn files_for_workers(
        &self,
        environment: &Environment,
    ) -> serde_json::Result<[(&'static str, String); 4]> {
        Ok([
            (names::PLAN, json(self.plan)?),
            (names::ENVIRONMENT, json(environment)?),
            (names::TRIALS, String::new()),
            // A directory without this file is not a run directory, so it is written last.
            (names::RUN, json(&self.info())?),
        ])
    }
}

impl WorkerRecord {
    /// The record as a file of a run directory.
    ///
    /// # Errors
    /// The figures contradict themselves, or cannot be written as JSON.
    pub fn to_file(&self) -> Result<String, String> {
        self.figures.check()?;
        json(self).map_err(|error| error.to_string())
    }
}

fn json(value: &impl serde::Serialize) -> serde_json::Result<String> {
    Ok(printable::json(serde_json::to_string(value)?) + "\n")
}

impl Run {
    /// Reads what workers reported, and merges it into one trial for each way in which they called.
    pub(super) fn read_workers(&mut self) -> Result<(), RunError> {
        let mut records = Vec::new();
        for name in self.files_of_workers()? {
            records.extend(self.read_worker(&name)?);
        }
        if records.is_empty() {
            return Ok(());
        }
        records.sort_by(|a, b| (a.began_ns, &a.worker).cmp(&(b.began_ns, &b.worker)));
        if Writing::of(&self.directory).is_none() {
            let lost = records.iter().filter(|record| !record.ended);
            self.warnings.extend(lost.map(warning));
        }
        let damaged = |problem| RunError::damaged(self.directory.join(names::WORKERS), problem);
        let mut trials: BTreeMap<u32, TrialRecord> = BTreeMap::new();
        let mut first_ns = BTreeMap::new();
        let mut planned = Trials::of(&mut self.plan);
        for record in &mut records {
            let spec = planned.of_variant(&record.variant).map_err(damaged)?;
            record.variant = planned.plan.variants[spec.variant as usize].clone();
            let began_ns = *first_ns.entry(spec.index).or_insert(record.began_ns);
            match trials.get_mut(&spec.index).map(|trial| &mut trial.outcome) {
                Some(TrialOutcome::Measured(all)) => {
                    let later_ns = record.began_ns - began_ns;
                    let how = Concurrency::Processes { later_ns };
                    all.merge(record.figures.clone(), how).map_err(damaged)?;
                    // Each worker makes a first call, and reports count one for each variant.
                    all.requests_sent = all.requests_sent.map(|sent| sent.saturating_add(1));
                }
                Some(TrialOutcome::Failed { .. }) | None => {
                    trials.insert(spec.index, trial(spec, record));
                }
            }
        }
        self.plan.check().map_err(damaged)?;
        trials
            .values()
            .try_for_each(TrialRecord::check)
            .map_err(damaged)?;
        self.trials.extend(trials.into_values());
        self.workers = records;
        Ok(())
    }

    /// The names of the workers' files; none if the run has no workers.
    fn files_of_workers(&self) -> Result<BTreeSet<String>, RunError> {
        let folder = self.directory.join(names::WORKERS);
        let unreadable = |error| RunError::Read(folder.clone(), error);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            entries => entries.map_err(unreadable)?,
        };
        let mut found = BTreeSet::new();
        for entry in entries {
            let name = PathBuf::from(entry.map_err(unreadable)?.file_name());
            // A file that is being written has another extension.
            if name
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                found.extend(name.to_str().map(str::to_owned));
            }
        }
        Ok(found)
    }

    /// Reads a worker's file; `None` with a warning if another version wrote it.
    fn read_worker(&mut self, name: &str) -> Result<Option<WorkerRecord>, RunError> {
        /// The part of every record that does not change.
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
            #[serde(default)]
            worker: String,
        }
        let folder = self.directory.join(names::WORKERS);
        let Version { schema, worker } = read_json(&folder, name)?;
        if schema != SCHEMA {
            self.warnings.push(format!(
                "the calls of the worker {worker} are left out: it was of another version of rpcgauge (schema {schema}, \
                 this version reads {SCHEMA}); use one version on all machines"
            ));
            return Ok(None);
        }
        let record: WorkerRecord = read_json(&folder, name)?;
        let checked = record.figures.check();
        checked.map_err(|problem| RunError::damaged(folder.join(name), problem))?;
        Ok(Some(record))
    }
}

/// The warning about a worker whose load did not end.
fn warning(lost: &WorkerRecord) -> String {
    format!(
        "the worker {} was lost: the calls that it reported until {:.1} s after the load began are included",
        lost.worker,
        lost.until_ns() as f64 / 1e9
    )
}

/// The trials of a plan, each with the variant as workers call it.
struct Trials<'p> {
    plan: &'p mut Plan,
    known: Vec<(Variant, TrialSpec)>,
}

impl<'p> Trials<'p> {
    fn of(plan: &'p mut Plan) -> Self {
        let known = plan.trials.iter().filter_map(|trial| {
            let variant = plan.variants.get(trial.variant as usize)?;
            Some((variant.clone(), trial.clone()))
        });
        let known = known.collect();
        Self { plan, known }
    }

    /// The trial of a variant. Adds it to the plan if there is none.
    fn of_variant(&mut self, variant: &Variant) -> Result<TrialSpec, String> {
        if let Some((_, trial)) = self.known.iter().find(|(known, _)| known == variant) {
            return Ok(trial.clone());
        }
        let first = self.plan.trials.first().ok_or("the plan has no trial")?;
        let trial = TrialSpec {
            index: self.plan.trials.len() as u32,
            variant: self.plan.variants.len() as u32,
            ..first.clone()
        };
        // Workers may call the same target in different ways.
        let numbered = (2..).map(|number| format!("{} ({number})", variant.name));
        let mut names = std::iter::once(variant.name.clone()).chain(numbered);
        let unused = names.find(|name| self.plan.variant(name).is_none());
        self.plan.variants.push(Variant {
            name: unused.unwrap_or_default(),
            ..variant.clone()
        });
        self.plan.trials.push(trial.clone());
        self.known.push((variant.clone(), trial.clone()));
        Ok(trial)
    }
}

fn trial(spec: TrialSpec, record: &WorkerRecord) -> TrialRecord {
    TrialRecord {
        trial: spec,
        variant: record.variant.name.clone(),
        timing: record.variant.settings.timing(),
        idle: record.environment.idle.got,
        started_at_ms: record.started_at_ms,
        rate: None,
        outcome: TrialOutcome::Measured(Box::new(record.figures.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::{Times, Unit};
    use crate::record::{Calls, Histogram, TrialFigures};
    use crate::run::tests::{environment, plan};

    /// A worker that has made this many calls in a second.
    fn worker(name: &str, variant: &Variant, calls: u64) -> WorkerRecord {
        let mut latency = Times::new(Unit::Ns);
        latency.add_each(1_000 * calls, calls);
        WorkerRecord {
            schema: SCHEMA,
            worker: name.to_owned(),
            variant: variant.clone(),
            began_ns: 500_000_000,
            started_at_ms: 1_795_170_900_000,
            users: 1,
            ended: true,
            environment: environment(),
            figures: TrialFigures {
                calls: Calls {
                    started: calls,
                    answered: calls,
                    ..Calls::default()
                },
                elapsed_ns: 1_000_000_000,
                latency: Histogram::from(latency),
                requests_sent: Some(calls),
                ..TrialFigures::default()
            },
        }
    }

    fn variant() -> Variant {
        plan().variants.remove(0)
    }

    /// The run of these workers, each in a file of this name.
    fn run(workers: &[(&str, WorkerRecord)]) -> Result<Run, RunError> {
        let mut plan = plan();
        plan.variants.truncate(1);
        plan.trials.retain(|trial| trial.variant == 0);
        plan.trials.truncate(1);
        plan.trials[0].index = 0;
        plan.pairs.clear();
        let new = NewRun {
            rpcgauge: "0.1.0",
            created_at: std::time::UNIX_EPOCH,
            study: None,
            plan: &plan,
        };
        let folder = tempfile::tempdir().unwrap();
        let all = new.files_for_workers(&environment()).unwrap();
        for (name, text) in all {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let of_workers = folder.path().join(names::WORKERS);
        fs::create_dir(&of_workers).unwrap();
        for (name, record) in workers {
            fs::write(of_workers.join(name), json(record).unwrap()).unwrap();
        }
        Run::read(folder.path())
    }

    fn calls(run: &Run) -> Vec<(&str, u64, Option<u64>)> {
        let trials = run.trials.iter().map(|trial| match &trial.outcome {
            TrialOutcome::Measured(all) => (&*trial.variant, all.calls.answered, all.requests_sent),
            TrialOutcome::Failed { .. } => panic!("it was measured"),
        });
        trials.collect()
    }

    #[test]
    fn workers_that_call_in_the_same_way_are_one_trial() {
        let variant = variant();
        let mut other = variant.clone();
        other.settings.stop.calls = Some(7);
        let found = run(&[
            ("a.json", worker("one", &variant, 3)),
            ("b.json", worker("two", &variant, 4)),
            // Two workers have the same name.
            ("c.json", worker("two", &other, 5)),
            (".d.json.draft", worker("not yet", &variant, 100)),
        ]);
        let run = found.unwrap();
        let second = format!("{} (2)", variant.name);
        let name = &*variant.name;
        let expected = [(name, 7, Some(8)), (&*second, 5, Some(5))];
        assert_eq!(calls(&run), expected);
        let workers = run.workers.iter();
        let workers: Vec<_> = workers
            .map(|one| (&*one.worker, &*one.variant.name))
            .collect();
        assert_eq!(workers, [("one", name), ("two", name), ("two", &*second)]);
        assert!(run.warnings.is_empty() && run.missing().is_empty());
    }

    #[test]
    fn a_worker_that_was_lost_is_named_and_its_calls_count() {
        let mut lost = worker("two", &variant(), 4);
        lost.ended = false;
        let run = run(&[("a.json", worker("one", &variant(), 3)), ("b.json", lost)]).unwrap();
        assert_eq!(calls(&run)[0].1, 7);
        assert_eq!(
            run.warnings,
            [
                "the worker two was lost: the calls that it reported until 1.5 s after the load began are included"
            ]
        );
    }

    #[test]
    fn a_worker_of_another_version_is_left_out() {
        let mut newer = worker("two", &variant(), 4);
        newer.schema += 1;
        let run = run(&[("a.json", worker("one", &variant(), 3)), ("b.json", newer)]).unwrap();
        assert_eq!(calls(&run)[0].1, 3);
        let [warning] = &run.warnings[..] else {
            panic!("{:?}", run.warnings);
        };
        assert!(
            warning.starts_with("the calls of the worker two are left out"),
            "{warning}"
        );
    }

    #[test]
    fn a_record_that_contradicts_itself_is_refused() {
        let mut wrong = worker("one", &variant(), 3);
        wrong.figures.calls.started = 9;
        assert!(wrong.to_file().is_err());
        let error = run(&[("a.json", wrong)]).unwrap_err().to_string();
        assert!(
            error.contains("workers/a.json: 9 calls were started"),
            "{error}"
        );
    }
}
