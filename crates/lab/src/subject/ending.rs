//! Stops processes, at the latest when this program exits.
//!
//! Each process and its descendants form a process group. The kernel kills the process itself when the thread
//! that started it exits for any reason. Its descendants are killed with the group. Processes that have left
//! the group are found by a mark in their environment: by [`end`] or, if this program is killed, by the
//! [`guard`](super::guard). Processes that have also removed their mark are killed only by [`end`]
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

/// How long a process has to exit after SIGTERM before it is killed.
pub(super) const TERM_GRACE: Duration = Duration::from_secs(1);

/// How often an exiting process is polled.
const POLL_EVERY: Duration = Duration::from_millis(1);

/// How often to check whether a running command may continue.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Starts a process on these cores. It is killed when this program exits.
pub fn spawn(command: &mut Command, cores: Option<CoreSet>) -> io::Result<Child> {
    end_with_this_program(command, cores);
    // The process gets its own group, so that Ctrl-C in the terminal reaches only the lab, which then stops its
    // subjects in order. A signal to the group also reaches what a wrapper script started.
    guard::begin(command)
}

/// Makes the kernel kill the command's process when the thread that starts it exits for any reason.
pub fn end_with_this_program(command: &mut Command, cores: Option<CoreSet>) {
    let lab = getpid();
    // SAFETY: between fork and exec, only system calls are made; nothing allocates or locks.
    unsafe {
        command.pre_exec(move || prepare(lab, cores.as_ref()));
    }
}

/// Runs in the new process, before the subject's program.
fn prepare(lab: Pid, cores: Option<&CoreSet>) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The lab may have died before the call above.
    if getppid() != Some(lab) {
        return Err(io::ErrorKind::NotConnected.into());
    }
    cores.map_or(Ok(()), CoreSet::bind_this_thread)
}

/// Stops a process: closes its input, then sends SIGTERM, then SIGKILL. The signals are sent to its group
/// before the process is reaped, because until then no other group can reuse its number.
pub fn end(child: &mut Child, patience: Duration) {
    drop(child.stdin.take());
    let group = Pid::from_child(child);
    let started = descendants(child.id());
    if !wait_until_ended(child, Instant::now() + patience) {
        // Here and below, the signal fails only if no process is left.
        let _ = kill_process_group(group, Signal::TERM);
        wait_until_ended(child, Instant::now() + TERM_GRACE);
    }
    // This also kills what a wrapper script left behind.
    let _ = kill_process_group(group, Signal::KILL);
    guard::ended(group);
    let _ = child.wait();
    guard::reaped(group, started);
}

/// Runs a command without input until it exits, `limit` has passed, or `goes_on`, which receives the elapsed
/// time, returns false. Returns the exit status, or `None` if the command did not exit on its own. Also kills
/// everything that the command started and left running.
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

/// Limits each file that a command writes to one byte more than [`MAX_PRINTED_BYTES`], which reveals that the
/// limit was exceeded. The kernel kills a command that writes even more.
pub(crate) fn bound_output(command: &mut Command) {
    let most = Some(MAX_PRINTED_BYTES + 1);
    let limit = Rlimit {
        current: most,
        maximum: most,
    };
    // SAFETY: between fork and exec, only a system call is made; nothing allocates or locks.
    unsafe {
        command.pre_exec(move || setrlimit(Resource::Fsize, limit).map_err(Into::into));
    }
}

/// Waits until the process has exited, at most until `deadline`. Returns whether it has.
pub(super) fn wait_until_ended(child: &Child, deadline: Instant) -> bool {
    while how_it_ended(child).is_none() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(POLL_EVERY);
    }
    true
}

/// How a process ended, in words; `None` while it is running. Does not reap the process, so that its id is not
/// reused.
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
