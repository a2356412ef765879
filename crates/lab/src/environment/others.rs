//! Finds other programs that used the cores during a run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::iter::successors;
use std::path::PathBuf;
use std::time::Instant;

use rpcgauge_trial::Address;

use crate::machine::listener::Listeners;
use crate::machine::process::{Stat, all_processes};

/// If the measuring thread waited for its core for more than this share of a trial, every program that used
/// more than this share of a core is named.
const WAITED_SHARE: f64 = 0.01;

/// A program that used more than this share of a measured core is named regardless of the measuring thread: the
/// server may have waited, or both sides if they share a core.
const BUSY_SHARE: f64 = 0.10;

/// The kernel counts processor time in ticks of 10 ms. A share computed from fewer ticks than this is
/// meaningless.
const MIN_TICKS: u64 = 2;

/// The maximum number of programs to name.
const MAX_NAMED: usize = 3;

/// The maximum number of ancestors to follow. Parents are read while processes start and exit, so they could
/// form a cycle.
const MAX_ANCESTORS: usize = 64;

/// The flag by which the kernel marks its own threads (`PF_KTHREAD` in include/linux/sched.h). Their work may
/// be part of the calls.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Tracks the processor time that other programs use.
#[derive(Debug)]
pub(super) struct Others {
    cores: BTreeSet<usize>,
    targets: Vec<Address>,
    before: Processes,
}

impl Others {
    /// Starts tracking programs that run on `cores`, except services that listen at `targets`.
    pub(super) fn start(cores: BTreeSet<usize>, targets: Vec<Address>) -> Self {
        Self {
            cores,
            targets,
            before: Processes::now(),
        }
    }

    /// Names the programs that took the cores. `waited` is the share of a trial that the measuring thread spent
    /// waiting for its core.
    pub(super) fn warning(&self, when: &str, waited: f64) -> Option<String> {
        let used = Processes::now().used_since(&self.before, std::process::id());
        let mut named = disturbing(used, &self.cores, waited);
        if !named.is_empty() {
            let targets: Vec<Listeners> = self.targets.iter().map(Listeners::at).collect();
            named.retain(|used| !targets.iter().any(|service| service.are_of(used.pid)));
        }
        named_in_a_line(&named, when, waited)
    }
}

/// The programs that disturb `cores`. Those last seen on these cores come first; within each group, the busiest
/// come first.
fn disturbing(mut used: Vec<Used>, cores: &BTreeSet<usize>, waited: f64) -> Vec<Used> {
    let was_there = |used: &Used| cores.contains(&used.core);
    used.retain(|used| {
        used.share > BUSY_SHARE && was_there(used)
            || used.share > WAITED_SHARE && waited > WAITED_SHARE
    });
    used.sort_by(|a, b| {
        let there_first = was_there(b).cmp(&was_there(a));
        there_first.then(b.share.total_cmp(&a.share))
    });
    used
}

fn named_in_a_line(used: &[Used], when: &str, waited: f64) -> Option<String> {
    let named: Vec<String> = used.iter().take(MAX_NAMED).map(Used::to_string).collect();
    let waited = if waited > WAITED_SHARE {
        format!(
            "; the measuring thread waited for its core for up to {:.1}% of a trial",
            waited * 100.0
        )
    } else {
        String::new()
    };
    (!named.is_empty()).then(|| {
        format!(
            "{when} other programs were busy: {}{waited}; stop them for steadier figures",
            named.join(", ")
        )
    })
}

/// The processor time used by a process and its children that have exited.
#[derive(Debug, Clone, PartialEq)]
struct Used {
    name: String,
    pid: u32,
    /// The core it last ran on.
    core: usize,
    /// 1.0 is one full core.
    share: f64,
}

impl fmt::Display for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            pid,
            core,
            share,
        } = self;
        let percent = share * 100.0;
        write!(
            f,
            "{name} (pid {pid}, last on core {core}) with {percent:.0}% of a core"
        )
    }
}

/// A snapshot of all processes.
#[derive(Debug)]
struct Processes {
    at: Instant,
    by_pid: BTreeMap<u32, Process>,
}

/// A process, as described by `stat` in proc(5).
#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    name: String,
    parent: u32,
    is_kernels: bool,
    /// Its processor time, plus that of its children that have exited.
    ticks: u64,
    /// When it started, because a later process may reuse its id.
    started: u64,
    core: usize,
}

impl Processes {
    fn now() -> Self {
        let with_stat = |(pid, folder): (u32, PathBuf)| {
            let stat = fs::read_to_string(folder.join("stat")).ok()?;
            Some((pid, process(&stat)?))
        };
        let by_pid = all_processes().filter_map(with_stat).collect();
        Self {
            at: Instant::now(),
            by_pid,
        }
    }

    /// What each process has used since `before`, except `own` and its descendants.
    fn used_since(&self, before: &Self, own: u32) -> Vec<Used> {
        let seconds = self.at.duration_since(before.at).as_secs_f64().max(1e-3);
        let inherited = self.inherited_since(before);
        let used = |(&pid, process): (&u32, &Process)| {
            let earlier = before.by_pid.get(&pid);
            let earlier = earlier.filter(|earlier| earlier.started == process.started);
            let known = earlier.map_or(0, |earlier| earlier.ticks)
                + inherited.get(&pid).copied().unwrap_or(0);
            let ticks = process.ticks.saturating_sub(known);
            let is_counted = ticks >= MIN_TICKS
                && !process.is_kernels
                && !self.ancestry(pid).any(|ancestor| ancestor == own);
            is_counted.then(|| Used {
                name: process.name.clone(),
                pid,
                core: process.core,
                share: ticks as f64 / ticks_per_second() / seconds,
            })
        };
        self.by_pid.iter().filter_map(used).collect()
    }

