//! One process of an application: starting it, waiting until it is ready, and stopping it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rpcgauge_study::app::{JvmRecord, Placeholder, Process as ProcessSpec, Template};
use rpcgauge_study::record::Fault;
use rpcgauge_study::words::format_size;
use rustix::process::geteuid;

use super::application::Words;
use super::ready::ReadyWhen;
use crate::error::{TrialFailure, TrialResult};
use crate::files::scratch::Scratch;
use crate::machine::jvm;
use crate::machine::placement::CoreSet;
use crate::machine::process::ProcessMeter;
use crate::subject::{Log, Process};
use crate::subjects::{Built, run_one};

/// How often a starting process is checked.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// How long to wait for a failed process to exit, and for its last output.
const MOMENT: Duration = Duration::from_millis(300);

/// Printed by programs whose port is taken: "Address already in use", "Port 8080 was already in use".
const PORT_TAKEN: &str = "already in use";

/// The ports of a process, by name. They are kept bound until the process starts.
#[derive(Debug)]
pub(super) struct Ports {
    pub(super) numbers: BTreeMap<String, u16>,
    kept_free: Vec<TcpListener>,
}

impl Ports {
    /// Chooses free ports for a process.
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

/// What is needed to start a process.
pub(super) struct Start<'a> {
    pub(super) spec: &'a ProcessSpec,
    /// The process's name in messages.
    pub(super) title: String,
    pub(super) ports: Ports,
    /// The values of placeholders, except for the process's own ports and data folder.
    pub(super) words: &'a Words<'a>,
    /// The built application that the process belongs to.
    pub(super) built: &'a Built,
    pub(super) cores: Option<CoreSet>,
    pub(super) log: PathBuf,
}

/// A started process that may not be ready yet.
pub(super) struct Starting {
    running: Running,
    ready: ReadyWhen,
    ready_within: Duration,
    seed: Option<Seed>,
}

/// The command to run once the process is ready.
struct Seed {
    words: Vec<String>,
    command: Command,
    within: Duration,
}

/// A process of an application. Dropping this stops the process. If the thread that started it exits
/// without dropping this, the kernel kills the process.
#[derive(Debug)]
pub struct Running {
    /// The process's name in `app.toml`.
    pub name: String,
    /// The process's name in messages, including the name of its set.
    pub title: String,
    /// The process's ports, by name.
    pub ports: BTreeMap<String, u16>,
    process: Process,
    memory_bytes: Option<u64>,
}

/// Resources used by a process since its start.
pub(super) struct Used {
    /// Processor time, ns; `None` if it cannot be read.
    pub(super) cpu_ns: Option<u64>,
    /// The counters of its JVMs; `None` if it has no JVM.
    pub(super) jvm: Option<JvmRecord>,
}

impl Start<'_> {
    /// Starts the process. The kernel kills it when the calling thread exits.
    pub(super) fn spawn(self) -> TrialResult<Starting> {
        let spec = self.spec;
        let machine = |what: String| TrialFailure::new(Fault::Machine, what);
        let scratch = Scratch::make().map_err(|error| machine(error.to_string()))?;
        let (data, temporary) = (scratch.path("data"), scratch.path("tmp"));
        let made = fs::create_dir(&data)
            .and_then(|()| fs::create_dir(&temporary))
            .and_then(|()| let_others_through(scratch.folder()));
        made.map_err(|error| machine(format!("cannot create {}: {error}", data.display())))?;
        let fill = |template: &Template| {
            template.fill(|word| match word {
                Placeholder::Data => Ok(data.display().to_string()),
                Placeholder::OwnPort(name) if self.ports.numbers.contains_key(name) => {
                    Ok(self.ports.numbers[name].to_string())
                }
                word => self.words.fill(word).ok_or_else(|| {
                    machine(format!("{}: there is no value for {word}", self.title))
                }),
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
            words => {
                let (words, command) = command(words)?;
                Some(Seed {
                    words,
                    command,
                    within: Duration::from_millis(spec.seed_within_ms),
                })
            }
        };
        let ready = ReadyWhen::of(&spec.ready, &self.log, &fill)?;

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
        // From here on, another program might take the ports.
        drop(self.ports.kept_free);
        let patience = Duration::from_millis(spec.stop_within_ms);
        let spawned = Process::spawn(&mut run, self.cores.as_ref(), log, patience, Some(scratch));
        // The command also holds the pipe's write end open.
        drop(run);
        let mut process = spawned.map_err(unstartable)?;
        process.follow(output).map_err(unstartable)?;
        Ok(Starting {
            running: Running {
                name: spec.name.clone(),
                title: self.title,
                ports: self.ports.numbers,
                process,
                memory_bytes: spec.memory_bytes,
            },
            ready,
            ready_within: Duration::from_millis(spec.ready_within_ms),
            seed,
        })
    }
}

/// Waits until all of these are ready, and seeds each as soon as it is ready. The first failure stops them
/// all.
pub(super) fn all_ready(mut all: Vec<Starting>, stop: &AtomicBool) -> TrialResult<Vec<Running>> {
    let is_over = AtomicBool::new(false);
    let ready = thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        for one in &mut all {
            let (tell, is_over) = (tell.clone(), &is_over);
            scope.spawn(move || tell.send(one.wait_until_ready(is_over)));
        }
        drop(tell);
        let mut first = Ok(());
        loop {
            match told.recv_timeout(POLL_EVERY) {
                Ok(ended) => first = first.and(ended),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return first,
            }
            if first.is_err() || stop.load(Ordering::Relaxed) {
                is_over.store(true, Ordering::Relaxed);
            }
        }
    });
    let all: Vec<Running> = all.into_iter().map(|one| one.running).collect();
    if ready.is_err() {
        // Terminate all of them first, because dropping each one waits for it to exit.
        all.iter().for_each(Running::terminate);
    }
    ready.map(|()| all)
}

