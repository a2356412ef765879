//! Reads and writes of connections: as much as possible at a time, and many calls in one write.

use std::io::{self, ErrorKind, IoSlice};
use std::time::Duration;

use super::{Open, Pool};
use crate::clock;
use crate::engine::inbox::{Content, Inbox, Origin};
use crate::engine::stream::Input;
use crate::error::LoadError;

/// Maximum number of pieces that one write gathers.
const PIECES: usize = 16;

impl Open {
    /// Writes pending output once. Returns the number of bytes that the transport accepted.
    fn write_output(&mut self) -> io::Result<usize> {
        if self.client.is_output_in_one_piece() {
            return self.stream.write(&[IoSlice::new(self.client.output())]);
        }
        let mut pieces = [IoSlice::new(&[]); PIECES];
        let filled = self.client.output_slices(&mut pieces);
        self.stream.write(&pieces[..filled])
    }

    /// Offers the last bytes (GOAWAY) to a transport that is about to be closed. Bytes that it does not
    /// accept are lost, which is harmless.
    pub(super) fn say_goodbye(&mut self) {
        if !self.client.output().is_empty()
            && !self.blocked
            && let Ok(n) = self.write_output()
        {
            self.client.consume_output(n);
        }
        self.stream.say_end();
    }
}

impl Pool<'_> {
    /// Whether a place has something to write or to read that no event will announce.
    pub(crate) fn has_work(&self) -> bool {
        !self.to_read.is_empty() || !self.to_write.is_empty()
    }

    /// Marks a connection for writing before the next wait.
    pub(crate) fn mark_to_write(&mut self, index: usize) {
        let connection = &mut self.places[index];
        if !connection.to_write {
            connection.to_write = true;
            self.to_write.push(index);
        }
    }

    pub(crate) fn next_to_write(&mut self) -> Option<usize> {
        let index = self.to_write.pop()?;
        self.places[index].to_write = false;
        Some(index)
    }

    /// Writes until everything is written or the transport is full. Returns whether all requests are
    /// completely written.
    pub(crate) fn write(&mut self, index: usize) -> Result<bool, LoadError> {
        let Some(open) = self.places[index].open() else {
            return Ok(false);
        };
        let was_blocked = open.blocked;
        open.blocked = false;
        loop {
            let written = if open.client.output().is_empty() {
                open.stream.flush().map(|()| None)
            } else {
                open.write_output().map(Some)
            };
            match written {
                Ok(None) => break,
                Ok(Some(n)) => open.client.consume_output(n),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    open.blocked = true;
                    break;
                }
                // The server may have answered before it stopped reading, so the input is read first. This
                // must not happen here: calls may begin between reads, and if many connections failed
                // together, these calls would nest.
                Err(error) => {
                    open.write_error.get_or_insert(error);
                    open.input_ended = true;
                    self.mark_to_read(index);
                    return Ok(false);
                }
            }
        }
        if open.blocked != open.watches_writable {
            open.watches_writable = open.blocked;
            let socket = open.stream.socket();
            socket.watch(&self.registry, index, open.blocked, true)?;
        }
        let all_sent = open.client.is_all_sent() && !open.blocked;
        if was_blocked && !open.blocked {
            self.queue(index);
        }
        Ok(all_sent)
    }

    /// Whether a connection's transport was full at the last write.
    pub(crate) fn is_blocked(&mut self, index: usize) -> bool {
        self.places[index].open().is_some_and(|open| open.blocked)
    }

    /// Queues a connection for reading without an event.
    pub(crate) fn mark_to_read(&mut self, index: usize) {
        let connection = &mut self.places[index];
        if !connection.to_read {
            connection.to_read = true;
            self.to_read.push_back(index);
        }
    }

    /// Queues a connection for reading after an event. `ended` indicates whether its input ends.
    pub(crate) fn note_readable(&mut self, index: usize, ended: bool) {
        if let Some(open) = self.places[index].open() {
            open.input_ended |= ended;
        }
        self.mark_to_read(index);
    }

    pub(crate) fn to_read(&self) -> usize {
        self.to_read.len()
    }

    pub(crate) fn next_to_read(&mut self) -> Option<usize> {
        let index = self.to_read.pop_front()?;
        self.places[index].to_read = false;
        Some(index)
    }

    /// Reads once from a connection into the inbox, waiting for about `wait`. Returns when it was read, ns;
    /// `None` if it was not.
    pub(crate) fn read(
        &mut self,
        index: usize,
        inbox: &mut Inbox,
        wait: Option<Duration>,
    ) -> Option<u64> {
        let generation = self.places[index].generation;
        let open = self.places[index].open()?;
        let Some(room) = inbox.room() else {
            self.mark_to_read(index);
            return None;
        };
        let input = open.stream.read(room, wait);
        let at = clock::now();
        let origin = Origin { index, generation };
        let end = match input {
            Ok(Input::Data { n, more }) => {
                open.unprocessed += 1;
                inbox.add_bytes(origin, at, n);
                open.input_ended |= open.stream.has_ended();
                if more || open.input_ended {
                    self.mark_to_read(index);
                }
                return Some(at);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {
                self.mark_to_read(index);
                return None;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock && open.write_error.is_none() => {
                // All input is read; a call may have been waiting only for this.
                self.queue(index);
                return Some(at);
            }
            // A connection that cannot be written to is over.
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Ok(Input::End) => None,
            Err(error) => Some(error),
        };
        open.unprocessed += 1;
        open.input_ended = true;
        inbox.add(origin, at, Content::End(end));
        Some(at)
    }
}
