//! A service that a user's command starts, on a port that is chosen at each start.

use std::cell::RefCell;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::LiveService;
use rpcgauge_study::url::{self, PORT};
use rpcgauge_trial::Address;

use crate::error::{TrialFailure, TrialResult};
use crate::files::scratch::Scratch;
use crate::machine::listener::{self, Listeners};
use crate::machine::placement::CoreSet;
use crate::machine::process::{ProcessMeter, descendants};
use crate::subject::{Log, Process};

/// How often a starting service is checked.
const POLL_EVERY: Duration = Duration::from_millis(5);
/// How long a connection to a starting service may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);
/// How long a service may take to exit after SIGTERM, before it is killed.
const END_WITHIN: Duration = Duration::from_secs(10);
/// How long to wait for the last output of a service that has exited.
const MOMENT: Duration = Duration::from_millis(300);
/// The environment variable with the port, besides `{port}` in the command.
const PORT_VARIABLE: &str = "PORT";

/// A running service. Dropping this stops it. If the thread that started it exits without dropping this, the kernel
/// kills the service.
#[derive(Debug)]
pub struct StartedService {
    process: Process,
    meter: RefCell<ProcessMeter>,
    port: u16,
    startup: Duration,
}

impl StartedService {
    /// Starts a service on a free port and these cores, and waits until the port accepts a connection.
    ///
    /// # Errors
    /// Fails if the service exits or does not listen on the port in time, or if `stop` is set. The error has the last
    /// lines of its output, and no process is left running.
    pub(crate) fn start(
        service: &LiveService,
        cores: Option<&CoreSet>,
        log: &Path,
        stop: &AtomicBool,
    ) -> TrialResult<Self> {
        Self::start_with(service, cores, Log::new(log), None, stop)
    }

    /// Starts a service on any cores and without a log, to see whether it works.
    ///
    /// # Errors
    /// Fails if the service exits or does not listen on the port in time, or if `stop` is set.
    pub fn try_start(service: &LiveService, stop: &AtomicBool) -> TrialResult<Self> {
        let scratch = Scratch::make();
        let scratch = scratch.map_err(|e| TrialFailure::new(Fault::Machine, e.to_string()))?;
        let log = Log::new(&scratch.path("log"));
        Self::start_with(service, None, log, Some(scratch), stop)
    }

