//! Numbers that are the same in every run and every language.

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `bound` - 1, for small bounds.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// `len` hexadecimal digits: of each number all 16, the last as many as are still missing.
    pub(crate) fn hex(&mut self, len: usize) -> String {
        let mut text = String::with_capacity(len + 16);
        while text.len() < len {
            text.push_str(&format!("{:016x}", self.next()));
        }
        text.truncate(len);
        text
    }
}
