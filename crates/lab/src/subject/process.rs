//! One subject process, from start to exit.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rpcgauge_contract::{
    self as contract, Address, Failed, Listen, Ready, ReadyPart, SettingsLine,
};
use rpcgauge_study::record::{Cold, Fault};
use rpcgauge_study::subject::TEMPORARY;

use super::SubjectCommand;
use super::ending::{TERM_GRACE, how_it_ended, wait_until_ended};
use super::error::{SubjectError, one_line, start_of};
use super::handshake::{Reply, exchange};
use super::log::Log;
use super::started::Process;
use crate::error::{TrialFailure, TrialResult};
use crate::files::scratch::Scratch;
use crate::machine::placement::CoreSet;
use crate::machine::process::{ProcessMeter, descendants};

/// How long to wait for a failed process to exit.
const MOMENT: Duration = Duration::from_millis(300);

/// What is needed to start a subject.
#[derive(Debug)]
pub struct Start<'a> {
    /// The command.
    pub command: &'a SubjectCommand,
    /// Its settings line.
    pub settings: &'a SettingsLine,
    /// The cores that the subject may use. It is bound to them before its first instruction, because runtimes
    /// count their cores at startup.
    pub cores: Option<&'a CoreSet>,
    /// The log file, created with the subject's first output.
    pub log: &'a Path,
    /// How long the subject may take to become ready, if each of its threads has a core to itself.
    pub ready_timeout: Duration,
    /// How long the subject may take to exit when asked to.
    pub end_timeout: Duration,
}

impl Start<'_> {
    /// How long the subject may take to become ready. Threads of a server that share cores start one after
    /// another, so each batch that fills the cores is allowed the full time again.
    fn time_to_be_ready(&self) -> Duration {
        let threads = match self.settings {
            SettingsLine::Server(server) => server.threads,
            SettingsLine::Servers(servers) => servers.parts.iter().map(|part| part.threads).sum(),
            SettingsLine::Floor(_)
            | SettingsLine::Client(_)
            | SettingsLine::Clients(_)
            | SettingsLine::Codec(_) => return self.ready_timeout,
        };
        let of_machine = || std::thread::available_parallelism().map_or(1, usize::from);
        let bound = self.cores.map(|cores| cores.ids().len());
        let cores = bound.filter(|&cores| cores > 0).unwrap_or_else(of_machine);
        let loads = threads.div_ceil(u32::try_from(cores).unwrap_or(u32::MAX));
        self.ready_timeout.saturating_mul(loads.max(1))
    }
}

/// A running subject: a whole process, or one part of a process with several. Dropping the last part stops the
/// process. If the thread that started it exits without dropping it, the kernel kills the process.
#[derive(Debug)]
pub struct Subject {
    pub(super) shared: Rc<Shared>,
    /// The index of this part.
    pub(super) part: usize,
    said: ReadyPart,
    /// Where the subject was told to listen; `None` for a client or codec.
    listen: Option<Listen>,
    /// The time from just before the process was created until its ready line was read.
    pub(crate) startup: Duration,
    /// The latency of the first calls to the subject, if measured.
    pub(crate) cold: Option<Cold>,
    /// Whether this part has been asked to end.
    is_ending: bool,
}

impl Drop for Subject {
    fn drop(&mut self) {
        if self.is_ending {
            self.shared.ending.set(self.shared.ending.get() - 1);
        }
    }
}

/// The state shared by all parts of a process.
#[derive(Debug)]
pub(super) struct Shared {
    /// For a client or codec, standard output remains open for its answers.
    pub(super) process: RefCell<Process>,
    ready: Ready,
    meter: ProcessMeter,
    /// The number of existing parts that have been asked to end.
    ending: Cell<usize>,
    /// The part whose failure stopped the process, and its reason.
    pub(super) failed: OnceCell<(usize, String)>,
}

impl Subject {
    /// Starts a subject with one part and waits until it is ready.
    ///
    /// # Errors
    /// Fails if the subject does not become ready or `stop` is set. The error includes the last lines of the log,
    /// and no process is left running.
    pub fn start(start: &Start<'_>, stop: &AtomicBool) -> TrialResult<Self> {
        Ok(Self::start_parts(start, stop)?.swap_remove(0))
    }

