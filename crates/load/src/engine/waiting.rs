//! Waiting for the network and for time.
//!
//! The loop waits for events of all connections and of its timer. Where there is one connection and
//! nothing else is due soon, it waits in the read itself, as the floor's loop does: that spares a
//! call to the system for every call.

use std::time::Duration;

use mio::Events;

use super::Engine;
use super::connection::State;
use crate::error::LoadError;
use crate::trial::ConnectionUse;

/// The loop looks at the stop flag at least this often, ns.
const LOOK_UP_NS: u64 = 50_000_000;

/// How long until a body that is late is looked for again, ns. Nothing tells that it is there.
const LATE_BODY_REST_NS: u64 = 100_000;

/// How long a read waits. The kernel counts it in ticks of up to 10 ms, and adds one.
const READ_WAIT: Duration = Duration::from_millis(20);

/// A read waits only if nothing else is due for this long, ns.
const QUIET_NS: u64 = 45_000_000;

impl Engine<'_, '_, '_> {
    /// Waits until something can be read or written, or until it is time for something, and takes what
    /// came. `now` is when the turn began: what became due since then was not looked at and must not be
    /// waited for.
    pub(super) fn wait_and_read(&mut self, events: &mut Events, now: u64) -> Result<(), LoadError> {
        let wake = self.wake_by(now);
        self.recorder.count_stages();
        if wake >= now.saturating_add(QUIET_NS)
            && let Some(index) = self.lone_connection()
        {
            self.read(index, Some(READ_WAIT))?;
            self.read_told()?;
        } else {
            self.wait(events, wake, now)?;
            self.read_all(events)?;
        }
        self.work_through(events)
    }

    fn wait(&mut self, events: &mut Events, wake: u64, now: u64) -> Result<(), LoadError> {
        if wake <= now {
            return self.poll(events, Some(Duration::ZERO));
        }
        self.timer
            .wake_by(wake, now)
            .map_err(LoadError::machine("set a timer"))?;
        self.poll(events, None)
    }

    /// The connection that alone can bring anything.
    fn lone_connection(&self) -> Option<usize> {
        // A trial with one connection has a spare place beside it.
        let one = self.open == 1 && self.connections.len() <= 2;
        let reused = self.trial.connection_use == ConnectionUse::Reuse;
        if !one || !reused || self.connecting > 0 || !self.not_open.is_empty() {
            return None;
        }
        let is_lone = |state: &State| match state {
            State::Open(open) => !open.blocked && !open.ended && open.stream.can_wait(),
            State::Connecting(_) | State::Closed { .. } => false,
        };
        self.connections.iter().position(|c| is_lone(&c.state))
    }

    /// When the loop has something to do, whatever the network brings.
    fn wake_by(&self, now: u64) -> u64 {
        if self.more_are_due || !self.unread.is_empty() || !self.dirty.is_empty() {
            return now;
        }
        let mut wake = self.look_by().min(now + LOOK_UP_NS);
        wake = wake.min(self.phase_ends_by(now));
        if let Some((_, due)) = self.calls.oldest() {
            wake = wake.min(due.saturating_add(self.deadline));
        }
        if let Some(due) = self.dues.next().filter(|due| self.may_begin(*due)) {
            wake = wake.min(if due > now {
                due
            } else if self.waits_for_body {
                now + LATE_BODY_REST_NS
            } else {
                // It waits for room, which the network brings, or for its end.
                due.saturating_add(self.deadline)
            });
        }
        wake.min(self.tend_by(now))
    }
}
