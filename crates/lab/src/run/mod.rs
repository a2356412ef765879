//! Runs a plan's trials in order, by invocation and block.

mod events;
mod instance;
mod invocation;
mod networks;
mod observer;
mod pace;
mod records;
mod rotation;
mod search;
mod starting;
mod training;

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rpcgauge_contract::{self as contract, MAX_VERSIONS};
use rpcgauge_message::{Workload, WorkloadSpec};
use rpcgauge_study::plan::{Plan, TrialSpec, Variant};
use rpcgauge_study::record::{
    Environment, Fault, InvocationRecord, Provenance, Record, StackRecord, SubjectsRecord,
    TrialOutcome, TrialRecord,
};
use rpcgauge_study::settings::REFERENCE;

use crate::environment::{self, Disturbances, continued};
use crate::error::{LabError, TrialFailure};
use crate::files::scratch::Scratch;
use crate::live::Live;
use crate::machine::placement::Placements;
use crate::subject::SubjectCommand;
use crate::subjects::Stacks;

use invocation::Invocation;
use networks::Networks;
use pace::Pace;
use rotation::share_rotation;

pub use observer::{Event, Observer, RunProgress, Watch};
pub use records::{Records, RecordsError};
pub use search::RateSearch;

/// A lab's options, in addition to the plan.
#[derive(Debug, Clone)]
pub struct Options {
    /// How each stack is started.
    pub stacks: Stacks,
    /// The live services, ready to be called, by the name of their variant.
    pub live: BTreeMap<String, Live>,
    /// The folder for the subjects' logs, created if missing.
    pub logs: PathBuf,
    /// How long a subject may take to become ready.
    pub ready_timeout: Duration,
    /// How long a subject may take to exit when asked to.
    pub end_timeout: Duration,
    /// How long a client or codec may take to answer a line, in addition to the length of a slice. If it is
    /// less than a call's deadline, the deadline is used.
    pub answer_timeout: Duration,
    /// The conditions of the earlier part of a resumed run; `None` for a new run.
    pub earlier: Option<Earlier>,
}

/// The conditions under which the recorded part of a run was measured.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// The machine and the subjects, as the report shows them.
    pub environment: Environment,
    /// What must be the same for the rest of the run.
    pub provenance: Provenance,
}

impl Options {
    /// Options with the embedded reference server as the only subject.
    pub fn new(reference: SubjectCommand, logs: PathBuf) -> Self {
        let mut stacks = Stacks::default();
        stacks.add(REFERENCE, reference);
        Self {
            stacks,
            live: BTreeMap::new(),
            logs,
            ready_timeout: contract::READY_TIMEOUT,
            end_timeout: contract::END_TIMEOUT,
            answer_timeout: contract::ANSWER_TIMEOUT,
            earlier: None,
        }
    }
}

/// Runs plans.
#[derive(Debug)]
pub struct Lab {
    options: Options,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnding {
    /// Every requested trial is recorded.
    Complete,
    /// The run was stopped. Recorded trials are valid, and the rest can be run later.
    Stopped,
}

/// The result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// How it ended.
    pub ending: RunEnding,
    /// Trials that were measured.
    pub measured: usize,
    /// Trials that failed, recorded with their reasons.
    pub failed: usize,
}

impl Lab {
    /// Creates a lab with these options. Does not start anything yet.
    pub fn new(options: Options) -> Self {
        Self { options }
    }

    /// Checks that `trials` would be comparable with the recorded ones, before anything is started. The
    /// versions that subjects report when ready are compared during the run.
    ///
    /// # Errors
    /// [`LabError::Changed`] if rpcgauge, the machine or a subject has changed.
    pub fn check_unchanged(&self, plan: &Plan, trials: &[TrialSpec]) -> Result<(), LabError> {
        let Some(Earlier { provenance, .. }) = &self.options.earlier else {
            return Ok(());
        };
        let mut provenance = provenance.clone();
        provenance.add_environment(&environment::examine(plan.idle))?;
        let variants: BTreeSet<u32> = trials.iter().map(|trial| trial.variant).collect();
        for variant in variants {
            let variant = &plan.variants[variant as usize];
            let workload = variant.settings.target.workload();
            for (stack, program) in plan.programs_of(variant) {
                // A stack that cannot be started fails its trials, and there is nothing to compare.
                if let Ok(command) = self.options.stacks.command(program, workload) {
                    provenance.check_build(stack, command.build.as_ref())?;
                }
            }
        }
        Ok(())
    }

