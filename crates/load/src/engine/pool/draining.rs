//! Connections that the server is about to end.
//!
//! After GOAWAY a connection takes no more calls, but those in flight may still be answered. Calls
//! that are due must not wait for them, just as they do not in real clients: the connection stays
//! open in another place, for draining, and a new one is opened in its old place. It is moved between
//! two turns of the loop, when nothing that was read from it is under way.

use rpcgauge_trial::ConnectionUse;

use super::Pool;
use super::connection::{Connection, State, UNANSWERED};
use crate::error::LoadError;

impl Pool<'_> {
    /// The server said that it ends this connection (GOAWAY).
    #[cold]
    pub(crate) fn note_going_away(&mut self, index: usize) {
        if self.trial.connection_use == ConnectionUse::Reuse {
            self.going_away.push(index);
        }
    }

    /// Moves the next connection that is going away and has calls in flight, where a connection is
    /// `wanted` in its place. Returns from which place to which: its calls go with it.
    #[inline]
    pub(crate) fn drain_next(
        &mut self,
        wanted: bool,
        now: u64,
    ) -> Result<Option<(usize, usize)>, LoadError> {
        while let Some(index) = self.going_away.pop() {
            let open = self.places[index].open();
            if open.is_some_and(|open| open.client.in_flight() > 0)
                && wanted
                // Where as many drain as there are places, this one is waited for.
                && let Some(to) = self.place_for_draining()
            {
                self.drain(index, to, now)?;
                return Ok(Some((index, to)));
            }
        }
        Ok(None)
    }

    #[cold]
    fn drain(&mut self, from: usize, to: usize, now: u64) -> Result<(), LoadError> {
        let vacant = State::Closed { backoff_until: 0 };
        let state = std::mem::replace(&mut self.places[from].state, vacant);
        self.places[from].back_off(now);
        if let State::Open(open) = &state {
            let socket = open.stream.socket();
            socket.watch(&self.registry, to, open.watches_writable, true)?;
        }
        let place = &mut self.places[to];
        place.state = state;
        place.drains_from = Some(from);
        place.failed_attempts = UNANSWERED;
        self.not_open.push(from);
        // The lists now refer to the connection by its new place.
        self.mark_to_write(to);
        self.mark_to_read(to);
        Ok(())
    }

    /// A place for a connection to drain in: at most as many as there are others.
    fn place_for_draining(&mut self) -> Option<usize> {
        let places = self.places.len();
        let regular = self.trial.connections as usize;
        let vacant = (regular..places)
            .find(|index| matches!(self.places[*index].state, State::Closed { .. }));
        if vacant.is_some() {
            return vacant;
        }
        if places >= 2 * regular {
            return None;
        }
        self.places.push(Connection::draining());
        Some(places)
    }
}
