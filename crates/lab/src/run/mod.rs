//! The run: invocations, blocks, trials, in the plan's order.

mod invocation;
mod measured;
mod pace;
mod search;
mod server;
mod sockets;
mod trial;
mod warmup;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rpcgauge_message::{Workload, WorkloadSpec, contract};
use rpcgauge_study::plan::{Plan, TrialSpec, Variant};
use rpcgauge_study::record::{Environment, Outcome, Record, TrialRecord};
use rpcgauge_study::settings::{Callee, Idle};

use crate::environment::{StealMeter, continued, look};
use crate::error::{LabError, TrialFailure};
use crate::live::Live;
use crate::machine::placement::Placements;
use crate::observer::{Event, Observer};
use crate::records::Records;
use crate::subject::SubjectCommand;

use invocation::Invocation;
use pace::Pace;
use sockets::Sockets;

pub use search::Course;
pub(crate) use sockets::MAX_SOCKET_PATH;

/// What a lab needs to know beside the plan.
#[derive(Debug, Clone)]
pub struct Options {
    /// How each subject is started, by the name in a variant's settings.
    pub subjects: BTreeMap<String, SubjectCommand>,
    /// The live services, looked at and ready to be called, by the name of their variant.
    pub live: BTreeMap<String, Live>,
    /// The subject that answers for the floor's calibration.
    pub floor: SubjectCommand,
    /// The folder for the subjects' logs, made when it is missing.
    pub logs: PathBuf,
    /// How long a subject may take until it is ready.
    pub ready_timeout: Duration,
    /// How long a subject may take to end when it is asked to.
    pub end_timeout: Duration,
    /// How often the subject of one variant is started again within one invocation after it died.
    pub restarts: u32,
    /// The environment of the part that is recorded already, when a run is taken up again.
    pub earlier: Option<Environment>,
}

/// How often a subject that died is started again: enough for bad luck, too few to spend a run on
/// one that cannot live.
const RESTARTS: u32 = 2;

impl Options {
    /// The embedded reference server as the only subject.
    pub fn new(reference: SubjectCommand, logs: PathBuf) -> Self {
        Self {
            subjects: BTreeMap::from([("reference".to_owned(), reference.clone())]),
            live: BTreeMap::new(),
            floor: reference,
            logs,
            ready_timeout: contract::READY_TIMEOUT,
            end_timeout: contract::END_TIMEOUT,
            restarts: RESTARTS,
            earlier: None,
        }
    }
}

/// Carries plans out.
#[derive(Debug)]
pub struct Lab {
    options: Options,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Every trial that was asked for is recorded.
    Complete,
    /// It was asked to stop; what was recorded is valid, and the rest can be run later.
    Stopped,
}

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// How it ended.
    pub ending: Ending,
    /// Trials that were measured.
    pub measured: usize,
    /// Trials that failed, recorded with their reasons.
    pub failed: usize,
}

impl Lab {
    /// A lab with these options. Nothing is started yet.
    pub fn new(options: Options) -> Self {
        Self { options }
    }

    /// Runs `trials`, which are those of `plan` that are not recorded yet, in the plan's order:
    /// `plan.trials` for a new run, what is missing for one that is taken up again.
    ///
    /// `stop` is looked at during and between trials: once it is true, the trial that runs is given
    /// up unrecorded and the run ends. The calling thread measures; it must live until this
    /// returns, since the subjects are bound to its life.
    ///
    /// # Errors
    /// [`LabError`] when the run cannot go on. A trial that fails is no error: it is recorded.
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
            // Whatever this machine is now, nothing of the run was measured on it.
            return Ok(Summary {
                ending: Ending::Complete,
                measured: 0,
                failed: 0,
            });
        }
        let mut run = Run::prepare(&self.options, plan, trials, records, observer, stop)?;
        run.keep_environment()?;
        for trials in trials.chunk_by(|a, b| a.invocation == b.invocation) {
            run.invocation(trials)?;
        }
        run.keep_steal()?;
        Ok(run.summary())
    }
}

