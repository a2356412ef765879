//! Counts the output that the transport has not accepted yet, by purpose. Bytes are counted as sent
//! only once the transport has accepted them, because any left when a connection ends are never
//! sent.

use std::collections::VecDeque;

use crate::traffic::ByteCount;

/// The frames in the output, in order, and the sum of their bytes.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    frames: VecDeque<Queued>,
    sum: ByteCount,
}

/// The unwritten part of a frame: overhead (frame header, message prefix), then a payload of either
/// header or body bytes.
#[derive(Debug)]
struct Queued {
    overhead: u32,
    header: u32,
    body: u32,
}

impl Unsent {
    /// Adds a HEADERS or CONTINUATION frame with a fragment of `block` bytes.
    #[inline]
    pub(super) fn head(&mut self, overhead: usize, block: usize) {
        self.push(overhead, block, 0);
    }

    /// Adds a DATA frame with `body` bytes of payload after the overhead.
    #[inline]
    pub(super) fn data(&mut self, overhead: usize, body: usize) {
        self.push(overhead, 0, body);
    }

    /// Adds bytes of control frames. Consecutive ones share an entry, so a flood of replies needs
    /// no memory here.
    pub(super) fn overhead(&mut self, bytes: usize) {
        if let Some(last) = self.frames.back_mut()
            && (last.header, last.body) == (0, 0)
            && let Some(longer) = last.overhead.checked_add(bytes as u32)
        {
            last.overhead = longer;
            self.sum.overhead += bytes as u64;
        } else {
            self.push(bytes, 0, 0);
        }
    }

    #[inline]
    fn push(&mut self, overhead: usize, header: usize, body: usize) {
        self.sum.overhead += overhead as u64;
        self.sum.header += header as u64;
        self.sum.body += body as u64;
        self.frames.push_back(Queued {
            overhead: overhead as u32,
            header: header as u32,
            body: body as u32,
        });
    }

    /// Counts the first `n` bytes as sent.
    #[inline]
    pub(super) fn written(&mut self, n: usize, sent: &mut ByteCount) {
        let mut left = n as u64;
        if left == self.sum.total() {
            *sent += self.sum;
            return self.clear();
        }
        let mut count = |queued: &mut u32, unsent: &mut u64, sent: &mut u64| {
            let taken = u64::from(*queued).min(left);
            *queued -= taken as u32;
            *unsent -= taken;
            *sent += taken;
            left -= taken;
            *queued == 0
        };
        let sum = &mut self.sum;
        while let Some(frame) = self.frames.front_mut() {
            let is_whole = count(&mut frame.overhead, &mut sum.overhead, &mut sent.overhead)
                && count(&mut frame.header, &mut sum.header, &mut sent.header)
                && count(&mut frame.body, &mut sum.body, &mut sent.body);
            if !is_whole {
                return;
            }
            self.frames.pop_front();
        }
    }

    /// Drops everything, because it will not be written.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.frames.clear();
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
                        0 => unsent.head(overhead, payload),
                        1 => unsent.data(overhead, payload),
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
        unsent.head(9, 30);
        for _ in 0..100_000 {
            unsent.overhead(17);
        }
        assert_eq!(unsent.frames.len(), 2);
        unsent.overhead(u32::MAX as usize);
        assert_eq!(unsent.frames.len(), 3, "too large for one entry");
    }
}
