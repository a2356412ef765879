//! Reads the bytes of rows, failing if a row is too long.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

/// The error text for a row that exceeds the maximum length.
pub(super) const TOO_LONG: &str = "row too long";

/// Where the rows are read from.
#[derive(Debug)]
pub(super) enum Bytes {
    Memory(Cursor<Arc<[u8]>>),
    File(File),
}

/// A reader that fails if one row needs more than `most` bytes. Bytes that are read ahead count toward the
/// current row.
#[derive(Debug)]
pub(super) struct Bounded {
    inner: Bytes,
    left: u64,
    most: u64,
    /// Whether the current row was read up to the end of the input.
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

    /// Starts the next row.
    pub(super) fn begin(&mut self) {
        self.left = self.most;
        self.ended = false;
    }

    /// Whether the end of the input was reached since the row began.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns the byte at offset `place` without moving the read position; `None` beyond the end or if the
    /// read fails.
    pub(super) fn byte_at(&self, place: u64) -> Option<u8> {
        let mut byte = [0];
        (self.read_at(place, &mut byte) == 1).then_some(byte[0])
    }

    /// Fills a buffer from offset `place` without moving the read position. Returns the number of bytes read: 0
    /// beyond the end or if the read fails.
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
