//! The bytes of rows, as many as one row may have.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

/// What a row that is over its bound fails with.
pub(super) const TOO_LONG: &str = "row too long";

/// The bytes of the rows.
#[derive(Debug)]
pub(super) enum Bytes {
    Memory(Cursor<Arc<[u8]>>),
    File(File),
}

/// A reader that fails where one row takes more than so many bytes. What is read ahead of a row
/// counts for the one before.
#[derive(Debug)]
pub(super) struct Bounded {
    inner: Bytes,
    left: u64,
    most: u64,
}

impl Bounded {
    pub(super) fn new(inner: Bytes, most: u64) -> Self {
        Self {
            inner,
            left: most,
            most,
        }
    }

    /// Another row begins.
    pub(super) fn begin(&mut self) {
        self.left = self.most;
    }

    /// One byte, wherever reading is; none behind the end, or where it cannot be read.
    pub(super) fn byte_at(&self, place: u64) -> Option<u8> {
        match &self.inner {
            Bytes::Memory(bytes) => {
                let place = usize::try_from(place).ok()?;
                bytes.get_ref().get(place).copied()
            }
            Bytes::File(file) => {
                let mut byte = [0];
                let read = file.read_at(&mut byte, place).ok()?;
                (read == 1).then_some(byte[0])
            }
        }
    }
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.inner {
            Bytes::Memory(bytes) => bytes.read(buffer)?,
            Bytes::File(file) => file.read(buffer)?,
        };
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return Err(io::Error::other(TOO_LONG)),
        }
        Ok(read)
    }
}

impl Seek for Bounded {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.inner {
            Bytes::Memory(bytes) => bytes.seek(to),
            Bytes::File(file) => file.seek(to),
        }
    }
}
