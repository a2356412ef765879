//! How long the threads of a side wait for their cores while others run there.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;

use super::process::ProcessMeter;

/// The most bytes of a `schedstat`: three numbers.
const MOST_BYTES: usize = 80;

/// Reads how long the threads of a side were ready to run so far, while others had their core, and what
/// processor time it used: quick enough to be read between slices.
#[derive(Debug)]
pub(crate) struct SideMeter {
    of: Of,
    threads: Vec<File>,
}

#[derive(Debug)]
enum Of {
    /// The calling thread.
    Thread,
    /// All threads of processes, with the number of threads in each process's folder of them as it was
    /// when they were looked for.
    Processes(ProcessMeter, Vec<(PathBuf, u64)>),
}

/// What a side has waited and used so far, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SideReading {
    pub(crate) waited_ns: u64,
    pub(crate) used_ns: u64,
}

impl SideReading {
    pub(crate) fn since(self, earlier: Self) -> Self {
        // A thread that ended takes what it had waited with it.
        Self {
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
            used_ns: self.used_ns.saturating_sub(earlier.used_ns),
        }
    }
}

impl SideMeter {
    /// A meter of the calling thread; none where the kernel does not count its waiting.
    pub(crate) fn of_this_thread() -> Option<Self> {
        let threads = vec![File::open("/proc/thread-self/schedstat").ok()?];
        Some(Self {
            of: Of::Thread,
            threads,
        })
    }

    /// A meter of all threads of processes.
    pub(crate) fn of_processes(meter: &ProcessMeter) -> Self {
        let folders = meter.pids().map(|pid| format!("/proc/{pid}/task").into());
        let folders = folders.map(|folder| (folder, 0)).collect();
        Self {
            of: Of::Processes(meter.clone(), folders),
            threads: Vec::new(),
        }
    }

    /// What it waited and used so far; none where that cannot be read (any more).
    pub(crate) fn read(&mut self) -> Option<SideReading> {
        let used_ns = match &self.of {
            Of::Thread => thread_ns(),
            Of::Processes(meter, _) => meter.total_ns().ok()?,
        };
        if self.is_changed() {
            self.find_threads();
        }
        let waited = self
            .threads
            .iter()
            .map(waited)
            .collect::<io::Result<Vec<_>>>();
        // A thread has ended since: what the others waited begins anew.
        let waited_ns = match waited {
            Ok(waited) => waited.into_iter().sum(),
            Err(_) => {
                self.find_threads();
                self.threads.iter().flat_map(waited_of).sum()
            }
        };
        Some(SideReading { waited_ns, used_ns })
    }

    /// Whether threads began or ended. A folder has a link for each folder in it.
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
        self.threads.clear();
        for (folder, links) in folders {
            *links = fs::metadata(&*folder).map_or(0, |about| about.nlink());
            let threads = fs::read_dir(folder).into_iter().flatten().flatten();
            let files = threads.flat_map(|thread| File::open(thread.path().join("schedstat")));
            self.threads.extend(files);
        }
    }
}

/// Processor time of the calling thread so far, ns.
fn thread_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let [seconds, nanoseconds] =
        [now.tv_sec, now.tv_nsec].map(|part| u64::try_from(part).unwrap_or(0));
    seconds * 1_000_000_000 + nanoseconds
}

fn waited_of(thread: &File) -> Option<u64> {
    waited(thread).ok()
}

/// The second number of a `schedstat`.
fn waited(thread: &File) -> io::Result<u64> {
    let mut bytes = [0; MOST_BYTES];
    let length = thread.read_at(&mut bytes, 0)?;
    let text = std::str::from_utf8(&bytes[..length]).unwrap_or_default();
    let number = text.split_ascii_whitespace().nth(1);
    let number = number.and_then(|number| number.parse().ok());
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}