/// What all invocations of one run share.
struct Run<'a> {
    options: &'a Options,
    plan: &'a Plan,
    records: &'a mut dyn Records,
    observer: &'a mut dyn Observer,
    stop: &'a AtomicBool,
    placements: Placements,
    /// None where no server is started, that is for live services.
    sockets: Option<Sockets>,
    /// The workloads that were needed so far.
    workloads: Vec<(WorkloadSpec, Workload)>,
    environment: Environment,
    steal: Option<StealMeter>,
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
            .map_err(|source| LabError::folder(&options.logs, source))?;
        let sockets = match plan.is_live() {
            true => None,
            false => Some(Sockets::make(&std::env::temp_dir())?),
        };
        Ok(Self {
            options,
            plan,
            records,
            observer,
            stop,
            placements: Placements::detect()?,
            sockets,
            workloads: Vec::new(),
            environment: match options.earlier.clone() {
                None => look(plan.idle),
                Some(earlier) => continued(earlier, look(plan.idle)),
            },
            steal: StealMeter::start(),
            pace: Pace::new(plan, trials),
            measured: 0,
            failed: 0,
        })
    }

    /// One fresh start of the subjects, and the trials of it that are to be run. Its processes end
    /// with it.
    fn invocation(&mut self, trials: &[TrialSpec]) -> Result<(), LabError> {
        let Some(first) = trials.first().filter(|_| !self.is_stopped()) else {
            return Ok(());
        };
        self.tell(&Event::InvocationStarted {
            invocation: first.invocation,
            of: self.plan.invocations,
            progress: self.pace.progress(),
        });
        let mut invocation = Invocation::new(first.invocation);
        for trial in trials {
            if self.is_stopped() {
                break;
            }
            let variant = &self.plan.variants[trial.variant as usize];
            self.trial(&mut invocation, trial, variant, None)?;
        }
        self.finish(invocation)
    }

    /// One trial, from what it needs to its record; none where it was given up. A `rate` is recorded
    /// where a search chose it, and is that of the variant.
    fn trial(
        &mut self,
        invocation: &mut Invocation,
        trial: &TrialSpec,
        variant: &Variant,
        rate: Option<f64>,
    ) -> Result<Option<TrialRecord>, LabError> {
        let plan = self.plan;
        let began = Instant::now();
        let server = self.server(invocation, trial, variant);
        self.keep_versions(variant, server.as_deref().ok())?;
        self.tell(&Event::TrialStarted {
            trial,
            variant,
            progress: self.pace.progress(),
        });
        let started_at_ms = now_ms();
        let ended = server.and_then(|server| trial::measure(self, server, trial, variant));
        let (idle, outcome) = match ended {
            Ok(ended) => (ended.idle, Outcome::Measured(Box::new(ended.measured))),
            // Given up, not failed: it is run when the run is taken up again.
            Err(_) if self.is_stopped() => return Ok(None),
            Err(failure) => (Idle::AsIs, failure.into_outcome()),
        };
        if let Outcome::Measured(measured) = &outcome {
            invocation.note(plan, trial, measured);
        }
        let record = TrialRecord {
            trial: trial.clone(),
            variant: variant.name.clone(),
            timing: variant.settings.timing(),
            idle,
            started_at_ms,
            rate,
            outcome,
        };
        self.keep_trial(record, began.elapsed()).map(Some)
    }

    fn keep_trial(&mut self, record: TrialRecord, took: Duration) -> Result<TrialRecord, LabError> {
        match &record.outcome {
            Outcome::Measured(_) => self.measured += 1,
            Outcome::Failed { .. } => self.failed += 1,
        }
        let kept = Record::Trial(Box::new(record.clone()));
        self.records.append(&kept)?;
        self.pace.ended(&record.trial, took);
        self.tell(&Event::TrialEnded {
            record: &record,
            progress: self.pace.progress(),
        });
        Ok(record)
    }

    /// Keeps what a subject said of itself, the first time it says it.
    fn keep_versions(
        &mut self,
        variant: &Variant,
        server: Option<&server::Server>,
    ) -> Result<(), LabError> {
        let versions = server.and_then(server::Server::versions);
        let (Callee::Subject { subject, .. }, Some(versions)) =
            (&variant.settings.callee, versions)
        else {
            return Ok(());
        };
        let subjects = &mut self.environment.subjects;
        let known = subjects.entry(subject.clone()).or_default();
        let before = known.len();
        known.extend(versions.clone());
        if known.len() == before {
            Ok(())
        } else {
            self.keep_environment()
        }
    }

    /// What the hypervisor took away during the run is known only at its end.
    fn keep_steal(&mut self) -> Result<(), LabError> {
        match self.steal.and_then(|steal| steal.warning("during the run")) {
            Some(warning) => self.keep_warning(warning),
            None => Ok(()),
        }
    }

    /// Tells that something went wrong that fails no trial, and keeps it for the report.
    fn keep_warning(&mut self, text: String) -> Result<(), LabError> {
        self.tell(&Event::Warning { text: &text });
        if self.environment.warnings.contains(&text) {
            return Ok(());
        }
        self.environment.warnings.push(text);
        self.keep_environment()
    }

    fn keep_environment(&mut self) -> Result<(), LabError> {
        Ok(self.records.environment(&self.environment)?)
    }

    fn tell(&mut self, event: &Event<'_>) {
        self.observer.notice(event);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn summary(&self) -> Summary {
        let ending = if self.is_stopped() {
            Ending::Stopped
        } else {
            Ending::Complete
        };
        Summary {
            ending,
            measured: self.measured,
            failed: self.failed,
        }
    }
}

/// A plan is read from a file too: what the run rests on is looked at once.
fn check(plan: &Plan, trials: &[TrialSpec]) -> Result<(), LabError> {
    for trial in trials {
        if trial.variant as usize >= plan.variants.len() {
            return Err(LabError::Plan(format!(
                "trial {} is of variant {}, but there are {} variants",
                trial.index,
                trial.variant,
                plan.variants.len()
            )));
        }
    }
    Ok(())
}

fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Shortens the type of what can fail one trial.
type Trialled<T> = Result<T, TrialFailure>;
