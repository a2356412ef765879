//! Connections that the server is about to close.
//!
//! After GOAWAY, a connection accepts no more calls, but those in flight may still be answered. As in
//! production clients, due calls do not wait for them: the connection moves to a place for draining, and a
//! new one is opened in its old place. It is moved between two turns of the loop, when none of its input is
//! unprocessed.

use rpcgauge_trial::ConnectionUse;

use super::Pool;
use super::connection::{Connection, State, UNANSWERED};
use crate::error::LoadError;

impl Pool<'_> {
    /// Notes that the server announced the end of this connection (GOAWAY).
    #[cold]
    pub(crate) fn note_going_away(&mut self, index: usize) {
        if self.trial.connection_use == ConnectionUse::Reuse {
            self.going_away.push(index);
        }
    }

    /// Moves the next connection that is going away and has calls in flight, if a new one is `wanted`.
    /// Returns its old and its new place. The caller must move its calls from the old to the new place.
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
                // If all places for draining are occupied, this connection stays until its calls end.
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
        // Lists the connection under its new place.
        self.mark_to_write(to);
        self.mark_to_read(to);
        Ok(())
    }

    /// A vacant place for draining. There are at most as many places for draining as regular ones.
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
