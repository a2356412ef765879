//! Simulated studies with known true ratios.

#![allow(dead_code, reason = "shared by programs that each use their part")]

pub(crate) mod runs;

use rpcgauge_stats::{Estimate, Pair, PairedRatios, SplitMix64, compare};

/// How the trials of a simulated study vary.
#[derive(Clone, Copy)]
pub(crate) struct Noise {
    /// Standard deviation between invocations of a ratio's logarithm (memory layout, JIT).
    pub(crate) invocation: f64,
    /// Standard deviation between blocks of a ratio's logarithm.
    pub(crate) block: f64,
    /// Probability that a trial is 10% too slow.
    pub(crate) outlier: f64,
}

/// The noise of short interleaved slices: mostly the variation between fresh processes.
pub(crate) const SLICES: Noise = Noise {
    invocation: 0.011,
    block: 0.01,
    outlier: 0.0,
};

/// The assumed noise of a real run with whole trials: 1% between invocations, 1.5% between blocks,
/// and one trial in fifty is 10% too slow.
pub(crate) const REAL_RUN: Noise = Noise {
    invocation: 0.01,
    block: 0.015,
    outlier: 0.02,
};

/// What an outlier adds to the logarithm of a trial's latency.
const OUTLIER: f64 = 0.1;

/// Standard deviation of the machine's speed, which is the same for both trials of a block.
const SPEED: f64 = 0.05;

/// The number of invocations in a study and of blocks in each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) invocations: usize,
    pub(crate) blocks: usize,
}

impl Noise {
    /// The pairs of one study. `ratio` is the true ratio of the first variant's latency to the
    /// second's.
    pub(crate) fn pairs(&self, shape: Shape, ratio: f64, rng: &mut SplitMix64) -> Vec<Vec<Pair>> {
        (0..shape.invocations)
            .map(|_| {
                let invocation = self.invocation * rng.normal();
                (0..shape.blocks)
                    .map(|_| self.block(ratio, invocation, rng))
                    .collect()
            })
            .collect()
    }

    fn block(&self, ratio: f64, invocation: f64, rng: &mut SplitMix64) -> Pair {
        let speed = SPEED * rng.normal();
        let mut trial = |effect: f64| {
            let outlier = if rng.unit() < self.outlier {
                OUTLIER
            } else {
                0.0
            };
            let noise = self.block * std::f64::consts::FRAC_1_SQRT_2 * rng.normal();
            80.0 * (effect + speed + noise + outlier).exp()
        };
        Pair {
            of: trial(ratio.ln() + invocation),
            against: trial(0.0),
        }
    }

    /// One study's estimate, from 1,000 resamples.
    pub(crate) fn estimate(&self, shape: Shape, ratio: f64, rng: &mut SplitMix64) -> Estimate {
        let pairs = self.pairs(shape, ratio, rng);
        let ratios = PairedRatios::from_pairs(&pairs).expect("simulated latencies are above 0");
        let bootstrap = rpcgauge_stats::Bootstrap {
            resamples: 1_000,
            seed: rng.next_u64(),
            ..Default::default()
        };
        compare(&ratios, &bootstrap).expect("the settings are in range")
    }
}
