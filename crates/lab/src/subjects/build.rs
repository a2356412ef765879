//! Sources to a folder that a subject can be started in, once for all runs.
//!
//! ```text
//! CACHE/rpcgauge/subjects/
//!   NAME-DIGEST/        the unpacked sources, built where they stay
//!     .built            made last: a folder without it is no build
//!   NAME-DIGEST.log     the output of the build
//!   NAME-DIGEST.lock    held by the program that builds
//! ```

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{env, thread};

use rustix::fs::{FlockOperation, flock};

use super::error::SubjectsError;
use super::tools::{FoundTool, find_all};
use super::{Package, State};
use crate::subject::process::{end, ends_with_lab};

/// The last file of a build.
const MARKER: &str = ".built";

/// A command that takes longer hangs: the slowest builds fetch and compile a few hundred packages.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// How often a command, or another program's lock, is polled.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// The end of a build's log that goes into an error, bytes.
const TAIL_BYTES: u64 = 4 << 10;

/// How far a build is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// Another program builds the same.
    Waiting,
    /// A command runs.
    Running {
        /// Which, from 1.
        number: usize,
        /// Of how many.
        of: usize,
        /// The command.
        command: &'a str,
        /// For how long, so far.
        elapsed: Duration,
    },
}

/// A subject that is built.
#[derive(Debug, Clone)]
pub struct Built {
    folder: PathBuf,
    tools: Vec<FoundTool>,
}

impl Built {
    /// The folder that it is started in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The log of its last check.
    pub fn check_log(&self) -> PathBuf {
        beside(&self.folder, "check.log")
    }

    /// A command's program: a tool of the manifest, a file of the folder, or one in `PATH`.
    pub(super) fn program(&self, word: &str) -> PathBuf {
        match self.tools.iter().find(|tool| tool.name == word) {
            Some(tool) => tool.path.clone(),
            None if word.contains('/') => self.folder.join(word),
            None => PathBuf::from(word),
        }
    }
}

impl Package {
    /// Whether it can be started.
    ///
    /// # Errors
    /// There is no place for a cache.
    pub fn state(&self) -> Result<State, SubjectsError> {
        Ok(match find_all(&self.manifest.toolchain) {
            Err(missing) => State::Missing(missing),
            Ok(tools) => match is_built(&self.place(tools)?) {
                true => State::Built,
                false => State::NotBuilt,
            },
        })
    }

    /// Builds it, unless that was done before, and reports each step.
    ///
    /// # Errors
    /// Something that it needs is missing, or a command failed; its log is kept.
    pub fn build(
        &self,
        report: &mut dyn FnMut(Step<'_>),
        stop: &AtomicBool,
    ) -> Result<Built, SubjectsError> {
        let tools =
            find_all(&self.manifest.toolchain).map_err(|missing| SubjectsError::Missing {
                subject: self.manifest.name.clone(),
                missing,
            })?;
        let built = self.place(tools)?;
        if is_built(&built) {
            return Ok(built);
        }
        // Held until the end: a program that waits for it finds a whole build, or none.
        let _lock = lock(&beside(&built.folder, "lock"), report, stop)?;
        if is_built(&built) {
            return Ok(built);
        }
        self.unpack(&built.folder)?;
        let log = beside(&built.folder, "log");
        let mut file = File::create(&log).map_err(unwritable(&log))?;
        for (number, words) in (1..).zip(&self.manifest.build) {
            let command = words.join(" ");
            let mut report = |elapsed| {
                report(Step::Running {
                    number,
                    of: self.manifest.build.len(),
                    command: &command,
                    elapsed,
                });
            };
            writeln!(file, "$ {command}").map_err(unwritable(&log))?;
            let ended = run(&built, words, &file, &mut report, stop);
            ended.map_err(|how| match stop.load(Ordering::Relaxed) {
                true => SubjectsError::Stopped,
                false => SubjectsError::Build {
                    subject: self.manifest.name.clone(),
                    command: command.clone(),
                    how,
                    log: log.clone(),
                    tail: tail(&log),
                },
            })?;
        }
        let marker = built.folder.join(MARKER);
        File::create(&marker).map_err(unwritable(&marker))?;
        Ok(built)
    }

    /// Where it is built: a place of its own for these sources and this toolchain.
    fn place(&self, tools: Vec<FoundTool>) -> Result<Built, SubjectsError> {
        let mut digest = DefaultHasher::new();
        for file in &self.files {
            (&file.name, &file.bytes, file.executable).hash(&mut digest);
        }
        for tool in &tools {
            (&tool.path, &tool.version).hash(&mut digest);
        }
        let name = format!("{}-{:016x}", self.manifest.name, digest.finish());
        Ok(Built {
            folder: cache()?.join(name),
            tools,
        })
    }

    /// Writes the sources into an empty folder. Removes what an unfinished build left there.
    fn unpack(&self, folder: &Path) -> Result<(), SubjectsError> {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(unwritable(folder)(error));
            }
            _ => {}
        }
        for file in &self.files {
            let path = folder.join(&*file.name);
            let parent = path.parent().unwrap_or(folder);
            fs::create_dir_all(parent).map_err(unwritable(parent))?;
            fs::write(&path, &file.bytes).map_err(unwritable(&path))?;
            if file.executable {
                let program = fs::Permissions::from_mode(0o755);
                fs::set_permissions(&path, program).map_err(unwritable(&path))?;
            }
        }
        Ok(())
    }
}

