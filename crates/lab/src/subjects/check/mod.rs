//! Checks that a subject does what it declares: tries the ways of every stack, several stacks at once.

mod client;
mod codec;
mod pairs;
mod parts;
mod server;
mod slices;
mod stack;
mod versions;
mod way;

use std::panic::resume_unwind;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rpcgauge_message::workload::MessageSet;
use rpcgauge_message::{Limits, Workload, WorkloadSpec};
use rpcgauge_study::features::{Role, WorkloadKind};
use rpcgauge_study::record::Fault;
use rpcgauge_study::subject::Stack;

use self::stack::StackCheck;
use self::versions::Reported;
use self::way::{Coding, OWN, Way};
use super::{Built, Package, Step, SubjectsError};
use crate::error::{TrialFailure, TrialResult};
use crate::subject::SubjectCommand;
use crate::subjects::Stacks;

/// A client or codec that has not answered a line after this time is considered hung. A slice is only a few
/// calls, but the library may need a while to reconnect.
const PATIENCE: Duration = Duration::from_secs(15);

/// The maximum number of stacks to try at once. The processes of each may take a gibibyte of memory.
const MAX_AT_ONCE: usize = 4;

/// The result of one attempt.
#[derive(Debug)]
pub struct Tried {
    /// The position of the stack and its role in the order of `subject.toml`. Attempts of different stacks are
    /// reported as they end.
    pub task: usize,
    /// The stack, named as in studies, and its role; or the subject's name.
    pub who: String,
    /// What was tried, in words.
    pub what: String,
    /// The outcome of the attempt.
    pub outcome: TrialResult,
}

/// A check of a subject, with everything that it needs.
pub struct Check<'a> {
    /// The subject.
    pub package: &'a Package,
    /// The subject's build.
    pub built: &'a Built,
    /// The embedded server, which checked clients call.
    pub reference: &'a SubjectCommand,
    /// Whether to try every combination of what a stack declares instead of covering only every pair of
    /// values.
    pub every_combination: bool,
    /// Set to stop the check.
    pub stop: &'a AtomicBool,
}

/// What one thread tries: a stack in one of its roles, or a program with several stacks.
struct Task<'a> {
    /// The name of the stack or program, as studies write it.
    name: String,
    role: Role,
    declared: Stack,
    commands: Stacks,
    /// The stacks of the program; empty if the task is a stack.
    parts: Vec<&'a Stack>,
    /// Whether to try each setting of the runtime.
    tries_runtimes: bool,
}

