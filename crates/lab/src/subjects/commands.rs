//! Runs commands that fill a folder once for all runs, such as a subject's build or code generation.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::error::{CommandFailed, SubjectsError};
use super::folders::{
    beside, empty, has_part, lock, mark_part, mark_whole, remove_unused_beside, take, unwritable,
};
use crate::files::scratch::Scratch;
use crate::subject::{Log, run, wait_for_log};

/// A command that takes longer is considered hung. The slowest builds fetch and compile a few hundred packages.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// How long to read a command's output after it exits: a process that has left the group on purpose may still
/// hold the pipe open.
const LOG_GRACE: Duration = Duration::from_secs(1);

/// The current step of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// Waiting for another program that does the same work.
    Waiting,
    /// Running a command.
    Running {
        /// The command's number, from 1.
        number: usize,
        /// The number of commands.
        of: usize,
        /// The command line.
        command: &'a str,
        /// How long the command has been running.
        elapsed: Duration,
    },
}

/// Commands that fill a folder.
pub(crate) struct Commands<'a> {
    /// What a failure means for the owner, for the error message.
    pub(crate) failed: &'a str,
    /// Whether the commands read the user's own messages. If so, the last line of a failed command's output is
    /// about these and is included in the error.
    pub(crate) is_about_messages: bool,
    /// The owner of the commands, for example `the subject "go"`.
    pub(crate) owner: &'a str,
    /// The libraries that a first build fetches, with their versions.
    pub(crate) libraries: &'a BTreeMap<String, String>,
    /// The folder in which the commands run.
    pub(crate) folder: &'a Path,
    /// Resolves a command's program to the path of its executable.
    pub(crate) program: &'a dyn Fn(&str) -> PathBuf,
    /// The commands, run one after another.
    pub(crate) commands: Vec<Vec<String>>,
}

impl Commands<'_> {
    /// Fills a folder, unless it is already filled: `prepare` creates it, then the commands run.
    ///
    /// # Errors
    /// Fails if a command fails or the folder cannot be written.
    pub(crate) fn fill_once(
        &self,
        folder: &Path,
        prepare: &dyn Fn() -> Result<(), SubjectsError>,
        report: &mut dyn FnMut(Step<'_>),
        stop: &AtomicBool,
    ) -> Result<(), SubjectsError> {
        if take(folder) {
            return Ok(());
        }
        // Held until the end, so that a program waiting for it finds either a complete folder or none.
        let _lock = lock(&beside(folder, "lock"), report, stop)?;
        if take(folder) {
            return Ok(());
        }
        empty(folder)?;
        prepare()?;
        self.run(&beside(folder, "log"), report, stop)?;
        mark_whole(folder)?;
        take(folder);
        remove_unused_beside(folder);
        Ok(())
    }

    /// Adds a part to a filled folder, unless it is already there.
    ///
    /// # Errors
    /// Fails if a command fails or the folder cannot be written.
    pub(super) fn add_once(
        &self,
        folder: &Path,
        part: &str,
        report: &mut dyn FnMut(Step<'_>),
        stop: &AtomicBool,
    ) -> Result<(), SubjectsError> {
        let is_there = || self.commands.is_empty() || has_part(folder, part);
        if is_there() {
            return Ok(());
        }
        let _lock = lock(&beside(folder, "lock"), report, stop)?;
        if is_there() {
            return Ok(());
        }
        let log = beside(folder, &format!("{part}.log"));
        self.run(&log, report, stop).map_err(|mut error| {
            if let SubjectsError::Command(failed) = &mut error {
                failed.program = Some(part.to_owned());
            }
            error
        })?;
        mark_part(folder, part)
    }

    fn run(
        &self,
        path: &Path,
        report: &mut dyn FnMut(Step<'_>),
        stop: &AtomicBool,
    ) -> Result<(), SubjectsError> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(unwritable(path)(error));
            }
            _ => {}
        }
        let log = Log::new(path);
        let temporary = Scratch::make()?;
        for (number, words) in (1..).zip(&self.commands) {
            let shown = words.join(" ");
            let mut report = |elapsed| {
                report(Step::Running {
                    number,
                    of: self.commands.len(),
                    command: &shown,
                    elapsed,
                });
            };
            log.add(format!("$ {shown}\n").as_bytes());
            let mut command = Command::new((self.program)(&words[0]));
            command
                .args(&words[1..])
                .current_dir(self.folder)
                .env("TMPDIR", temporary.folder());
            let ended = run_one(command, &log, COMMAND_TIMEOUT, &mut report, stop);
            ended.map_err(|how| {
                if stop.load(Ordering::Relaxed) {
                    SubjectsError::Stopped
                } else {
                    let failure = self.failure(&shown, &how, path, log.tail());
                    SubjectsError::Command(Box::new(failure))
                }
            })?;
        }
        Ok(())
    }

    fn failure(&self, command: &str, how: &str, log: &Path, tail: String) -> CommandFailed {
        let last = tail.lines().rfind(|line| !line.trim().is_empty());
        let said = match last.filter(|_| self.is_about_messages) {
            Some(last) => format!(" ({})", last.trim()),
            None => String::new(),
        };
        let fetches = fetches(self.libraries, &tail);
        let line = format!(
            "{} {}: `{command}` {how}{said}{fetches}; its log is {}",
            self.owner,
            self.failed,
            log.display()
        );
        CommandFailed {
            line,
            is_offline: !fetches.is_empty(),
            program: None,
            tail,
        }
    }
}

