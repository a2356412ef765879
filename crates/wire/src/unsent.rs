//! Counts the output that the transport has not accepted yet, by purpose. Bytes are counted as sent
//! only once the transport has accepted them, because any left when a connection ends are never
//! sent.

use std::collections::VecDeque;

use crate::traffic::ByteCount;

/// The parts of the output, in order, and the sum of their bytes.
#[derive(Debug, Default)]
pub(crate) struct Unsent {
    parts: VecDeque<Queued>,
    sum: ByteCount,
}

/// The unwritten bytes of a part: overhead (such as a frame header and a message prefix), then header
/// bytes, then body bytes.
#[derive(Debug)]
struct Queued {
    overhead: u32,
    header: u32,
    body: u64,
}

impl Unsent {
    /// Adds bytes of overhead alone. Consecutive ones share an entry, so a flood of replies needs no
    /// memory here.
    pub(crate) fn overhead(&mut self, bytes: usize) {
        if let Some(last) = self.parts.back_mut()
            && (last.header, last.body) == (0, 0)
            && let Some(longer) = last.overhead.checked_add(bytes as u32)
        {
            last.overhead = longer;
            self.sum.overhead += bytes as u64;
        } else {
            self.push(bytes, 0, 0);
        }
    }

    /// Adds a part with bytes of each purpose, in this order.
    #[inline]
    pub(crate) fn push(&mut self, overhead: usize, header: usize, body: usize) {
        self.sum.overhead += overhead as u64;
        self.sum.header += header as u64;
        self.sum.body += body as u64;
        self.parts.push_back(Queued {
            overhead: overhead as u32,
            header: header as u32,
            body: body as u64,
        });
    }

    /// Counts the first `n` bytes as sent.
    #[inline]
    pub(crate) fn written(&mut self, n: usize, sent: &mut ByteCount) {
        if n as u64 == self.sum.total() {
            *sent += self.sum;
            self.clear();
        } else {
            self.written_partly(n as u64, sent);
        }
    }

    fn written_partly(&mut self, mut left: u64, sent: &mut ByteCount) {
        let mut count = |queued: u64, unsent: &mut u64, sent: &mut u64| {
            let taken = queued.min(left);
            *unsent -= taken;
            *sent += taken;
            left -= taken;
            queued - taken
        };
        let sum = &mut self.sum;
        while let Some(part) = self.parts.front_mut() {
            // Cannot truncate: they only decrease.
            part.overhead =
                count(part.overhead.into(), &mut sum.overhead, &mut sent.overhead) as u32;
            part.header = count(part.header.into(), &mut sum.header, &mut sent.header) as u32;
            part.body = count(part.body, &mut sum.body, &mut sent.body);
            if (part.overhead, part.header, part.body) != (0, 0, 0) {
                return;
            }
            self.parts.pop_front();
        }
    }

    /// Drops everything, because it will not be written.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.parts.clear();
        self.sum = ByteCount::default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The letters that stand for a byte of each class.
    const HEADER: u8 = b'h';
    const BODY: u8 = b'b';
    const OVERHEAD: u8 = b'o';

    fn count(bytes: &[u8]) -> ByteCount {
        let of = |class| bytes.iter().filter(|byte| **byte == class).count() as u64;
        ByteCount {
            header: of(HEADER),
            body: of(BODY),
            overhead: of(OVERHEAD),
            ..ByteCount::default()
        }
    }

    proptest! {
        #[test]
        fn each_byte_counts_in_its_class_when_it_is_written(
            frames in prop::collection::vec((0u8..3, 0usize..20, 0usize..50), 0..30),
            steps in prop::collection::vec((any::<bool>(), 0usize..90), 0..60),
        ) {
            let (mut unsent, mut sent) = (Unsent::default(), ByteCount::default());
            let (mut wire, mut at) = (Vec::new(), 0);
            let mut frames = frames.into_iter();
            for (queue, n) in steps {
                if queue {
                    let Some((kind, overhead, payload)) = frames.next() else { continue };
                    wire.extend(vec![OVERHEAD; overhead]);
                    match kind {
                        0 => unsent.push(overhead, payload, 0),
                        1 => unsent.push(overhead, 0, payload),
                        _ => unsent.overhead(overhead),
                    }
                    let class = [HEADER, BODY].get(usize::from(kind));
                    wire.extend(class.map_or(Vec::new(), |class| vec![*class; payload]));
                } else {
                    let n = n.min(wire.len() - at);
                    at += n;
                    unsent.written(n, &mut sent);
                }
                prop_assert_eq!(sent, count(&wire[..at]));
                prop_assert_eq!(unsent.sum, count(&wire[at..]));
            }
        }
    }

    #[test]
    fn a_flood_of_replies_is_one_entry() {
        let mut unsent = Unsent::default();
        unsent.push(9, 30, 0);
        for _ in 0..100_000 {
            unsent.overhead(17);
        }
        assert_eq!(unsent.parts.len(), 2);
        unsent.overhead(u32::MAX as usize);
        assert_eq!(unsent.parts.len(), 3, "too large for one entry");
    }
}
