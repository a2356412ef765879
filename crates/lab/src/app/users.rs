//! The users of an application: Locust runs the application's locustfile.
//!
//! Each set of services has its own load generator, which runs for the whole invocation so that its users keep
//! their logins and connections. `users.py` runs Locust and reads one command per line. While one set is
//! measured, users of the other sets begin no tasks.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_study::app::{RequestRecord, SliceFigures};
use rpcgauge_study::histogram::{Times, Unit};
use rpcgauge_study::record::Fault;
use rpcgauge_study::subject::{Tool, Version};
use serde::Deserialize;

use super::application::Set;
use super::package::BuiltApp;
use super::process::failed;
use crate::error::{TrialFailure, TrialResult};
use crate::subject::{Log, Process, Reply, SubjectError, exchange, one_line};
use crate::subjects::sources::cache;
use crate::subjects::tools::find_all;
use crate::subjects::{Commands, Step, SubjectsError, beside, empty};

/// The Locust version to install.
pub(super) const LOCUST: &str = "2.47.0";

/// The script that controls Locust.
const SCRIPT: &str = include_str!("users.py");

/// The time limit for Locust's start: Python imports several hundred modules, possibly on a busy machine.
const START_WITHIN: Duration = Duration::from_secs(60);

/// The time limit for a reply. The script itself waits up to a minute for users.
const REPLY_WITHIN: Duration = Duration::from_secs(90);

/// The time limit for Locust's exit.
const END_WITHIN: Duration = Duration::from_secs(5);

/// An installed Locust.
#[derive(Debug, Clone)]
pub struct Locust {
    python: PathBuf,
    script: PathBuf,
}

impl Locust {
    /// Installs Locust in a virtual environment in the cache, unless it is already there.
    ///
    /// # Errors
    /// Fails if there is no suitable Python or the installation fails. The log is kept.
    pub fn install(
        report: &mut dyn FnMut(Step<'_>),
        stop: &AtomicBool,
    ) -> Result<Self, SubjectsError> {
        let owner = format!("Locust {LOCUST}, which sends the load,");
        let python = Tool {
            name: "python3".to_owned(),
            programs: [
                "python3",
                "python3.14",
                "python3.13",
                "python3.12",
                "python3.11",
            ]
            .map(str::to_owned)
            .to_vec(),
            folders: Vec::new(),
            version: vec!["--version".to_owned()],
            least: Version::parse("3.11"),
            install: "apt install python3 python3-venv".to_owned(),
        };
        let mut tools = find_all(&[python]).map_err(|missing| SubjectsError::Missing {
            owner: owner.clone(),
            missing,
        })?;
        let tool = tools.swap_remove(0);
        let folder = cache("tools")?.join(format!("locust-{LOCUST}-python-{}", tool.version));
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<String>>();
        let libraries = [("locust".to_owned(), LOCUST.to_owned())];
        let commands = Commands {
            failed: "could not be installed",
            is_about_messages: false,
            owner: &owner,
            libraries: &BTreeMap::from(libraries),
            folder: &folder,
            program: &|word| match word {
                "python3" => tool.path.clone(),
                word => folder.join(word),
            },
            commands: vec![
                words("python3 -m venv venv"),
                words(&format!(
                    "venv/bin/python -m pip install --quiet --disable-pip-version-check locust=={LOCUST}"
                )),
            ],
        };
        let prepare = || {
            empty(&folder)?;
            fs::create_dir_all(&folder)
                .map_err(|source| SubjectsError::Cache(folder.clone(), source))
        };
        commands.fill_once(&folder, &prepare, report, stop)?;
        // Next to the folder, with the script's digest in its name, because other versions of this program
        // have other scripts.
        let mut digest = DefaultHasher::new();
        SCRIPT.hash(&mut digest);
        let script = beside(&folder, &format!("{:x}.py", digest.finish()));
        if !fs::read_to_string(&script).is_ok_and(|text| text == SCRIPT) {
            fs::write(&script, SCRIPT)
                .map_err(|source| SubjectsError::Cache(script.clone(), source))?;
        }
        Ok(Self {
            python: folder.join("venv/bin/python"),
            script,
        })
    }
}

/// How many users there are, how fast they start, and what they do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crowd<'a> {
    /// The number of users.
    pub(super) users: u32,
    /// The number of users that start per second.
    pub(super) spawn_rate: f64,
    /// The tags of the tasks to run; empty for all tasks.
    pub(super) tags: &'a [String],
}

/// The users of one set.
#[derive(Debug)]
pub(super) struct Users {
    process: Process,
    title: String,
    locustfile: String,
}

/// A reply from the script.
#[derive(Deserialize)]
struct Line {
    error: Option<String>,
    #[serde(flatten)]
    rest: serde_json::Value,
}

/// What users did since counting began, as reported by the script.
#[derive(Deserialize)]
struct Taken {
    seconds: f64,
    cpu_seconds: f64,
    requests: Vec<RequestCounts>,
    task_errors: u64,
    task_error: String,
}

/// The requests with the same method and name.
#[derive(Deserialize)]
struct RequestCounts {
    method: String,
    name: String,
    sum_us: f64,
    /// Response times in µs, rounded to four significant digits, each with its count.
    times_us: Vec<(u64, u64)>,
    failures: u64,
    error: String,
}

impl From<RequestCounts> for RequestRecord {
    fn from(counts: RequestCounts) -> Self {
        let mut times = Times::new(Unit::Ns);
        for (time_us, count) in &counts.times_us {
            times.add_each(1_000 * time_us * count, *count);
        }
        Self {
            name: counts.name,
            method: counts.method,
            times: times.into(),
            sum_us: counts.sum_us,
            failures: counts.failures,
            error: counts.error,
        }
    }
}