/// Runs a command until it exits, `limit` has passed, or `stop` is set. An error describes in words why the
/// command failed.
pub(crate) fn run_one(
    mut command: Command,
    log: &Log,
    limit: Duration,
    report: &mut dyn FnMut(Duration),
    stop: &AtomicBool,
) -> Result<(), String> {
    let failed = |error: io::Error| format!("could not be started: {error}");
    let (output, input) = io::pipe().map_err(failed)?;
    let follower = log.follow(output).map_err(failed)?;
    command
        .stdout(input.try_clone().map_err(failed)?)
        .stderr(input);
    report(Duration::ZERO);
    let goes_on = |elapsed| {
        report(elapsed);
        !stop.load(Ordering::Relaxed)
    };
    let ended = run(&mut command, limit, goes_on);
    // The command also holds the pipe's write end open.
    drop(command);
    wait_for_log(&[follower], LOG_GRACE);
    log.finish();
    match ended.map_err(failed)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("failed with {status}")),
        None => {
            let seconds = limit.as_secs_f64();
            Err(if seconds < 120.0 {
                format!("did not finish within {seconds} s")
            } else {
                format!("did not finish within {} minutes", seconds / 60.0)
            })
        }
    }
}

/// Messages that resolvers, sockets and package managers print when the network, or a name in it, is
/// unreachable.
const NO_NETWORK: [&str; 17] = [
    "name resolution",
    "name or service not known",
    "no such host",
    "could not resolve",
    "unable to resolve",
    "failed to resolve",
    "nodename nor servname",
    "eai_again",
    "enotfound",
    "enetunreach",
    "network is unreachable",
    "no route to host",
    "connection refused",
    "econnrefused",
    "etimedout",
    "connection timed out",
    "i/o timeout",
];

/// The rest of the error message if the output shows a network problem: what the command could not fetch.
/// Otherwise empty.
fn fetches(libraries: &BTreeMap<String, String>, said: &str) -> String {
    let said = said.to_lowercase();
    if !NO_NETWORK.iter().any(|words| said.contains(words)) {
        return String::new();
    }
    let libraries: Vec<String> = libraries
        .iter()
        .map(|(name, at)| format!("{name} {at}"))
        .collect();
    let libraries = match &libraries[..] {
        [] => "its libraries".to_owned(),
        libraries => libraries.join(", "),
    };
    format!("; there seems to be no network, and a first build fetches {libraries}")
}
