//! Random numbers determined by a seed.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// A random number generator that yields the same numbers for the same seed on every machine, so a
/// plan's seed reproduces its order of trials and its arrivals. Not for secrets.
#[derive(Debug, Clone)]
pub struct Random(SplitMix64);

impl Random {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    /// A uniformly distributed number in [0, 1), in steps of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A seed for another generator.
    pub fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Shuffles in place. Every order is equally likely (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// A number below `bound`, by multiply and shift. For up to 2^32 items, the bias is below
    /// 2^-32.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// These numbers must not change: a seed must always produce the same plan.
    #[test]
    fn numbers_follow_from_the_seed() {
        let mut random = Random::new(1_234_567);
        let published = [6_457_827_717_110_365_317u64, 3_203_168_211_198_807_973];
        for number in published {
            assert_eq!(random.unit(), (number >> 11) as f64 / (1u64 << 53) as f64);
        }
    }

    proptest! {
        #[test]
        fn a_shuffle_is_a_permutation(seed: u64, count in 0_usize..200) {
            let mut items: Vec<usize> = (0..count).collect();
            Random::new(seed).shuffle(&mut items);
            items.sort_unstable();
            prop_assert_eq!(items, (0..count).collect::<Vec<_>>());
        }
    }
}
