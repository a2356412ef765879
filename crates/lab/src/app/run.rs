//! A study of an application, carried out: fresh services in each invocation, and in each of its rounds a
//! slice of load for each variant, one after the other.
//!
//! ```text
//! for each invocation
//!   a set of services and a load generator for each variant; checks; warm-up, one after the other
//!   for each round, for each variant in the plan's order
//!     users begin ─ settle ─ edge, count ─ slice ─ edge, take ─ users end
//! ```
//!
//! Where memory does not carry all sets at once, an invocation has one after the other, each with its slices of all
//! rounds.
//!
//! An edge is a reading of the services' metrics and of the processor time of all processes. Those of other
//! variants run on meanwhile, without load.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use rpcgauge_study::app::{
    AppPlan, AppRecord, AppVariant, ProcessRecord, RequestRecord, Round, SliceFigures,
    SliceOutcome, SliceRecord, StartRecord, SumCount,
};
use rpcgauge_study::record::Fault;
use rpcgauge_study::run::{RunError, RunWriter};
use rpcgauge_study::settings::Idle;

use super::application::{Application, Set, carries};
use super::check::Responses;
use super::exposition;
use super::package::BuiltApp;
use super::process::{Running, Used};
use super::users::{Crowd, LOCUST, Locust, Taken, Users};
use crate::environment::{self, continued};
use crate::error::{LabError, TrialFailure, TrialResult};
use crate::run::{Earlier, RunEnding};

