//! The file that a runtime writes its events to, and the command that prints them.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rpcgauge_message::contract::RuntimeEvent;
use rpcgauge_study::subject::EVENTS;

use super::ending::{end, spawn, wait_until_ended};
use super::{SubjectCommand, one_line};

/// How long the command that prints events may take.
const MOST_TIME: Duration = Duration::from_secs(120);

/// The most bytes that it may print: some hundred thousand events.
const MOST_BYTES: u64 = 64 << 20;

/// The most bytes of what it says of an error.
const MOST_SAID: u64 = 4 << 10;

/// The events of a process, which can be read when it has ended.
pub(crate) struct EventsFile {
    file: PathBuf,
    program: PathBuf,
    args: Vec<String>,
    folder: Option<PathBuf>,
}

impl EventsFile {
    /// Those that a process writes to a file; none where its runtime tells none.
    pub(crate) fn of(command: &SubjectCommand, file: PathBuf) -> Option<Self> {
        let (program, args) = command.runtime.read.as_ref()?;
        let path = file.display().to_string();
        let args = args.iter().map(|word| word.replace(EVENTS, &path));
        Some(Self {
            program: program.clone(),
            args: args.collect(),
            folder: command.folder.clone(),
            file,
        })
    }

    /// Runs the command that prints the events; then the file is no longer needed.
    pub(crate) fn read(&self) -> Result<Vec<RuntimeEvent>, String> {
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
