//! Opens regular files in places where a subject or another program may have put something else.
//!
//! Opening a FIFO blocks until its other end is opened, and Ctrl-C would not interrupt that. Reading a
//! device might never end.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a file for reading.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a file for writing, creating or truncating it.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    open_with(
        OpenOptions::new().write(true).create(true).truncate(true),
        path,
    )
}

/// Opens a file without blocking.
///
/// # Errors
/// Fails if `path` is a symbolic link or anything else that is not a regular file.
pub(crate) fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let not_regular = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
    let opened = options.custom_flags(flags.bits().cast_signed()).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        // ELOOP: a symbolic link. ENXIO: a FIFO without a reader, or a socket.
        Some(libc::ELOOP | libc::ENXIO) => not_regular(),
        _ => error,
    })?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(not_regular())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_none_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        create(&at("file")).unwrap();
        open(&at("file")).unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let _listener = UnixListener::bind(at("socket")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        for path in ["link", "fifo", "socket", "folder"] {
            for opened in [open(&at(path)), create(&at(path))] {
                let error = opened.unwrap_err().to_string();
                let is_named = error == "it is not a regular file" || path == "folder";
                assert!(is_named, "{path}: {error}");
            }
        }
    }
}
