//! Ends processes, at the latest when this program ends.
//!
//! Each process is in its own group with all that it starts. The kernel kills the process itself when the
//! thread that started it ends in any way. What it started is ended with its group; what has left the group is
//! found by a mark in its environment, by [`end`] or, if this program is killed, by the
//! [`guard`](super::guard). What has removed its mark too is ended only by [`end`]
//! ([`orphans`](super::orphans)).

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getpid, getppid, kill_process_group,
    set_parent_process_death_signal, setrlimit, waitid,
};

use super::guard;
use crate::machine::placement::CoreSet;
use crate::machine::process::descendants;

/// A process has this long to end after SIGTERM before it is killed.
pub(super) const TERM_GRACE: Duration = Duration::from_secs(1);

/// How often an ending process is polled.
const POLL_EVERY: Duration = Duration::from_millis(1);

/// How often to check whether a running command may continue.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Starts a process on these cores. It ends with this program.
pub fn spawn(command: &mut Command, cores: Option<CoreSet>) -> io::Result<Child> {
    end_with_this_program(command, cores);
    // Its own group: Ctrl-C at the terminal reaches only the lab, which ends its subjects in order, and a
    // signal to the group also ends what a wrapper script started.
    guard::begin(command)
}

/// Has the kernel kill the command's process when the thread that starts it ends in any way.
pub fn end_with_this_program(command: &mut Command, cores: Option<CoreSet>) {
    let lab = getpid();
    // SAFETY: between fork and exec only system calls are made; nothing allocates or locks.
    unsafe {
        command.pre_exec(move || prepare(lab, cores.as_ref()));
    }
}

/// Runs in the new process before the subject's program does.
fn prepare(lab: Pid, cores: Option<&CoreSet>) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The lab may have died before that call.
    if getppid() != Some(lab) {
        return Err(io::ErrorKind::NotConnected.into());
    }
    cores.map_or(Ok(()), CoreSet::bind_this_thread)
}

/// Ends a process: closes its input, then sends SIGTERM, then SIGKILL. The signals go to its group before the
/// process is reaped: until then no other group can get its number.
pub fn end(child: &mut Child, patience: Duration) {
    drop(child.stdin.take());
    let group = Pid::from_child(child);
    let started = descendants(child.id());
    if !wait_until_ended(child, Instant::now() + patience) {
        // The signal fails only if no process is left, here and below.
        let _ = kill_process_group(group, Signal::TERM);
        wait_until_ended(child, Instant::now() + TERM_GRACE);
    }
    // These also end what a wrapper script left behind.
    let _ = kill_process_group(group, Signal::KILL);
    guard::ended(group);
    let _ = child.wait();
    guard::reaped(group, started);
}

/// Runs a command without input until it ends, `limit` is over, or `goes_on` returns false for the time so far.
/// Returns its status, or `None` if it did not end by itself. Also ends all that it has started and left
/// running.
pub(crate) fn run(
    command: &mut Command,
    limit: Duration,
    mut goes_on: impl FnMut(Duration) -> bool,
) -> io::Result<Option<ExitStatus>> {
    let mut child = spawn(command.stdin(Stdio::null()), None)?;
    let began = Instant::now();
    let mut has_ended = false;
    while !has_ended && began.elapsed() < limit && goes_on(began.elapsed()) {
        has_ended = wait_until_ended(&child, Instant::now() + LOOK_EVERY);
    }
    end(&mut child, Duration::ZERO);
    let status = child.wait()?;
    Ok(has_ended.then_some(status))
}

/// The maximum size of a file that a command writes, bytes.
pub(crate) const MAX_PRINTED_BYTES: u64 = 64 << 20;

/// Bounds each file that a command writes to one byte more than [`MAX_PRINTED_BYTES`], which shows that it
/// wrote too much. The kernel kills a command that writes on.
pub(crate) fn bound_output(command: &mut Command) {
    let most = Some(MAX_PRINTED_BYTES + 1);
    let limit = Rlimit {
        current: most,
        maximum: most,
    };
    // SAFETY: between fork and exec only a system call is made; nothing allocates or locks.
    unsafe {
        command.pre_exec(move || setrlimit(Resource::Fsize, limit).map_err(Into::into));
    }
}

/// Waits until the process has ended, at most until `deadline`. Returns whether it has.
pub(super) fn wait_until_ended(child: &Child, deadline: Instant) -> bool {
    while how_it_ended(child).is_none() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(POLL_EVERY);
    }
    true
}

/// How a process has ended, in words; `None` while it runs. Does not reap it, so that no other process gets its
/// id.
pub(super) fn how_it_ended(child: &Child) -> Option<String> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(Pid::from_child(child)), options) {
        Ok(status) => {
            status.map(
                |status| match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => format!("exit code {code}"),
                    (_, Some(signal)) => format!("killed by signal {signal}"),
                    _ => "ended".to_owned(),
                },
            )
        }
        Err(_) => Some("ended".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use super::*;

    #[test]
    fn what_left_its_group_ends_with_the_process_that_started_it() {
        let mut command = Command::new("/bin/sh");
        let script = "setsid sh -c 'echo $$; exec sleep 1000' & wait";
        command.args(["-c", script]).stdout(Stdio::piped());
        let mut child = spawn(&mut command, None).unwrap();
        let mut pid = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut pid).unwrap();
        end(&mut child, Duration::ZERO);
        let command_line = format!("/proc/{}/cmdline", pid.trim());
        let is_there = || std::fs::read(&command_line).is_ok_and(|text| !text.is_empty());
        for _ in 0..500 {
            if !is_there() {
                return;
            }
            std::thread::sleep(POLL_EVERY * 10);
        }
        panic!("process {pid} is still there");
    }
}
