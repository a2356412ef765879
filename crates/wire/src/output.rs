//! The queue of bytes to write. Small pieces are copied into one buffer; large bodies are kept by
//! reference.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::Bytes;

/// Body pieces shorter than this many bytes are copied, longer ones are queued by reference. A
/// short copy is cheaper than another entry in a vectored write.
pub(crate) const COPY_BELOW: usize = 4096;

/// Body bytes are queued only while less than this many bytes are unwritten. A cancelled call then
/// leaves little behind, and calls share the connection.
pub(crate) const ENOUGH_QUEUED: usize = 256 * 1024;

/// A buffer with more capacity than this, in bytes, is freed when it becomes empty. Otherwise it is
/// compacted once at least this much of it is written.
const KEEP_CAPACITY: usize = 64 * 1024;

/// Bytes to write, in order.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// Small pieces, one after another.
    gathered: Vec<u8>,
    /// Number of bytes of `gathered` that are written.
    written: usize,
    /// Large pieces, each with the position in `gathered` that it goes before.
    by_reference: VecDeque<(usize, Bytes)>,
    /// Total number of unwritten bytes.
    pending: usize,
}

impl Output {
    /// Queues a copy of `bytes`.
    #[inline]
    pub(crate) fn copy(&mut self, bytes: &[u8]) {
        self.gathered.extend_from_slice(bytes);
        self.pending += bytes.len();
    }

