//! Ends processes whose parent has ended, and which have left their group, their session and the mark in
//! their environment. This program becomes their parent (prctl(2), PR_SET_CHILD_SUBREAPER), and so finds
//! them.

use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, getpgrp, getpid, kill_process, set_child_subreaper, waitpid,
};

use crate::machine::process::{PARENT, Stat, all_processes, descendants};

/// The place of the group's number in `stat`.
const GROUP: usize = 5;

/// How often the search is repeated: each killed process leaves those that it has started.
const MAX_ROUNDS: u32 = 1_000;

/// How long a killed process has until the next search.
const ROUND: Duration = Duration::from_millis(1);

/// Whether what this program becomes the parent of was started by what it has started. It is not where
/// this program had children before, or is the first process of a container.
static ADOPTS: LazyLock<bool> = LazyLock::new(|| {
    let own = getpid();
    !own.is_init()
        && descendants(own.as_raw_nonzero().get().cast_unsigned()).is_empty()
        && set_child_subreaper(Some(own)).is_ok()
});

/// Becomes the parent of what its processes leave behind. Called before the first of them starts.
pub(super) fn adopt() {
    LazyLock::force(&ADOPTS);
}

/// Ends those orphans that are among `started`, or all of them where no other process could have started
/// them (`are_all`). `is_child` knows the processes that this program has started itself.
pub(super) fn end(mut started: BTreeSet<u32>, are_all: bool, is_child: impl Fn(Pid) -> bool) {
    if !*ADOPTS {
        return;
    }
    for _ in 0..MAX_ROUNDS {
        let mut killed = false;
        for orphan in children().filter(|pid| !is_child(*pid)) {
            let number = orphan.as_raw_nonzero().get().cast_unsigned();
            // One that has ended stays in the list until its parent takes notice.
            let has_ended = waitpid(Some(orphan), WaitOptions::NOHANG);
            if matches!(has_ended, Ok(Some(_))) || !(are_all || started.contains(&number)) {
                continue;
            }
            started.extend(descendants(number));
            // It fails only where the process is gone.
            let _ = kill_process(orphan, Signal::KILL);
            killed = true;
        }
        if !killed {
            return;
        }
        thread::sleep(ROUND);
    }
}

/// The children of this program that are in another group.
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