    /// Runs `trials` in the plan's order. They must be the trials of `plan` that are not yet recorded:
    /// `plan.trials` for a new run, the missing ones for a resumed run.
    ///
    /// The lab checks `stop` during and between trials. Once it is set, the lab abandons the running trials and
    /// ends the run. It records abandoned trials only for live services, as interrupted. The calling thread
    /// does the measuring, and the subjects are killed if it exits.
    ///
    /// # Errors
    /// [`LabError`] if the run cannot continue. A failed trial is recorded and is not an error.
    pub fn run(
        &self,
        plan: &Plan,
        trials: &[TrialSpec],
        records: &mut dyn Records,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Summary, LabError> {
        check(plan, trials)?;
        if trials.is_empty() {
            // Nothing is measured on this machine, so the recorded environment remains unchanged.
            return Ok(Summary {
                ending: RunEnding::Complete,
                measured: 0,
                failed: 0,
            });
        }
        let mut run = Run::prepare(&self.options, plan, trials, records, observer, stop)?;
        run.keep_environment()?;
        for trials in trials.chunk_by(|a, b| a.invocation == b.invocation) {
            run.invocation(trials)?;
        }
        run.keep_disturbances()?;
        Ok(run.summary())
    }
}

/// The variants that share processes in which a trial was measured before, by a run that is resumed to measure `missing`.
fn sharing_with_records(plan: &Plan, missing: &[TrialSpec]) -> BTreeSet<u32> {
    let missing: BTreeSet<u32> = missing.iter().map(|trial| trial.index).collect();
    let kept = plan.trials.iter();
    let kept = kept.filter(|trial| !missing.contains(&trial.index));
    let shared = kept.filter_map(|trial| plan.processes_of(trial.variant));
    shared.flat_map(|shared| shared.variants.clone()).collect()
}

/// A trial to be measured.
#[derive(Clone, Copy)]
struct Planned<'p> {
    spec: &'p TrialSpec,
    variant: &'p Variant,
    /// The rate that a search chose. The variant's settings already contain it.
    rate: Option<f64>,
}

/// The state shared by all invocations of a run.
struct Run<'a> {
    options: &'a Options,
    plan: &'a Plan,
    records: &'a mut dyn Records,
    /// Receives all events, and snapshots of trials while they are measured.
    observer: RefCell<&'a mut dyn Observer>,
    stop: &'a AtomicBool,
    placements: Placements,
    networks: Networks,
    /// The folder for sockets and records of subjects, created when first needed.
    scratch: OnceCell<Scratch>,
    /// The first variant of processes whose training run succeeded.
    trained: BTreeSet<u32>,
    /// The plan with the processes that variants really have.
    actual: Plan,
    /// Variants whose shared processes were started before, or were tried in vain. What was measured in them cannot be
    /// compared with processes of their own.
    tried_shared: BTreeSet<u32>,
    /// What is to be recorded about variants that have got their own processes.
    own_processes: Vec<Record>,
    /// The workloads needed so far.
    workloads: Vec<(WorkloadSpec, Workload)>,
    environment: Environment,
    provenance: Provenance,
    disturbances: Disturbances,
    pace: Pace,
    measured: usize,
    failed: usize,
}