    /// Queues the bytes that `write` appends and returns their number.
    #[inline]
    pub(crate) fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        let before = self.gathered.len();
        write(&mut self.gathered);
        let added = self.gathered.len() - before;
        self.pending += added;
        added
    }

    /// Queues `body[start..end]`, by reference if it is long.
    #[inline]
    pub(crate) fn body(&mut self, body: &Bytes, start: usize, end: usize) {
        if end - start < COPY_BELOW {
            self.copy(&body[start..end]);
        } else {
            self.by_reference
                .push_back((self.gathered.len(), body.slice(start..end)));
            self.pending += end - start;
        }
    }

    /// Unwritten bytes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.pending
    }

    /// Whether [`Output::first`] is the whole output. False if any piece is queued by reference,
    /// even if it is the only one.
    #[inline]
    pub(crate) fn is_in_one_piece(&self) -> bool {
        self.by_reference.is_empty()
    }

    /// The next piece.
    #[inline]
    pub(crate) fn first(&self) -> &[u8] {
        match self.by_reference.front() {
            Some((at, bytes)) if *at == self.written => bytes,
            Some((at, _)) => &self.gathered[self.written..*at],
            None => &self.gathered[self.written..],
        }
    }

    /// Fills `slices` with the first pieces. Returns how many were filled.
    pub(crate) fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut from = self.written;
        let mut gathered_to = move |to| &self.gathered[std::mem::replace(&mut from, to)..to];
        let last = self.by_reference.back().map_or(self.written, |(at, _)| *at);
        let pieces = self
            .by_reference
            .iter()
            .flat_map(|(at, bytes)| [gathered_to(*at), bytes])
            .chain([&self.gathered[last..]])
            .filter(|piece| !piece.is_empty());
        let mut filled = 0;
        for (slot, piece) in slices.iter_mut().zip(pieces) {
            *slot = IoSlice::new(piece);
            filled += 1;
        }
        filled
    }

    /// Removes the first `n` bytes, which were written.
    #[inline]
    pub(crate) fn consume(&mut self, n: usize) {
        assert!(
            n <= self.pending,
            "{n} bytes written of {} offered",
            self.pending
        );
        if n == self.pending {
            self.clear();
        } else {
            self.consume_front(n);
        }
    }

    fn consume_front(&mut self, mut n: usize) {
        self.pending -= n;
        while n > 0 {
            let taken = n.min(self.first().len());
            match self.by_reference.front_mut() {
                Some((at, bytes)) if *at == self.written => {
                    let _ = bytes.split_to(taken);
                    if bytes.is_empty() {
                        self.by_reference.pop_front();
                    }
                }
                _ => self.written += taken,
            }
            n -= taken;
        }
        self.compact();
    }

    /// Removes the written part of `gathered` once it is large and at least half of the buffer, so
    /// that each queued byte costs at most one moved byte. Without this, the buffer would grow
    /// without bound on a connection whose output is never written completely.
    fn compact(&mut self) {
        if self.written < KEEP_CAPACITY || self.written < self.gathered.len() / 2 {
            return;
        }
        self.gathered.drain(..self.written);
        for (at, _) in &mut self.by_reference {
            *at -= self.written;
        }
        self.written = 0;
    }

    /// Drops all output, including unwritten bytes.
    #[inline]
    pub(crate) fn clear(&mut self) {
        // Mostly empty, and clearing an empty queue is not free.
        if !self.by_reference.is_empty() {
            self.by_reference.clear();
        }
        self.gathered.clear();
        self.written = 0;
        self.pending = 0;
        if self.gathered.capacity() > KEEP_CAPACITY {
            self.gathered = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(output: &Output) -> Vec<u8> {
        let mut slices = [IoSlice::new(&[]); 64];
        let n = output.slices(&mut slices);
        slices[..n].iter().flat_map(|s| s.to_vec()).collect()
    }

    #[test]
    fn long_bodies_stand_between_gathered_pieces() {
        let body = Bytes::from(vec![7; COPY_BELOW]);
        let mut output = Output::default();
        output.copy(b"ab");
        output.body(&body, 0, COPY_BELOW);
        output.copy(b"c");
        assert_eq!(output.len(), COPY_BELOW + 3);
        assert_eq!(output.first(), b"ab");
        output.consume(2);
        assert_eq!(output.first().as_ptr(), body.as_ptr(), "not copied");
        output.consume(COPY_BELOW);
        assert_eq!(output.first(), b"c");
        output.consume(1);
        assert_eq!((output.len(), output.first()), (0, &[][..]));
    }

    #[test]
    fn slices_stop_where_there_is_no_room() {
        let body = Bytes::from(vec![7; COPY_BELOW]);
        let mut output = Output::default();
        output.copy(b"ab");
        output.body(&body, 0, COPY_BELOW);
        output.copy(b"c");
        let mut slices = [IoSlice::new(&[]); 2];
        assert_eq!(output.slices(&mut slices), 2);
        assert_eq!((&*slices[0], slices[1].len()), (&b"ab"[..], COPY_BELOW));
    }

    /// Here the transport never drains the output completely.
    #[test]
    fn the_buffer_stays_bounded_when_it_is_never_empty() {
        let large = Bytes::from(vec![7; COPY_BELOW]);
        let mut output = Output::default();
        let mut next_out = 0u32;
        for next_in in 0..200_000u32 {
            output.copy(&next_in.to_be_bytes());
            if next_in % 1000 == 999 {
                output.body(&large, 0, COPY_BELOW);
                // Leave only the last number and the body after it.
                while output.len() > COPY_BELOW + 4 {
                    let piece = output.first();
                    if piece.len() == COPY_BELOW && piece.as_ptr() == large.as_ptr() {
                        output.consume(COPY_BELOW);
                        continue;
                    }
                    assert_eq!(piece[..4], next_out.to_be_bytes());
                    next_out += 1;
                    output.consume(4);
                }
            }
        }
        assert_eq!(next_out, 199_999);
        assert!(
            output.gathered.capacity() <= 4 * KEEP_CAPACITY,
            "{} bytes",
            output.gathered.capacity()
        );
    }

    proptest! {
        #[test]
        fn bytes_leave_in_the_order_queued(
            pieces in prop::collection::vec(prop_oneof![0usize..20, COPY_BELOW..COPY_BELOW + 20], 0..12),
            steps in prop::collection::vec(1usize..5000, 0..40),
        ) {
            let mut output = Output::default();
            let mut expected = Vec::new();
            for (i, &len) in pieces.iter().enumerate() {
                let body = Bytes::from((0..len).map(|k| (k + i) as u8).collect::<Vec<_>>());
                output.body(&body, 0, len);
                expected.extend_from_slice(&body);
            }
            for step in steps {
                prop_assert_eq!(&all(&output), &expected);
                let n = step.min(output.len());
                output.consume(n);
                expected.drain(..n);
            }
            prop_assert_eq!(&all(&output), &expected);
            prop_assert_eq!(output.len(), expected.len());
        }
    }
}
