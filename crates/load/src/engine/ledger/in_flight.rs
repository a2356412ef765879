//! The calls in flight, stored in reusable slots.

use rpcgauge_trial::DeadlineFrom;

use crate::clock::nanos;
use crate::engine::messages::Verify;
use crate::engine::outgoing::Outgoing;
use crate::engine::response::Response;
use crate::engine::stamps::Stamps;
use crate::engine::streaming::CallStream;
use crate::trial::Trial;

#[derive(Debug, Default)]
pub(crate) struct Call {
    /// The call's number, counted from 0 at the start of the warm-up; in a mix, among those of its `mix_call`. If
    /// calls stream, the number of its first message.
    pub(crate) number: u64,
    /// Which call of the mix it is; 0 without a mix.
    pub(crate) mix_call: usize,
    /// The index of the call's connection in the pool.
    pub(crate) connection: usize,
    pub(crate) due: u64,
    /// When the call's deadline passes, ns.
    expires_at: u64,
    pub(crate) measured: bool,
    pub(crate) sending: Sending,
    /// Whether and when the response is compared with the expected one.
    pub(crate) verify: Verify,
    pub(crate) retries: u32,
    /// The call's own body if bodies are streamed, in case the call must be sent again.
    pub(crate) body: Option<Outgoing>,
    pub(crate) stamps: Stamps,
    pub(crate) response: Response,
    /// Its exchange, if calls stream and it was opened.
    pub(crate) stream: Option<Box<CallStream>>,
    generation: u32,
    active: bool,
    /// The call's neighbors in order of due time, which is also the order in which calls begin.
    before: Option<u32>,
    after: Option<u32>,
}

/// Whether a call was passed to the transport, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Sending {
    #[default]
    NotSent,
    Sent,
    /// Sent after the time in which calls were due (only at a rate).
    SentLate,
    /// Sent before the measured part, and still in flight when it began.
    SentBefore,
}

/// All calls in flight, in order of due time. Slots and their buffers are reused, so a steady trial does not
/// allocate.
#[derive(Debug)]
pub(crate) struct InFlight {
    /// How long a call may take, ns.
    deadline: u64,
    deadline_from: DeadlineFrom,
    /// The number of the next call.
    next_number: u64,
    /// How many numbers a call takes.
    numbers_per_call: u64,
    slots: Vec<Call>,
    free: Vec<u32>,
    oldest: Option<u32>,
    newest: Option<u32>,
}

/// A call that is about to begin. All times are in ns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beginning {
    /// The index of the call's connection in the pool.
    pub(crate) connection: usize,
    pub(crate) due: u64,
    pub(crate) begun: u64,
    pub(crate) measured: bool,
}

impl InFlight {
    /// Creates an empty set of calls of `trial`.
    pub(super) fn new(trial: &Trial) -> InFlight {
        let messages = trial.streaming.and_then(|streaming| streaming.messages);
        InFlight {
            deadline: nanos(trial.deadline),
            deadline_from: trial.deadline_from,
            next_number: 0,
            numbers_per_call: messages.unwrap_or(1),
            slots: Vec::new(),
            free: Vec::new(),
            oldest: None,
            newest: None,
        }
    }

