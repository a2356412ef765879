//! Memory for packets in transit.

/// Number of slots that are allocated together.
const CHUNK: usize = 256;
/// Maximum memory of a link, bytes. Further packets stay in the devices, which drop packets when full. Those
/// are counted as dropped outside the queue.
const MAX_BYTES: usize = 512 << 20;

/// Reusable slots of one size. The most recently used slot is taken first, since it may still be in the
/// cache.
#[derive(Debug)]
pub(crate) struct Pool {
    slot: usize,
    chunks: Vec<Box<[u8]>>,
    free: Vec<usize>,
}

impl Pool {
    /// Creates a pool whose slots can store packets of up to `slot` bytes.
    pub(crate) fn new(slot: usize) -> Self {
        let mut pool = Self {
            slot,
            chunks: Vec::new(),
            free: Vec::new(),
        };
        pool.grow();
        pool
    }

    /// Takes a slot; `None` if all memory is in use.
    pub(crate) fn take(&mut self) -> Option<usize> {
        if self.free.is_empty() && !self.is_whole() {
            self.grow();
        }
        self.free.pop()
    }

    /// Whether all memory is in use.
    pub(crate) fn is_spent(&self) -> bool {
        self.free.is_empty() && self.is_whole()
    }

    fn is_whole(&self) -> bool {
        self.chunks.len() * CHUNK * self.slot >= MAX_BYTES
    }

    pub(crate) fn give_back(&mut self, slot: usize) {
        self.free.push(slot);
    }

    pub(crate) fn bytes(&mut self, slot: usize) -> &mut [u8] {
        let start = slot % CHUNK * self.slot;
        &mut self.chunks[slot / CHUNK][start..start + self.slot]
    }

    fn grow(&mut self) {
        let first = self.chunks.len() * CHUNK;
        self.chunks
            .push(vec![0; CHUNK * self.slot].into_boxed_slice());
        self.free.extend((first..first + CHUNK).rev());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_do_not_overlap_and_are_reused() {
        let mut pool = Pool::new(8);
        let slots: Vec<usize> = (0..CHUNK * 2).map(|_| pool.take().expect("room")).collect();
        for &slot in &slots {
            pool.bytes(slot).copy_from_slice(&slot.to_le_bytes());
        }
        for &slot in &slots {
            assert_eq!(pool.bytes(slot), slot.to_le_bytes());
        }
        pool.give_back(7);
        assert_eq!(pool.take(), Some(7));
        assert_eq!(pool.chunks.len(), 2);
    }

    #[test]
    fn a_pool_has_a_maximum() {
        let mut pool = Pool::new(MAX_BYTES / CHUNK);
        assert_eq!((0..=CHUNK).filter_map(|_| pool.take()).count(), CHUNK);
        assert!(pool.is_spent());
        pool.give_back(0);
        assert!(!pool.is_spent());
    }
}
