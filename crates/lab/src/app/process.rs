//! One process of an application, from its start until it is ready, and its end.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rpcgauge_load::Fetch;
use rpcgauge_study::app::{Process as ProcessSpec, Ready, Template, Word};
use rpcgauge_study::record::Fault;
use rpcgauge_study::words::size_word;
use rustix::process::geteuid;

use super::application::{Event, Words};
use crate::error::{TrialFailure, TrialResult};
use crate::machine::placement::CoreSet;
use crate::machine::process::ProcessMeter;
use crate::scratch::Scratch;
use crate::subject::{Log, Process};
use crate::subjects::{Built, run_one};

/// How often a process that starts is looked at.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// How long one look may take.
const LOOK_WITHIN: Duration = Duration::from_secs(2);

/// How long the end of a process that failed is waited for, and what it wrote last.
const MOMENT: Duration = Duration::from_millis(300);

/// The ports of a process by their names, kept free until it starts.
#[derive(Debug)]
pub(super) struct Ports {
    pub(super) numbers: BTreeMap<String, u16>,
    kept_free: Vec<TcpListener>,
}

impl Ports {
    /// Free ports for a process.
    pub(super) fn choose(process: &ProcessSpec) -> TrialResult<Self> {
        let (mut numbers, mut kept_free) = (BTreeMap::new(), Vec::new());
        for name in &process.ports {
            let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
            let port = free.and_then(|free| Ok((free.local_addr()?.port(), free)));
            let (port, free) = port.map_err(|error| {
                let reason = format!("there is no free port for {}: {error}", process.name);
                TrialFailure::new(Fault::Machine, reason)
            })?;
            numbers.insert(name.clone(), port);
            kept_free.push(free);
        }
        Ok(Self { numbers, kept_free })
    }
}

/// How a process is started.
pub(super) struct Start<'a> {
    pub(super) spec: &'a ProcessSpec,
    /// What it is called in messages.
    pub(super) title: String,
    pub(super) ports: Ports,
    /// What comes in place of words, but for its own ports and folder.
    pub(super) words: &'a Words<'a>,
    /// What it is a part of.
    pub(super) built: &'a Built,
    pub(super) cores: Option<CoreSet>,
    pub(super) log: PathBuf,
}

/// A process of an application that is ready. It is ended when this is dropped, and killed by the kernel
/// when the thread that started it ends in any other way.
#[derive(Debug)]
pub struct Running {
    /// Its name in `app.toml`.
    pub name: String,
    /// What it is called in messages: with its configuration.
    pub title: String,
    /// Its ports, by their names.
    pub ports: BTreeMap<String, u16>,
    process: Process,
    memory_bytes: Option<u64>,
}

/// A failure of a process, with its log.
fn failed(process: &Process, title: &str, what: impl AsRef<str>) -> TrialFailure {
    let reason = format!("{title} {}", what.as_ref());
    TrialFailure::new(Fault::Subject, reason).with_log(process.log.tail())
}

