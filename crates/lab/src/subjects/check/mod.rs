//! Checks that a subject does what it declares: tries the ways of every stack, each with new processes.

mod client;
mod codec;
mod pairs;
mod parts;
mod server;
mod slices;
mod versions;
mod way;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rpcgauge_contract::{self as contract, END_TIMEOUT, READY_TIMEOUT};
use rpcgauge_message::workload::MessageSet;
use rpcgauge_message::{Limits, Workload, WorkloadSpec};
use rpcgauge_study::features::{Features, Role, WorkloadKind};
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::Runtime;
use rpcgauge_study::subject::Stack;
use rpcgauge_study::words::{Named as _, format_size};
use serde_json::{Value, json};

use self::pairs::all_pairs;
use self::versions::Reported;
use self::way::{Coding, OWN, Way};
use super::{Built, Package, Step, SubjectsError};
use crate::error::{TrialFailure, TrialResult};
use crate::files::scratch::Scratch;
use crate::subject::{EventsFile, RuntimeFiles, Start, Subject, SubjectCommand};
use crate::subjects::Stacks;

/// A heap size that every runtime can start with.
const HEAP_BYTES: u64 = 256 << 20;

/// A client or codec that has not answered a line after this time is considered hung. A slice is only a few
/// calls, but the library may need a while to reconnect.
const PATIENCE: Duration = Duration::from_secs(15);

/// The result of one attempt.
#[derive(Debug)]
pub struct Tried<'a> {
    /// The stack, named as in studies, and its role; or the subject's name.
    pub who: &'a str,
    /// What was tried, in words.
    pub what: &'a str,
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