/// Carries out the plan of a study of an application.
pub struct AppLab<'a> {
    /// What is to be done.
    pub plan: &'a AppPlan,
    /// The application.
    pub built: &'a BuiltApp<'a>,
    /// The load generator.
    pub locust: &'a Locust,
    /// Where logs go.
    pub logs: PathBuf,
    /// Set when the run should end.
    pub stop: &'a AtomicBool,
    /// What is recorded already, when a run is resumed.
    pub earlier: Option<Earlier>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// A process is started.
    Starting(&'a str),
    /// The responses of a variant are checked.
    Checking(&'a str),
    /// A variant is warmed up.
    WarmingUp(&'a str),
    /// A slice of a variant is measured.
    Measuring(&'a str),
    /// A slice has ended.
    Ended,
}

/// Why a run could not continue. What was recorded before stays valid.
#[derive(Debug, thiserror::Error)]
pub enum AppRunError {
    /// The application, the load generator or the machine.
    #[error("{0}")]
    Failed(#[from] TrialFailure),
    /// A record could not be kept.
    #[error(transparent)]
    Records(#[from] RunError),
}

/// The load generator and its version.
fn load_generator() -> String {
    format!("Locust {LOCUST}")
}

/// A reading at the begin or the end of a slice.
struct Edge {
    metrics: BTreeMap<String, SumCount>,
    /// Of the backing processes, then of those of the set.
    processes: Vec<Used>,
}

impl AppLab<'_> {
    /// Checks that slices can join what is recorded already, before anything is started.
    ///
    /// # Errors
    /// [`LabError::Changed`]: rpcgauge, the machine, the application or the load generator is another one than
    /// before.
    pub fn check_unchanged(&self) -> Result<(), LabError> {
        let Some(Earlier { provenance, .. }) = &self.earlier else {
            return Ok(());
        };
        let mut provenance = provenance.clone();
        provenance.add_environment(&environment::examine(Idle::AsIs))?;
        let build = self.built.build();
        Ok(provenance.add_application(&self.plan.app, &build, &load_generator())?)
    }

    /// Runs `rounds`, which are those of the plan's invocations that are not complete: all for a new run. Appends
    /// each record as it comes.
    ///
    /// # Errors
    /// Services did not get ready or were not right, or a record could not be kept.
    pub fn run(
        &self,
        rounds: &[Round],
        writer: &mut RunWriter,
        report: &mut dyn FnMut(Progress<'_>),
    ) -> Result<RunEnding, AppRunError> {
        let ended = self.invocations(rounds, writer, report);
        match self.stop.load(Ordering::Relaxed) {
            true => Ok(RunEnding::Stopped),
            false => ended.map(|()| RunEnding::Complete),
        }
    }

    fn invocations(
        &self,
        rounds: &[Round],
        writer: &mut RunWriter,
        report: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), AppRunError> {
        if rounds.is_empty() {
            return Ok(());
        }
        let now = environment::examine(Idle::AsIs);
        writer.write_environment(&match &self.earlier {
            None => now.clone(),
            Some(earlier) => continued(earlier.environment.clone(), now.clone()),
        })?;
        // As many sets at once as memory carries: all, or else one.
        let all = self.plan.variants.len();
        let is_together = carries(self.built.app, all).is_ok();
        let at_once = if is_together { all } else { 1 };
        let logs = self.logs.clone();
        let mut say = |title: &str| report(Progress::Starting(title));
        let mut application = Application::start(self.built, at_once, logs, &mut say, self.stop)?;
        let mut right = None;
        for rounds in rounds.chunk_by(|a, b| a.invocation == b.invocation) {
            for together in rounds[0].order.chunks(at_once) {
                let mut users = self.begin(&mut application, together, &mut right, report)?;
                writer.append(&AppRecord::Start(Box::new(StartRecord {
                    invocation: rounds[0].invocation,
                    ready_at_ms: now_ms(),
                    sets: users.len(),
                    build: self.built.build(),
                    load_generator: load_generator(),
                    environment: Some(now.clone()),
                })))?;
                for round in rounds {
                    if !self.round(&application, &mut users, round, writer, report)? {
                        break;
                    }
                }
                drop(users);
                application.end_sets();
            }
        }
        Ok(())
    }

    /// Starts a set of services for each of these variants, proves them right, and warms them up.
    fn begin(
        &self,
        application: &mut Application<'_>,
        variants: &[usize],
        right: &mut Option<Responses>,
        report: &mut dyn FnMut(Progress<'_>),
    ) -> TrialResult<Vec<Users>> {
        for &place in variants {
            let AppVariant {
                name,
                configuration,
                ..
            } = &self.plan.variants[place];
            let mut say = |title: &str| report(Progress::Starting(title));
            application.add(name, configuration.clone(), &mut say, self.stop)?;
        }
        let app = self.built.app;
        for set in application.sets() {
            report(Progress::Checking(&set.name));
            let responses = set.check(app)?;
            match right {
                None => *right = Some(responses),
                Some(right) => right.compare(&responses, app)?,
            }
        }
        let crowd = Crowd {
            users: self.plan.users,
            spawn_rate: self.plan.spawn_rate,
            tags: &self.plan.tags,
        };
        let mut all = Vec::new();
        for set in application.sets() {
            report(Progress::WarmingUp(&set.name));
            let log = self.logs.join(format!("locust-{}.log", set.name));
            let mut users = Users::start(self.locust, self.built, set, crowd, log, self.stop)?;
            users.spawn(crowd, self.stop)?;
            self.wait(application, self.plan.warm_up_ms)?;
            users.close(self.stop)?;
            self.all_are_told(set, &self.edge(application, set)?)?;
            all.push(users);
        }
        Ok(all)
    }

    /// Every metric of the plan must be there once there was load, unless it is optional.
    fn all_are_told(&self, set: &Set, edge: &Edge) -> TrialResult {
        let mut metrics = self.plan.metrics.iter();
        let missing = metrics.find(|one| !one.optional && !edge.metrics.contains_key(&one.name));
        let Some(metric) = missing else {
            return Ok(());
        };
        let labels = metric.labels.iter();
        let labels: Vec<String> = labels
            .map(|(name, value)| format!("{name}=\"{value}\""))
            .collect();
        Err(TrialFailure::new(
            Fault::User,
            format!(
                "the metric \"{}\": {} with {} tells no {}_sum and _count with {{{}}} after the warm-up; check \
                 its name and labels in app.toml, or set optional = true",
                metric.name,
                metric.service,
                set.configuration,
                metric.metric,
                labels.join(", ")
            ),
        ))
    }

    /// A slice of each variant that is up; false where one of them failed.
    fn round(
        &self,
        application: &Application<'_>,
        users: &mut [Users],
        round: &Round,
        writer: &mut RunWriter,
        report: &mut dyn FnMut(Progress<'_>),
    ) -> Result<bool, AppRunError> {
        for &place in &round.order {
            let mut up = application.sets().iter().zip(&mut *users);
            let name = &self.plan.variants[place].name;
            let Some((set, users)) = up.find(|(set, _)| set.name == *name) else {
                continue;
            };
            report(Progress::Measuring(&set.name));
            let mut started_at_ms = now_ms();
            let measured = self.slice(application, set, users, &mut started_at_ms);
            if self.stop.load(Ordering::Relaxed) {
                let reason = "interrupted during a slice";
                return Err(TrialFailure::new(Fault::Instrument, reason).into());
            }
            let is_measured = measured.is_ok();
            let outcome = match measured {
                Ok(figures) => SliceOutcome::Measured(Box::new(figures)),
                Err(TrialFailure {
                    reason, fault, log, ..
                }) => SliceOutcome::Failed { reason, fault, log },
            };
            writer.append(&AppRecord::Slice(Box::new(SliceRecord {
                invocation: round.invocation,
                block: round.block,
                variant: set.name.clone(),
                started_at_ms,
                outcome,
            })))?;
            report(Progress::Ended);
            if !is_measured {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn slice(
        &self,
        application: &Application<'_>,
        set: &Set,
        users: &mut Users,
        started_at_ms: &mut u64,
    ) -> TrialResult<SliceFigures> {
        users.open(self.stop)?;
        self.wait(application, self.plan.settle_ms)?;
        let before = self.edge(application, set)?;
        *started_at_ms = now_ms();
        users.count(self.stop)?;
        self.wait(application, self.plan.slice_ms)?;
        // In the same order as before: what is counted within and without is of equal length then.
        let after = self.edge(application, set)?;
        let taken = users.take(self.stop)?;
        users.close(self.stop)?;
        application.check_processes()?;
        Ok(figures(application, set, taken, &before, &after))
    }

    /// Waits while all processes are there.
    fn wait(&self, application: &Application<'_>, ms: u64) -> TrialResult {
        application.wait(Duration::from_millis(ms), self.stop)?;
        match self.stop.load(Ordering::Relaxed) {
            true => Err(TrialFailure::new(
                Fault::Instrument,
                "interrupted during the load",
            )),
            false => Ok(()),
        }
    }

    fn edge(&self, application: &Application<'_>, set: &Set) -> TrialResult<Edge> {
        let mut metrics = BTreeMap::new();
        for service in &set.services {
            let spec = self.built.app.process(&service.name);
            let Some(at) = spec.and_then(|spec| spec.metrics.as_ref()) else {
                continue;
            };
            let told = self.plan.metrics.iter();
            let told = told.filter(|metric| metric.service == service.name);
            metrics.extend(exposition::read(service, at, told)?);
        }
        let processes = application.backing().iter().chain(&set.services);
        Ok(Edge {
            metrics,
            processes: processes.map(Running::used).collect(),
        })
    }
}

fn figures(
    application: &Application<'_>,
    set: &Set,
    taken: Taken,
    before: &Edge,
    after: &Edge,
) -> SliceFigures {
    let requests = taken.requests.iter().map(|one| RequestRecord {
        name: one.name.clone(),
        method: one.method.clone(),
        times: one.times().counts().clone().into(),
        sum_us: one.sum_us,
        failures: one.failures,
        error: one.error.clone(),
    });
    let metrics = after.metrics.iter().map(|(name, after)| {
        let before = before.metrics.get(name).copied().unwrap_or_default();
        let added = SumCount {
            sum: after.sum - before.sum,
            count: after.count - before.count,
        };
        (name.clone(), added)
    });
    let shared = application.backing().iter().map(|one| (one, true));
    let running = shared.chain(set.services.iter().map(|one| (one, false)));
    let used = before.processes.iter().zip(&after.processes);
    let processes = running
        .zip(used)
        .map(|((running, is_shared), (before, after))| ProcessRecord {
            name: running.name.clone(),
            is_shared,
            cpu_ns: before
                .cpu_ns
                .zip(after.cpu_ns)
                .map(|(before, after)| after.saturating_sub(before)),
            memory_bytes: running.held_bytes(),
            jvm: before
                .jvm
                .zip(after.jvm)
                .map(|(before, after)| after.since(&before)),
        });
    SliceFigures {
        seconds: taken.seconds,
        requests: requests.collect(),
        metrics: metrics.collect(),
        processes: processes.collect(),
        load_generator_cpu_seconds: taken.cpu_seconds,
        task_errors: taken.task_errors,
        task_error: taken.task_error,
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_millis() as u64
}