impl Start<'_> {
    /// Starts it, waits until it is ready, and seeds it.
    pub(super) fn start(
        self,
        report: &mut dyn FnMut(Event<'_>),
        stop: &AtomicBool,
    ) -> TrialResult<Running> {
        let spec = self.spec;
        report(Event::Starting(&self.title));
        let machine = |what: String| TrialFailure::new(Fault::Machine, what);
        let scratch = Scratch::make().map_err(|error| machine(error.to_string()))?;
        let (data, temporary) = (scratch.path("data"), scratch.path("tmp"));
        let made = fs::create_dir(&data)
            .and_then(|()| fs::create_dir(&temporary))
            .and_then(|()| let_others_through(scratch.folder()));
        made.map_err(|error| machine(format!("cannot make {}: {error}", data.display())))?;
        let fill = |template: &Template| {
            template.fill(|word| match word {
                Word::Data => Ok(data.display().to_string()),
                Word::OwnPort(name) if self.ports.numbers.contains_key(name) => {
                    Ok(self.ports.numbers[name].to_string())
                }
                word => self
                    .words
                    .fill(word)
                    .ok_or_else(|| machine(format!("{}: nothing is known for {word}", self.title))),
            })
        };
        let command = |words: &[Template]| {
            let words: Vec<String> = words.iter().map(fill).collect::<TrialResult<_>>()?;
            let mut command = Command::new(self.built.program(&words[0]));
            command
                .args(&words[1..])
                .current_dir(self.built.folder())
                .env("TMPDIR", &temporary)
                .stdin(Stdio::null());
            for (name, value) in &spec.env {
                command.env(name, fill(value)?);
            }
            Ok::<_, TrialFailure>((words, command))
        };
        let (words, mut run) = command(&spec.run)?;
        let seed = match &spec.seed[..] {
            [] => None,
            words => Some(command(words)?),
        };
        let ready = ready(&spec.ready, &fill)?;

        let log = Log::new(&self.log);
        let unstartable = |error: io::Error| {
            machine(format!(
                "{} could not be started: `{}`: {error}; check that it is installed",
                self.title,
                words.join(" ")
            ))
        };
        let (output, input) = io::pipe().map_err(unstartable)?;
        run.stdout(input.try_clone().map_err(unstartable)?)
            .stderr(input);
        // From here on they may be taken.
        drop(self.ports.kept_free);
        let patience = Duration::from_millis(spec.stop_within_ms);
        let spawned = Process::spawn(
            &mut run,
            self.cores.as_ref(),
            log.clone(),
            patience,
            Some(scratch),
        );
        // It holds the pipe open too.
        drop(run);
        let mut process = spawned.map_err(unstartable)?;
        process.follow(output).map_err(unstartable)?;
        let running = Running {
            name: spec.name.clone(),
            title: self.title,
            ports: self.ports.numbers,
            process,
            memory_bytes: spec.memory_bytes,
        };
        running.wait_until_ready(&ready, &self.log, spec, stop)?;
        if let Some((words, seed)) = seed {
            let limit = Duration::from_millis(spec.seed_within_ms);
            let seeded = run_one(seed, &log, limit, &mut |_| (), stop);
            seeded.map_err(|how| match stop.load(Ordering::Relaxed) {
                true => interrupted(),
                false => {
                    let what = format!("could not be seeded: `{}` {how}", words.join(" "));
                    failed(&running.process, &running.title, what)
                }
            })?;
        }
        report(Event::Ready(&running.title));
        Ok(running)
    }
}

/// A process may give up root: its folder must be reached then.
fn let_others_through(folder: &Path) -> io::Result<()> {
    match geteuid().is_root() {
        true => fs::set_permissions(folder, fs::Permissions::from_mode(0o711)),
        false => Ok(()),
    }
}

/// The user has ended it.
pub(super) fn interrupted() -> TrialFailure {
    TrialFailure::new(
        Fault::Instrument,
        "interrupted while the application was started",
    )
}

/// [`Ready`] without words.
enum ReadyWhen {
    Tcp(Vec<String>),
    Http {
        port: String,
        path: String,
        status: u16,
    },
    Log {
        text: String,
        file: Option<PathBuf>,
    },
}

fn ready(ready: &Ready, fill: &dyn Fn(&Template) -> TrialResult<String>) -> TrialResult<ReadyWhen> {
    Ok(match ready {
        Ready::Tcp(ports) => ReadyWhen::Tcp(ports.clone()),
        Ready::Http { port, path, status } => ReadyWhen::Http {
            port: port.clone(),
            path: path.clone(),
            status: *status,
        },
        Ready::Log { text, file } => ReadyWhen::Log {
            text: fill(text)?,
            file: file.as_ref().map(fill).transpose()?.map(PathBuf::from),
        },
    })
}

impl Running {
    /// Where its port of that name is.
    pub fn address(&self, port: &str) -> SocketAddr {
        let number = self.ports.get(port).copied().unwrap_or_default();
        (Ipv4Addr::LOCALHOST, number).into()
    }