impl Check<'_> {
    /// Tries everything that the stack `only` declares, or that all stacks declare if it is `None`. Tries
    /// several stacks at once, each with its own processes, and reports each attempt.
    ///
    /// # Errors
    /// Fails if there is no such stack, the check was stopped, or no folder can be created for sockets.
    pub fn run(
        &self,
        only: Option<&str>,
        step: &mut dyn FnMut(Step<'_>),
        report: &mut dyn FnMut(&Tried),
    ) -> Result<(), SubjectsError> {
        let manifest = &self.package.manifest;
        let stacks: Vec<&Stack> = match only {
            None => manifest.stacks.iter().collect(),
            Some(name) => vec![manifest.stack(name).ok_or_else(|| {
                let nearest = manifest.nearest_stack(name);
                SubjectsError::Unknown(format!("{}/{name}", manifest.name), nearest)
            })?],
        };
        let log = self.built.check_log();
        match std::fs::remove_file(&log) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(SubjectsError::Cache(log, source));
            }
            _ => {}
        }
        let is_whole = stacks.len() == manifest.stacks.len();
        let mut tasks = self.stack_tasks(&stacks, step)?;
        let of_stacks = tasks.len();
        if is_whole {
            tasks.extend(self.program_tasks(step));
        }
        let reported = self.try_all(&tasks, report)?;
        let pinned = &manifest.versions;
        // A stack that never started has already failed above, and its versions are unknown.
        let have_all_started = reported[..of_stacks].iter().all(Reported::is_known);
        if is_whole && have_all_started && !pinned.is_empty() {
            report(&Tried {
                task: tasks.len(),
                who: manifest.name.clone(),
                what: "reports every version of its subject.toml".to_owned(),
                outcome: Reported::all(reported).is_complete(pinned),
            });
        }
        Ok(())
    }

    /// Each of these stacks in each of its roles.
    fn stack_tasks(
        &self,
        stacks: &[&Stack],
        step: &mut dyn FnMut(Step<'_>),
    ) -> Result<Vec<Task<'_>>, SubjectsError> {
        let manifest = &self.package.manifest;
        let mut tasks: Vec<Task<'_>> = Vec::new();
        let mut failed = Vec::new();
        for stack in stacks {
            let name = format!("{}/{}", manifest.name, stack.name);
            let commands = self.stacks(&name, stack, &mut failed, step)?;
            for role in &stack.features.roles {
                // The manifest has one set of flags for all stacks.
                let is_first = |other: &Task<'_>| other.role != *role;
                tasks.push(Task {
                    name: name.clone(),
                    role: *role,
                    declared: (*stack).clone(),
                    commands: commands.clone(),
                    parts: Vec::new(),
                    tries_runtimes: tasks.iter().all(is_first),
                });
            }
        }
        Ok(tasks)
    }

    /// Each program that contains several stacks, as server and as client.
    fn program_tasks(&self, step: &mut dyn FnMut(Step<'_>)) -> Vec<Task<'_>> {
        let manifest = &self.package.manifest;
        let mut tasks = Vec::new();
        for program in &manifest.programs {
            let name = format!("{}/{}", manifest.name, program.name);
            let set = MessageSet::BuiltIn;
            let command = self
                .built
                .command(manifest, &program.name, &set, step, self.stop);
            let mut commands = Stacks::default();
            commands.add_for(&name, set, command.as_ref());
            let parts: Vec<&Stack> = program
                .stacks
                .iter()
                .filter_map(|name| manifest.stack(name))
                .collect();
            let Some(first) = parts.first() else {
                continue;
            };
            // Programs do not declare which files they need on disk.
            let declared = Stack {
                disk: Vec::new(),
                ..(*first).clone()
            };
            for role in [Role::Server, Role::Client] {
                tasks.push(Task {
                    name: name.clone(),
                    role,
                    declared: declared.clone(),
                    commands: commands.clone(),
                    parts: parts.clone(),
                    tries_runtimes: false,
                });
            }
        }
        tasks
    }

    /// Does the tasks, as many at once as there are cores, and returns the versions that each of them
    /// reported.
    fn try_all(
        &self,
        tasks: &[Task<'_>],
        report: &mut dyn FnMut(&Tried),
    ) -> Result<Vec<Reported>, SubjectsError> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let left = Mutex::new(tasks.iter().enumerate());
        let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
        let (reports, received) = mpsc::channel();
        let worker = |reports: Sender<Tried>| -> Result<Vec<(usize, Reported)>, SubjectsError> {
            let mut done = Vec::new();
            while let Some((number, task)) = next() {
                done.push((number, StackCheck::run(self, (number, task), &reports)?));
            }
            Ok(done)
        };
        let mut done = thread::scope(|scope| -> Result<_, SubjectsError> {
            let workers: Vec<_> = (0..cores.min(MAX_AT_ONCE))
                .map(|_| {
                    let reports = reports.clone();
                    scope.spawn(|| worker(reports))
                })
                .collect();
            drop(reports);
            received.iter().for_each(|tried| report(&tried));
            let mut done = Vec::new();
            for worker in workers {
                done.extend(worker.join().unwrap_or_else(|panic| resume_unwind(panic))?);
            }
            Ok(done)
        })?;
        done.sort_by_key(|(number, _)| *number);
        Ok(done.into_iter().map(|(_, reported)| reported).collect())
    }

    /// How a stack is started for each set of messages that it declares. A command that failed for another
    /// stack is not run again if it would fail in the same way.
    fn stacks(
        &self,
        name: &str,
        stack: &Stack,
        failed: &mut Vec<(MessageSet, SubjectsError)>,
        step: &mut dyn FnMut(Step<'_>),
    ) -> Result<Stacks, SubjectsError> {
        let mut stacks = Stacks::default();
        let mut sets: Vec<MessageSet> = Vec::new();
        for kind in &stack.features.workloads {
            let set = match (kind, &*OWN) {
                (WorkloadKind::Own, Ok(own)) => MessageSet::from(own),
                // The stack's own checks report what is wrong with the sample.
                (WorkloadKind::Own, Err(_)) => continue,
                _ => MessageSet::BuiltIn,
            };
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
        for set in sets {
            let manifest = &self.package.manifest;
            let mut known = failed.iter();
            if let Some((_, error)) = known.find(|(of, error)| *of == set && error.is_of(stack)) {
                stacks.add_for(name, set, Err(error));
                continue;
            }
            let built = self.built;
            let command = built.command(manifest, &stack.name, &set, step, self.stop);
            stacks.add_for(name, set.clone(), command.as_ref());
            match command {
                Err(SubjectsError::Stopped) => return Err(SubjectsError::Stopped),
                Err(error) => failed.push((set, error)),
                Ok(_) => {}
            }
        }
        Ok(stacks)
    }
}

fn workload(spec: &WorkloadSpec) -> TrialResult<Workload> {
    Workload::new(spec).map_err(broken)
}

/// A failure of this program.
fn broken(error: impl ToString) -> TrialFailure {
    TrialFailure::new(Fault::Instrument, error.to_string())
}

/// A failure of the subject.
fn wrong(reason: impl Into<String>) -> TrialFailure {
    TrialFailure::new(Fault::Subject, reason)
}

const LIMITS: Limits = Limits::DEFAULT;
