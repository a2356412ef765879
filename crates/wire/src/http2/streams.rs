//! The calls in flight, indexed by stream number.

use bytes::Bytes;

use super::receive_window::ReceiveWindow;
use crate::event::Token;

/// One call in flight.
///
/// ```text
///   sending:    body waits for windows ──► body sent (END_STREAM unless `more`)
///                        ▲───────────────── next message ◄──┘
///   receiving:  Head ──► Body ──► removed on END_STREAM
/// ```
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) id: u32,
    pub(super) token: Token,
    /// Number of bytes that the client may send. Negative after the setting was lowered (RFC 9113
    /// §6.9.2).
    pub(super) send_window: i64,
    /// The body, or the current message of an exchange, while part of it is unsent.
    pub(super) body: Option<Bytes>,
    /// Number of bytes of `body` that are sent.
    pub(super) sent: usize,
    /// Whether more messages may follow `body`.
    pub(super) more: bool,
    /// Number of bytes at the start of each body or message that frame a higher layer's message.
    pub(super) prefix: u32,
    /// How many of them are unsent.
    pub(super) prefix_left: u32,
    /// Whether the stream was removed from the send queue until its window opens.
    pub(super) blocked: bool,
    /// What the server may still send.
    pub(super) receive_window: ReceiveWindow,
    /// Received bytes of an exchange that the caller has not released; `None` for a call whose
    /// bytes return to the windows by themselves.
    pub(super) held: Option<u32>,
    pub(super) head_method: bool,
    pub(super) first_byte_seen: bool,
    /// Whether the final head has arrived.
    pub(super) head_seen: bool,
    pub(super) interim: u32,
    /// Body bytes still to come; `None` if the head has no content-length.
    pub(super) body_left: Option<u64>,
    /// Body bytes that are within the limit.
    pub(super) body_room: u64,
}

impl Stream {
    /// Whether a part of the body or message waits to be sent.
    pub(super) fn is_waiting(&self) -> bool {
        self.body.is_some()
    }

    /// Whether END_STREAM has not been sent.
    pub(super) fn is_sending(&self) -> bool {
        self.more || self.is_waiting()
    }
}

/// Streams in reusable slots, with an index of their numbers.
///
/// The index uses open addressing with linear probing. A client's stream numbers are odd and
/// increase by two, so half of the number, modulo the size of the index, spreads them perfectly. A
/// long-lived stream only shifts its neighbors by one.
#[derive(Debug, Default)]
pub(super) struct Streams {
    slots: Vec<Option<Stream>>,
    free: Vec<u32>,
    /// Stream number and slot. The number 0 marks an empty place. The length is a power of two.
    index: Vec<(u32, u32)>,
    /// The number and slot of the last stream found, since most frames belong to the same stream as
    /// the previous one. (0, 0) after a removal.
    recent: (u32, u32),
    count: usize,
}

impl Streams {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    #[inline]
    pub(super) fn insert(&mut self, stream: Stream) {
        if (self.count + 1) * 2 > self.index.len() {
            self.grow();
        }
        let id = stream.id;
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(stream);
                slot
            }
            None => {
                self.slots.push(Some(stream));
                self.slots.len() as u32 - 1
            }
        };
        self.place(id, slot);
        self.count += 1;
    }

    #[inline]
    pub(super) fn get(&mut self, id: u32) -> Option<&mut Stream> {
        if self.recent.0 != id || id == 0 {
            let at = self.find(id)?;
            self.recent = self.index[at];
        }
        self.slots[self.recent.1 as usize].as_mut()
    }

    pub(super) fn is_waiting(&self, id: u32) -> bool {
        let slot = self.find(id).map(|at| self.index[at].1 as usize);
        slot.and_then(|slot| self.slots[slot].as_ref())
            .is_some_and(Stream::is_waiting)
    }

    #[inline]
    pub(super) fn remove(&mut self, id: u32) -> Option<Stream> {
        let at = self.find(id)?;
        let slot = self.index[at].1;
        self.recent = (0, 0);
        self.unplace(at);
        self.free.push(slot);
        self.count -= 1;
        self.slots[slot as usize].take()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.slots.iter_mut().flatten()
    }

    /// Removes the streams above `last` and returns them in the order in which they were started.
    pub(super) fn remove_above(&mut self, last: u32) -> Vec<Stream> {
        let mut ids: Vec<u32> = self
            .slots
            .iter()
            .flatten()
            .map(|stream| stream.id)
            .collect();
        ids.retain(|id| *id > last);
        ids.sort_unstable();
        ids.into_iter().filter_map(|id| self.remove(id)).collect()
    }

    fn home(&self, id: u32) -> usize {
        (id >> 1) as usize & (self.index.len() - 1)
    }

    #[inline]
    fn find(&self, id: u32) -> Option<usize> {
        if self.index.is_empty() || id == 0 {
            return None;
        }
        let mut at = self.home(id);
        // At least half of the places are empty, so this loop terminates.
        while self.index[at].0 != id {
            if self.index[at].0 == 0 {
                return None;
            }
            at = (at + 1) & (self.index.len() - 1);
        }
        Some(at)
    }

    #[inline]
    fn place(&mut self, id: u32, slot: u32) {
        let mut at = self.home(id);
        while self.index[at].0 != 0 {
            at = (at + 1) & (self.index.len() - 1);
        }
        self.index[at] = (id, slot);
    }

    /// Empties a place and moves back entries that were pushed past it.
    fn unplace(&mut self, at: usize) {
        let mask = self.index.len() - 1;
        let mut hole = at;
        let mut next = (at + 1) & mask;
        while self.index[next].0 != 0 {
            let home = self.home(self.index[next].0);
            // Distances wrap around. The entry may move to the hole unless the hole is before its
            // home.
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(hole) & mask) {
                self.index[hole] = self.index[next];
                hole = next;
            }
            next = (next + 1) & mask;
        }
        self.index[hole] = (0, 0);
    }

    fn grow(&mut self) {
        let size = (self.index.len() * 2).max(4);
        let old = std::mem::replace(&mut self.index, vec![(0, 0); size]);
        for (id, slot) in old.into_iter().filter(|(id, _)| *id != 0) {
            self.place(id, slot);
        }
    }
}

#[cfg(test)]
pub(super) fn stream(id: u32) -> Stream {
    Stream {
        id,
        token: u64::from(id),
        ..Stream::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn finds_what_a_set_would(steps in prop::collection::vec((any::<bool>(), 0u32..60), 0..400)) {
            let mut streams = Streams::default();
            let mut model = BTreeSet::new();
            for (insert, number) in steps {
                let id = number * 2 + 1;
                if insert && model.insert(id) {
                    streams.insert(stream(id));
                } else if !insert {
                    prop_assert_eq!(streams.remove(id).map(|s| s.id), model.take(&id));
                }
                prop_assert_eq!(streams.len(), model.len());
                for id in (1..121).step_by(2) {
                    prop_assert_eq!(streams.get(id).is_some(), model.contains(&id));
                }
            }
            let above: Vec<u32> = streams.remove_above(50).iter().map(|s| s.id).collect();
            prop_assert_eq!(above, model.into_iter().filter(|id| *id > 50).collect::<Vec<_>>());
        }
    }
}
