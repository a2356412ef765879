//! The calls in flight, in slots that are used again.

use super::answer::Answer;
use super::source::Outgoing;
use super::stamps::Stamps;

/// No slot.
const NONE: u32 = u32::MAX;

/// A call in flight.
#[derive(Debug)]
pub(super) struct Call {
    /// Its place among all calls, from 0 at the start of the warm-up.
    pub(super) number: u64,
    /// Which connection has it.
    pub(super) connection: usize,
    pub(super) due: u64,
    pub(super) measured: bool,
    /// Whether its answer is compared with the right one.
    pub(super) verified: bool,
    /// How often it was sent again.
    pub(super) retries: u32,
    /// Its body where it is streamed, in case it is sent again.
    pub(super) body: Option<Outgoing>,
    pub(super) stamps: Stamps,
    pub(super) answer: Answer,
    generation: u32,
    active: bool,
    /// Neighbours by due time; calls are begun in that order.
    before: u32,
    after: u32,
}

/// All calls in flight, the oldest first. Slots and their buffers are kept, so that a steady
/// trial allocates nothing.
#[derive(Debug, Default)]
pub(super) struct Calls {
    slots: Vec<Call>,
    free: Vec<u32>,
    oldest: Option<u32>,
    newest: Option<u32>,
}

/// What is known of a call when it begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beginning {
    pub(super) number: u64,
    pub(super) connection: usize,
    pub(super) due: u64,
    pub(super) begun: u64,
    pub(super) measured: bool,
    pub(super) verified: bool,
}

impl Calls {
    /// Adds a call and returns its token, which no other call ever has while it is in flight.
    pub(super) fn insert(
        &mut self,
        beginning: Beginning,
        new_answer: impl FnOnce() -> Answer,
    ) -> u64 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Call::vacant(new_answer()));
            (self.slots.len() - 1) as u32
        });
        let before = self.newest.replace(slot);
        match before {
            Some(before) => self.slots[before as usize].after = slot,
            None => self.oldest = Some(slot),
        }
        let call = &mut self.slots[slot as usize];
        call.number = beginning.number;
        call.connection = beginning.connection;
        call.due = beginning.due;
        call.measured = beginning.measured;
        call.verified = beginning.verified;
        call.retries = 0;
        call.stamps = Stamps {
            begun: beginning.begun,
            ..Stamps::default()
        };
        call.active = true;
        call.before = before.unwrap_or(NONE);
        call.after = NONE;
        u64::from(call.generation) << 32 | u64::from(slot)
    }

    /// The call of a token, while it is in flight.
    pub(super) fn get(&mut self, token: u64) -> Option<&mut Call> {
        let call = self.slots.get_mut((token & u64::from(u32::MAX)) as usize)?;
        (call.active && u64::from(call.generation) == token >> 32).then_some(call)
    }

    /// Takes a call out; its slot stays readable until the next insertion.
    pub(super) fn remove(&mut self, token: u64) -> Option<&mut Call> {
        let call = self.get(token)?;
        call.active = false;
        call.body = None;
        call.generation = call.generation.wrapping_add(1);
        let (before, after) = (call.before, call.after);
        let slot = (token & u64::from(u32::MAX)) as u32;
        match before {
            NONE => self.oldest = Some(after).filter(|slot| *slot != NONE),
            before => self.slots[before as usize].after = after,
        }
        match after {
            NONE => self.newest = Some(before).filter(|slot| *slot != NONE),
            after => self.slots[after as usize].before = before,
        }
        self.free.push(slot);
        Some(&mut self.slots[slot as usize])
    }

    /// Moves all calls of one connection to another.
    pub(super) fn move_all(&mut self, from: usize, to: usize) {
        let moved = |call: &&mut Call| call.active && call.connection == from;
        for call in self.slots.iter_mut().filter(moved) {
            call.connection = to;
        }
    }

    /// The call that was due first, as its token and due time.
    pub(super) fn oldest(&self) -> Option<(u64, u64)> {
        let slot = self.oldest?;
        let call = &self.slots[slot as usize];
        let token = u64::from(call.generation) << 32 | u64::from(slot);
        Some((token, call.due))
    }

    /// The oldest call if its `deadline` (ns) has passed at `now`.
    pub(super) fn expired(&self, deadline: u64, now: u64) -> Option<u64> {
        let (token, due) = self.oldest()?;
        is_past(deadline, due, now).then_some(token)
    }

    /// How many calls are in flight.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// How many calls of the measured part are in flight.
    pub(super) fn measured(&self) -> u64 {
        let measured = |call: &&Call| call.active && call.measured;
        self.slots.iter().filter(measured).count() as u64
    }
}

/// Whether the deadline of a call that was due at `due` has passed at `at`.
fn is_past(deadline: u64, due: u64, at: u64) -> bool {
    at.saturating_sub(due) >= deadline
}

impl Call {
    /// Whether its `deadline` (ns) has passed at `at`.
    pub(super) fn is_out_of_time(&self, deadline: u64, at: u64) -> bool {
        is_past(deadline, self.due, at)
    }

    fn vacant(answer: Answer) -> Call {
        Call {
            number: 0,
            connection: 0,
            due: 0,
            measured: false,
            verified: false,
            retries: 0,
            body: None,
            stamps: Stamps::default(),
            answer,
            generation: 0,
            active: false,
            before: NONE,
            after: NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trial::{CallStyle, Expect};

    fn insert(calls: &mut Calls, due: u64) -> u64 {
        let beginning = Beginning {
            number: due,
            connection: 0,
            due,
            begun: due,
            measured: due.is_multiple_of(2),
            verified: false,
        };
        let style = CallStyle::Http {
            method: "GET".to_owned(),
        };
        calls.insert(beginning, || Answer::new(&style, &Expect::default()))
    }

    #[test]
    fn a_token_is_dead_once_its_call_is_out() {
        let mut calls = Calls::default();
        let first = insert(&mut calls, 1);
        assert!(calls.remove(first).is_some());
        let second = insert(&mut calls, 2);
        assert_ne!(first, second, "the slot is the same, the token is not");
        assert!(calls.get(first).is_none() && calls.remove(first).is_none());
        assert_eq!(calls.get(second).map(|call| call.due), Some(2));
    }

    #[test]
    fn deadlines_run_from_the_due_time() {
        let mut calls = Calls::default();
        let token = insert(&mut calls, 100);
        insert(&mut calls, 101);
        let deadline = 50;
        assert_eq!(calls.expired(deadline, 149), None);
        assert_eq!(calls.expired(deadline, 150), Some(token));
    }

    proptest! {
        #[test]
        fn the_oldest_is_always_first(steps in prop::collection::vec(any::<Option<u8>>(), 0..100)) {
            let mut calls = Calls::default();
            let mut model: Vec<(u64, u64)> = Vec::new();
            for (due, step) in steps.into_iter().enumerate() {
                match step {
                    Some(which) if !model.is_empty() => {
                        let (token, _) = model.remove(which as usize % model.len());
                        prop_assert!(calls.remove(token).is_some());
                    }
                    _ => model.push((insert(&mut calls, due as u64), due as u64)),
                }
                prop_assert_eq!(calls.oldest(), model.first().copied());
                let measured = model.iter().filter(|(_, due)| due.is_multiple_of(2)).count() as u64;
                prop_assert_eq!(calls.measured(), measured);
                prop_assert_eq!(calls.len(), model.len());
            }
        }
    }
}
