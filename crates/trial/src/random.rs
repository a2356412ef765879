//! Random numbers that follow from a seed alone.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// A source of random numbers: the same for the same seed on every machine, so that a plan's seed
/// repeats its order of trials and its arrivals. Not for secrets.
#[derive(Debug, Clone)]
pub struct Random(SplitMix64);

impl Random {
    /// A source whose numbers follow from `seed`.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    /// Uniform in [0, 1), in steps of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The seed of another source.
    pub fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Shuffles in place; every order is equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// A number below `bound`, from the high part of a product, whose bias is below 2^-32 for up to
    /// 2^32 items.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Plans of a seed keep their order: these numbers may not change.
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
