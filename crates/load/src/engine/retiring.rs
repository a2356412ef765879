//! Making room beside connections that the server is about to end.
//!
//! After GOAWAY a connection takes no more calls, but those in flight may still be answered. Calls
//! that are due must not wait for them, as they do not with any client in use: the connection goes
//! on in a place of its own, and another is opened where it stood.

use super::Engine;
use super::connection::{Connection, State};
use crate::error::LoadError;
use crate::trial::ConnectionUse;

impl Engine<'_, '_, '_> {
    /// Takes note of GOAWAY on a connection. It is moved between two turns, when nothing that was
    /// read from it or told of it is under way.
    #[cold]
    pub(super) fn note_going_away(&mut self, index: usize) {
        if self.trial.connection_use == ConnectionUse::Reuse {
            self.going_away.push(index);
        }
    }

    /// Moves connections that are going away and have calls in flight.
    #[cold]
    pub(super) fn retire_connections(&mut self) -> Result<(), LoadError> {
        while let Some(index) = self.going_away.pop() {
            let busy = self.connections[index]
                .open()
                .is_some_and(|open| open.client.in_flight() > 0);
            if busy && self.is_wanted() {
                self.retire(index)?;
            }
        }
        Ok(())
    }

    fn retire(&mut self, index: usize) -> Result<(), LoadError> {
        let Some(spare) = self.spare_place() else {
            // As many are retired as there are places: this one is waited for.
            return Ok(());
        };
        let vacant = State::Closed { retry_at: 0 };
        let mut state = std::mem::replace(&mut self.connections[index].state, vacant);
        if let State::Open(open) = &mut state {
            open.stream
                .watch_again(self.poll.registry(), spare, open.watches_writable)
                .map_err(LoadError::machine("watch a connection"))?;
        }
        self.connections[spare].state = state;
        self.calls.move_all(index, spare);
        self.not_open.push(index);
        // What stood in the lists under the old place is looked for under the new one.
        self.mark_dirty(spare);
        self.read_later(spare);
        Ok(())
    }

    /// A place for a retired connection: at most as many as there are others.
    fn spare_place(&mut self) -> Option<usize> {
        let places = self.connections.len();
        let regular = self.trial.connections as usize;
        let vacant = (regular..places)
            .find(|index| matches!(self.connections[*index].state, State::Closed { .. }));
        if vacant.is_some() {
            return vacant;
        }
        if places >= 2 * regular {
            return None;
        }
        self.connections.push(Connection::spare());
        Some(places)
    }
}
