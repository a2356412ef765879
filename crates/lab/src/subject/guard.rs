//! If this program is killed, kills everything that its processes started. The kernel kills only the
//! processes themselves.
//!
//! The guard is a shell that learns from its standard input which process groups begin and end. The kernel
//! closes that input when this program exits for any reason. The guard then kills the remaining groups, and
//! the processes that have left their group: their environment still contains a variable set by this program.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use rustix::process::{Pid, Signal, kill_process};

use super::orphans;
use crate::machine::process::all_processes;

/// Ignores signals sent to the whole session, which must not stop the guard before this program.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
groups=
while read -r what group; do
    case $what in
    begins) groups="$groups $group" ;;
    *)
        left=
        for other in $groups; do
            [ "$other" = "$group" ] || left="$left $other"
        done
        groups=$left
        ;;
    esac
done
for group in $groups; do
    kill -9 "-$group" 2>/dev/null
done
for file in $(grep -lsz "^$1-" /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    kill -9 "${pid%/environ}" 2>/dev/null
done
"#;

/// The variable that identifies processes that have left their group.
const MARK: &str = "RPCGAUGE_STARTED_BY";

/// The prefix of the variable's values, unique to this program: its process id and start time.
static MARK_VALUE: LazyLock<String> = LazyLock::new(|| {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let began = since.unwrap_or_default().as_nanos();
    format!("{}-{began}", std::process::id())
});

/// A value shared only by one process and its descendants.
fn new_mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", *MARK_VALUE, COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The running guard. If none can be started, processes are stopped only while this program lives.
static GUARD: Mutex<Option<Child>> = Mutex::new(None);

/// The marks of the groups that have not ended.
static MARKS: Mutex<BTreeMap<i32, String>> = Mutex::new(BTreeMap::new());

fn locked<T>(one: &Mutex<T>) -> MutexGuard<'_, T> {
    one.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a process in its own group. Holds a lock, so that nothing else is started or searched for in the
/// meantime.
pub(super) fn begin(command: &mut Command) -> io::Result<Child> {
    let mut marks = locked(&MARKS);
    orphans::adopt();
    let mark = new_mark();
    let child = command.env(MARK, &mark).process_group(0).spawn()?;
    let group = Pid::from_child(&child);
    marks.insert(group.as_raw_nonzero().get(), mark);
    let mut guard = locked(&GUARD);
    if guard.is_none() {
        *guard = start();
    }
    tell(&mut guard, "begins", group);
    Ok(child)
}

/// Must be called when a group has been killed, before its first process is reaped: afterwards another group
/// may reuse its number. Kills the processes that have left the group.
pub(super) fn ended(group: Pid) {
    tell(&mut locked(&GUARD), "ended", group);
    let mark = locked(&MARKS)
        .get(&group.as_raw_nonzero().get())
        .map(|value| format!("{MARK}={value}"));
    let Some(mark) = mark else {
        return;
    };
    for (pid, folder) in all_processes() {
        let environment = fs::read(folder.join("environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        if let Some(pid) = Pid::from_raw(pid.cast_signed())
            && variables.any(|variable| variable == mark.as_bytes())
        {
            // Fails only if the process is gone.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Must be called when the first process of a group has been reaped. Kills the orphans among the processes
/// that it `started` and, if no other group is running, every other orphan.
pub(super) fn reaped(group: Pid, started: Vec<u32>) {
    let mut marks = locked(&MARKS);
    marks.remove(&group.as_raw_nonzero().get());
    let guard = locked(&GUARD).as_ref().map(Pid::from_child);
    let is_child = |pid: Pid| Some(pid) == guard || marks.contains_key(&pid.as_raw_nonzero().get());
    orphans::end(started.into_iter().collect(), marks.is_empty(), is_child);
}

fn tell(guard: &mut Option<Child>, what: &str, group: Pid) {
    let line = format!("{what} {}\n", group.as_raw_nonzero());
    if let Some(stdin) = guard.as_mut().and_then(|guard| guard.stdin.as_mut())
        && stdin.write_all(line.as_bytes()).is_err()
    {
        // The guard was killed. A new one starts with the next group, and knows only that group and later
        // ones.
        *guard = None;
    }
}

fn start() -> Option<Child> {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", SCRIPT, "rpcgauge-guard"])
        .arg(format!("{MARK}={}", *MARK_VALUE))
        .current_dir("/")
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().ok()
}