fn is_built(built: &Built) -> bool {
    built.folder.join(MARKER).exists()
}

/// The user's cache folder for subjects.
fn cache() -> Result<PathBuf, SubjectsError> {
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("rpcgauge/subjects"))
        .ok_or(SubjectsError::NoCache)
}

pub(super) fn beside(folder: &Path, ending: &str) -> PathBuf {
    let mut path = folder.as_os_str().to_owned();
    path.push(format!(".{ending}"));
    path.into()
}

fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> SubjectsError {
    let path = path.to_owned();
    move |source| SubjectsError::Cache { path, source }
}

/// Takes a lock that the system releases when this program ends in any way.
fn lock(
    path: &Path,
    report: &mut dyn FnMut(Step<'_>),
    stop: &AtomicBool,
) -> Result<File, SubjectsError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(unwritable(folder))?;
    let file = File::create(path).map_err(unwritable(path))?;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
            Err(error) => return Err(unwritable(path)(error.into())),
        }
        if stop.load(Ordering::Relaxed) {
            return Err(SubjectsError::Stopped);
        }
        report(Step::Waiting);
        thread::sleep(POLL_EVERY);
    }
}

/// Runs one command of a build until it ends, or `stop` is set; why it failed, in words.
fn run(
    built: &Built,
    words: &[String],
    log: &File,
    report: &mut dyn FnMut(Duration),
    stop: &AtomicBool,
) -> Result<(), String> {
    let failed = |error: io::Error| format!("could not be started: {error}");
    let mut command = Command::new(built.program(&words[0]));
    command
        .args(&words[1..])
        .current_dir(&built.folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone().map_err(failed)?)
        .stderr(log.try_clone().map_err(failed)?);
    ends_with_lab(&mut command, None);
    report(Duration::ZERO);
    let mut child = command.spawn().map_err(failed)?;
    let start = Instant::now();
    loop {
        match child.try_wait().map_err(failed)? {
            None => {}
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("ended with {status}")),
        }
        if stop.load(Ordering::Relaxed) || start.elapsed() >= COMMAND_TIMEOUT {
            end(&mut child, &mut None, Duration::ZERO);
            let minutes = COMMAND_TIMEOUT.as_secs() / 60;
            return Err(format!("had not ended after {minutes} minutes"));
        }
        report(start.elapsed());
        thread::sleep(POLL_EVERY);
    }
}

/// The last lines of a log; empty where it cannot be read.
fn tail(log: &Path) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let from = file.metadata()?.len().saturating_sub(TAIL_BYTES);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let text = String::from_utf8_lossy(&read().unwrap_or_default()).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
