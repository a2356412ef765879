//! Random numbers that are the same on every run and in every language.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// The sequence of numbers that SplitMix64 generates from a seed.
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to `bound` - 1. `bound` must be small because taking the remainder introduces a slight
    /// bias.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// `len` hexadecimal digits, 16 from each number; the last number may contribute fewer.
    pub(crate) fn hex(&mut self, len: usize) -> String {
        let mut text = String::with_capacity(len + 16);
        while text.len() < len {
            text.push_str(&format!("{:016x}", self.next()));
        }
        text.truncate(len);
        text
    }
}
