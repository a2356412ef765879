//! Runs a study of an application. Each invocation starts new services, and each of its blocks measures one slice
//! of load per variant, one after another.
//!
//! ```text
//! for each invocation
//!   start a set of services and a load generator for each variant; check the sets; warm up one by one
//!   for each block, for each variant in the plan's order
//!     load begins ─ settle ─ edge, count ─ slice ─ edge, take ─ load ends
//! ```
//!
//! While one variant is measured, the processes of the other variants run without load. If there is too little
//! memory for all sets at the same time, an invocation runs them one after another, each with its slices of all
//! blocks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use rpcgauge_study::app::{
    AppBlock, AppPlan, AppRecord, AppVariant, SliceOutcome, SliceRecord, StartRecord,
};
use rpcgauge_study::record::Fault;
use rpcgauge_study::run::{RunError, RunWriter};
use rpcgauge_study::settings::Idle;
use rustix::process::getpriority_process;

use super::application::{Application, Set, carries};
use super::check::Responses;
use super::generator::Generator;
use super::package::BuiltApp;
use super::slice::{Edge, slice};
use super::users::Locust;
use crate::environment::{self, continued};
use crate::error::{LabError, TrialFailure, TrialResult};
use crate::run::{Earlier, RunEnding};

/// Runs the plan of a study of an application.
pub struct AppLab<'a> {
    /// The plan to run.
    pub plan: &'a AppPlan,
    /// The application.
    pub built: &'a BuiltApp<'a>,
    /// Locust, if the plan has users.
    pub locust: Option<&'a Locust>,
    /// The folder for logs.
    pub logs: PathBuf,
    /// Set to end the run.
    pub stop: &'a AtomicBool,
    /// The conditions of the earlier part of a resumed run; `None` for a new run.
    pub earlier: Option<Earlier>,
}

