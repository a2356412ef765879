//! The check of one stack in one role, or of a program with several stacks: its attempts.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use rpcgauge_contract::{self as contract, END_TIMEOUT, READY_TIMEOUT};
use rpcgauge_study::features::{Features, Role};
use rpcgauge_study::settings::Runtime;
use rpcgauge_study::words::{Named as _, format_size};
use serde_json::{Value, json};

use super::pairs::all_pairs;
use super::versions::Reported;
use super::{Check, Task, Tried, wrong};
use crate::error::TrialResult;
use crate::files::scratch::Scratch;
use crate::subject::{EventsFile, RuntimeFiles, Start, Subject, SubjectCommand};
use crate::subjects::{Stacks, SubjectsError};

/// A heap size that every runtime can start with.
const HEAP_BYTES: u64 = 256 << 20;

/// The check of a stack in one role, or of a program.
pub(super) struct StackCheck<'a> {
    pub(super) asked: &'a Check<'a>,
    pub(super) task: &'a Task<'a>,
    /// The task's number, and the stack and its role.
    who: (usize, String),
    pub(super) stacks: &'a Stacks,
    /// The stack's name, as studies write it.
    pub(super) stack: &'a str,
    pub(super) features: &'a Features,
    /// The folder for sockets and records.
    scratch: Scratch,
    log: PathBuf,
    /// The runtime's settings, and their files.
    runtime: Runtime,
    runtime_files: RuntimeFiles,
    /// The number of socket and record files so far.
    files: u32,
    reported: Reported,
    pub(super) stop: &'a AtomicBool,
    report: &'a Sender<Tried>,
}

impl<'a> StackCheck<'a> {
    /// Does a task, and returns the versions that its processes reported.
    pub(super) fn run(
        asked: &'a Check<'a>,
        (number, task): (usize, &'a Task<'a>),
        report: &'a Sender<Tried>,
    ) -> Result<Reported, SubjectsError> {
        let mut check = Self {
            asked,
            task,
            who: (number, format!("{} as {}", task.name, task.role.as_str())),
            stacks: &task.commands,
            stack: &task.name,
            features: &task.declared.features,
            scratch: Scratch::make()?,
            log: asked.built.check_log(),
            runtime: Runtime::default(),
            runtime_files: RuntimeFiles::default(),
            files: 0,
            reported: Reported::default(),
            stop: asked.stop,
            report,
        };
        if !task.parts.is_empty() {
            check.parts(&task.parts, task.role)?;
            return Ok(check.reported);
        }
        match task.role {
            Role::Server => check.server(),
            Role::Client => check.client(),
            Role::Codec => check.codec(),
        }?;
        let pinned = &asked.package.manifest.versions;
        if !pinned.is_empty() && check.reported.is_known() {
            check.attempt("reports the versions listed in its subject.toml", |check| {
                check.reported.agree(pinned)
            })?;
        }
        Ok(check.reported)
    }

    /// Makes one attempt and reports its outcome.
    pub(super) fn attempt(
        &mut self,
        what: &str,
        attempt: impl FnOnce(&mut Self) -> TrialResult,
    ) -> Result<(), SubjectsError> {
        let outcome = attempt(self);
        if self.stop.load(Ordering::Relaxed) {
            return Err(SubjectsError::Stopped);
        }
        let (task, who) = self.who.clone();
        // The receiver outlives every worker.
        let _ = self.report.send(Tried {
            task,
            who,
            what: what.to_owned(),
            outcome,
        });
        Ok(())
    }

    /// The ways to try: all of them, or enough to cover every pair of values.
    pub(super) fn chosen<T>(&self, ways: Vec<T>, values: impl Fn(&T) -> Vec<String>) -> Vec<T> {
        if self.asked.every_combination {
            ways
        } else {
            all_pairs(ways, values)
        }
    }

    /// An unused path.
    pub(super) fn path(&mut self) -> PathBuf {
        self.files += 1;
        self.scratch.path(&self.files.to_string())
    }

    pub(super) fn starts<'s>(
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

    pub(super) fn start(&mut self, settings: &contract::SettingsLine) -> TrialResult<Subject> {
        Ok(self.start_parts(settings)?.swap_remove(0))
    }

    pub(super) fn start_parts(
        &mut self,
        settings: &contract::SettingsLine,
    ) -> TrialResult<Vec<Subject>> {
        let command = self.command(settings)?;
        let needed = &self.task.declared.disk;
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
    pub(super) fn command(&self, settings: &contract::SettingsLine) -> TrialResult<SubjectCommand> {
        let command = self.stacks.command(self.stack, settings.workload())?;
        Ok(command.with_runtime(&self.runtime, &self.runtime_files))
    }

    /// Starts the first stack of each role with each setting of the runtime, whose flags are the same for all
    /// stacks, and reads the runtime's events.
    pub(super) fn runtimes(
        &mut self,
        settings: &contract::SettingsLine,
    ) -> Result<(), SubjectsError> {
        if !self.task.tries_runtimes {
            return Ok(());
        }
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
    pub(super) fn refusals(
        &mut self,
        settings: &contract::SettingsLine,
    ) -> Result<(), SubjectsError> {
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
