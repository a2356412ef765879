//! Temporary folders for what exists only while this program runs: sockets, call records, logs that are not
//! kept, and temporary files of subjects and builds.
//!
//! A killed program cannot remove its folder. Each folder therefore contains a file that stays locked while the
//! program lives. The next program to create a folder removes those whose file is no longer locked.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rpcgauge_trial::MAX_SOCKET_PATH_BYTES;
use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use tempfile::TempDir;

use crate::error::LabError;
use crate::files::regular;

/// The prefix of a folder's name, followed by six random characters.
const PREFIX: &str = "rpcgauge-";

/// The file in each folder that its program holds locked.
const LOCK: &str = ".in-use";

/// The maximum length of a path below the temporary folder, bytes: a folder name with an X for each random
/// character, and a file name with the largest numbers and the longest words.
const MAX_NAME: usize = "/rpcgauge-XXXXXX/4294967295-4294967295-two-cores-4294967295.sock".len();

/// The parent to use if paths in the configured temporary folder would be too long.
const SHORT_FOLDER: &str = "/tmp";

/// A folder of this program. Dropping it removes the folder.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: TempDir,
    // The system releases the lock no matter how the program ends.
    _lock: File,
}

impl Scratch {
    /// Creates a folder in the system's temporary folder, or in `/tmp` if socket paths there would be too long.
    /// Removes folders left behind by killed programs.
    pub(crate) fn make() -> Result<Self, LabError> {
        Self::make_in(&std::env::temp_dir())
    }

    fn make_in(temporary: &Path) -> Result<Self, LabError> {
        let parent = if temporary.as_os_str().len() + MAX_NAME <= MAX_SOCKET_PATH_BYTES {
            temporary
        } else {
            Path::new(SHORT_FOLDER)
        };
        remove_abandoned(parent);
        Self::locked_in(parent).map_err(|source| LabError::Folder(parent.to_owned(), source))
    }

    fn locked_in(parent: &Path) -> io::Result<Self> {
        loop {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
            let path = folder.path().join(LOCK);
            let lock = regular::create(&path)?;
            rustix::io::retry_on_intr(|| flock(&lock, FlockOperation::LockExclusive))?;
            // Another program may have removed the folder before it was locked.
            if path.exists() {
                return Ok(Self {
                    folder,
                    _lock: lock,
                });
            }
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The path of a file in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }
}

/// Removes this user's abandoned folders. A folder that cannot be removed is harmless.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = |found: fs::Metadata| found.is_dir() && found.uid() == geteuid().as_raw();
        let is_scratch = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(PREFIX.as_bytes())
            && entry.metadata().is_ok_and(is_ours);
        // A folder without the lock file is not a scratch folder, even if its name matches.
        let lock = is_scratch.then(|| regular::open(&entry.path().join(LOCK)));
        let Some(Ok(lock)) = lock else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    /// The longest path that is ever used.
    fn longest(scratch: &Scratch) -> PathBuf {
        let most = u32::MAX;
        scratch.path(&format!("{most}-{most}-two-cores-{most}.sock"))
    }

    #[test]
    fn sockets_can_be_made_wherever_the_temporary_folder_is() {
        let place = tempfile::tempdir().unwrap();
        for length in [1, 20, 40, 60, 120, 200] {
            let temporary = place.path().join("x".repeat(length));
            fs::create_dir(&temporary).unwrap();
            let scratch = Scratch::make_in(&temporary).unwrap();
            UnixListener::bind(longest(&scratch)).unwrap();
        }
    }

    #[test]
    fn the_temporary_folder_is_used_where_it_can_be() {
        let place = tempfile::Builder::new()
            .prefix("x")
            .tempdir_in("/tmp")
            .unwrap();
        let scratch = Scratch::make_in(place.path()).unwrap();
        assert!(scratch.folder().starts_with(place.path()));
        let name = longest(&scratch);
        let below = name.as_os_str().len() - place.path().as_os_str().len();
        assert_eq!(below, MAX_NAME);
    }

    #[test]
    fn the_folder_of_a_killed_program_is_removed_and_no_other() {
        let place = tempfile::Builder::new().tempdir_in("/tmp").unwrap();
        let make = || Scratch::make_in(place.path()).unwrap();
        let (live, killed) = (make(), make());
        UnixListener::bind(killed.path("0.sock")).unwrap();
        // A killed program leaves its folder behind, with the lock released.
        let killed = {
            let scratch = killed;
            scratch.folder.keep()
        };
        let foreign = place.path().join(format!("{PREFIX}report"));
        fs::create_dir(&foreign).unwrap();
        let next = make();
        assert!(!killed.exists());
        for folder in [live.folder(), next.folder(), &foreign] {
            assert!(folder.exists(), "{}", folder.display());
        }
    }
}
