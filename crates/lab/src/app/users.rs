//! The users of an application: Locust, with the application's locustfile.
//!
//! Each set of services has a load generator of its own, which is kept alive, so that its users keep their
//! log-ins and connections. `users.py` runs Locust and reads one command per line; users of the other sets
//! begin no task meanwhile.

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

/// The version of Locust.
pub(super) const LOCUST: &str = "2.47.0";

/// The script that controls Locust.
const SCRIPT: &str = include_str!("users.py");

/// How long Locust may take to start: Python imports a few hundred modules, on a machine that may be busy.
const START_WITHIN: Duration = Duration::from_secs(60);

/// How long a reply may take. The script itself waits a minute for users.
const REPLY_WITHIN: Duration = Duration::from_secs(90);

/// How long Locust may take to end.
const END_WITHIN: Duration = Duration::from_secs(5);

/// Locust, installed.
#[derive(Debug, Clone)]
pub struct Locust {
    python: PathBuf,
    script: PathBuf,
}

impl Locust {
    /// Installs Locust in a virtual environment in the cache, unless that was done before.
    ///
    /// # Errors
    /// There is no Python for it, or it cannot be installed; the log is kept.
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
        // Next to the folder, with the digest in its name: another version of this program has another script.
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

/// The users: how many there are, how fast they start, and what they do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crowd<'a> {
    /// The number of users.
    pub(super) users: u32,
    /// How many of them start per second.
    pub(super) spawn_rate: f64,
    /// The tags of their tasks; all tasks if empty.
    pub(super) tags: &'a [String],
}

/// The users of one set.
#[derive(Debug)]
pub(super) struct Users {
    process: Process,
    title: String,
    locustfile: String,
}

/// A line from the script.
#[derive(Deserialize)]
struct Line {
    error: Option<String>,
    #[serde(flatten)]
    rest: serde_json::Value,
}

/// What users did since counting began, as the script reports it.
#[derive(Deserialize)]
struct Taken {
    seconds: f64,
    cpu_seconds: f64,
    requests: Vec<RequestCounts>,
    task_errors: u64,
    task_error: String,
}

/// Requests of one method and name.
#[derive(Deserialize)]
struct RequestCounts {
    method: String,
    name: String,
    sum_us: f64,
    /// Response times with four digits, µs, each with its count.
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
    /// Starts the load generator of a set; its users are not started yet.
    ///
    /// # Errors
    /// Locust does not start, or refuses the locustfile; its last lines are included.
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
    /// As those of [`Users::take`].
    pub(super) fn spawn(&mut self, crowd: Crowd<'_>, stop: &AtomicBool) -> TrialResult {
        let ramp = Duration::from_secs_f64(f64::from(crowd.users) / crowd.spawn_rate);
        self.ask("spawn", REPLY_WITHIN + ramp, stop).map(drop)
    }

    /// Lets users begin tasks.
    ///
    /// # Errors
    /// As those of [`Users::take`].
    pub(super) fn open(&mut self, stop: &AtomicBool) -> TrialResult {
        self.ask("open", REPLY_WITHIN, stop).map(drop)
    }

    /// Resets all counts.
    ///
    /// # Errors
    /// As those of [`Users::take`].
    pub(super) fn count(&mut self, stop: &AtomicBool) -> TrialResult {
        self.ask("count", REPLY_WITHIN, stop).map(drop)
    }

    /// What users did since counting began, without the services' figures.
    ///
    /// # Errors
    /// The load generator died, hangs, or reports an error; its last lines are included.
    pub(super) fn take(&mut self, stop: &AtomicBool) -> TrialResult<SliceFigures> {
        let line = self.ask("take", REPLY_WITHIN, stop)?;
        serde_json::from_value::<Taken>(line)
            .map(SliceFigures::from)
            .map_err(|error| self.failed(format!("sent an unexpected reply: {error}")))
    }

    /// Lets users begin no more tasks, and waits until none is left.
    ///
    /// # Errors
    /// As those of [`Users::take`].
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
                    "ended by itself ({how}); check {}, which it runs",
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
