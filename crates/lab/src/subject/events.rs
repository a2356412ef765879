//! The file to which a runtime writes its events, and the command that prints them.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rpcgauge_contract::RuntimeEvent;
use rpcgauge_study::subject::EVENTS;

use super::ending::{MAX_PRINTED_BYTES, bound_output, run};
use super::log::file_tail;
use super::{SubjectCommand, filled, one_line};
use crate::files::regular;

/// The time limit for the command that prints events.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The events of a process, readable once the process has exited.
pub(crate) struct EventsFile {
    file: PathBuf,
    program: PathBuf,
    args: Vec<String>,
    folder: Option<PathBuf>,
}

impl EventsFile {
    /// The events that a process writes to `file`; `None` if its runtime does not support events.
    pub(crate) fn of(command: &SubjectCommand, file: PathBuf) -> Option<Self> {
        let (program, args) = command.runtime.read.as_ref()?;
        Some(Self {
            program: program.clone(),
            args: filled(args, EVENTS, &file.display().to_string()),
            folder: command.folder.clone(),
            file,
        })
    }

    /// Runs the command that prints the events, unless `stop` is set, and removes the file.
    pub(crate) fn read(&self, stop: &AtomicBool) -> Result<Vec<RuntimeEvent>, String> {
        if !self.file.is_file() {
            return Err("its runtime wrote none".to_owned());
        }
        let printed = self.file.with_extension("printed");
        let said = self.file.with_extension("said");
        let read = self.run(&printed, &said, stop);
        // If this fails, the files are removed together with their folder when the run ends.
        for file in [&self.file, &printed, &said] {
            let _ = fs::remove_file(file);
        }
        read
    }

    fn run(
        &self,
        printed: &Path,
        said: &Path,
        stop: &AtomicBool,
    ) -> Result<Vec<RuntimeEvent>, String> {
        let program = self.program.display();
        let failed = |error: io::Error| format!("{program} could not be started: {error}");
        let unread = |error: io::Error| format!("cannot read the output of {program}: {error}");
        let open = |path: &Path| regular::create(path).map_err(failed);
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .stdout(open(printed)?)
            .stderr(open(said)?);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        bound_output(&mut command);
        let is_stopped = || stop.load(Ordering::Relaxed);
        let status = run(&mut command, TIMEOUT, |_| !is_stopped()).map_err(failed)?;
        let Some(status) = status else {
            return Err(if is_stopped() {
                "the run was stopped before they were read".to_owned()
            } else {
                format!("{program} did not finish within {} s", TIMEOUT.as_secs())
            });
        };
        let file = regular::open(printed).map_err(unread)?;
        if file.metadata().map_err(unread)?.len() > MAX_PRINTED_BYTES {
            let most = MAX_PRINTED_BYTES >> 20;
            return Err(format!("{program} printed more than {most} MiB"));
        }
        if !status.success() {
            let tail = file_tail(said).map_err(unread)?;
            let last = one_line(tail.rsplit('\n').next().unwrap_or_default());
            return Err(format!("{program} failed ({status}): {last}"));
        }
        let events = BufReader::new(file).lines().map(|line| {
            let event = RuntimeEvent::parse(&line.map_err(unread)?);
            event.map_err(|error| format!("{program} printed an invalid line: {error}"))
        });
        events.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of reading with a shell script, and the number of files that it leaves.
    fn read(script: &str, is_stopped: bool) -> (Result<Vec<RuntimeEvent>, String>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("1-server.events");
        fs::write(&file, "recorded").unwrap();
        let events = EventsFile {
            file,
            program: PathBuf::from("/bin/sh"),
            args: vec!["-c".to_owned(), script.to_owned()],
            folder: None,
        };
        let read = events.read(&AtomicBool::new(is_stopped));
        (read, fs::read_dir(folder.path()).unwrap().count())
    }

    #[test]
    fn a_reader_that_fails_is_blamed_for_what_it_did_and_leaves_nothing() {
        let many =
            "for i in $(seq 2000); do echo warning $i >&2; done; echo no such file >&2; exit 3";
        let large = "head -c 67108865 /dev/zero";
        let endless = "exec yes";
        let none = "echo nap";
        for (script, is_stopped, says) in [
            (many, false, ": no such file"),
            (large, false, "printed more than 64 MiB"),
            (endless, false, "printed more than 64 MiB"),
            (none, false, "printed an invalid line"),
            ("sleep 1000", true, "the run was stopped"),
        ] {
            let (read, left) = read(script, is_stopped);
            let reason = read.unwrap_err();
            assert!(reason.contains(says), "{script}: {reason}");
            assert_eq!(left, 0, "{script}");
        }
        let event = r#"echo '{"kind":"gc-pause","begin_ns":1,"end_ns":2}'"#;
        let (read, left) = read(event, false);
        assert_eq!((read.unwrap().len(), left), (1, 0));
    }
}