    fn wait_until_ready(
        &self,
        ready: &ReadyWhen,
        log: &Path,
        spec: &ProcessSpec,
        stop: &AtomicBool,
    ) -> TrialResult {
        let limit = Duration::from_millis(spec.ready_within_ms);
        let deadline = Instant::now() + limit;
        loop {
            let why_not = match self.why_not_ready(ready, log) {
                None => return self.check(),
                Some(why_not) => why_not,
            };
            self.check()?;
            if stop.load(Ordering::Relaxed) {
                return Err(interrupted());
            }
            if Instant::now() >= deadline {
                let what = format!(
                    "was not ready after {} s: {why_not}; see its log, or set \"ready-within\"",
                    limit.as_secs_f64()
                );
                return Err(failed(&self.process, &self.title, what));
            }
            thread::sleep(POLL_EVERY);
        }
    }

    /// Why it is not ready yet, if it is not.
    fn why_not_ready(&self, ready: &ReadyWhen, log: &Path) -> Option<String> {
        match ready {
            ReadyWhen::Tcp(ports) => ports.iter().find_map(|port| {
                let refused = TcpStream::connect_timeout(&self.address(port), LOOK_WITHIN).err()?;
                Some(format!(
                    "its port \"{port}\" accepts no connection ({refused})"
                ))
            }),
            ReadyWhen::Http { port, path, status } => {
                match Fetch::get(self.address(port), path).send(LOOK_WITHIN) {
                    Ok(fetched) if fetched.status == *status => None,
                    Ok(fetched) => Some(format!(
                        "GET {path} is answered with {} and not with {status}",
                        fetched.status
                    )),
                    Err(error) => Some(format!("GET {path} is not answered ({error})")),
                }
            }
            ReadyWhen::Log { text, file } => {
                let file = file.as_deref().unwrap_or(log);
                let read = fs::read(file).unwrap_or_default();
                match String::from_utf8_lossy(&read).contains(text.as_str()) {
                    true => None,
                    false => Some(format!("no line of {} holds \"{text}\"", file.display())),
                }
            }
        }
    }

    /// Checks that it is still there, and holds no more memory than it may.
    ///
    /// # Errors
    /// It ended, with how and its log, or holds more.
    pub fn check(&self) -> TrialResult {
        self.check_ended()?;
        let Some(most) = self.memory_bytes else {
            return Ok(());
        };
        match self.held_bytes() {
            Some(held) if held > most => {
                let what = format!(
                    "holds {} MiB of memory, and may hold {}: bound it by its command, or give it more \
                     with \"memory\"",
                    held >> 20,
                    size_word(most)
                );
                Err(failed(&self.process, &self.title, what))
            }
            _ => Ok(()),
        }
    }

    /// Checks that it is still there.
    pub(super) fn check_ended(&self) -> TrialResult {
        if let Some(how) = self.process.ended() {
            self.process.wait_for_log(MOMENT);
            return Err(failed(
                &self.process,
                &self.title,
                format!("ended by itself ({how})"),
            ));
        }
        Ok(())
    }

    /// What is in its way, if it is: that it ended, or else `failure` with its log.
    pub(super) fn explain(&self, failure: TrialFailure) -> TrialFailure {
        let deadline = Instant::now() + MOMENT;
        while self.process.ended().is_none() && Instant::now() < deadline {
            thread::sleep(POLL_EVERY);
        }
        let with_log = || failure.with_log(self.process.log.tail());
        self.check().err().unwrap_or_else(with_log)
    }

    /// Processor time so far, with that of the processes that it has started and that are there, ns.
    pub(super) fn cpu_ns(&self) -> Option<u64> {
        self.meter()?.total_ns().ok()
    }

    /// What it holds now, with the processes that it has started, bytes.
    pub(super) fn held_bytes(&self) -> Option<u64> {
        self.meter()?.held_bytes().ok()
    }

    /// Anew each time: databases start a process for each connection.
    fn meter(&self) -> Option<ProcessMeter> {
        ProcessMeter::with_started(self.process.child.id()).ok()
    }

    /// Asks it to end; it is waited for when this is dropped.
    pub(super) fn terminate(&self) {
        self.process.terminate();
    }
}
