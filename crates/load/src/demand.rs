//! Load that somebody else controls while it runs.

use std::sync::atomic::{AtomicU32, Ordering};

/// A number of users that may change at any time, from any thread. A trial with a demand is for each user what its
/// schedule says for one: a closed loop has its calls in flight for each user, and a rate is multiplied by their number.
/// HTTP/1.1 in a closed loop has at least as many connections as calls in flight.
#[derive(Debug, Default)]
pub struct Demand(AtomicU32);

impl Demand {
    /// Sets the number of users. A running trial follows within 50 ms. Calls in flight of users that leave still end.
    pub fn set_users(&self, users: u32) {
        self.0.store(users, Ordering::Relaxed);
    }

    /// The current number of users.
    pub fn users(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}
