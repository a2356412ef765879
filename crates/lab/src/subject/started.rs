//! A started process and its log, for a subject or an application.

use std::io::{self, Read};
use std::process::{Child, Command};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::ending::{TERM_GRACE, end, how_it_ended, spawn};
use super::log::{Log, wait_for_log};
use crate::files::scratch::Scratch;
use crate::machine::placement::CoreSet;

/// A started process. Dropping this stops it. If the thread that started it exits without dropping this,
/// the kernel kills the process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(super) since: Instant,
    pub(crate) child: Child,
    pub(crate) log: Log,
    followers: Vec<JoinHandle<()>>,
    pub(super) end_timeout: Duration,
    /// The process has been reaped, so its id may belong to another process now.
    is_over: bool,
    /// The folder for the process's own files, if it has one. Removed after the process has exited.
    _temporary: Option<Scratch>,
}

impl Process {
    /// Starts a command on these cores. The caller must pass its output streams to [`Process::follow`].
    pub(crate) fn spawn(
        command: &mut Command,
        cores: Option<&CoreSet>,
        log: Log,
        end_timeout: Duration,
        temporary: Option<Scratch>,
    ) -> io::Result<Self> {
        let since = Instant::now();
        Ok(Self {
            since,
            child: spawn(command, cores.cloned())?,
            log,
            followers: Vec::new(),
            end_timeout,
            is_over: false,
            _temporary: temporary,
        })
    }

    /// Copies a stream of the process to its log, so that its pipe does not fill up.
    pub(crate) fn follow(&mut self, stream: impl Read + Send + 'static) -> io::Result<()> {
        let follower = self.log.follow(stream)?;
        self.followers.push(follower);
        Ok(())
    }

    /// Waits until everything that the process has written is in its log, at most for `limit`.
    pub(crate) fn wait_for_log(&self, limit: Duration) {
        wait_for_log(&self.followers, limit);
    }

    /// How the process ended, in words; `None` while it is running.
    pub(crate) fn ended(&self) -> Option<String> {
        how_it_ended(&self.child)
    }

    /// Sends SIGTERM to the process group. Dropping this waits for the process to exit.
    pub(crate) fn terminate(&self) {
        if !self.is_over {
            // Fails only if no process is left.
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::TERM);
        }
    }

    pub(crate) fn end(&mut self, patience: Duration) {
        if !std::mem::replace(&mut self.is_over, true) {
            end(&mut self.child, patience);
            // Every writer of the pipes is dead by now, except one that left the process group on purpose.
            // Do not wait longer than this for it.
            self.wait_for_log(TERM_GRACE);
            self.log.finish();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end(self.end_timeout);
    }
}
