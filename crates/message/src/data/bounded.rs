//! The bytes of rows, at most as many as one row may have.

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

/// A reader that fails where one row takes more than `most` bytes. What is read ahead of a row
/// counts for the one before.
#[derive(Debug)]
pub(super) struct Bounded {
    inner: Bytes,
    left: u64,
    most: u64,
    /// Whether the row under way was read to the end of the bytes.
    ended: bool,
}

impl Bounded {
    pub(super) fn new(inner: Bytes, most: u64) -> Self {
        Self {
            inner,
            left: most,
            most,
            ended: false,
        }
    }

    /// Another row begins.
    pub(super) fn begin(&mut self) {
        self.left = self.most;
        self.ended = false;
    }

    /// Whether the end of the bytes was met since the row began.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// One byte, wherever reading is; none behind the end, or where it cannot be read.
    pub(super) fn byte_at(&self, place: u64) -> Option<u8> {
        let mut byte = [0];
        (self.read_at(place, &mut byte) == 1).then_some(byte[0])
    }

    /// Fills a buffer from a place on, wherever reading is. How many bytes there are; none behind the end,
    /// or where they cannot be read.
    pub(super) fn read_at(&self, place: u64, buffer: &mut [u8]) -> usize {
        match &self.inner {
            Bytes::Memory(bytes) => {
                let from = usize::try_from(place).ok();
                let rest = from.and_then(|from| bytes.get_ref().get(from..));
                let rest = rest.unwrap_or_default();
                let count = rest.len().min(buffer.len());
                buffer[..count].copy_from_slice(&rest[..count]);
                count
            }
            Bytes::File(file) => file.read_at(buffer, place).unwrap_or(0),
        }
    }
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.inner {
            Bytes::Memory(bytes) => bytes.read(buffer)?,
            Bytes::File(file) => file.read(buffer)?,
        };
        self.ended |= read == 0 && !buffer.is_empty();
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
