//! Measures the processor time, peak memory and threads of a process and its descendants.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rpcgauge_trial::Cpu;

/// Nanoseconds per second.
const NS: u64 = 1_000_000_000;

/// Reads the processor time, peak memory and threads of one or more processes. A reading fails if a process has
/// exited or may not be read.
#[derive(Debug, Clone)]
pub struct ProcessMeter {
    processes: Vec<Metered>,
}

#[derive(Debug, Clone)]
struct Metered {
    pid: u32,
    folder: PathBuf,
    clock: libc::clockid_t,
}

/// A process's processor time since its start. Only the difference of two readings is meaningful.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CpuReading {
    /// Exact, unlike the ticks.
    total_ns: u64,
    user_ticks: u64,
    system_ticks: u64,
}

impl CpuReading {
    /// The processor time since `earlier`. The total is exact. Its split is estimated from the kernel's ticks,
    /// and is unknown if no tick was counted.
    pub(crate) fn since(&self, earlier: &CpuReading) -> Cpu {
        let total = self.total_ns.saturating_sub(earlier.total_ns);
        let user = self.user_ticks.saturating_sub(earlier.user_ticks);
        let system = self.system_ticks.saturating_sub(earlier.system_ticks);
        let user_ns = match user + system {
            0 => None,
            all => Some((u128::from(total) * u128::from(user) / u128::from(all)) as u64),
        };
        Cpu {
            total_ns: total,
            user_ns,
            system_ns: user_ns.map(|user_ns| total - user_ns),
        }
    }
}

impl ProcessMeter {
    /// A meter for the process `pid`.
    ///
    /// # Errors
    /// The process does not exist, or this program may not read it.
    pub fn of(pid: u32) -> io::Result<Self> {
        Metered::of(pid).map(|process| Self {
            processes: vec![process],
        })
    }

    /// A meter for the process `pid` and its current descendants, such as a server's workers.
    ///
    /// # Errors
    /// See [`ProcessMeter::of`].
    pub fn with_started(pid: u32) -> io::Result<Self> {
        let mut meter = Self::of(pid)?;
        let started = descendants(pid).into_iter();
        // A process that has already exited was not a worker.
        meter
            .processes
            .extend(started.filter_map(|pid| Metered::of(pid).ok()));
        Ok(meter)
    }

    /// A meter for this program.
    pub(crate) fn of_self() -> io::Result<Self> {
        Self::of(std::process::id())
    }

    /// The process ids, starting with that of the main process.
    pub(crate) fn pids(&self) -> impl Iterator<Item = u32> {
        self.processes.iter().map(|process| process.pid)
    }

    /// The processor time of all threads since the processes started.
    pub(crate) fn cpu(&self) -> io::Result<CpuReading> {
        let mut sum = CpuReading {
            total_ns: self.total_ns()?,
            user_ticks: 0,
            system_ticks: 0,
        };
        for process in &self.processes {
            let stat = fs::read_to_string(process.folder.join("stat"))?;
            let (user_ticks, system_ticks) = Stat::parse(&stat)
                .and_then(|stat| stat.ticks())
                .ok_or_else(|| io::Error::other("/proc/<pid>/stat has no processor times"))?;
            sum.user_ticks += user_ticks;
            sum.system_ticks += system_ticks;
        }
        Ok(sum)
    }

    /// The total processor time from the processes' clocks alone, ns. Fast enough to be read between calls.
    pub(crate) fn total_ns(&self) -> io::Result<u64> {
        self.processes.iter().map(Metered::total_ns).sum()
    }

    /// Resets the peak to the current resident size (proc(5), `clear_refs` 5). Returns false if the kernel does
    /// not support it; the peak then covers the time since the process started.
    pub(crate) fn reset_peak(&self) -> bool {
        let reset = |one: &Metered| fs::write(one.folder.join("clear_refs"), "5").is_ok();
        let failed = self.processes.iter().filter(|process| !reset(process));
        failed.count() == 0
    }

    /// Whether the main process has descendants that this meter does not include.
    pub(crate) fn misses_any(&self) -> bool {
        let is_counted = |pid: &u32| self.processes.iter().any(|one| one.pid == *pid);
        let first = self.processes.first();
        first.is_some_and(|first| !descendants(first.pid).iter().all(is_counted))
    }

