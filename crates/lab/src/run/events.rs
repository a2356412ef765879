//! The events of runtimes: where each process writes them, and how they are read once it has ended.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rpcgauge_message::contract::RuntimeEvent;
use rpcgauge_study::features::Role;
use rpcgauge_study::plan::{TrialSpec, Variant};
use rpcgauge_study::record::{EventsRecord, Record};
use rpcgauge_study::settings::Placement;
use rpcgauge_study::words::Word as _;

use super::Run;
use crate::error::{LabError, TrialResult};
use crate::subject::ending::{end, spawn, wait_until_ended};
use crate::subject::{SubjectCommand, one_line};

/// How long the command that prints events may take.
const MOST_TIME: Duration = Duration::from_secs(120);

/// The most bytes that it may print: some hundred thousand events.
const MOST_BYTES: u64 = 64 << 20;

/// The most bytes of what it says of an error.
const MOST_SAID: u64 = 4 << 10;

/// A process whose events can be read when it has ended.
pub(super) struct Told {
    process: Role,
    /// The file that it wrote them to.
    file: PathBuf,
    program: PathBuf,
    args: Vec<String>,
    folder: Option<PathBuf>,
}

/// The events of an instance that has ended, and when its trials were measured.
pub(super) struct Ended {
    pub(super) variant: u32,
    pub(super) placement: Placement,
    pub(super) told: Vec<Told>,
    /// Spans of CLOCK_MONOTONIC, ns.
    pub(super) measured: Vec<[u64; 2]>,
}

impl Run<'_> {
    /// Where the processes of an instance write events: none where none are asked for, or the runtime
    /// tells none. `name` is that of its files.
    pub(super) fn told(&self, variant: &Variant, name: &str) -> TrialResult<Vec<Told>> {
        let target = &variant.settings.target;
        let mut stacks = Vec::new();
        stacks.extend(target.server().map(|stack| (Role::Server, stack)));
        let client = target.client().map(|client| &*client.stack);
        stacks.extend(client.map(|stack| (Role::Client, stack)));
        stacks.extend(target.codec().map(|(stack, ..)| (Role::Codec, stack)));
        let mut told = Vec::new();
        for (process, stack) in stacks {
            let workload = target.workload();
            let Ok(command) = self.options.stacks.command(stack, workload) else {
                continue;
            };
            if let Some(file) = self.events_file(command, variant, process, name)?
                && let Some((program, args)) = &command.runtime.read
            {
                let path = file.display().to_string();
                let args = args.iter();
                told.push(Told {
                    process,
                    program: program.clone(),
                    args: args
                        .map(|word| word.replace(rpcgauge_study::subject::EVENTS, &path))
                        .collect(),
                    folder: command.folder.clone(),
                    file,
                });
            }
        }
        Ok(told)
    }

    /// The file that a process writes its events to.
    pub(super) fn events_file(
        &self,
        command: &SubjectCommand,
        variant: &Variant,
        process: Role,
        name: &str,
    ) -> TrialResult<Option<PathBuf>> {
        let is_asked = variant.settings.runtime.events && command.runtime.read.is_some();
        match is_asked {
            true => self
                .file(&format!("{name}-{}.events", process.word()))
                .map(Some),
            false => Ok(None),
        }
    }

    /// Reads the events of instances that have ended, and keeps those of what was measured. What cannot be
    /// read fails no trial: the report says that it is not known.
    pub(super) fn keep_events(
        &mut self,
        invocation: u32,
        ended: Vec<Ended>,
    ) -> Result<(), LabError> {
        for instance in ended {
            let name = self.plan.variants[instance.variant as usize].name.clone();
            for told in &instance.told {
                let process = told.process;
                let events = match told.read() {
                    Ok(events) => events,
                    Err(reason) => {
                        let process = process.word();
                        let text = format!(
                            "the events of the {process} of \"{name}\" are not known: {reason}"
                        );
                        self.keep_warning(text)?;
                        continue;
                    }
                };
                let all = events.len();
                let is_within = |event: &RuntimeEvent| {
                    let mut spans = instance.measured.iter();
                    spans.any(|[from, to]| event.begin_ns <= *to && event.end_ns >= *from)
                };
                let mut events: Vec<RuntimeEvent> = events.into_iter().filter(is_within).collect();
                events.sort_by_key(|event| (event.begin_ns, event.end_ns));
                let mut record = EventsRecord {
                    invocation,
                    variant: name.clone(),
                    placement: instance.placement,
                    process,
                    outside: (all - events.len()) as u64,
                    joined: 0,
                    events,
                };
                record.join_down_to_most();
                self.records.append(&Record::Events(record))?;
            }
        }
        Ok(())
    }
}

/// The name of an instance's files, without the ending.
pub(super) fn file_name(invocation: u32, trial: &TrialSpec, starts: u32) -> String {
    let place = trial.placement.word();
    format!("{invocation}-{}-{place}-{starts}", trial.variant)
}

impl Told {
    /// Runs the command that prints the events; then the file is no longer needed.
    fn read(&self) -> Result<Vec<RuntimeEvent>, String> {
        if !self.file.is_file() {
            return Err("its runtime has written none".to_owned());
        }
        let read = self.run();
        // It lies in a folder that is removed with the run at the latest.
        let _ = fs::remove_file(&self.file);
        read
    }

    fn run(&self) -> Result<Vec<RuntimeEvent>, String> {
        let program = self.program.display();
        let failed = |error: std::io::Error| format!("{program} could not be started: {error}");
        let printed = self.file.with_extension("printed");
        let said = self.file.with_extension("said");
        let open = |path: &PathBuf| File::create(path).map_err(failed);
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .stdin(Stdio::null())
            .stdout(open(&printed)?)
            .stderr(open(&said)?);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        let mut child = spawn(&mut command, None).map_err(failed)?;
        let in_time = wait_until_ended(&child, Instant::now() + MOST_TIME);
        end(&mut child, &mut None, Duration::ZERO);
        let status = child.wait().map_err(failed)?;
        if !in_time {
            return Err(format!(
                "{program} had not ended after {} s",
                MOST_TIME.as_secs()
            ));
        }
        if !status.success() {
            let mut text = String::new();
            let file = File::open(&said).map_err(failed)?;
            let _ = file.take(MOST_SAID).read_to_string(&mut text);
            let last = text.lines().last().unwrap_or_default();
            return Err(format!("{program} ended with {status}: {}", one_line(last)));
        }
        let file = File::open(&printed).map_err(failed)?;
        let lines = BufReader::new(file.take(MOST_BYTES)).lines();
        let events = lines.map(|line| {
            let line = line.map_err(|error| error.to_string())?;
            let event = RuntimeEvent::parse(&line);
            event.map_err(|error| format!("{program} printed a line that is none: {error}"))
        });
        events.collect()
    }
}