impl From<Taken> for SliceFigures {
    fn from(taken: Taken) -> Self {
        Self {
            seconds: taken.seconds,
            requests: taken
                .requests
                .into_iter()
                .map(RequestRecord::from)
                .collect(),
            metrics: BTreeMap::new(),
            processes: Vec::new(),
            load_generator_cpu_seconds: taken.cpu_seconds,
            task_errors: taken.task_errors,
            task_error: taken.task_error,
            at_rate: None,
        }
    }
}

impl Users {
    /// Starts the load generator of a set, without any users yet.
    ///
    /// # Errors
    /// Fails if Locust does not start or rejects the locustfile. The error includes its last lines of output.
    pub(super) fn start(
        locust: &Locust,
        built: &BuiltApp<'_>,
        set: &Set,
        crowd: Crowd<'_>,
        log: PathBuf,
        stop: &AtomicBool,
    ) -> TrialResult<Self> {
        let Some(load) = &built.app.load else {
            let reason = format!(
                "{} has no [load] in its app.toml, which names a locustfile",
                built.app.name
            );
            return Err(TrialFailure::new(Fault::User, reason));
        };
        let mut command = Command::new(&locust.python);
        command
            .arg(&locust.script)
            .arg(&load.locustfile)
            .arg(format!("http://{}", set.entry))
            .arg(crowd.users.to_string())
            .arg(crowd.spawn_rate.to_string())
            .args(crowd.tags)
            .current_dir(built.folder())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (name, value) in &load.env {
            command.env(name, set.text(value, &BTreeMap::new())?);
        }
        let title = match &*set.name {
            "" => "the load generator".to_owned(),
            name => format!("the load generator ({name})"),
        };
        let machine = |error: io::Error| {
            TrialFailure::new(
                Fault::Machine,
                format!("{title} could not be started: {error}"),
            )
        };
        let process = Process::spawn(&mut command, None, Log::new(&log), END_WITHIN, None);
        let mut process = process.map_err(machine)?;
        if let Some(stderr) = process.child.stderr.take() {
            process.follow(stderr).map_err(machine)?;
        }
        let mut users = Self {
            process,
            title,
            locustfile: load.locustfile.clone(),
        };
        users.ask("", START_WITHIN, stop)?;
        Ok(users)
    }

    /// Starts all users, and waits until each has begun its first task.
    ///
    /// # Errors
    /// See [`Users::take`].
    pub(super) fn spawn(&mut self, crowd: Crowd<'_>, stop: &AtomicBool) -> TrialResult {
        let ramp = Duration::from_secs_f64(f64::from(crowd.users) / crowd.spawn_rate);
        self.ask("spawn", REPLY_WITHIN + ramp, stop).map(drop)
    }

    /// Lets users begin tasks.
    ///
    /// # Errors
    /// See [`Users::take`].
    pub(super) fn open(&mut self, stop: &AtomicBool) -> TrialResult {
        self.ask("open", REPLY_WITHIN, stop).map(drop)
    }

    /// Resets all counts.
    ///
    /// # Errors
    /// See [`Users::take`].
    pub(super) fn count(&mut self, stop: &AtomicBool) -> TrialResult {
        self.ask("count", REPLY_WITHIN, stop).map(drop)
    }

    /// Returns what users did since counting began, without metrics of the services.
    ///
    /// # Errors
    /// Fails if the load generator died, hangs or reports an error. The error includes its last lines of
    /// output.
    pub(super) fn take(&mut self, stop: &AtomicBool) -> TrialResult<SliceFigures> {
        let line = self.ask("take", REPLY_WITHIN, stop)?;
        serde_json::from_value::<Taken>(line)
            .map(SliceFigures::from)
            .map_err(|error| self.failed(format!("sent an unexpected reply: {error}")))
    }

    /// Lets users begin no more tasks, and waits until all running tasks have finished.
    ///
    /// # Errors
    /// See [`Users::take`].
    pub(super) fn close(&mut self, stop: &AtomicBool) -> TrialResult {
        self.ask("close", REPLY_WITHIN, stop).map(drop)
    }

    fn ask(
        &mut self,
        command: &str,
        limit: Duration,
        stop: &AtomicBool,
    ) -> TrialResult<serde_json::Value> {
        let reply = exchange(&mut self.process.child, command, limit, stop);
        let line = match reply {
            Ok(Reply::Line(line, _)) => line,
            Ok(Reply::End(_)) => {
                let how = self.process.how_it_ends();
                self.process.end(Duration::ZERO);
                return Err(self.failed(format!(
                    "exited on its own ({how}); check {}, which it runs",
                    self.locustfile
                )));
            }
            Err(SubjectError::Stopped) => {
                return Err(TrialFailure::new(
                    Fault::Instrument,
                    "interrupted during the load",
                ));
            }
            Err(SubjectError::NotReady(limit)) => {
                return Err(self.failed(format!(
                    "did not answer within {} s; check {}, which it runs, for a call that blocks gevent",
                    limit.as_secs_f64(),
                    self.locustfile
                )));
            }
            Err(error) => return Err(self.failed(error.to_string())),
        };
        match serde_json::from_str::<Line>(&line) {
            Ok(Line {
                error: Some(error), ..
            }) => Err(self.failed(one_line(&error))),
            Ok(Line { rest, .. }) => Ok(rest),
            Err(_) => Err(self.failed(format!("sent an invalid reply: {}", one_line(&line)))),
        }
    }

    fn failed(&self, what: impl AsRef<str>) -> TrialFailure {
        let reason = format!("{}: {}", self.title, what.as_ref());
        failed(reason, &self.process.log)
    }
}
