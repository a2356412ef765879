//! Ends what processes have started when this program is killed and cannot do it: the kernel then
//! kills only the processes that this program itself has started.
//!
//! The guard is a shell that knows the process groups by lines on its standard input. The kernel closes
//! that when this program ends in any way, and the guard kills the groups that are left.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;

/// Signals that end a whole session must not end the guard before this program.
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
"#;

/// The guard's input, once there is a guard. Where none can be started the processes are ended as
/// long as this program lives.
static GUARD: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// A group has begun.
pub(super) fn begins(group: Pid) {
    let mut guard = GUARD.lock().unwrap_or_else(PoisonError::into_inner);
    if guard.is_none() {
        *guard = start();
    }
    tell(&mut guard, "begins", group);
}

/// A group was ended: its number may be another's from now on.
pub(super) fn ended(group: Pid) {
    let mut guard = GUARD.lock().unwrap_or_else(PoisonError::into_inner);
    tell(&mut guard, "ended", group);
}

fn tell(guard: &mut Option<ChildStdin>, what: &str, group: Pid) {
    let line = format!("{what} {}\n", group.as_raw_nonzero());
    if let Some(stdin) = guard
        && stdin.write_all(line.as_bytes()).is_err()
    {
        // It was killed. The next one knows the groups that begin then.
        *guard = None;
    }
}

fn start() -> Option<ChildStdin> {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", SCRIPT])
        .current_dir("/")
        .env_clear()
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().ok()?.stdin.take()
}
