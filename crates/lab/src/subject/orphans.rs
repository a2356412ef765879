//! Kills orphaned processes that have left their group and session and removed the mark from their
//! environment. This program finds them because it becomes their parent (prctl(2), PR_SET_CHILD_SUBREAPER).

use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, getpgrp, getpid, kill_process, set_child_subreaper, waitpid,
};

use crate::machine::process::{PARENT, Stat, all_processes, descendants};

/// The number of the field in `stat` that contains the process group.
const GROUP: usize = 5;

/// The maximum number of rounds: each killed process may orphan its own children.
const MAX_ROUNDS: u32 = 1_000;

/// How long killed processes have to exit before the next round.
const ROUND: Duration = Duration::from_millis(1);

/// Whether every process that this program adopts descends from one that it started. This is not the case if
/// this program already had children, or is the first process of a container.
static ADOPTS: LazyLock<bool> = LazyLock::new(|| {
    let own = getpid();
    !own.is_init()
        && descendants(own.as_raw_nonzero().get().cast_unsigned()).is_empty()
        && set_child_subreaper(Some(own)).is_ok()
});

/// Makes this program the parent of orphaned descendants. Must be called before the first process starts.
pub(super) fn adopt() {
    LazyLock::force(&ADOPTS);
}

/// Kills the orphans that are among `started`, or all orphans if no other process can have started them
/// (`are_all`). `is_child` reports whether this program started a process itself.
pub(super) fn end(mut started: BTreeSet<u32>, are_all: bool, is_child: impl Fn(Pid) -> bool) {
    if !*ADOPTS {
        return;
    }
    for _ in 0..MAX_ROUNDS {
        let mut killed = false;
        for orphan in children().filter(|pid| !is_child(*pid)) {
            let number = orphan.as_raw_nonzero().get().cast_unsigned();
            // An orphan that has exited remains listed until it is reaped here.
            let has_ended = waitpid(Some(orphan), WaitOptions::NOHANG);
            if matches!(has_ended, Ok(Some(_))) || !(are_all || started.contains(&number)) {
                continue;
            }
            started.extend(descendants(number));
            // Fails only if the process is gone.
            let _ = kill_process(orphan, Signal::KILL);
            killed = true;
        }
        if !killed {
            return;
        }
        thread::sleep(ROUND);
    }
}

/// The children of this program that belong to another process group.
fn children() -> impl Iterator<Item = Pid> {
    let number = |pid: Pid| u64::from(pid.as_raw_nonzero().get().cast_unsigned());
    let (own, group) = (number(getpid()), number(getpgrp()));
    all_processes().filter_map(move |(pid, folder)| {
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        let stat = Stat::parse(&stat)?;
        let is_other = stat.field(PARENT)? == own && stat.field(GROUP)? != group;
        is_other.then(|| Pid::from_raw(pid.cast_signed())).flatten()
    })
}