/// Lets other users traverse a folder: a process that drops root privileges must still reach its files.
fn let_others_through(folder: &Path) -> io::Result<()> {
    if geteuid().is_root() {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o711))
    } else {
        Ok(())
    }
}

/// The failure of a process, with the last lines of its log and the log's path.
pub(super) fn failed(mut reason: String, log: &Log) -> TrialFailure {
    let tail = log.tail();
    reason += &if tail.is_empty() {
        "; it printed nothing".to_owned()
    } else {
        format!("; its log is {}", log.path().display())
    };
    TrialFailure::new(Fault::Subject, reason).with_log(tail)
}

/// The failure of a start that the user interrupted.
pub(super) fn interrupted() -> TrialFailure {
    TrialFailure::new(
        Fault::Instrument,
        "interrupted while the application was started",
    )
}

impl Starting {
    /// Waits until the process is ready, and then seeds it.
    fn wait_until_ready(&mut self, is_over: &AtomicBool) -> TrialResult {
        let running = &self.running;
        let deadline = Instant::now() + self.ready_within;
        while let Some(why_not) = self.ready.why_not(running) {
            running.check_ended()?;
            if is_over.load(Ordering::Relaxed) {
                return Err(interrupted());
            }
            if Instant::now() >= deadline {
                let what = format!(
                    "was not ready after {} s: {why_not}; if it needs more time, increase \"ready-within\"",
                    self.ready_within.as_secs_f64()
                );
                return Err(running.failed(&what));
            }
            thread::sleep(POLL_EVERY);
        }
        running.check()?;
        let Some(seed) = self.seed.take() else {
            return Ok(());
        };
        let log = &running.process.log;
        let seeded = run_one(seed.command, log, seed.within, &mut |_| (), is_over);
        seeded.map_err(|how| {
            if is_over.load(Ordering::Relaxed) {
                interrupted()
            } else {
                let what = format!("could not be seeded: `{}` {how}", seed.words.join(" "));
                running.failed(&what)
            }
        })
    }
}

impl Running {
    /// The address of the port with this name.
    pub fn address(&self, port: &str) -> SocketAddr {
        let number = self.ports.get(port).copied().unwrap_or_default();
        (Ipv4Addr::LOCALHOST, number).into()
    }

    /// Checks that the process is still running and within its memory limit.
    ///
    /// # Errors
    /// Fails if the process has exited or exceeds its limit. The error includes its log.
    pub fn check(&self) -> TrialResult {
        self.check_ended()?;
        let Some(most) = self.memory_bytes else {
            return Ok(());
        };
        match self.held_bytes() {
            Some(held) if held > most => {
                let what = format!(
                    "uses {} MiB of memory, but its limit is {}: make its command use less, or raise the limit \
                     with \"memory\"",
                    held >> 20,
                    format_size(most)
                );
                Err(self.failed(&what))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the process is still running.
    pub(super) fn check_ended(&self) -> TrialResult {
        if let Some(how) = self.process.ended() {
            self.process.wait_for_log(MOMENT);
            return Err(self.failed(&format!("exited on its own ({how})")));
        }
        Ok(())
    }

    /// A failure of this process, with its log.
    fn failed(&self, what: &str) -> TrialFailure {
        let log = &self.process.log;
        let mut reason = format!("{} {what}", self.title);
        if log.tail().to_ascii_lowercase().contains(PORT_TAKEN) {
            reason += "; a port is taken: have it listen on its ${port.NAME}, which is free, or try again";
        }
        failed(reason, log)
    }

    /// Why the process failed: that it has exited or exceeds its memory limit, or else `failure` with its
    /// log.
    pub(super) fn explain(&self, failure: TrialFailure) -> TrialFailure {
        let deadline = Instant::now() + MOMENT;
        while self.process.ended().is_none() && Instant::now() < deadline {
            thread::sleep(POLL_EVERY);
        }
        let with_log = || failure.with_log(self.process.log.tail());
        self.check().err().unwrap_or_else(with_log)
    }

    /// Resources used so far by the process and its running descendants.
    pub(super) fn used(&self) -> Used {
        let meter = self.meter();
        let jvms = meter
            .iter()
            .flat_map(ProcessMeter::pids)
            .filter_map(jvm::read);
        Used {
            cpu_ns: meter.as_ref().and_then(|meter| meter.total_ns().ok()),
            jvm: jvms.reduce(|all, one| all.and(&one)),
        }
    }

    /// Sets the nice value of its JVMs' compiler threads, if permitted.
    pub(super) fn set_compiler_nice(&self, nice: i32) {
        let meter = self.meter();
        let pids = meter.iter().flat_map(ProcessMeter::pids);
        pids.for_each(|pid| jvm::set_compiler_nice(pid, nice));
    }

    /// The memory that the process and its descendants use now, bytes; `None` if it cannot be read.
    pub(super) fn held_bytes(&self) -> Option<u64> {
        self.meter()?.held_bytes().ok()
    }

    /// A new meter each time, because databases start a process for each connection.
    fn meter(&self) -> Option<ProcessMeter> {
        ProcessMeter::with_started(self.process.child.id()).ok()
    }

    /// Sends SIGTERM. Dropping this waits for the process to exit.
    pub(super) fn terminate(&self) {
        self.process.terminate();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Otherwise `Process` would first wait for it to exit on its own.
        self.terminate();
    }
}
