//! Writing what connections have to say.

use std::io::{self, ErrorKind, IoSlice};

use super::Engine;
use super::connection::Open;
use crate::clock;
use crate::error::LoadError;

/// Pieces that one write gathers.
const PIECES: usize = 16;

impl Open {
    /// Writes once, of what there is to write. Returns how many bytes the transport took.
    fn write_output(&mut self) -> io::Result<usize> {
        if self.client.is_output_in_one_piece() {
            return self.stream.write(&[IoSlice::new(self.client.output())]);
        }
        let mut pieces = [IoSlice::new(&[]); PIECES];
        let filled = self.client.output_slices(&mut pieces);
        self.stream.write(&pieces[..filled])
    }
}

impl Engine<'_, '_, '_> {
    pub(super) fn mark_dirty(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        if !connection.dirty {
            connection.dirty = true;
            self.dirty.push(index);
        }
    }

    /// Writes what connections have to write, many calls in one write.
    pub(super) fn write_all(&mut self) -> Result<(), LoadError> {
        while let Some(index) = self.dirty.pop() {
            self.connections[index].dirty = false;
            self.write(index)?;
        }
        Ok(())
    }

    /// Writes until all is written or the transport is full.
    pub(super) fn write(&mut self, index: usize) -> Result<(), LoadError> {
        let Some(open) = self.connections[index].open() else {
            return Ok(());
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
                // The server may have answered before it stopped to read: look for that first. Not at
                // once: calls may be begun between reads, and where many connections break together
                // each would be found within the one before.
                Err(error) => {
                    open.broken.get_or_insert(error);
                    open.ended = true;
                    self.read_later(index);
                    return Ok(());
                }
            }
        }
        if open.blocked != open.watches_writable {
            open.watches_writable = open.blocked;
            open.stream
                .watch_again(self.poll.registry(), index, open.blocked)
                .map_err(LoadError::machine("watch a connection"))?;
        }
        let all_sent = open.client.is_all_sent() && !open.blocked;
        if was_blocked && !open.blocked {
            self.queue(index);
        }
        // Beside one that is going away there is another, which may write for itself.
        if all_sent
            && let Some(call) = self.unsent.and_then(|token| self.calls.get(token))
            && call.connection == index
        {
            call.stamps.sent = clock::now();
            self.unsent = None;
        }
        Ok(())
    }

    /// Offers the last bytes (GOAWAY) to a transport that is about to be closed. What it does not
    /// take is lost, and nothing depends on it.
    pub(super) fn say_goodbye(&mut self, index: usize) {
        if let Some(open) = self.connections[index].open() {
            if !open.client.output().is_empty()
                && !open.blocked
                && let Ok(n) = open.write_output()
            {
                open.client.consume_output(n);
            }
            open.stream.say_end();
        }
    }
}