impl<'a> Run<'a> {
    fn prepare(
        options: &'a Options,
        plan: &'a Plan,
        trials: &[TrialSpec],
        records: &'a mut dyn Records,
        observer: &'a mut dyn Observer,
        stop: &'a AtomicBool,
    ) -> Result<Self, LabError> {
        std::fs::create_dir_all(&options.logs)
            .map_err(|source| LabError::Folder(options.logs.clone(), source))?;
        let placements = Placements::detect()?;
        // Even if no trial over a link is left: the remaining trials must be measured under the same conditions
        // as the earlier ones.
        if plan.has_links() {
            rpcgauge_link::isolate()?;
        }
        let targets = options.live.values();
        let targets = targets.map(|live| live.calls.endpoint.address.clone());
        let cores = placements.cores(&plan.placements);
        let now = environment::examine(plan.idle);
        let (environment, provenance) = match options.earlier.clone() {
            None => (now, Provenance::default()),
            Some(earlier) => (continued(earlier.environment, now), earlier.provenance),
        };
        Ok(Self {
            options,
            plan,
            records,
            observer: RefCell::new(observer),
            stop,
            placements,
            networks: Networks::default(),
            scratch: OnceCell::new(),
            trained: BTreeSet::new(),
            actual: plan.clone(),
            tried_shared: sharing_with_records(plan, trials),
            own_processes: Vec::new(),
            workloads: Vec::new(),
            environment,
            provenance,
            disturbances: Disturbances::start(cores, targets.collect()),
            pace: Pace::new(plan, trials),
            measured: 0,
            failed: 0,
        })
    }

    /// Starts new subject processes, measures these trials, and stops the processes.
    fn invocation(&mut self, trials: &[TrialSpec]) -> Result<(), LabError> {
        let Some(first) = trials.first().filter(|_| !self.is_stopped()) else {
            return Ok(());
        };
        self.notify(&Event::InvocationStarted {
            invocation: first.invocation,
            of: self.plan.invocations,
            progress: self.pace.progress(),
        });
        let mut invocation = self.begin_invocation(first.invocation)?;
        let mut measured = 0;
        for together in trials.chunk_by(share_rotation) {
            if self.is_stopped() {
                break;
            }
            measured += together.len();
            let plan = self.plan;
            let planned = |spec| Planned {
                spec,
                variant: &plan.variants[spec.variant as usize],
                rate: None,
            };
            let together: Vec<Planned<'_>> = together.iter().map(planned).collect();
            self.rotation(&mut invocation, &together)?;
            let ended = invocation.end_all_but(&trials[measured..]);
            self.keep_events(first.invocation, ended)?;
        }
        let ended = invocation.end_all_but(&[]);
        self.keep_events(first.invocation, ended)
    }

    fn keep_trial(
        &mut self,
        mut record: TrialRecord,
        took: Duration,
    ) -> Result<TrialRecord, LabError> {
        // The reader would reject this record, and with it all other trials of the run.
        if let Err(problem) = record.check() {
            let contradict = format!("its figures contradict each other: {problem}");
            let target = &self.plan.variants[record.trial.variant as usize]
                .settings
                .target;
            let failure = if target.is_slice_driven() {
                TrialFailure::new(Fault::Subject, contradict)
            } else {
                TrialFailure::new(Fault::Instrument, format!("{contradict}; please report it"))
            };
            record.outcome = failure.after(record.requests_sent()).into_outcome();
        }
        match &record.outcome {
            TrialOutcome::Measured(_) => self.measured += 1,
            TrialOutcome::Failed { .. } => self.failed += 1,
        }
        let kept = Record::Trial(Box::new(record.clone()));
        self.records.append(&kept)?;
        self.pace.ended(&record.trial, took);
        self.notify(&Event::TrialEnded {
            record: &record,
            progress: self.pace.progress(),
        });
        Ok(record)
    }

    /// Starts an invocation and records its environment.
    fn begin_invocation(&mut self, number: u32) -> Result<Invocation, LabError> {
        let environment = environment::examine(self.plan.idle);
        self.provenance.add_environment(&environment)?;
        let record = InvocationRecord {
            invocation: number,
            environment,
        };
        self.records.append(&Record::Invocation(Box::new(record)))?;
        Ok(Invocation::new(number))
    }