impl Check<'_> {
    /// Tries everything that the stack `only` declares, or that all stacks declare if it is `None`. Reports
    /// each attempt.
    ///
    /// # Errors
    /// Fails if there is no such stack, the check was stopped, or no folder can be created for sockets.
    pub fn run(
        &self,
        only: Option<&str>,
        step: &mut dyn FnMut(Step<'_>),
        report: &mut dyn FnMut(&Tried<'_>),
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
        let pinned = &manifest.versions;
        let is_whole = stacks.len() == manifest.stacks.len();
        let mut reported = Reported::default();
        let mut have_all_started = true;
        let mut failed = Vec::new();
        for stack in stacks {
            let name = format!("{}/{}", manifest.name, stack.name);
            let stacks = self.stacks(&name, stack, &mut failed, step)?;
            for role in &stack.features.roles {
                let mut check = self.stack_check((&name, *role), stack, &stacks, report)?;
                match role {
                    Role::Server => check.server(),
                    Role::Client => check.client(),
                    Role::Codec => check.codec(),
                }?;
                if !pinned.is_empty() && check.reported.is_known() {
                    check.attempt("reports the versions listed in its subject.toml", |check| {
                        check.reported.agree(pinned)
                    })?;
                }
                have_all_started &= check.reported.is_known();
                reported.add(check.reported);
            }
        }
        if is_whole {
            self.programs(step, report)?;
        }
        // A stack that never started has already failed above, and its versions are unknown.
        if is_whole && have_all_started && !pinned.is_empty() {
            report(&Tried {
                who: &manifest.name,
                what: "reports every version of its subject.toml",
                outcome: reported.is_complete(pinned),
            });
        }
        Ok(())
    }

    /// Tries each program that contains several stacks.
    fn programs(
        &self,
        step: &mut dyn FnMut(Step<'_>),
        report: &mut dyn FnMut(&Tried<'_>),
    ) -> Result<(), SubjectsError> {
        let manifest = &self.package.manifest;
        for program in &manifest.programs {
            let name = format!("{}/{}", manifest.name, program.name);
            let set = MessageSet::BuiltIn;
            let command = self
                .built
                .command(manifest, &program.name, &set, step, self.stop);
            let mut commands = Stacks::default();
            commands.add_for(&name, set, command.as_ref());
            let carried = program
                .stacks
                .iter()
                .filter_map(|name| manifest.stack(name));
            let carried: Vec<&Stack> = carried.collect();
            let Some(first) = carried.first() else {
                continue;
            };
            // Programs do not declare which files they need on disk.
            let declared = Stack {
                disk: Vec::new(),
                ..(*first).clone()
            };
            for role in [Role::Server, Role::Client] {
                let mut check = self.stack_check((&name, role), &declared, &commands, report)?;
                check.parts(&carried, role)?;
            }
        }
        Ok(())
    }

    fn stack_check<'s>(
        &'s self,
        (name, role): (&'s str, Role),
        stack: &'s Stack,
        stacks: &'s Stacks,
        report: &'s mut dyn FnMut(&Tried<'_>),
    ) -> Result<StackCheck<'s>, SubjectsError> {
        Ok(StackCheck {
            asked: self,
            stacks,
            who: format!("{name} as {}", role.as_str()),
            stack: name,
            declared: stack,
            features: &stack.features,
            scratch: Scratch::make()?,
            log: self.built.check_log(),
            runtime: Runtime::default(),
            runtime_files: RuntimeFiles::default(),
            files: 0,
            reported: Reported::default(),
            stop: self.stop,
            report,
        })
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

/// The check of one stack in one role.
struct StackCheck<'a> {
    asked: &'a Check<'a>,
    /// The stack and its role.
    who: String,
    stacks: &'a Stacks,
    /// The stack's name, as studies write it.
    stack: &'a str,
    declared: &'a Stack,
    features: &'a Features,
    /// The folder for sockets and records.
    scratch: Scratch,
    log: PathBuf,
    /// The runtime's settings, and their files.
    runtime: Runtime,
    runtime_files: RuntimeFiles,
    /// The number of socket and record files so far.
    files: u32,
    reported: Reported,
    stop: &'a AtomicBool,
    report: &'a mut dyn FnMut(&Tried<'_>),
}

impl StackCheck<'_> {
    /// Makes one attempt and reports its outcome.
    fn attempt(
        &mut self,
        what: &str,
        attempt: impl FnOnce(&mut Self) -> TrialResult,
    ) -> Result<(), SubjectsError> {
        let outcome = attempt(self);
        if self.stop.load(Ordering::Relaxed) {
            return Err(SubjectsError::Stopped);
        }
        (self.report)(&Tried {
            who: &self.who,
            what,
            outcome,
        });
        Ok(())
    }

    /// The ways to try: all of them, or enough to cover every pair of values.
    fn chosen<T>(&self, ways: Vec<T>, values: impl Fn(&T) -> Vec<String>) -> Vec<T> {
        if self.asked.every_combination {
            ways
        } else {
            all_pairs(ways, values)
        }
    }

    /// An unused path.
    fn path(&mut self) -> PathBuf {
        self.files += 1;
        self.scratch.path(&self.files.to_string())
    }

    fn starts<'s>(
        &'s self,
        command: &'s SubjectCommand,
        settings: &'s contract::SettingsLine,
    ) -> Start<'s> {
        Start {
            command,
            settings,
            cores: None,
            log: &self.log,
            ready_timeout: command.ready_timeout.unwrap_or(READY_TIMEOUT),
            end_timeout: END_TIMEOUT,
        }
    }

    fn start(&mut self, settings: &contract::SettingsLine) -> TrialResult<Subject> {
        Ok(self.start_parts(settings)?.swap_remove(0))
    }

    fn start_parts(&mut self, settings: &contract::SettingsLine) -> TrialResult<Vec<Subject>> {
        let command = self.command(settings)?;
        let needed = &self.declared.disk;
        if !needed.is_empty() && command.disk.is_none() {
            return Err(wrong(format!(
                "its subject.toml declares that it needs {}, but some of these files do not exist",
                needed.join(", ")
            )));
        }
        let parts = Subject::start_parts(&self.starts(&command, settings), self.stop)?;
        self.reported.note(&parts[0].ready().versions);
        Ok(parts)
    }

    /// The command that starts the stack for the messages in its settings.
    fn command(&self, settings: &contract::SettingsLine) -> TrialResult<SubjectCommand> {
        let command = self.stacks.command(self.stack, settings.workload())?;
        Ok(command.with_runtime(&self.runtime, &self.runtime_files))
    }

    /// Starts the stack with each setting of its runtime, and reads the runtime's events.
    fn runtimes(&mut self, settings: &contract::SettingsLine) -> Result<(), SubjectsError> {
        let has = &self.features.runtime;
        for gc in &has.gc {
            self.runtime.gc = Some(gc.clone());
            let what = format!("starts with the garbage collector {gc}");
            self.attempt(&what, |check| check.start(settings)?.end_well())?;
        }
        self.runtime = Runtime::default();
        if has.heap {
            self.runtime.heap_bytes = Some(HEAP_BYTES);
            let what = format!("starts with a heap of {}", format_size(HEAP_BYTES));
            self.attempt(&what, |check| check.start(settings)?.end_well())?;
        }
        self.runtime = Runtime::default();
        if has.events {
            self.attempt("reports its runtime's events", |check| {
                let file = check.path();
                let events = EventsFile::of(&check.command(settings)?, file.clone());
                check.runtime_files.events = Some(file);
                let started = check.start(settings);
                check.runtime_files.events = None;
                started?.end_well()?;
                let events = events.map_or(Ok(Vec::new()), |file| file.read(self.stop));
                events.map(|_| ()).map_err(wrong)
            })?;
        }
        Ok(())
    }

    /// Checks that the stack rejects, with an error line, what every subject must reject.
    fn refusals(&mut self, settings: &contract::SettingsLine) -> Result<(), SubjectsError> {
        let line: Value = serde_json::from_str(&settings.to_line()).unwrap_or_default();
        for (what, key, value) in [
            ("refuses an unknown setting", "pace", json!("brisk")),
            ("refuses an unknown stack", "stack", json!("no-such-stack")),
            (
                "refuses an unknown encoding",
                "encoding",
                json!("semaphore"),
            ),
            (
                "refuses an unknown workload",
                "workload",
                json!({"name": "siesta"}),
            ),
            (
                "refuses another contract",
                "contract",
                json!(contract::VERSION + 1),
            ),
        ] {
            let mut line = line.clone();
            line[key] = value;
            self.attempt(what, |check| {
                let command = check.command(settings)?;
                let start = check.starts(&command, settings);
                Subject::refusal(&start, &line.to_string(), check.stop).map(|_| ())
            })?;
        }
        Ok(())
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
