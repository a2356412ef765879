//! Input that has been read but not processed yet.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;

/// Maximum number of unprocessed bytes: enough for thousands of short responses, but few enough for the CPU's
/// caches.
const ROOM: usize = 256 * 1024;

/// Maximum number of bytes per read. This is more than the longest TLS record, and several reads fit into
/// [`ROOM`].
const READ: usize = 64 * 1024;

/// Maximum number of bytes to process at a time: about a hundred short responses.
const PORTION: usize = 8 * 1024;

/// The connection that input came from: its place in the pool, and a number that distinguishes successive
/// connections in the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) index: usize,
    pub(super) generation: u64,
}

/// The input of one read, or a portion of it.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) origin: Origin,
    /// When it was read, ns.
    pub(super) at: u64,
    pub(super) content: Content,
    /// Whether more input of the same read is still waiting.
    pub(super) has_rest: bool,
}

#[derive(Debug)]
pub(super) enum Content {
    /// Bytes in the inbox, which are valid until the next read.
    Bytes(Range<usize>),
    /// The transport ended, or failed with this error.
    End(Option<io::Error>),
}

/// The unprocessed input, oldest first.
#[derive(Debug)]
pub(super) struct Inbox {
    buffer: Box<[u8]>,
    filled: usize,
    arrivals: VecDeque<Arrival>,
}

impl Inbox {
    pub(super) fn new() -> Inbox {
        Inbox {
            buffer: vec![0; ROOM].into_boxed_slice(),
            filled: 0,
            arrivals: VecDeque::new(),
        }
    }

    /// Returns the buffer for the next read; `None` if too much input is waiting. There is room again once
    /// all of it has been processed.
    pub(super) fn room(&mut self) -> Option<&mut [u8]> {
        if self.arrivals.is_empty() {
            self.filled = 0;
        }
        self.buffer.get_mut(self.filled..self.filled + READ)
    }

    pub(super) fn has_room(&self) -> bool {
        self.arrivals.is_empty() || self.filled + READ <= ROOM
    }

    /// Adds the first `n` bytes of [`Inbox::room`].
    pub(super) fn add_bytes(&mut self, origin: Origin, at: u64, n: usize) {
        let bytes = self.filled..self.filled + n;
        self.filled = bytes.end;
        self.add(origin, at, Content::Bytes(bytes));
    }

    pub(super) fn add(&mut self, origin: Origin, at: u64, content: Content) {
        self.arrivals.push_back(Arrival {
            origin,
            at,
            content,
            has_rest: false,
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.arrivals.is_empty()
    }

    /// When the oldest waiting input was read, ns.
    pub(super) fn since(&self) -> Option<u64> {
        self.arrivals.front().map(|arrival| arrival.at)
    }

    /// Takes a portion of the waiting input. Its bytes must be processed before the next read.
    pub(super) fn next(&mut self) -> Option<Arrival> {
        let oldest = self.arrivals.front_mut()?;
        match &mut oldest.content {
            Content::Bytes(bytes) if bytes.len() > PORTION => {
                let portion = bytes.start..bytes.start + PORTION;
                bytes.start = portion.end;
                Some(Arrival {
                    origin: oldest.origin,
                    at: oldest.at,
                    content: Content::Bytes(portion),
                    has_rest: true,
                })
            }
            _ => self.arrivals.pop_front(),
        }
    }

    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[range]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(index: usize) -> Origin {
        Origin {
            index,
            generation: 1,
        }
    }

    /// Reads `n` bytes of value `byte` at time `at`.
    fn read(inbox: &mut Inbox, index: usize, at: u64, byte: u8, n: usize) {
        inbox.room().unwrap()[..n].fill(byte);
        inbox.add_bytes(origin(index), at, n);
    }

    #[test]
    fn what_was_read_comes_in_order_in_portions_with_its_time() {
        let mut inbox = Inbox::new();
        read(&mut inbox, 0, 10, b'a', PORTION + 1);
        read(&mut inbox, 1, 20, b'b', 3);
        inbox.add(origin(0), 30, Content::End(None));
        let mut got = Vec::new();
        while let Some(arrival) = inbox.next() {
            let has_rest = arrival.has_rest;
            let (byte, n) = match arrival.content {
                Content::Bytes(range) => {
                    let bytes = inbox.bytes(range);
                    assert!(bytes.iter().all(|byte| *byte == bytes[0]));
                    (bytes[0], bytes.len())
                }
                Content::End(error) => {
                    assert!(error.is_none());
                    (b'.', 0)
                }
            };
            got.push((arrival.origin.index, arrival.at, byte, n, has_rest));
        }
        let expected = [
            (0, 10, b'a', PORTION, true),
            (0, 10, b'a', 1, false),
            (1, 20, b'b', 3, false),
            (0, 30, b'.', 0, false),
        ];
        assert_eq!(got, expected);
    }

    #[test]
    fn it_takes_no_more_than_it_has_room_for_until_all_is_worked_through() {
        let mut inbox = Inbox::new();
        let mut waiting = 0;
        while let Some(room) = inbox.room() {
            assert_eq!(room.len(), READ);
            read(&mut inbox, 0, 0, b'a', READ / 2);
            waiting += READ / 2;
        }
        assert!(!inbox.has_room());
        assert!(ROOM - waiting < READ, "{waiting} bytes wait");
        inbox.next();
        assert!(inbox.room().is_none(), "most of it still waits");
        while inbox.next().is_some() {}
        assert!(inbox.has_room() && inbox.room().is_some());
    }
}