    /// Records the subjects of a variant when they first become ready in an invocation. `versions` are those
    /// that the processes reported: the server's, then the client's; or the codec's.
    fn keep_subjects(
        &mut self,
        invocation: &mut Invocation,
        variant: &Variant,
        versions: Vec<BTreeMap<String, String>>,
    ) -> Result<(), LabError> {
        if versions.is_empty() {
            return Ok(());
        }
        let workload = variant.settings.target.workload();
        let command = |program| self.options.stacks.command(program, workload).ok();
        let stacks = self.actual.programs_of(variant).zip(versions);
        let stacks = stacks.map(|((stack, program), versions)| StackRecord {
            stack: stack.to_owned(),
            build: command(program).and_then(|command| command.build.clone()),
            versions,
        });
        let record = SubjectsRecord {
            invocation: invocation.number(),
            variant: variant.name.clone(),
            stacks: stacks.collect(),
        };
        self.provenance.add_subjects(&record)?;
        self.show_subjects(variant, &record.stacks)?;
        if invocation.is_new(variant) {
            Ok(self.records.append(&Record::Subjects(record))?)
        } else {
            Ok(())
        }
    }

    /// Adds the stacks of a variant, with their size on disk, to the run's environment.
    fn show_subjects(&mut self, variant: &Variant, stacks: &[StackRecord]) -> Result<(), LabError> {
        let mut is_new = false;
        for StackRecord {
            stack, versions, ..
        } in stacks
        {
            let subjects = &mut self.environment.subjects;
            let known = subjects.entry(stack.clone()).or_default();
            let before = known.len();
            for (name, version) in versions {
                // Limited, because a subject may report different names at each start.
                if known.len() < MAX_VERSIONS || known.contains_key(name) {
                    known.insert(name.clone(), version.clone());
                }
            }
            is_new |= known.len() != before;
            let workload = variant.settings.target.workload();
            let command = self.options.stacks.command(stack, workload).ok();
            let disk = &mut self.environment.disk;
            if let Some(bytes) = command.and_then(|command| command.disk)
                && disk.get(stack).is_none_or(|known| *known < bytes)
            {
                // A stack with code for several sets of messages is shown with its largest size.
                disk.insert(stack.clone(), bytes);
                is_new = true;
            }
        }
        if is_new {
            self.keep_environment()
        } else {
            Ok(())
        }
    }

    /// Records warnings about what disturbed the run.
    fn keep_disturbances(&mut self) -> Result<(), LabError> {
        let seen = self.disturbances.warnings("during the run");
        seen.into_iter()
            .try_for_each(|text| self.keep_warning(text))
    }

    /// Reports a warning about something that does not fail a trial, and stores it for the report.
    fn keep_warning(&mut self, text: String) -> Result<(), LabError> {
        self.notify(&Event::Warning { text: &text });
        if self.environment.warnings.contains(&text) {
            return Ok(());
        }
        self.environment.warnings.push(text);
        self.keep_environment()
    }

    fn keep_environment(&mut self) -> Result<(), LabError> {
        Ok(self.records.environment(&self.environment)?)
    }

    fn notify(&self, event: &Event<'_>) {
        self.observer.borrow_mut().notice(event);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn summary(&self) -> Summary {
        Summary {
            ending: if self.is_stopped() {
                RunEnding::Stopped
            } else {
                RunEnding::Complete
            },
            measured: self.measured,
            failed: self.failed,
        }
    }
}

/// Checks what the run relies on, because the plan may come from a file.
fn check(plan: &Plan, trials: &[TrialSpec]) -> Result<(), LabError> {
    let count = plan.variants.len();
    match trials.iter().find(|trial| trial.variant as usize >= count) {
        None => Ok(()),
        Some(TrialSpec { index, variant, .. }) => Err(LabError::Plan(format!(
            "trial {index} belongs to variant {variant}, but there are only {count} variants"
        ))),
    }
}