    /// The peak resident size since the start or the last reset, bytes. For several processes, the sum of their
    /// peaks.
    ///
    /// # Errors
    /// A process has exited.
    pub fn peak_bytes(&self) -> io::Result<u64> {
        self.sum_of("status", "VmHWM", |status| kib_field(status, "VmHWM:"))
    }

    /// The memory of all processes together, bytes. A page shared by several processes is divided among them
    /// (proc(5), `smaps_rollup`).
    ///
    /// # Errors
    /// A process has exited, or may not be read.
    pub(crate) fn held_bytes(&self) -> io::Result<u64> {
        self.sum_of("smaps_rollup", "Pss", |rollup| kib_field(rollup, "Pss:"))
    }

    /// The current number of threads of all processes.
    pub(crate) fn threads(&self) -> io::Result<u64> {
        self.sum_of("status", "Threads", |status| {
            field(status, "Threads:")?.parse().ok()
        })
    }

    fn sum_of(&self, file: &str, name: &str, read: fn(&str) -> Option<u64>) -> io::Result<u64> {
        let of_one = |process: &Metered| {
            let text = fs::read_to_string(process.folder.join(file))?;
            read(&text).ok_or_else(|| io::Error::other(format!("/proc/<pid>/{file} has no {name}")))
        };
        self.processes.iter().map(of_one).sum()
    }
}

impl Metered {
    fn of(pid: u32) -> io::Result<Self> {
        let mut clock: libc::clockid_t = 0;
        let id = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
        // SAFETY: `clock` is valid for writes and outlives the call.
        match unsafe { libc::clock_getcpuclockid(id, &raw mut clock) } {
            0 => Ok(Self {
                pid,
                folder: PathBuf::from(format!("/proc/{pid}")),
                clock,
            }),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    fn total_ns(&self) -> io::Result<u64> {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `time` is valid for writes and outlives the call.
        if unsafe { libc::clock_gettime(self.clock, &raw mut time) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(time.tv_sec as u64 * NS + time.tv_nsec as u64)
    }
}

/// All processes, each with its folder in `/proc`.
pub(crate) fn all_processes() -> impl Iterator<Item = (u32, PathBuf)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, entry.path()))
    })
}

/// The children of a process, their children, and so on.
pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let mut children: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for (child, folder) in all_processes() {
        let stat = fs::read_to_string(folder.join("stat")).unwrap_or_default();
        if let Some(parent) = Stat::parse(&stat).and_then(|stat| stat.field(PARENT)) {
            children.entry(parent).or_default().push(child);
        }
    }
    let (mut found, mut waiting) = (Vec::new(), vec![pid]);
    while let Some(pid) = waiting.pop() {
        let started = children.remove(&u64::from(pid)).unwrap_or_default();
        found.extend(&started);
        waiting.extend(started);
    }
    found
}

/// The number of the field in `stat` that contains the parent's id.
pub(crate) const PARENT: usize = 4;

/// How long the calling thread has been runnable while others had its core: the second number of its
/// `schedstat` (Documentation/scheduler/sched-stats.rst in the kernel). `None` if the kernel does not report
/// it.
pub(crate) fn thread_waited() -> Option<Duration> {
    let schedstat = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let waited_ns = schedstat.split_ascii_whitespace().nth(1)?;
    Some(Duration::from_nanos(waited_ns.parse().ok()?))
}

/// The fields of `stat` in proc(5).
#[derive(Debug)]
pub(crate) struct Stat<'s> {
    /// The program's name, which may contain spaces and parentheses.
    pub(crate) name: &'s str,
    /// The third and later fields.
    fields: Vec<&'s str>,
}

impl<'s> Stat<'s> {
    pub(crate) fn parse(text: &'s str) -> Option<Self> {
        let (before, after) = text.rsplit_once(')')?;
        let (_, name) = before.split_once('(')?;
        Some(Self {
            name,
            fields: after.split_ascii_whitespace().collect(),
        })
    }

    /// A numeric field, given its number in proc(5).
    pub(crate) fn field(&self, place: usize) -> Option<u64> {
        self.fields.get(place.checked_sub(3)?)?.parse().ok()
    }