    /// Starts a subject and waits until it is ready. Returns its parts in the order of their settings.
    ///
    /// # Errors
    /// See [`Subject::start`].
    pub(crate) fn start_parts(start: &Start<'_>, stop: &AtomicBool) -> TrialResult<Vec<Self>> {
        let mut process = Process::start(start)?;
        let (ready, parts, startup, meter) = match process.wait_until_ready(start, stop) {
            Ok(ready) => ready,
            Err(error) => return Err(process.broken_off(error)),
        };
        let shared = Rc::new(Shared {
            process: RefCell::new(process),
            ready,
            meter,
            ending: Cell::new(0),
            failed: OnceCell::new(),
        });
        let listens = start.settings.listens().into_iter().map(Some);
        let listens = listens.chain(std::iter::repeat(None));
        let parts = parts.into_iter().zip(listens).enumerate();
        let part = |(part, (said, listen)): (usize, (ReadyPart, Option<&Listen>))| Self {
            shared: Rc::clone(&shared),
            part,
            said,
            listen: listen.cloned(),
            startup,
            cold: None,
            is_ending: false,
        };
        Ok(parts.map(part).collect())
    }

    /// Starts a subject with a line that it must reject, and returns how it rejects the line.
    ///
    /// # Errors
    /// Fails if the subject accepts the line, does not reply, or sends any other reply.
    pub(crate) fn refusal(start: &Start<'_>, line: &str, stop: &AtomicBool) -> TrialResult<Failed> {
        let mut process = Process::start(start)?;
        let reply = process.first_line(line, start.time_to_be_ready(), stop);
        match reply.and_then(|(line, _)| ready(&line)) {
            Err(SubjectError::Refused(failed)) => {
                process.end(Duration::ZERO);
                Ok(failed)
            }
            Ok(_) => Err(process.broken_off(SubjectError::Contract(
                "it reports that it is ready, although it must reject its settings".to_owned(),
            ))),
            Err(error) => Err(process.broken_off(error)),
        }
    }

    /// The ready line of the process.
    pub fn ready(&self) -> &Ready {
        &self.shared.ready
    }

    /// The entry of the ready line for this part.
    pub fn said(&self) -> &ReadyPart {
        &self.said
    }

    /// Whether this is the only part of the process, or the first of several.
    pub(crate) fn is_first_part(&self) -> bool {
        self.part == 0
    }

    /// Whether the process has other parts.
    pub(crate) fn has_other_parts(&self) -> bool {
        self.shared.ready.parts.len() > 1
    }

    /// The id of the process that was started.
    pub fn pid(&self) -> u32 {
        self.shared.process.borrow().child.id()
    }

    /// The meter for the processor time and memory of the process.
    pub fn meter(&self) -> &ProcessMeter {
        &self.shared.meter
    }

    /// How the process ended, in words; `None` while it is running.
    pub fn ended(&self) -> Option<String> {
        how_it_ended(&self.shared.process.borrow().child)
    }

    /// Checks that the process is still running.
    ///
    /// # Errors
    /// How the process ended, with its log.
    pub(crate) fn alive(&self) -> TrialResult {
        let Some(how) = self.ended() else {
            return Ok(());
        };
        // Its last output may arrive shortly after its exit.
        self.shared.process.borrow().wait_for_log(MOMENT);
        let reason = match self.shared.failed.get() {
            Some((part, reason)) if *part != self.part => {
                format!("its process was stopped, because another variant in it failed: {reason}")
            }
            Some(_) | None => {
                format!("the subject exited before it was asked to ({how}); see its log")
            }
        };
        Err(self.wrong(reason))
    }

    /// The failure of a subject that misbehaves, with its log.
    pub(crate) fn wrong(&self, reason: impl Into<String>) -> TrialFailure {
        TrialFailure::new(Fault::Subject, reason).with_log(self.log_tail())
    }

