//! Measures how long the threads of a side wait for their cores while other threads run there.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;

use rustix::process::{Resource, getrlimit};

use super::process::ProcessMeter;

/// The maximum size of a `schedstat` file, bytes: three numbers.
const MAX_BYTES: usize = 80;

/// Reads the processor time of a side, and how long its threads have been runnable while others had their
/// cores. Fast enough to be used between slices.
#[derive(Debug)]
pub(crate) struct SideMeter {
    of: Of,
    /// Each thread's id and its `schedstat` file; `None` if there are too many threads to follow.
    threads: Option<Vec<(u32, File)>>,
    /// The maximum number of files that this program may have open, including these.
    max_open: u64,
}

#[derive(Debug)]
enum Of {
    /// The calling thread.
    Thread,
    /// All threads of some processes. Each `task` folder comes with its link count at the last listing.
    Processes(ProcessMeter, Vec<(PathBuf, u64)>),
}

/// Cumulative processor time of a side and of each of its threads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SideReading {
    pub(crate) used_ns: u64,
    /// By thread id.
    pub(crate) threads: BTreeMap<u32, Times>,
}

/// How long a thread has run and waited so far, ns: the first two numbers of its `schedstat`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) ran_ns: u64,
    pub(crate) waited_ns: u64,
}

impl SideReading {
    pub(crate) fn since(self, earlier: &Self) -> Self {
        let since = |(id, now): (u32, Times)| {
            // A thread without an earlier reading is new.
            let before = earlier.threads.get(&id).copied().unwrap_or_default();
            let times = Times {
                ran_ns: now.ran_ns.saturating_sub(before.ran_ns),
                waited_ns: now.waited_ns.saturating_sub(before.waited_ns),
            };
            (id, times)
        };
        Self {
            used_ns: self.used_ns.saturating_sub(earlier.used_ns),
            threads: self.threads.into_iter().map(since).collect(),
        }
    }
}

impl SideMeter {
    /// A meter for the calling thread; `None` if the kernel does not report waiting times.
    pub(crate) fn of_this_thread() -> Option<Self> {
        let id = rustix::thread::gettid().as_raw_nonzero().get();
        let file = File::open("/proc/thread-self/schedstat").ok()?;
        Some(Self {
            of: Of::Thread,
            threads: Some(vec![(id.unsigned_abs(), file)]),
            max_open: u64::MAX,
        })
    }

    /// A meter for all threads of these processes.
    pub(crate) fn of_processes(meter: &ProcessMeter) -> Self {
        let folders = meter.pids().map(|pid| format!("/proc/{pid}/task").into());
        let folders = folders.map(|folder| (folder, 0)).collect();
        Self {
            of: Of::Processes(meter.clone(), folders),
            threads: None,
            // Leave half of the limit for everything else that a run opens.
            max_open: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / 2,
        }
    }

    /// The side's processor time and waiting times so far; `None` if a process has exited, /proc is
    /// unreadable, or there are too many threads.
    pub(crate) fn read(&mut self) -> Option<SideReading> {
        let used_ns = match &self.of {
            Of::Thread => thread_ns(),
            Of::Processes(meter, _) => meter.total_ns().ok()?,
        };
        if self.is_changed() {
            self.find_threads();
        }
        let all = self.threads.as_ref()?.iter();
        let all = all.map(|(id, file)| Ok((*id, times(file)?)));
        let mut threads = match all.collect::<io::Result<BTreeMap<_, _>>>() {
            Ok(threads) => threads,
            // A thread has exited since the last listing.
            Err(_) => {
                self.find_threads();
                let left = self.threads.as_ref()?.iter();
                left.flat_map(|(id, file)| Some((*id, times(file).ok()?)))
                    .collect()
            }
        };
        if let Of::Thread = self.of {
            // The `schedstat` of a running thread lags behind its clock.
            threads.values_mut().for_each(|one| one.ran_ns = used_ns);
        }
        Some(SideReading { used_ns, threads })
    }

    /// Whether threads were started or have exited since the last listing. A folder's link count includes one
    /// link for each subfolder.
    fn is_changed(&self) -> bool {
        let Of::Processes(_, folders) = &self.of else {
            return false;
        };
        folders
            .iter()
            .any(|(folder, links)| fs::metadata(folder).map_or(0, |about| about.nlink()) != *links)
    }

    fn find_threads(&mut self) {
        let Of::Processes(_, folders) = &mut self.of else {
            return;
        };
        self.threads = None;
        let mut found = Vec::new();
        for (folder, links) in folders {
            *links = fs::metadata(&*folder).map_or(0, |about| about.nlink());
            let threads = fs::read_dir(folder).into_iter().flatten().flatten();
            found.extend(threads.map(|thread| thread.path()));
        }
        let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        if (open + found.len()) as u64 > self.max_open {
            return;
        }
        let file = |path: PathBuf| {
            let id = path.file_name()?.to_str()?.parse().ok()?;
            Some((id, File::open(path.join("schedstat")).ok()?))
        };
        self.threads = Some(found.into_iter().filter_map(file).collect());
    }
}

/// The processor time of the calling thread so far, ns.
fn thread_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let [seconds, nanoseconds] =
        [now.tv_sec, now.tv_nsec].map(|part| u64::try_from(part).unwrap_or(0));
    seconds * 1_000_000_000 + nanoseconds
}

/// The first two numbers of a `schedstat`.
fn times(thread: &File) -> io::Result<Times> {
    let mut bytes = [0; MAX_BYTES];
    let length = thread.read_at(&mut bytes, 0)?;
    let text = std::str::from_utf8(&bytes[..length]).unwrap_or_default();
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(ran_ns)), Some(Ok(waited_ns))) => Ok(Times { ran_ns, waited_ns }),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_followed_unless_they_are_too_many() {
        let this = rustix::thread::gettid().as_raw_nonzero().get();
        let mut meter = SideMeter::of_processes(&ProcessMeter::of_self().unwrap());
        let reading = meter.read().unwrap();
        assert!(reading.threads.contains_key(&this.unsigned_abs()));
        let mut meter = SideMeter::of_processes(&ProcessMeter::of_self().unwrap());
        meter.max_open = 0;
        assert_eq!(meter.read(), None);
    }

    #[test]
    fn a_thread_that_has_begun_since_counts_from_its_beginning() {
        let reading = |threads: &[(u32, u64)]| SideReading {
            used_ns: 0,
            threads: threads
                .iter()
                .map(|&(id, waited_ns)| {
                    let ran_ns = 0;
                    (id, Times { ran_ns, waited_ns })
                })
                .collect(),
        };
        let (before, now) = (reading(&[(1, 50), (2, 70)]), reading(&[(2, 75), (3, 9)]));
        assert_eq!(now.since(&before), reading(&[(2, 5), (3, 9)]));
    }
}
