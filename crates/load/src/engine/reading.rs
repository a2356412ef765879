//! Reading what comes, ahead of working it through.
//!
//! A burst of answers, as after a stall, takes longer to work through than to read. The time of an
//! answer is that of its reading, so that what comes meanwhile must not lie unread: all connections
//! are read first, and read again between portions of what they brought.

use std::io::{self, ErrorKind};
use std::time::Duration;

use mio::Events;

use super::inbox::Origin;
use super::stream::Input;
use super::{Engine, TIMER};
use crate::clock;
use crate::error::LoadError;

/// How long what comes may lie unread while other input is worked through, ns, as long as the inbox has
/// room.
const UNREAD_NS: u64 = 100_000;

/// For so long one turn of the loop goes on to read, ns. The stop flag, deadlines and the trial's end
/// are looked at in between.
const LONGEST_TURN_NS: u64 = 5_000_000;

impl Engine<'_, '_, '_> {
    /// Reads once from each connection that has something, in the order in which that was told, and sees
    /// to those being made.
    pub(super) fn read_all(&mut self, events: &Events) -> Result<(), LoadError> {
        for event in events {
            if event.token() == TIMER {
                continue;
            }
            let index = event.token().0;
            if event.is_writable() {
                self.look_at_connecting(index)?;
                if self.connections[index]
                    .open()
                    .is_some_and(|open| open.blocked)
                {
                    self.write(index)?;
                }
            }
            let ended = event.is_read_closed() || event.is_error();
            if event.is_readable() || ended {
                self.look_at_connecting(index)?;
                if let Some(open) = self.connections[index].open() {
                    open.ended |= ended;
                }
                self.read_later(index);
            }
        }
        self.read_told()
    }

    /// Reads once from each connection of which it was told that it has something, and one that is alone
    /// until it has no more. Where the inbox has no room, the first of the rest are the first of the next
    /// turn, so that nobody starves.
    pub(super) fn read_told(&mut self) -> Result<(), LoadError> {
        let mut left = self.unread.len();
        while self.inbox.has_room()
            && (left > 0 || self.unread.len() == 1)
            && let Some(index) = self.unread.pop_front()
        {
            left = left.saturating_sub(1);
            self.connections[index].unread = false;
            self.read(index, None)?;
        }
        Ok(())
    }

    /// Reads once from a connection, for which it waits for about as long as is said, and sends the
    /// calls that became due meanwhile.
    pub(super) fn read(&mut self, index: usize, wait: Option<Duration>) -> Result<(), LoadError> {
        let generation = self.connections[index].generation;
        let Some(open) = self.connections[index].open() else {
            return Ok(());
        };
        let Some(room) = self.inbox.room() else {
            self.read_later(index);
            return Ok(());
        };
        let input = match wait {
            None => open.stream.read(room),
            Some(at_most) => open.stream.read_waiting(room, at_most),
        };
        let at = clock::now();
        let origin = Origin { index, generation };
        let end = match input {
            Ok(Input::Data { n, more }) => {
                open.waiting += 1;
                self.inbox.add_bytes(origin, at, n);
                open.ended |= open.stream.has_ended();
                if more || open.ended {
                    self.read_later(index);
                }
                return self.keep_pace(at);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {
                self.read_later(index);
                return Ok(());
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock && open.broken.is_none() => {
                // It is heard out, and may have waited for that alone.
                self.queue(index);
                return self.keep_pace(at);
            }
            // What cannot be written to has said all that it will.
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Ok(Input::End) => None,
            Err(error) => Some(error),
        };
        open.waiting += 1;
        open.ended = true;
        self.inbox.add_end(origin, at, end);
        self.keep_pace(at)
    }

    /// Has a connection read from in its turn, without an event.
    pub(super) fn read_later(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        if !connection.unread {
            connection.unread = true;
            self.unread.push_back(index);
        }
    }

    /// Works through all that was read. Where that takes a while, what there is to begin and to write
    /// has its turn in between, and connections are read again while there is room.
    pub(super) fn work_through(&mut self, events: &mut Events) -> Result<(), LoadError> {
        let Some(began) = self.inbox.since() else {
            return Ok(());
        };
        let mut read_at = began;
        let phase = self.phase;
        while let Some(portion) = self.inbox.next() {
            self.follow(portion)?;
            if self.inbox.is_empty() {
                break;
            }
            let now = clock::now();
            if now - read_at < UNREAD_NS {
                self.keep_pace(now)?;
                continue;
            }
            read_at = now;
            self.begin_due(now)?;
            self.write_all()?;
            // What follows from another phase is for the next turn to see to.
            let goes_on = now - began < LONGEST_TURN_NS && self.phase == phase;
            if goes_on && self.inbox.has_room() {
                self.poll(events, Some(Duration::ZERO))?;
                self.read_all(events)?;
            }
        }
        Ok(())
    }

    /// Asks the system what can be read or written.
    pub(super) fn poll(
        &mut self,
        events: &mut Events,
        timeout: Option<Duration>,
    ) -> Result<(), LoadError> {
        match self.poll.poll(events, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                events.clear();
                Ok(())
            }
            result => result.map_err(LoadError::machine("wait for the network")),
        }
    }
}