    /// What processes that have exited since `before` had used by then. The kernel now attributes that time to
    /// the nearest surviving ancestor, which waited for them.
    fn inherited_since(&self, before: &Self) -> BTreeMap<u32, u64> {
        let is_left = |pid: u32| {
            let started = |all: &Self| all.by_pid.get(&pid).map(|process| process.started);
            started(before) == started(self)
        };
        let mut inherited = BTreeMap::new();
        for (&pid, process) in &before.by_pid {
            if !is_left(pid)
                && let Some(heir) = before.ancestry(pid).find(|&ancestor| is_left(ancestor))
            {
                *inherited.entry(heir).or_default() += process.ticks;
            }
        }
        inherited
    }

    /// A process, its parent, its grandparent, and so on.
    fn ancestry(&self, pid: u32) -> impl Iterator<Item = u32> {
        let parent = |pid: &u32| self.by_pid.get(pid).map(|process| process.parent);
        successors(Some(pid), parent).take(MAX_ANCESTORS)
    }
}

fn process(stat: &str) -> Option<Process> {
    let stat = Stat::parse(stat)?;
    let clean = |c: char| if c.is_control() { '?' } else { c };
    Some(Process {
        name: stat.name.chars().map(clean).collect(),
        parent: u32::try_from(stat.field(4)?).ok()?,
        is_kernels: stat.field(9)? & KERNEL_THREAD != 0,
        // utime, stime, cutime, cstime
        ticks: stat.field(14)? + stat.field(15)? + stat.field(16)? + stat.field(17)?,
        started: stat.field(22)?,
        core: usize::try_from(stat.field(39)?).ok()?,
    })
}

fn ticks_per_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn of(parent: u32, ticks: u64) -> Process {
        Process {
            name: "make".to_owned(),
            parent,
            is_kernels: false,
            ticks,
            started: 7,
            core: 1,
        }
    }

    /// The result of two readings taken one second apart.
    fn used<const A: usize, const B: usize>(
        before: [(u32, Process); A],
        after: [(u32, Process); B],
    ) -> Vec<(u32, f64)> {
        let at = Instant::now();
        let before = Processes {
            at,
            by_pid: before.into(),
        };
        let after = Processes {
            at: at + Duration::from_secs(1),
            by_pid: after.into(),
        };
        let used = after.used_since(&before, OWN);
        used.into_iter()
            .map(|used| (used.pid, used.share))
            .collect()
    }

    const OWN: u32 = 50;

    #[test]
    fn stat_is_read_past_a_name_with_parentheses() {
        let stat = "42 (a (b) c) S 9 42 42 0 -1 4194560 99 0 0 0 17 23 5 1 20 0 1 0 100 0 0 0 0 0 0 0 \
                    0 0 0 0 0 0 0 0 17 3 0";
        let read = process(stat).unwrap();
        let want = Process {
            name: "a (b) c".to_owned(),
            parent: 9,
            is_kernels: false,
            ticks: 46,
            started: 100,
            core: 3,
        };
        assert_eq!(read, want);
        assert!(
            process(&stat.replace("4194560", "2129984"))
                .unwrap()
                .is_kernels
        );
        assert_eq!(process("42 (cut) S 9"), None);
    }

    #[test]
    fn a_process_has_used_a_share_of_a_core() {
        let second = ticks_per_second() as u64;
        let before = [(1, of(0, 0)), (2, of(1, 5)), (3, of(1, second))];
        let reused = Process {
            started: 8,
            ..of(1, second / 4)
        };
        let after = [
            (1, of(0, 0)),
            (2, of(1, 5 + second / 2)),
            (3, reused),
            (4, of(1, second)),
        ];
        assert_eq!(used(before, after), [(2, 0.5), (3, 0.25), (4, 1.0)]);
    }

    #[test]
    fn what_ours_and_the_kernel_use_is_left_out() {
        let kernels = Process {
            is_kernels: true,
            ..of(0, 90)
        };
        let after = [
            (3, kernels),
            (OWN, of(1, 90)),
            (51, of(OWN, 90)),
            (52, of(51, 90)),
        ];
        assert_eq!(used([], after), []);
    }

    #[test]
    fn time_from_before_is_left_out_when_its_process_ends() {
        let second = ticks_per_second() as u64;
        // 1 waited for 2, which waited for 3, so the time that both had used earlier is now attributed to 1.
        let before = [(1, of(0, 0)), (2, of(1, 2 * second)), (3, of(2, second))];
        let after = [(1, of(0, 3 * second + second / 2))];
        assert_eq!(used(before, after), [(1, 0.5)]);
    }

    #[test]
    fn a_program_that_disturbs_is_named() {
        let used = |pid, core, share| Used {
            name: "make".to_owned(),
            pid,
            core,
            share,
        };
        let all = vec![
            used(1, 0, 0.12),
            used(2, 0, 0.05),
            used(3, 9, 4.0),
            used(4, 1, 0.6),
        ];
        let named = |waited| {
            let named = disturbing(all.clone(), &[0, 1].into(), waited);
            named.iter().map(|used| used.pid).collect::<Vec<_>>()
        };
        assert_eq!(named(0.002), [4, 1]);
        assert_eq!(named(0.02), [4, 1, 2, 3]);
        assert_eq!(
            named_in_a_line(&all[..2], "during the run", 0.0814).unwrap(),
            "during the run other programs were busy: make (pid 1, last on core 0) with 12% of a \
             core, make (pid 2, last on core 0) with 5% of a core; the measuring thread waited for its \
             core for up to 8.1% of a trial; stop them for steadier figures"
        );
        assert_eq!(named_in_a_line(&[], "during the run", 0.5), None);
    }
}
