//! Folders that are filled once for all runs, and removed when no run has used them for a long time.
//!
//! ```text
//! FOLDER/
//!   .built        created last; lists the files of the folder. If a file in the list is missing, the
//!                 folder is incomplete. The modification time is when the folder was last used.
//!                 Programs that use the folder hold a lock on this file
//!   .built-PART   the same for a part that was added to the folder
//! FOLDER.log, FOLDER.PART.log   the output of the commands
//! FOLDER.lock     locked by the program that fills the folder
//! ```

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};

use super::commands::Step;
use super::error::SubjectsError;
use crate::files::regular;

/// The file that is created last in a folder.
const MARKER: &str = ".built";

/// A folder unused for this long is removed when the next folder of its kind is filled.
const KEPT_UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How often another program's lock is polled.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// Marks a folder as filled, and lists its files in the marker.
pub(super) fn mark_whole(folder: &Path) -> Result<(), SubjectsError> {
    mark(folder, MARKER)
}

/// Like [`mark_whole`], for a part that was added to the folder.
pub(super) fn mark_part(folder: &Path, part: &str) -> Result<(), SubjectsError> {
    mark(folder, &part_marker(part))
}

fn mark(folder: &Path, marker: &str) -> Result<(), SubjectsError> {
    let (mut names, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(at) = open.pop() {
        let entries = fs::read_dir(folder.join(&at)).into_iter();
        for entry in entries.flatten().flatten() {
            let name = at.join(entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(name)
            } else {
                names.push(name.into_os_string().into_vec())
            }
        }
    }
    let marker = folder.join(marker);
    let written = regular::create(&marker).and_then(|mut file| file.write_all(&names.join(&0)));
    written.map_err(unwritable(&marker))
}

/// Whether a folder, or a part of it, was filled and is still complete: a cache may lose files.
fn has(folder: &Path, marker: &str) -> bool {
    let mut names = Vec::new();
    let marker = regular::open(&folder.join(marker));
    let read = marker.and_then(|mut marker| marker.read_to_end(&mut names));
    let is_there = |name| fs::symlink_metadata(folder.join(OsStr::from_bytes(name))).is_ok();
    read.is_ok() && names.split(|&byte| byte == 0).all(is_there)
}

/// The markers of the folders in use. They remain open, and therefore locked, until this program exits.
static IN_USE: Mutex<BTreeMap<PathBuf, File>> = Mutex::new(BTreeMap::new());

/// Marks a folder as in use, so that no other program removes it while this program runs. Returns whether the
/// folder is filled.
pub(super) fn take(folder: &Path) -> bool {
    let Ok(marker) = regular::open(&folder.join(MARKER)) else {
        return false;
    };
    // A cache that can be neither locked nor written can still be used.
    let _ = flock(&marker, FlockOperation::LockShared);
    let _ = marker.set_modified(SystemTime::now());
    // One open file for each folder, no matter how often the folder is requested.
    let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    in_use.insert(folder.to_owned(), marker);
    drop(in_use);
    // The folder may have been removed before it was locked.
    is_whole(folder)
}

/// Removes folders with the same name but another digest that no run has used for a long time.
pub(super) fn remove_unused_beside(folder: &Path) {
    let name_of = |path: &Path| {
        let (name, digest) = path.file_name()?.to_str()?.rsplit_once('-')?;
        let is_digest = digest.len() == 16 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digest.then(|| name.to_owned())
    };
    let entries = folder.parent().map(fs::read_dir).into_iter().flatten();
    for other in entries.flatten().flatten().map(|entry| entry.path()) {
        if other != folder && name_of(&other) == name_of(folder) {
            // A folder that cannot be removed is harmless: nothing depends on it.
            let _ = remove_unused(&other);
        }
    }
}

/// Removes a folder with its messages and logs, but not its lock file, which other programs may be waiting
/// for. `None` if the folder is in use or was used recently.
fn remove_unused(folder: &Path) -> Option<()> {
    let marker = regular::open(&folder.join(MARKER)).ok()?;
    // The same lock that a program holds while it fills the folder.
    let lock = regular::create(&beside(folder, "lock")).ok()?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
    flock(&marker, FlockOperation::NonBlockingLockExclusive).ok()?;
    let used = marker.metadata().ok()?.modified().ok()?;
    if used.elapsed().ok()? < KEPT_UNUSED {
        return None;
    }
    // Without its marker, the folder is treated as not filled, even if removing it is interrupted.
    fs::remove_file(folder.join(MARKER)).ok()?;
    empty(folder).ok()?;
    for others in ["messages", "logs"] {
        empty(&beside(folder, others)).ok()?;
    }
    for log in ["log", "check.log"] {
        let _ = fs::remove_file(beside(folder, log));
    }
    Some(())
}

/// Marks a folder as not filled, so that it is filled again.
pub(super) fn forget(folder: &Path) -> Result<(), SubjectsError> {
    let marker = folder.join(MARKER);
    fs::remove_file(&marker).map_err(unwritable(&marker))
}

/// Whether a part was added to a folder.
pub(super) fn has_part(folder: &Path, part: &str) -> bool {
    has(folder, &part_marker(part))
}

fn part_marker(part: &str) -> String {
    format!("{MARKER}-{part}")
}

pub(super) fn is_whole(folder: &Path) -> bool {
    has(folder, MARKER)
}

pub(crate) fn beside(folder: &Path, ending: &str) -> PathBuf {
    let mut path = folder.as_os_str().to_owned();
    path.push(format!(".{ending}"));
    path.into()
}

pub(super) fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> SubjectsError {
    |source| SubjectsError::Cache(path.to_owned(), source)
}

/// Removes a folder and everything in it.
pub(crate) fn empty(folder: &Path) -> Result<(), SubjectsError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritable(folder)(error)),
        _ => Ok(()),
    }
}

