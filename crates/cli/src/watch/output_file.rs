//! An output file whose path the user chooses.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use crate::exit::Failure;

/// A file that is opened before measuring, so that an unwritable path is reported early. The first
/// write replaces the old content. A new file that is never written is removed.
#[derive(Debug)]
pub(crate) struct OutputFile {
    path: PathBuf,
    file: File,
    /// Whether opening created the file.
    is_new: bool,
    is_begun: bool,
}

impl OutputFile {
    pub(crate) fn open(option: &str, path: PathBuf) -> Result<Self, Failure> {
        let is_new = !path.exists();
        let opened = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        match opened {
            Ok(file) => Ok(Self {
                path,
                file,
                is_new,
                is_begun: false,
            }),
            Err(error) => Err(Failure::input(format!(
                "{option} {}: cannot write there: {error}; use a file in a folder that exists and \
                 can be written to",
                path.display()
            ))),
        }
    }

    /// Whether both are the same regular file, even under different names. The same device may be
    /// used for both.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let identity = |file: &File| {
            let found = file.metadata().ok().filter(Metadata::is_file)?;
            Some((found.dev(), found.ino()))
        };
        identity(&self.file).is_some_and(|this| identity(&other.file) == Some(this))
    }

    pub(crate) fn failure(&self, error: &io::Error) -> Failure {
        Failure::cannot(format!(
            "{}: could not be written completely: {error}",
            self.path.display()
        ))
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_begun {
            // Only a regular file can be truncated.
            if self.file.metadata()?.is_file() {
                self.file.set_len(0)?;
            }
            self.is_begun = true;
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if self.is_new && !self.is_begun {
            // It was only created to check that the path is writable.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_only_by_what_is_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let open = || OutputFile::open("--log", path.clone()).expect("it can be written");
        drop(open());
        assert!(!path.exists(), "a trial leaves nothing");
        open().write_all(b"first and long").expect("it is written");
        drop(open());
        assert_eq!(fs::read(&path).expect("a file"), b"first and long");
        open().write_all(b"second").expect("it is written");
        assert_eq!(fs::read(&path).expect("a file"), b"second");
    }

    #[test]
    fn devices_are_written_to_and_stay() {
        let mut file = OutputFile::open("--log", "/dev/null".into()).expect("a device");
        file.write_all(b"gone").expect("it is written");
        drop(file);
        assert!(fs::metadata("/dev/null").is_ok());
    }
}
