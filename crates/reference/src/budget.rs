//! How much memory all calls together may hold: request bodies on their way in, responses on
//! their way out.
//!
//! A request body that arrived whole with its head is handled at once and is not counted. A response
//! is counted: [`Ledger`] touches nothing that threads share while clients read their responses.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Resource, getrlimit};

/// What a call that waits holds beside its body: its head (16 KiB at most by HTTP/2), its stream and
/// its task.
pub(crate) const CALL_BYTES: usize = 16 << 10;

/// How much a thread takes from the budget at a time, so that it rarely has to.
const DRAWN_BYTES: usize = 1 << 20;

/// The share of the machine's memory that is used unless another budget is set. The rest is for the
/// messages that threads are decoding, and for other programs.
const SHARE: usize = 4;

/// A quarter of the memory that this process may have: the machine's, its control group's or that of
/// its limit of address space, whichever is smallest.
pub fn default_memory() -> usize {
    let system = rustix::system::sysinfo();
    let machine = (system.totalram as u64).saturating_mul(system.mem_unit.into());
    let group = ["memory.max", "memory/memory.limit_in_bytes"].map(|file| {
        let text = fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok()?;
        // Without a limit version 2 says `max`, and version 1 more than any machine has.
        text.trim().parse().ok()
    });
    let bounds = group.into_iter().chain([getrlimit(Resource::As).current]);
    let least = bounds.flatten().fold(machine, u64::min);
    usize::try_from(least).unwrap_or(usize::MAX) / SHARE
}

/// There is no room for this call now.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error(
    "other calls hold the memory that this server has for them; try again later, or give it more \
     with --max-memory"
)]
pub(crate) struct Exhausted;

/// One thread's part of the budget of all threads.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// What is left for any thread.
    left: Arc<AtomicUsize>,
    /// What this thread has drawn and no call of it holds. Only this thread writes it: a connection
    /// and its calls live and end on their own thread.
    spare: AtomicUsize,
}

impl Ledger {
    /// A ledger for each of the threads that share a budget of `bytes`.
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

/// What one call holds of the budget, until it is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    ledger: Arc<Ledger>,
    bytes: usize,
}

impl Charge {
    /// Nothing yet.
    pub(crate) fn new(ledger: &Arc<Ledger>) -> Self {
        Self {
            ledger: Arc::clone(ledger),
            bytes: 0,
        }
    }

    /// `bytes`, and what a call takes beside them.
    pub(crate) fn of(ledger: &Arc<Ledger>, bytes: usize) -> Result<Self, Exhausted> {
        let mut charge = Self::new(ledger);
        charge.cover(bytes).map(|()| charge)
    }

    /// Grows to `bytes`, and what a call takes beside them.
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
            assert!(Charge::of(ledger, body).is_err(), "others hold it");
            Charge::of(ledger, 0).expect("there is some left");
        }
        drop(charges);
        // All but what the other thread keeps for its next call.
        let all = (10 << 20) - DRAWN_BYTES - CALL_BYTES;
        let mut charge = Charge::of(&ledgers[1], 0).expect("room");
        charge.cover(all).expect("it was given back");
        assert!(charge.cover(all + DRAWN_BYTES + 1).is_err());
        assert_eq!(charge.bytes, all + CALL_BYTES, "what it had it keeps");
    }

    #[test]
    fn the_default_is_within_the_machine() {
        assert!(default_memory() > 0);
    }
}