/// The progress of a run.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// A process is being started.
    Starting(&'a str),
    /// The responses of a variant are being checked.
    Checking(&'a str),
    /// A variant is being warmed up.
    WarmingUp(&'a str),
    /// A slice of a variant is being measured.
    Measuring(&'a str),
    /// A slice has been measured, or has failed.
    Ended,
}

/// Why a run could not continue. Records written earlier remain valid.
#[derive(Debug, thiserror::Error)]
pub enum AppRunError {
    /// The application, the load generator or the machine failed.
    #[error("{0}")]
    Failed(#[from] TrialFailure),
    /// A record could not be written.
    #[error(transparent)]
    Records(#[from] RunError),
}

/// The nice value of JVM compiler threads during the warm-up: the highest priority. Under full load they would
/// otherwise get little processor time, and a JVM would take twice as long to warm up.
const COMPILER_NICE: i32 = -20;

/// The values that checks have kept, by name.
type Kept = BTreeMap<String, String>;

impl<'a> AppLab<'a> {
    /// Checks that new slices would be comparable with the recorded ones, before anything is started.
    ///
    /// # Errors
    /// [`LabError::Changed`] if rpcgauge, the machine, the application or the load generator has changed.
    pub fn check_unchanged(&self) -> Result<(), LabError> {
        let Some(Earlier { provenance, .. }) = &self.earlier else {
            return Ok(());
        };
        let mut provenance = provenance.clone();
        provenance.add_environment(&environment::examine(Idle::AsIs))?;
        let build = self.built.build();
        let load_generator = Generator::name(&self.plan.load);
        Ok(provenance.add_application(&self.plan.app, &build, &load_generator)?)
    }

    /// Runs `blocks`: all blocks of a new run, or those of the invocations that a resumed run has not completed.
    /// Writes each record as soon as it is complete.
    ///
    /// # Errors
    /// Fails if services do not become ready or fail their checks, or if a record cannot be written.
    pub fn run(
        &self,
        blocks: &[AppBlock],
        writer: &mut RunWriter,
        report: &mut dyn FnMut(Progress<'_>),
    ) -> Result<RunEnding, AppRunError> {
        let ended = self.invocations(blocks, writer, report);
        if self.stop.load(Ordering::Relaxed) {
            Ok(RunEnding::Stopped)
        } else {
            ended.map(|()| RunEnding::Complete)
        }
    }

    fn invocations(
        &self,
        blocks: &[AppBlock],
        writer: &mut RunWriter,
        report: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), AppRunError> {
        if blocks.is_empty() {
            return Ok(());
        }
        let now = environment::examine(Idle::AsIs);
        writer.write_environment(&match &self.earlier {
            None => now.clone(),
            Some(earlier) => continued(earlier.environment.clone(), now.clone()),
        })?;
        // Either all sets run at the same time or, if memory does not suffice, one by one.
        let all = self.plan.variants.len();
        let is_together = carries(self.built.app, all).is_ok();
        let at_once = if is_together { all } else { 1 };
        let logs = self.logs.clone();
        let mut say = |title: &str| report(Progress::Starting(title));
        let mut application = Application::start(self.built, at_once, logs, &mut say, self.stop)?;
        let mut right = None;
        for blocks in blocks.chunk_by(|a, b| a.invocation == b.invocation) {
            for together in blocks[0].order.chunks(at_once) {
                let kept = self.start(&mut application, together, &mut right, report)?;
                let ready_at_ms = now_ms();
                let mut generators = self.warm_up(&application, &kept, report)?;
                writer.append(&AppRecord::Start(Box::new(StartRecord {
                    invocation: blocks[0].invocation,
                    ready_at_ms,
                    sets: generators.len(),
                    build: self.built.build(),
                    load_generator: Generator::name(&self.plan.load),
                    environment: Some(now.clone()),
                })))?;
                for block in blocks {
                    if !self.measure_block(&application, &mut generators, block, writer, report)? {
                        break;
                    }
                }
                drop(generators);
                application.end_sets();
            }
        }
        Ok(())
    }

    /// Starts and checks a set of services for each of these variants. Returns the values that the checks of each
    /// set have kept.
    fn start(
        &self,
        application: &mut Application<'_>,
        variants: &[usize],
        right: &mut Option<Responses>,
        report: &mut dyn FnMut(Progress<'_>),
    ) -> TrialResult<Vec<Kept>> {
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
        let mut kept = Vec::new();
        for set in application.sets() {
            report(Progress::Checking(&set.name));
            let responses = set.check(app)?;
            kept.push(responses.kept.clone());
            match right {
                None => *right = Some(responses),
                Some(right) => right.compare(&responses, app)?,
            }
        }
        Ok(kept)
    }

    /// Warms up all running sets, one after another, with a high priority for JVM compiler threads.
    fn warm_up(
        &self,
        application: &Application<'_>,
        kept: &[Kept],
        report: &mut dyn FnMut(Progress<'_>),
    ) -> TrialResult<Vec<Generator<'a>>> {
        application.set_compiler_nice(COMPILER_NICE);
        let mut all = Vec::new();
        for (set, kept) in application.sets().iter().zip(kept) {
            report(Progress::WarmingUp(&set.name));
            let log = self.logs.join(format!("locust-{}.log", set.name));
            let (load, stop) = (&self.plan.load, self.stop);
            let mut one = Generator::start(load, self.locust, self.built, set, kept, log, stop)?;
            let times = [0, self.plan.warm_up_ms].map(Duration::from_millis);
            one.send(application, set, times, &mut |_| Ok(()), stop)?;
            all.push(one);
            self.all_are_told(set, &Edge::read(application, set, &self.plan.metrics)?)?;
        }
        // Back to rpcgauge's own nice value, with which the processes started.
        application.set_compiler_nice(getpriority_process(None).unwrap_or_default());
        Ok(all)
    }

    /// Checks that every non-optional metric of the plan is exposed once there has been load.
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
                "the metric \"{}\": {} with {} exposes no {}_sum and _count with {{{}}} after the warm-up; check \
                 its name and labels in app.toml, or set optional = true",
                metric.name,
                metric.service,
                set.configuration,
                metric.metric,
                labels.join(", ")
            ),
        ))
    }

    /// Measures a slice of each running variant. Returns false if a slice failed.
    fn measure_block(
        &self,
        application: &Application<'_>,
        generators: &mut [Generator<'_>],
        block: &AppBlock,
        writer: &mut RunWriter,
        report: &mut dyn FnMut(Progress<'_>),
    ) -> Result<bool, AppRunError> {
        for &place in &block.order {
            let mut up = application.sets().iter().zip(&mut *generators);
            let name = &self.plan.variants[place].name;
            let Some((set, generator)) = up.find(|(set, _)| set.name == *name) else {
                continue;
            };
            report(Progress::Measuring(&set.name));
            let times = [self.plan.settle_ms, self.plan.slice_ms].map(Duration::from_millis);
            let mut started_at_ms = now_ms();
            let metrics = &self.plan.metrics;
            let measured = slice(application, set, generator, metrics, times, self.stop);
            if self.stop.load(Ordering::Relaxed) {
                let reason = "interrupted during a slice";
                return Err(TrialFailure::new(Fault::Instrument, reason).into());
            }
            let is_measured = measured.is_ok();
            let outcome = match measured {
                Ok((began_at_ms, figures)) => {
                    started_at_ms = began_at_ms;
                    SliceOutcome::Measured(Box::new(figures))
                }
                Err(TrialFailure {
                    reason, fault, log, ..
                }) => SliceOutcome::Failed { reason, fault, log },
            };
            writer.append(&AppRecord::Slice(Box::new(SliceRecord {
                invocation: block.invocation,
                block: block.block,
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
}

/// Milliseconds since the Unix epoch.
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_millis() as u64
}