    /// User and kernel time, in clock ticks.
    fn ticks(&self) -> Option<(u64, u64)> {
        Some((self.field(14)?, self.field(15)?))
    }
}

/// Parses a size from a kernel table with values in kB, such as `/proc/<pid>/status`. Returns bytes.
pub(crate) fn kib_field(table: &str, name: &str) -> Option<u64> {
    let kib = field(table, name)?.strip_suffix("kB")?.trim();
    kib.parse::<u64>().ok()?.checked_mul(1024)
}

fn field<'a>(table: &'a str, name: &str) -> Option<&'a str> {
    let line = table.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn stat_is_read_past_a_name_with_spaces_and_parentheses() {
        let stat = "42 (a) b) (c) S 1 42 42 0 -1 4194560 99 0 0 0 17 23 0 0 20 0 1 0 100 0 0";
        let stat = Stat::parse(stat).unwrap();
        assert_eq!((stat.name, stat.ticks()), ("a) b) (c", Some((17, 23))));
        assert!(Stat::parse("42 (cut").is_none());
        assert_eq!(Stat::parse("42 (cut) S 1").unwrap().ticks(), None);
    }

    #[test]
    fn status_tells_the_peak() {
        let peak = |status| kib_field(status, "VmHWM:");
        assert_eq!(peak("Name:\ta\nVmHWM:\t    1764 kB\n"), Some(1764 * 1024));
        assert_eq!(peak("Name:\tkernel thread\n"), None);
    }

    #[test]
    fn the_split_adds_up_to_the_exact_total() {
        let at = |total_ns, user_ticks, system_ticks| CpuReading {
            total_ns,
            user_ticks,
            system_ticks,
        };
        let used = at(1_000, 4, 9).since(&at(100, 3, 7));
        assert_eq!(
            used,
            Cpu {
                total_ns: 900,
                user_ns: Some(300),
                system_ns: Some(600)
            }
        );
        let unsplit = at(1_000, 3, 7).since(&at(100, 3, 7));
        assert_eq!(
            unsplit,
            Cpu {
                total_ns: 900,
                user_ns: None,
                system_ns: None
            }
        );
    }

    #[test]
    fn this_process_uses_time_and_memory() {
        let meter = ProcessMeter::of_self().unwrap();
        let before = meter.cpu().unwrap();
        let sum: u64 = (0..1_000_000_u64).map(std::hint::black_box).sum();
        assert!(sum > 0);
        assert!(meter.cpu().unwrap().since(&before).total_ns > 0);
        assert!(meter.peak_bytes().unwrap() > 100_000);
    }

    #[test]
    fn what_a_process_has_started_counts_with_it() {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", "(while :; do :; done) & echo up; wait"])
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = shell.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let meter = ProcessMeter::with_started(shell.id()).unwrap();
        let alone = ProcessMeter::of(shell.id()).unwrap();
        assert_eq!(meter.processes.len(), 2);
        assert_eq!((alone.threads().unwrap(), meter.threads().unwrap()), (1, 2));
        while meter.total_ns().unwrap() < 10_000_000 {
            std::thread::yield_now();
        }
        assert!(alone.total_ns().unwrap() < meter.total_ns().unwrap());
        assert!(alone.peak_bytes().unwrap() < meter.peak_bytes().unwrap());
        assert!(meter.cpu().unwrap().total_ns >= 10_000_000);
        assert!(alone.misses_any() && !meter.misses_any());
        let group = rustix::process::Pid::from_child(&shell);
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        shell.wait().unwrap();
    }

    #[test]
    fn each_peak_is_reset_though_another_process_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let at = |folder: PathBuf| Metered {
            folder,
            ..Metered::of(std::process::id()).unwrap()
        };
        let processes = vec![at(folder.path().join("gone")), at(folder.path().to_owned())];
        assert!(!ProcessMeter { processes }.reset_peak());
        assert_eq!(
            fs::read_to_string(folder.path().join("clear_refs")).unwrap(),
            "5"
        );
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error() {
        // Larger than the kernel's maximum pid, 2^22.
        assert!(ProcessMeter::of(4_194_305).is_err());
    }
}
