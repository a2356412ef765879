//! The folder of a run's Unix sockets, whose paths the system wants short.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::LabError;

/// The longest path of a Unix socket that the system takes, bytes (unix(7)).
pub(crate) const MAX_SOCKET_PATH: usize = 107;

/// How the folder's name begins; six characters follow.
const PREFIX: &str = "rpcgauge-";

/// Bytes of the longest path below the temporary folder: the folder's name, whose six X stand for the
/// random characters that `tempfile` puts there, and a file's name with the largest numbers and words
/// that it can have. Only the length is used.
const LONGEST_NAME: usize =
    "/rpcgauge-XXXXXX/4294967295-4294967295-two-cores-4294967295.sock".len();

/// Where a temporary folder is made when the one that is set has too long a path.
const SHORT_FOLDER: &str = "/tmp";

/// A folder for the sockets and records of one run, gone with it.
pub(super) struct Sockets {
    folder: TempDir,
}

impl Sockets {
    /// Makes the folder in `temporary`, or in `/tmp` where sockets in `temporary` would have too long
    /// a path.
    pub(super) fn make(temporary: &Path) -> Result<Self, LabError> {
        let place = match temporary.as_os_str().len() + LONGEST_NAME <= MAX_SOCKET_PATH {
            true => temporary,
            false => Path::new(SHORT_FOLDER),
        };
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(place)
            .map_err(|source| LabError::folder(place, source))?;
        Ok(Self { folder })
    }

    /// The path of a file there.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    /// The name with the largest numbers.
    fn longest(sockets: &Sockets) -> PathBuf {
        let most = u32::MAX;
        sockets.path(&format!("{most}-{most}-two-cores-{most}.sock"))
    }

    #[test]
    fn sockets_can_be_made_wherever_the_temporary_folder_is() {
        let place = tempfile::tempdir().unwrap();
        for length in [1, 20, 40, 60, 120, 200] {
            let temporary = place.path().join("x".repeat(length));
            std::fs::create_dir(&temporary).unwrap();
            let sockets = Sockets::make(&temporary).unwrap();
            UnixListener::bind(longest(&sockets)).unwrap();
        }
    }

    #[test]
    fn the_temporary_folder_is_used_where_it_can_be() {
        let place = tempfile::Builder::new()
            .prefix("x")
            .tempdir_in("/tmp")
            .unwrap();
        let sockets = Sockets::make(place.path()).unwrap();
        assert!(sockets.folder.path().starts_with(place.path()));
        let name = longest(&sockets);
        let below = name.as_os_str().len() - place.path().as_os_str().len();
        assert_eq!(below, LONGEST_NAME);
    }
}