    /// Why calls to the subject failed: that it has exited, or else `failure` with its log.
    pub(crate) fn explain(&self, failure: TrialFailure) -> TrialFailure {
        // The kernel closes the connections of a dying process before it reports the process as exited.
        wait_until_ended(&self.shared.process.borrow().child, Instant::now() + MOMENT);
        let failed = || failure.with_log(self.log_tail());
        self.alive().err().unwrap_or_else(failed)
    }

    /// Once all remaining parts have been asked to end, closes the standard input of the process, which asks it to
    /// exit. Dropping the last part waits for the exit.
    pub(crate) fn ask_to_end(&mut self) {
        let shared = &self.shared;
        if !std::mem::replace(&mut self.is_ending, true) {
            shared.ending.set(shared.ending.get() + 1);
        }
        if shared.ending.get() >= Rc::strong_count(shared) {
            drop(shared.process.borrow_mut().child.stdin.take());
        }
    }

    /// The last lines of the log.
    pub fn log_tail(&self) -> String {
        self.shared.process.borrow().log.tail()
    }

    /// Where the subject listens, if that is where it was told to.
    ///
    /// # Errors
    /// Fails if the subject reports another address: calls there would reach another program, perhaps on another
    /// machine.
    pub(crate) fn listening(&self) -> TrialResult<Address> {
        let address = self.said.address.as_ref();
        match (address, &self.listen) {
            (Some(at @ Address::Tcp(socket)), Some(Listen::Tcp { host }))
                if is_host(socket.ip().to_canonical(), host) =>
            {
                Ok(at.clone())
            }
            (Some(at @ Address::Unix(path)), Some(Listen::Unix { path: asked }))
                if path == asked =>
            {
                Ok(at.clone())
            }
            (_, asked) => {
                let said = address.map_or("no address".to_owned(), Address::to_string);
                let asked = match asked {
                    Some(Listen::Tcp { host }) => format!("TCP at {host}"),
                    Some(Listen::Unix { path }) => format!("the Unix socket {}", path.display()),
                    None => "nothing".to_owned(),
                };
                let said = one_line(&said);
                let reason =
                    format!("the subject was told to listen on {asked}, but it reported {said}");
                Err(self.wrong(reason))
            }
        }
    }

    /// Asks the subject to end, and checks that it exits as the contract requires.
    ///
    /// # Errors
    /// Fails if the subject does not exit in time, or exits with a code other than 0.
    pub(crate) fn end_well(mut self) -> TrialResult {
        self.ask_to_end();
        let mut process = self.shared.process.borrow_mut();
        let patience = process.end_timeout;
        wait_until_ended(&process.child, Instant::now() + patience);
        let how = how_it_ended(&process.child);
        process.end(Duration::ZERO);
        drop(process);
        let reason = match how.as_deref() {
            Some("exit code 0") => return Ok(()),
            Some(how) => {
                format!("after its input was closed, it did not exit with code 0: {how}")
            }
            None => format!(
                "it had not exited {} s after its input was closed",
                patience.as_secs_f64()
            ),
        };
        Err(self.wrong(reason))
    }
}

/// Whether an address belongs to the requested host. For loopback, any loopback address matches.
fn is_host(address: IpAddr, host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(asked) if !asked.is_loopback() => address == asked,
        _ => address.is_loopback(),
    }
}

pub(super) fn unasked_lines() -> SubjectError {
    SubjectError::Contract("it wrote a line without being asked".to_owned())
}

impl Process {
    fn start(start: &Start<'_>) -> Result<Self, SubjectError> {
        let needs_temporary = start.command.folder.is_some();
        let temporary = needs_temporary.then(Scratch::make).transpose()?;
        let mut command = command(start, temporary.as_ref().map(Scratch::folder));
        let log = Log::new(start.log);
        let started = Self::spawn(&mut command, start.cores, log, start.end_timeout, temporary);
        let mut process = started.map_err(|source| SubjectError::Start {
            program: start.command.program.display().to_string(),
            source,
        })?;
        if let Some(stderr) = process.child.stderr.take()
            && let Err(error) = process.follow(stderr)
        {
            process.end(Duration::ZERO);
            return Err(SubjectError::Pipe(error));
        }
        Ok(process)
    }

