//! Decides which packets a direction loses.

use rpcgauge_trial::{Loss, Random};

/// Gilbert's Markov chain with two states: within a burst all packets are lost, outside bursts none are. It
/// takes one step for each offered packet, even if the queue then drops it, so a seed loses the same packets
/// regardless of their timing.
#[derive(Debug)]
pub(super) struct Losses {
    /// Probability that a packet outside a burst begins one.
    begin: f64,
    /// Probability that a packet is the first one after a burst.
    end: f64,
    in_burst: bool,
    random: Random,
}

impl Losses {
    pub(super) fn new(Loss { part, burst }: Loss, seed: u64) -> Self {
        let end = 1.0 / burst;
        let mut random = Random::new(seed);
        Self {
            // In equilibrium as many bursts begin as end: (1 − part) · begin = part · end.
            begin: end * part / (1.0 - part),
            end,
            in_burst: random.unit() < part,
            random,
        }
    }

    /// Whether the next packet is lost.
    pub(super) fn step(&mut self) -> bool {
        let change = if self.in_burst { self.end } else { self.begin };
        self.in_burst ^= self.random.unit() < change;
        self.in_burst
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PACKETS: usize = 100_000;

    fn lost(loss: Loss, seed: u64) -> Vec<bool> {
        let mut losses = Losses::new(loss, seed);
        (0..PACKETS).map(|_| losses.step()).collect()
    }

    /// The standard deviation of the lost fraction: the value for independent losses, times a factor for the
    /// chain's correlation.
    fn deviation(loss: Loss) -> f64 {
        let Loss { part, burst } = loss;
        let kept = 1.0 - 1.0 / burst - part / (1.0 - part) / burst;
        (part * (1.0 - part) / PACKETS as f64 * (1.0 + kept) / (1.0 - kept)).sqrt()
    }

    #[test]
    fn the_part_and_the_bursts_are_as_set() {
        for loss in [
            Loss::independent(0.02),
            Loss::independent(0.5),
            Loss {
                part: 0.01,
                burst: 5.0,
            },
            Loss {
                part: 0.2,
                burst: 20.0,
            },
        ] {
            let lost = lost(loss, 11);
            let count = lost.iter().filter(|&&it| it).count() as f64;
            // Within the 99.9% interval of the normal distribution, which approximates the binomial here.
            let off = (count / PACKETS as f64 - loss.part).abs();
            assert!(off < 3.29 * deviation(loss), "{loss:?}: {off}");
            let bursts = 1 + lost.windows(2).filter(|it| !it[0] && it[1]).count();
            let mean = count / bursts as f64;
            assert!((mean / loss.burst - 1.0).abs() < 0.1, "{loss:?}: {mean}");
        }
    }

    proptest! {
        #[test]
        fn a_seed_loses_the_same_packets(seed: u64, part in 0.001..0.5_f64, burst in 1.0..50.0_f64) {
            prop_assume!(part / (1.0 - part) <= burst);
            let loss = Loss { part, burst };
            prop_assert_eq!(lost(loss, seed), lost(loss, seed));
        }
    }
}
