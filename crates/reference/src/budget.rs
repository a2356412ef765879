//! The memory budget of all calls, for request bodies being received and responses being sent.
//!
//! A request body that arrives together with its head is handled immediately and is not charged. Every
//! response is charged. This is cheap: in the common case, a [`Ledger`] touches no state that threads share.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Resource, getrlimit};

/// Memory of a waiting call in addition to its body: its head (at most 16 KiB over HTTP/2), its stream and
/// its task.
pub(crate) const CALL_BYTES: usize = 16 << 10;

/// Memory that a thread draws from the shared budget at a time. It is large enough that threads rarely need
/// to draw.
const DRAWN_BYTES: usize = 1 << 20;

/// The default budget is the available memory divided by this. The rest is left for messages being decoded
/// and for other programs.
const SHARE: usize = 4;

/// A quarter of the memory available to this process, which is the minimum of the machine's memory, the limit
/// of its control group, and its address space limit.
pub fn default_memory() -> usize {
    let system = rustix::system::sysinfo();
    let machine = (system.totalram as u64).saturating_mul(system.mem_unit.into());
    let group = ["memory.max", "memory/memory.limit_in_bytes"].map(|file| {
        let text = fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok()?;
        // Without a limit, cgroup v2 reports `max`, and v1 reports a number larger than any machine's memory.
        text.trim().parse().ok()
    });
    let bounds = group.into_iter().chain([getrlimit(Resource::As).current]);
    let least = bounds.flatten().fold(machine, u64::min);
    usize::try_from(least).unwrap_or(usize::MAX) / SHARE
}

/// The budget has no room for this call at present.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error(
    "other calls are using all of this server's memory for calls; try again later, or raise the limit \
     with --max-memory"
)]
pub(crate) struct Exhausted;

/// One thread's part of the shared budget.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// What is left of the budget, shared by all threads.
    left: Arc<AtomicUsize>,
    /// Memory that this thread has drawn and that its calls do not use. Only this thread writes the counter,
    /// because a connection and its calls start and end on one thread.
    spare: AtomicUsize,
}

impl Ledger {
    /// Returns one ledger for each of the threads that share a budget of `bytes`.
    pub(crate) fn sharing(bytes: usize, threads: u32) -> Vec<Arc<Self>> {
        let left = Arc::new(AtomicUsize::new(bytes));
        let ledger = |_| {
            Arc::new(Self {
                left: Arc::clone(&left),
                spare: AtomicUsize::new(0),
            })
        };
        (0..threads).map(ledger).collect()
    }

    fn take(&self, bytes: usize) -> Result<(), Exhausted> {
        let spare = self.spare.load(Ordering::Relaxed);
        let rest = match spare.checked_sub(bytes) {
            Some(rest) => rest,
            None => {
                let missing = bytes - spare;
                let drawn = self
                    .draw(missing.saturating_add(DRAWN_BYTES))
                    .or_else(|_| self.draw(missing))?;
                drawn - missing
            }
        };
        self.spare.store(rest, Ordering::Relaxed);
        Ok(())
    }

    fn draw(&self, bytes: usize) -> Result<usize, Exhausted> {
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(bytes)
            })
            .map_or(Err(Exhausted), |_| Ok(bytes))
    }

    fn give_back(&self, bytes: usize) {
        let mut spare = self.spare.load(Ordering::Relaxed) + bytes;
        if spare > 2 * DRAWN_BYTES {
            self.left.fetch_add(spare - DRAWN_BYTES, Ordering::Relaxed);
            spare = DRAWN_BYTES;
        }
        self.spare.store(spare, Ordering::Relaxed);
    }
}

/// A call's share of the budget, returned on drop.
#[derive(Debug)]
pub(crate) struct Charge {
    ledger: Arc<Ledger>,
    bytes: usize,
}

impl Charge {
    /// An empty share.
    pub(crate) fn new(ledger: &Arc<Ledger>) -> Self {
        Self {
            ledger: Arc::clone(ledger),
            bytes: 0,
        }
    }

    /// A share that covers `bytes` and the call itself.
    pub(crate) fn of(ledger: &Arc<Ledger>, bytes: usize) -> Result<Self, Exhausted> {
        let mut charge = Self::new(ledger);
        charge.cover(bytes).map(|()| charge)
    }

    /// Grows the share until it covers `bytes` and the call itself.
    pub(crate) fn cover(&mut self, bytes: usize) -> Result<(), Exhausted> {
        let bytes = bytes.saturating_add(CALL_BYTES);
        if bytes > self.bytes {
            self.ledger.take(bytes - self.bytes)?;
            self.bytes = bytes;
        }
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.ledger.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_one_budget() {
        let ledgers = Ledger::sharing(10 << 20, 2);
        let body = 4 << 20;
        let charges = [0, 1].map(|thread| Charge::of(&ledgers[thread], body).expect("room"));
        for ledger in &ledgers {
            assert!(Charge::of(ledger, body).is_err(), "the charges hold it");
            Charge::of(ledger, 0).expect("there is some left");
        }
        drop(charges);
        // Everything except what the other thread has set aside for its next call.
        let all = (10 << 20) - DRAWN_BYTES - CALL_BYTES;
        let mut charge = Charge::of(&ledgers[1], 0).expect("room");
        charge.cover(all).expect("it was given back");
        assert!(charge.cover(all + DRAWN_BYTES + 1).is_err());
        assert_eq!(charge.bytes, all + CALL_BYTES, "it keeps what it had");
    }

    #[test]
    fn the_default_is_within_the_machine() {
        assert!(default_memory() > 0);
    }
}
