//! Load whose amount changes while it runs.

use std::sync::atomic::{AtomicU32, Ordering};

/// A number of users that any thread may change at any time. A trial with a demand multiplies its schedule by it: a
/// closed loop has its calls in flight for each user, up to [`rpcgauge_trial::MAX_IN_FLIGHT`] in all, and a rate is that
/// of one user. An HTTP/1.1 trial in a closed loop opens connections until each call in flight has its own.
#[derive(Debug, Default)]
pub struct Demand(AtomicU32);

impl Demand {
    /// Sets the number of users. A running trial follows within 50 ms. If there are fewer users than before, calls in
    /// flight still end.
    pub fn set_users(&self, users: u32) {
        self.0.store(users, Ordering::Relaxed);
    }

    /// The current number of users.
    pub fn users(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}