    fn wait_until_ready(
        &mut self,
        start: &Start<'_>,
        stop: &AtomicBool,
    ) -> Result<(Ready, Vec<ReadyPart>, Duration, ProcessMeter), SubjectError> {
        let line = start.settings.to_line();
        let (line, rest) = self.first_line(&line, start.time_to_be_ready(), stop)?;
        let startup = self.since.elapsed();
        let is_asked = matches!(
            start.settings,
            SettingsLine::Client(_) | SettingsLine::Clients(_) | SettingsLine::Codec(_)
        );
        if !is_asked && let Some(stdout) = self.child.stdout.take() {
            self.log.add(&rest);
            self.follow(stdout).map_err(SubjectError::Pipe)?;
        }
        let ready = ready(&line)?;
        if is_asked && !rest.is_empty() {
            return Err(unasked_lines());
        }
        let parts = ready.clone().parts(start.settings.parts());
        let parts = parts.map_err(|error| wrong_line(&error, &line))?;
        let pid = ready.pid.unwrap_or(self.child.id());
        if pid != self.child.id() && !descendants(self.child.id()).contains(&pid) {
            let reason =
                format!("its ready line names process {pid}, which is not one of its descendants");
            return Err(SubjectError::Contract(reason));
        }
        let meter = ProcessMeter::with_started(pid)
            .map_err(|source| SubjectError::Meter { pid, source })?;
        Ok((ready, parts, startup, meter))
    }

    /// Writes the settings line. Returns the reply, and any output that followed it.
    fn first_line(
        &mut self,
        line: &str,
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<(String, Vec<u8>), SubjectError> {
        match exchange(&mut self.child, line, limit, stop)? {
            Reply::Line(line, rest) => Ok((line, rest)),
            // The exit status is more informative than the fact that the output was closed.
            Reply::End(before) if before.is_empty() => Err(SubjectError::Ended(self.how_it_ends())),
            Reply::End(before) => {
                let text = one_line(&String::from_utf8_lossy(&before));
                let reason = format!("it ended in the middle of its first line: {text}");
                Err(SubjectError::Contract(reason))
            }
        }
    }

    /// How a process that has closed its output ends, in words.
    pub(crate) fn how_it_ends(&self) -> String {
        wait_until_ended(&self.child, Instant::now() + TERM_GRACE);
        how_it_ended(&self.child).unwrap_or_else(|| "its output closed".to_owned())
    }

    /// Stops a process that cannot be used. Returns `error` with the log.
    pub(super) fn broken_off(&mut self, error: SubjectError) -> TrialFailure {
        self.end(Duration::ZERO);
        TrialFailure::from(error).with_log(self.log.tail())
    }
}

fn command(start: &Start<'_>, temporary: Option<&Path>) -> Command {
    let filled = |arg: &OsString| match (arg.to_str(), temporary) {
        (Some(text), Some(folder)) => text
            .replace(TEMPORARY, &folder.display().to_string())
            .into(),
        _ => arg.clone(),
    };
    let mut command = Command::new(&start.command.program);
    command
        .args(start.command.args.iter().map(filled))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(temporary) = temporary {
        command.env("TMPDIR", temporary);
    }
    if let Some(folder) = &start.command.folder {
        command.current_dir(folder);
    }
    command
}

fn ready(line: &str) -> Result<Ready, SubjectError> {
    match contract::Reply::parse(line) {
        Ok(contract::Reply::Ready(ready)) => Ok(ready),
        Ok(contract::Reply::Failed(failed)) => Err(SubjectError::Refused(failed)),
        Err(error) => Err(wrong_line(&error, line)),
    }
}

pub(super) fn wrong_line(error: &impl ToString, line: &str) -> SubjectError {
    const MAX_SHOWN: usize = 80;
    let shown = start_of(line, MAX_SHOWN);
    let error = one_line(&error.to_string());
    SubjectError::Contract(format!("{error}; it wrote: {shown}"))
}