    /// Adds a call. The token is unique while the call is in flight.
    pub(super) fn insert(
        &mut self,
        beginning: Beginning,
        new_response: impl FnOnce() -> Response,
    ) -> (u64, &mut Call) {
        let number = self.next_number;
        let expires_at = match self.deadline_from {
            DeadlineFrom::Due => self.deadline_of(beginning.due),
            DeadlineFrom::Send => beginning.begun.saturating_add(self.deadline),
        };
        self.next_number = self.next_number.wrapping_add(self.numbers_per_call);
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => self.add_slot(new_response),
        };
        let before = self.newest.replace(slot);
        match before {
            Some(before) => self.slots[before as usize].after = Some(slot),
            None => self.oldest = Some(slot),
        }
        let call = &mut self.slots[slot as usize];
        call.number = number;
        call.connection = beginning.connection;
        call.due = beginning.due;
        call.expires_at = expires_at;
        call.measured = beginning.measured;
        call.sending = Sending::NotSent;
        call.verify = Verify::Never;
        call.retries = 0;
        call.stamps = Stamps {
            begun: beginning.begun,
            ..Stamps::default()
        };
        call.active = true;
        call.before = before;
        call.after = None;
        (u64::from(call.generation) << 32 | u64::from(slot), call)
    }

    #[cold]
    fn add_slot(&mut self, new_response: impl FnOnce() -> Response) -> u32 {
        self.slots.push(Call {
            response: new_response(),
            ..Call::default()
        });
        (self.slots.len() - 1) as u32
    }

    /// Returns the call with this token, if it is in flight.
    pub(crate) fn get(&mut self, token: u64) -> Option<&mut Call> {
        let call = self.slots.get_mut((token & u64::from(u32::MAX)) as usize)?;
        (call.active && u64::from(call.generation) == token >> 32).then_some(call)
    }

    /// Like [`InFlight::get`], to look only.
    pub(crate) fn peek(&self, token: u64) -> Option<&Call> {
        let call = self.slots.get((token & u64::from(u32::MAX)) as usize)?;
        (call.active && u64::from(call.generation) == token >> 32).then_some(call)
    }

    /// Removes a call. Its slot stays readable until the next insertion.
    pub(super) fn remove(&mut self, token: u64) -> Option<&mut Call> {
        let call = self.get(token)?;
        call.active = false;
        call.body = None;
        call.generation = call.generation.wrapping_add(1);
        let (before, after) = (call.before, call.after);
        let slot = (token & u64::from(u32::MAX)) as u32;
        match before {
            None => self.oldest = after,
            Some(before) => self.slots[before as usize].after = after,
        }
        match after {
            None => self.newest = before,
            Some(after) => self.slots[after as usize].before = before,
        }
        self.free.push(slot);
        Some(&mut self.slots[slot as usize])
    }

    pub(crate) fn move_all(&mut self, from: usize, to: usize) {
        let moved = |call: &&mut Call| call.active && call.connection == from;
        for call in self.slots.iter_mut().filter(moved) {
            call.connection = to;
        }
    }

    /// The deadline of a call that is due at `due` and has not begun, ns: never, if it runs from the send.
    pub(crate) fn deadline_of(&self, due: u64) -> u64 {
        match self.deadline_from {
            DeadlineFrom::Due => due.saturating_add(self.deadline),
            DeadlineFrom::Send => u64::MAX,
        }
    }

    /// The token of the call whose deadline passes first, and the deadline, ns.
    pub(crate) fn oldest(&self) -> Option<(u64, u64)> {
        let slot = self.oldest?;
        let call = &self.slots[slot as usize];
        let token = u64::from(call.generation) << 32 | u64::from(slot);
        Some((token, call.expires_at))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.oldest.is_none()
    }

    pub(in crate::engine) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The due time of each measured call in flight, ns, and which call of the mix it is.
    pub(super) fn measured(&self) -> impl Iterator<Item = (u64, usize)> {
        let calls = self.slots.iter();
        let measured = calls.filter(|call| call.active && call.measured);
        measured.map(|call| (call.due, call.mix_call))
    }

    /// The exchanges of measured calls in flight.
    pub(super) fn measured_streams(&self) -> impl Iterator<Item = &CallStream> {
        let calls = self.slots.iter();
        let measured = calls.filter(|call| call.active && call.measured);
        measured.filter_map(|call| call.stream.as_deref())
    }

    /// The unmeasured calls in flight.
    pub(crate) fn unmeasured(&mut self) -> impl Iterator<Item = &mut Call> {
        let slots = self.slots.iter_mut();
        slots.filter(|call| call.active && !call.measured)
    }
}

impl Call {
    /// Notes that the measured part begins while this call is in flight.
    pub(crate) fn note_measured_part(&mut self) {
        if self.sending == Sending::Sent {
            self.sending = Sending::SentBefore;
        }
    }

    pub(crate) fn is_out_of_time(&self, at: u64) -> bool {
        at >= self.expires_at
    }

    /// Whether the rest of the response does not matter.
    pub(crate) fn has_enough(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.is_over())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::engine::tests::{trial, unused};

    const DEADLINE: u64 = 50;

    fn in_flight(deadline_from: DeadlineFrom) -> InFlight {
        InFlight::new(&Trial {
            deadline: Duration::from_nanos(DEADLINE),
            deadline_from,
            ..trial(unused())
        })
    }

    fn insert(calls: &mut InFlight, due: u64) -> u64 {
        let beginning = Beginning {
            connection: 0,
            due,
            begun: due,
            measured: due.is_multiple_of(2),
        };
        calls.insert(beginning, Response::default).0
    }

    #[test]
    fn a_token_is_dead_once_its_call_is_out() {
        let mut calls = in_flight(DeadlineFrom::Due);
        let first = insert(&mut calls, 1);
        assert!(calls.remove(first).is_some());
        let second = insert(&mut calls, 2);
        assert_ne!(first, second, "the slot is the same, the token is not");
        assert!(calls.get(first).is_none() && calls.remove(first).is_none());
        assert_eq!(calls.get(second).map(|call| call.due), Some(2));
    }

    #[test]
    fn a_deadline_from_the_send_begins_with_the_call() {
        let mut calls = in_flight(DeadlineFrom::Send);
        assert_eq!(
            calls.deadline_of(1),
            u64::MAX,
            "a call may wait for as long as it takes"
        );
        let late = Beginning {
            connection: 0,
            due: 1,
            begun: 100,
            measured: true,
        };
        let (token, _) = calls.insert(late, Response::default);
        assert_eq!(calls.oldest(), Some((token, 100 + DEADLINE)));
    }

    proptest! {
        #[test]
        fn the_oldest_is_always_first(steps in prop::collection::vec(any::<Option<u8>>(), 0..100)) {
            let mut calls = in_flight(DeadlineFrom::Due);
            let mut model: Vec<(u64, u64)> = Vec::new();
            for (due, step) in steps.into_iter().enumerate() {
                match step {
                    Some(which) if !model.is_empty() => {
                        let (token, _) = model.remove(which as usize % model.len());
                        prop_assert!(calls.remove(token).is_some());
                    }
                    _ => model.push((insert(&mut calls, due as u64), due as u64)),
                }
                let first = model.first().map(|(token, due)| (*token, due + DEADLINE));
                prop_assert_eq!(calls.oldest(), first);
                let measured = model.iter().filter(|(_, due)| due.is_multiple_of(2)).count();
                prop_assert_eq!(calls.measured().count(), measured);
                prop_assert_eq!(calls.len(), model.len());
            }
        }
    }
}
