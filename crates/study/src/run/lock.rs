//! Finds the process that is writing a run directory.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, flock, major, minor};
use rustix::io::Errno;
use serde::Serialize;

use super::names;

/// A run that another rpcgauge process is writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Writing {
    /// Its process ID; absent if the process is not visible from here, for example in another container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}

impl Writing {
    /// Checks the lock that a [`super::RunWriter`] holds for its lifetime.
    pub fn of(directory: &Path) -> Option<Self> {
        let trials = File::open(directory.join(names::TRIALS)).ok()?;
        // A lock acquired here is released when the file is closed at the end.
        let locked = flock(&trials, FlockOperation::NonBlockingLockShared);
        (locked == Err(Errno::WOULDBLOCK)).then(|| Self {
            pid: holder(&trials),
        })
    }
}

/// The process that holds the lock, from lines such as `1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF`.
fn holder(file: &File) -> Option<u32> {
    let about = file.metadata().ok()?;
    let (device, inode) = (about.dev(), about.ino());
    let place = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let lock = locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_held = words.get(1) == Some(&"FLOCK") && words.get(5) == Some(&&*place);
        is_held.then(|| words[4].parse().ok()).flatten()
    });
    // The kernel shows 0 for a process in another container.
    lock.filter(|pid| *pid > 0)
}