    fn start_with(
        service: &LiveService,
        cores: Option<&CoreSet>,
        log: Log,
        scratch: Option<Scratch>,
        stop: &AtomicBool,
    ) -> TrialResult<Self> {
        let wrong = |what: &str| TrialFailure::new(Fault::Instrument, what);
        let start = service.start.as_ref();
        let start = start.ok_or_else(|| wrong("the service has no command"))?;
        let url::Address::ChosenPort { host } = &service.url.address else {
            return Err(wrong("the port of the service is not chosen at its start"));
        };
        let machine = |error: io::Error| {
            TrialFailure::new(
                Fault::Machine,
                format!("`{}` could not be started: {error}", start.command),
            )
        };
        let port = free_port().map_err(machine)?;
        let words = start.command.replace(PORT, &port.to_string());
        let mut command = Command::new("sh");
        command
            .args(["-c", &words])
            .env(PORT_VARIABLE, port.to_string())
            .stdin(Stdio::null());
        let (output, input) = io::pipe().map_err(machine)?;
        command
            .stdout(input.try_clone().map_err(machine)?)
            .stderr(input);
        let began = Instant::now();
        let spawned = Process::spawn(&mut command, cores, log, END_WITHIN, scratch);
        // The command holds the write end of the pipe open.
        drop(command);
        let mut process = spawned.map_err(machine)?;
        process.follow(output).map_err(machine)?;
        let mut started = Self {
            meter: RefCell::new(ProcessMeter::of(process.child.id()).map_err(machine)?),
            process,
            port,
            startup: Duration::ZERO,
        };
        let within = Duration::from_millis(start.ready_within_ms);
        loop {
            let listener = started.listener(host);
            if listener == Listener::Own {
                break;
            }
            started.alive()?;
            if stop.load(Ordering::Relaxed) {
                return Err(wrong("interrupted while the service was started"));
            }
            if began.elapsed() >= within {
                return Err(started.does_not_listen(listener, within));
            }
            thread::sleep(POLL_EVERY);
        }
        started.startup = began.elapsed();
        started.meter_again().map_err(machine)?;
        Ok(started)
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The time from the start of its command until its port accepted a connection.
    pub(crate) fn startup(&self) -> Duration {
        self.startup
    }

    /// The meter for the processor time and memory of its processes.
    pub(crate) fn meter(&self) -> ProcessMeter {
        self.meter.borrow().clone()
    }

    /// Makes the meter include the processes that the service has started, and no longer those that have exited. Servers
    /// may start their workers once they listen.
    pub(crate) fn meter_again(&self) -> io::Result<()> {
        *self.meter.borrow_mut() = ProcessMeter::with_started(self.process.child.id())?;
        Ok(())
    }

    /// How it ended, in words; `None` while it is running.
    pub(crate) fn ended(&self) -> Option<String> {
        self.process.ended()
    }

    /// Checks that it is still running.
    ///
    /// # Errors
    /// How it ended, with its log.
    pub(crate) fn alive(&self) -> TrialResult {
        let Some(how) = self.ended() else {
            return Ok(());
        };
        self.process.wait_for_log(MOMENT);
        Err(self.wrong(format!("it exited on its own ({how})")))
    }

    /// Why calls to it failed: that it has exited, or else `failure` with its log.
    pub(crate) fn explain(&self, failure: TrialFailure) -> TrialFailure {
        // The kernel closes the connections of a dying process before it reports the process as exited.
        let deadline = Instant::now() + MOMENT;
        while self.ended().is_none() && Instant::now() < deadline {
            thread::sleep(POLL_EVERY);
        }
        let with_log = || failure.with_log(self.process.log.tail());
        self.alive().err().unwrap_or_else(with_log)
    }

    /// Sends SIGTERM. Dropping this waits for it to exit.
    pub(crate) fn ask_to_end(&self) {
        self.process.terminate();
    }

    fn wrong(&self, reason: String) -> TrialFailure {
        TrialFailure::new(Fault::Subject, reason).with_log(self.process.log.tail())
    }

    /// Which program accepts connections on its port.
    fn listener(&self, host: &str) -> Listener {
        let addresses = (host, self.port).to_socket_addrs().into_iter().flatten();
        let mut open = addresses
            .filter(|address| TcpStream::connect_timeout(address, CONNECT_WITHIN).is_ok())
            .peekable();
        if open.peek().is_none() {
            return Listener::None;
        }
        let is_own = open.any(|address| {
            let listeners = Listeners::at(&Address::Tcp(address));
            self.pids().any(|pid| listeners.are_of(pid))
        });
        if is_own {
            Listener::Own
        } else {
            Listener::Other
        }
    }

    /// The failure of a service that is running but does not listen on its port, with the ports that it does listen on.
    fn does_not_listen(&self, listener: Listener, within: Duration) -> TrialFailure {
        if listener == Listener::Other {
            return self.wrong(format!(
                "port {} is served by a process that this command did not start (a container or a daemon?), whose CPU and \
                 memory could not be measured; run the service itself",
                self.port
            ));
        }
        let mut others: Vec<u16> = self.pids().flat_map(listener::ports_of).collect();
        others.sort_unstable();
        others.dedup();
        let others: Vec<String> = others.iter().map(u16::to_string).collect();
        let instead = match others.as_slice() {
            [] => format!(
                "; if it needs more time, increase \"ready-within\"; the port is in {PORT} of its command and in the \
                 environment variable {PORT_VARIABLE}"
            ),
            ports => format!(
                ", but on {}; pass it the port with {PORT} in its command, or let it read the environment variable \
                 {PORT_VARIABLE}",
                ports.join(", ")
            ),
        };
        self.wrong(format!(
            "it did not listen on port {} within {} s{instead}",
            self.port,
            within.as_secs_f64()
        ))
    }

    fn pids(&self) -> impl Iterator<Item = u32> {
        let first = self.process.child.id();
        [first].into_iter().chain(descendants(first))
    }
}

/// The program that accepts connections on the port of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listener {
    None,
    /// A process that the command started.
    Own,
    Other,
}

impl Drop for StartedService {
    fn drop(&mut self) {
        // Otherwise `Process` would first wait for it to exit on its own.
        self.ask_to_end();
    }
}

/// A port that is free now. Another program could take it before the service does.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port())
}
