//! Load whose amount changes while it runs.

use std::sync::atomic::{AtomicU32, Ordering};

/// A number of users that any thread may change at any time. Each user has the calls in flight, or the rate, of the
/// trial's schedule. A closed loop has at most [`rpcgauge_trial::MAX_IN_FLIGHT`] calls in flight in all.
#[derive(Debug)]
pub struct Demand {
    users: AtomicU32,
    connection_each: bool,
}

impl Demand {
    /// No users yet. With `connection_each`, an HTTP/1.1 trial in a closed loop opens connections until each call in
    /// flight has its own; otherwise it has those of the trial, for which calls wait.
    pub fn new(connection_each: bool) -> Demand {
        Demand {
            users: AtomicU32::new(0),
            connection_each,
        }
    }

    /// Sets the number of users. A running trial follows within 50 ms. If there are fewer users than before, calls in
    /// flight still end, and calls that have not begun are dropped without being counted.
    pub fn set_users(&self, users: u32) {
        self.users.store(users, Ordering::Relaxed);
    }

    /// The current number of users.
    pub fn users(&self) -> u32 {
        self.users.load(Ordering::Relaxed)
    }

    /// Whether each call in flight should have a connection of its own.
    pub(crate) fn connection_each(&self) -> bool {
        self.connection_each
    }
}
