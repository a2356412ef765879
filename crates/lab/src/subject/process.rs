//! One subject process, from its start to its end.

use std::cell::{Cell, RefCell};
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

/// How long to wait for the end of a process that failed.
const MOMENT: Duration = Duration::from_millis(300);

/// What is needed to start a subject.
#[derive(Debug)]
pub struct Start<'a> {
    /// The command.
    pub command: &'a SubjectCommand,
    /// Its settings line.
    pub settings: &'a SettingsLine,
    /// The cores it may use. It is bound to them before its first instruction, since runtimes count their cores
    /// when they start.
    pub cores: Option<&'a CoreSet>,
    /// The file for its log, created with its first output.
    pub log: &'a Path,
    /// How long it may take until it is ready, if each of its threads has a core of its own.
    pub ready_timeout: Duration,
    /// How long it may take to end when it is asked to.
    pub end_timeout: Duration,
}

impl Start<'_> {
    /// How long it may take until it is ready. The threads of a server start one after the other if they share
    /// cores: each batch of threads that fills the cores gets that time again.
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

/// A subject that is up: a process, or one part of a process with several. Dropping the last of
/// its parts ends the process; if the thread that started it ends without that, the kernel kills it.
#[derive(Debug)]
pub struct Subject {
    pub(super) shared: Rc<Shared>,
    /// Which part it is, from 0.
    pub(super) part: usize,
    said: ReadyPart,
    /// Where it was asked to listen; `None` for a client or codec.
    listen: Option<Listen>,
    /// From just before its process was made until its ready line was read.
    pub(crate) startup: Duration,
    /// The latency of the first calls to it, if it was measured.
    pub(crate) cold: Option<Cold>,
}

/// What the parts of a process share.
#[derive(Debug)]
pub(super) struct Shared {
    /// The standard output of a client or codec is still open, for its answers.
    pub(super) process: RefCell<Process>,
    ready: Ready,
    meter: ProcessMeter,
    /// How many of its parts were asked to end.
    ending: Cell<usize>,
}

impl Subject {
    /// Starts a subject with one part and waits until it is ready.
    ///
    /// # Errors
    /// A [`TrialFailure`] with the last lines of its log, also if `stop` became true; no process is left then.
    pub fn start(start: &Start<'_>, stop: &AtomicBool) -> TrialResult<Self> {
        Ok(Self::start_parts(start, stop)?.swap_remove(0))
    }

    /// Starts a subject and waits until it is ready. Returns each of its parts, in the order of their settings.
    ///
    /// # Errors
    /// As [`Subject::start`].
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
        };
        Ok(parts.map(part).collect())
    }

    /// Starts a subject with a line that it must refuse, and returns how it refuses.
    ///
    /// # Errors
    /// It accepts the line, or replies with nothing or something else.
    pub(crate) fn refusal(start: &Start<'_>, line: &str, stop: &AtomicBool) -> TrialResult<Failed> {
        let mut process = Process::start(start)?;
        let reply = process.first_line(line, start.time_to_be_ready(), stop);
        match reply.and_then(|(line, _)| ready(&line)) {
            Err(SubjectError::Refused(failed)) => {
                process.end(Duration::ZERO);
                Ok(failed)
            }
            Ok(_) => Err(process.broken_off(SubjectError::Contract(
                "it is ready, although it must refuse its settings".to_owned(),
            ))),
            Err(error) => Err(process.broken_off(error)),
        }
    }

    /// The ready line of its process.
    pub fn ready(&self) -> &Ready {
        &self.shared.ready
    }

    /// What the ready line says of it.
    pub fn said(&self) -> &ReadyPart {
        &self.said
    }

    /// Whether its process has other parts.
    pub(crate) fn has_other_parts(&self) -> bool {
        self.shared.ready.parts.len() > 1
    }

    /// The id of the process that was started.
    pub fn pid(&self) -> u32 {
        self.shared.process.borrow().child.id()
    }

    /// The meter of its process's processor time and memory.
    pub fn meter(&self) -> &ProcessMeter {
        &self.shared.meter
    }

    /// How its process ended, in words; `None` while it runs.
    pub fn ended(&self) -> Option<String> {
        how_it_ended(&self.shared.process.borrow().child)
    }

    /// Checks that it still runs.
    ///
    /// # Errors
    /// How it ended, with its log.
    pub(crate) fn alive(&self) -> TrialResult {
        let Some(how) = self.ended() else {
            return Ok(());
        };
        // Its last output is read a moment after its end.
        self.shared.process.borrow().wait_for_log(MOMENT);
        let reason = format!("the subject ended before it was asked to ({how}); see its log");
        Err(self.wrong(reason))
    }

    /// The failure of a subject that does not do what it should, with its log.
    pub(crate) fn wrong(&self, reason: impl Into<String>) -> TrialFailure {
        TrialFailure::new(Fault::Subject, reason).with_log(self.log_tail())
    }

    /// Why calls to it failed: that it ended, if it did, or else `failure` with its log.
    pub(crate) fn explain(&self, failure: TrialFailure) -> TrialFailure {
        // The kernel closes the connections of a dying process before it counts as ended.
        wait_until_ended(&self.shared.process.borrow().child, Instant::now() + MOMENT);
        let failed = || failure.with_log(self.log_tail());
        self.alive().err().unwrap_or_else(failed)
    }

    /// Closes the input of its process, which asks it to end, once all of its parts are asked; dropping this waits
    /// for it.
    pub(crate) fn ask_to_end(&mut self) {
        let shared = &self.shared;
        shared.ending.set(shared.ending.get() + 1);
        if shared.ending.get() >= Rc::strong_count(shared) {
            drop(shared.process.borrow_mut().child.stdin.take());
        }
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        self.shared.process.borrow().log.tail()
    }

    /// Where it listens, if that is where it was asked to.
    ///
    /// # Errors
    /// It reports another address: calls to that would reach another program, perhaps on another machine.
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
                let reason = format!("the subject was to listen on {asked} but reported {said}");
                Err(self.wrong(reason))
            }
        }
    }

    /// Ends it, and checks that it ends as the contract says.
    ///
    /// # Errors
    /// It does not end in time, or with another exit code than 0.
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
                format!("its input was closed, and it did not end with exit code 0: {how}")
            }
            None => format!(
                "it had not ended {} s after its input was closed",
                patience.as_secs_f64()
            ),
        };
        Err(self.wrong(reason))
    }
}

/// Whether an address is the requested host's; for loopback, any loopback address will do.
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
                format!("its ready line names the process {pid}, which it has not started");
            return Err(SubjectError::Contract(reason));
        }
        let meter = ProcessMeter::with_started(pid)
            .map_err(|source| SubjectError::Meter { pid, source })?;
        Ok((ready, parts, startup, meter))
    }

    /// Writes the settings line. Returns the line that answers it, and what followed that line.
    fn first_line(
        &mut self,
        line: &str,
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<(String, Vec<u8>), SubjectError> {
        match exchange(&mut self.child, line, limit, stop)? {
            Reply::Line(line, rest) => Ok((line, rest)),
            // How it ends says more than that it closed its output.
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

    /// Ends a process that cannot be used. Returns `error` with its log.
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