/// Takes a lock that the system releases no matter how this program ends.
pub(super) fn lock(
    path: &Path,
    report: &mut dyn FnMut(Step<'_>),
    stop: &AtomicBool,
) -> Result<File, SubjectsError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(unwritable(folder))?;
    let file = regular::create(path).map_err(unwritable(path))?;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
            Err(error) => return Err(unwritable(path)(error.into())),
        }
        if stop.load(Ordering::Relaxed) {
            return Err(SubjectsError::Stopped);
        }
        report(Step::Waiting);
        thread::sleep(POLL_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a filled folder that was last used this long ago.
    fn filled(folder: &Path, unused: Duration) {
        fs::create_dir_all(folder.join("code")).unwrap();
        for others in ["messages", "logs"] {
            fs::create_dir_all(beside(folder, others)).unwrap();
        }
        fs::write(beside(folder, "log"), "").unwrap();
        let marker = File::create(folder.join(MARKER)).unwrap();
        marker.set_modified(SystemTime::now() - unused).unwrap();
    }

    #[test]
    fn only_what_nobody_has_used_for_long_is_removed() {
        let cache = tempfile::tempdir().unwrap();
        let path = |name: &str| cache.path().join(name);
        let [new, old, late, other, odd, in_use] = [
            "py-0123456789abcdef",
            "py-00000000000000aa",
            "py-00000000000000bb",
            "py-http-00000000000000cc",
            "py-notes",
            "py-00000000000000dd",
        ]
        .map(path);
        for folder in [&new, &old, &other, &odd, &in_use] {
            filled(folder, 2 * KEPT_UNUSED);
        }
        filled(&late, KEPT_UNUSED / 2);
        let user = File::open(in_use.join(MARKER)).unwrap();
        flock(&user, FlockOperation::LockShared).unwrap();
        remove_unused_beside(&new);
        for kept in [&new, &late, &other, &odd, &in_use] {
            assert!(is_whole(kept), "{}", kept.display());
        }
        assert!(!old.exists());
        for others in ["messages", "logs", "log"] {
            assert!(!beside(&old, others).exists(), "{others}");
        }
        // Unlock explicitly, because closing may not be enough: a program that another test is starting may
        // hold the file open for a moment.
        flock(&user, FlockOperation::Unlock).unwrap();
        remove_unused_beside(&new);
        assert!(!in_use.exists());
    }

    #[test]
    fn what_is_taken_into_use_stays() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("py-00000000000000aa");
        assert!(!take(&folder));
        filled(&folder, 2 * KEPT_UNUSED);
        assert!(take(&folder));
        let marker = File::open(folder.join(MARKER)).unwrap();
        let used = marker.metadata().unwrap().modified().unwrap();
        assert!(used.elapsed().unwrap() < KEPT_UNUSED);
        // Even if the folder was last used long ago.
        filled(&folder, 2 * KEPT_UNUSED);
        remove_unused_beside(&cache.path().join("py-0123456789abcdef"));
        assert!(is_whole(&folder));
    }

    #[test]
    fn a_folder_that_is_asked_for_often_is_open_once() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache
            .path()
            .canonicalize()
            .unwrap()
            .join("py-00000000000000aa");
        filled(&folder, Duration::ZERO);
        for _ in 0..3 {
            assert!(take(&folder));
        }
        let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let of_marker = open.filter(|entry| {
            fs::read_link(entry.path()).is_ok_and(|path| path == folder.join(MARKER))
        });
        assert_eq!(of_marker.count(), 1);
    }
}
