//! The seeded random number generator for every bootstrap.

use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// SplitMix64: a mixing function applied to a 64-bit counter. Small and fast, passes BigCrush, and
/// yields the same numbers for the same seed on every machine. Not for secrets.
///
/// Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (OOPSLA 2014),
/// with the constants of Vigna's reference version.
#[derive(Debug, Clone)]
pub struct SplitMix64(rand_xoshiro::SplitMix64);

impl SplitMix64 {
    /// Creates a generator from a seed, which determines the entire sequence.
    pub fn new(seed: u64) -> Self {
        Self(rand_xoshiro::SplitMix64::seed_from_u64(seed))
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// An index from 0 to `count` − 1 (0 if `count` is 0), by multiply and shift. For the number of
    /// blocks in a study, the bias is below one in 10^15.
    pub fn index(&mut self, count: usize) -> usize {
        ((u128::from(self.next_u64()) * count as u128) >> 64) as usize
    }

    /// A number in [0, 1) from 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A number from the standard normal distribution, by the Box-Muller method (1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_reference_sequence() {
        // The first outputs of Vigna's splitmix64.c for the state 1234567.
        let mut rng = SplitMix64::new(1_234_567);
        assert_eq!(rng.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(rng.next_u64(), 3_203_168_211_198_807_973);
        assert_eq!(rng.next_u64(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn index_covers_its_range_evenly() {
        let mut rng = SplitMix64::new(7);
        let mut counts = [0_u32; 5];
        for _ in 0..50_000 {
            counts[rng.index(5)] += 1;
        }
        assert!(
            counts.iter().all(|&c| (9_600..10_400).contains(&c)),
            "{counts:?}"
        );
        assert_eq!(rng.index(0), 0);
    }

    #[test]
    fn normal_has_mean_0_and_variance_1() {
        let mut rng = SplitMix64::new(7);
        let draws: Vec<f64> = (0..50_000).map(|_| rng.normal()).collect();
        let mean = draws.iter().sum::<f64>() / 50_000.0;
        let variance = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 50_000.0;
        assert!(
            mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03,
            "mean {mean}, variance {variance}"
        );
    }
}
