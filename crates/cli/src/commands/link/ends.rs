//! The client and server programs at the ends of a link.

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rpcgauge_lab::machine::listener::tcp;
use rpcgauge_lab::subject::{end, spawn};
use rpcgauge_link::{Network, SERVER};

use super::failure;
use crate::exit::{Failure, note};

/// How long a server may take to start listening.
const STARTUP: Duration = Duration::from_secs(60);
/// How long a server may listen only on addresses that no client can reach before it is an error.
/// Some servers open an internal port first.
const ELSEWHERE: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long a server may take to exit when asked to.
const PATIENCE: Duration = Duration::from_secs(1);
/// Environment variable with the server's address, set for the client and the server.
const VARIABLE: &str = "RPCGAUGE_SERVER";

pub(super) fn shell(command: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", command])
        .env(VARIABLE, SERVER.to_string());
    shell
}

/// A program and its arguments; `None` if `words` is empty.
pub(super) fn program(words: &[OsString]) -> Option<Command> {
    let (name, arguments) = words.split_first()?;
    let mut command = Command::new(name);
    command.args(arguments).env(VARIABLE, SERVER.to_string());
    Some(command)
}

/// A listening server. Dropping it stops the server.
pub(super) struct Server(Child);

impl Server {
    /// Starts a command and waits until clients can connect to it.
    pub(super) fn start(
        command: &str,
        network: &Network,
        mut is_over: impl FnMut() -> bool,
    ) -> Result<Self, Failure> {
        let _inside = network.server().enter().map_err(failure)?;
        let mut shell = shell(command);
        // Standard input belongs to the client.
        let child = spawn(shell.stdin(Stdio::null()), None);
        let mut server = Self(
            child.map_err(|error| Failure::cannot(format!("cannot start the server: {error}")))?,
        );
        let start = Instant::now();
        let mut elsewhere: Option<Instant> = None;
        loop {
            let listening = listening();
            if listening.iter().any(is_reached) {
                return Ok(server);
            }
            if let Some(status) = server.0.try_wait().ok().flatten() {
                return Err(Failure::input(format!(
                    "the server exited ({status}) before it started listening: {command}"
                )));
            }
            if let Some(address) = listening.first()
                && elsewhere.get_or_insert_with(Instant::now).elapsed() > ELSEWHERE
            {
                return Err(Failure::input(format!(
                    "the server listens only on {address}, which no client over the link can reach; make it listen on \
                     {SERVER} or 0.0.0.0"
                )));
            }
            if is_over() {
                return Err(Failure::interrupted(
                    "interrupted before the server was listening",
                ));
            }
            if start.elapsed() > STARTUP {
                return Err(Failure::cannot(format!(
                    "the server is not listening on a TCP port after {} s: {command}",
                    STARTUP.as_secs()
                )));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Reports a server that failed before its client exited.
    pub(super) fn note_end(&mut self) {
        if let Ok(Some(status)) = self.0.try_wait()
            && !status.success()
        {
            note(&format!("the server exited: {status}"));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.0, PATIENCE);
    }
}

/// The addresses of listening sockets in the calling thread's network namespace.
fn listening() -> Vec<SocketAddr> {
    let tables = ["tcp", "tcp6"].map(|version| {
        fs::read_to_string(format!("/proc/thread-self/net/{version}")).unwrap_or_default()
    });
    let sockets = tables.iter().flat_map(|table| tcp(table));
    sockets.map(|(address, _)| address).collect()
}

/// Whether a client at the other end of the link can reach the address. The link has no IPv6, but
/// an IPv6 socket on the unspecified address also accepts IPv4.
fn is_reached(address: &SocketAddr) -> bool {
    address.ip() == SERVER || address.ip().is_unspecified()
}
