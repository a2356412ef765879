//! A random delay that preserves the order of packets.

use rpcgauge_trial::Random;

/// Distance between knots, as a multiple of their maximum value. It limits how fast the delay can fall to
/// half a nanosecond per nanosecond, so no packet overtakes another.
const SPACING: f64 = 4.0;

/// An addition to the delay that is linear between knots. The knots are evenly spaced and independent, and
/// their values are uniform around zero, so the mean is zero at any time. The usual method, which holds back
/// only packets that would overtake, raises the mean.
#[derive(Debug)]
pub(super) struct Jitter {
    /// The maximum value of a knot, ns.
    most: f64,
    /// The distance between knots, ns.
    spacing: u64,
    /// Offset of the start from the first knot, ns; less than `spacing`.
    phase: u64,
    /// When the jitter began, ns. This is the time of the first packet, so that a seed always gives the same
    /// delays from there.
    began: Option<u64>,
    seed: u64,
}

impl Jitter {
    /// `deviation` is the standard deviation, ns, more than 0.
    pub(super) fn new(deviation: u64, seed: u64) -> Self {
        // A uniform value in ±most has a variance of most² / 3, and a random point on a line between two such
        // knots has 2/3 of that.
        let most = deviation as f64 * (9.0_f64 / 2.0).sqrt();
        let spacing = (most * SPACING).ceil();
        Self {
            most,
            spacing: spacing as u64,
            phase: (Random::new(seed).unit() * spacing) as u64,
            began: None,
            seed,
        }
    }

    /// The maximum by which the jitter can shorten a delay, ns.
    pub(super) fn most(&self) -> f64 {
        self.most
    }

    /// The addition to the delay at `now`, ns. `now` must not decrease from call to call.
    pub(super) fn at(&mut self, now: u64) -> f64 {
        let began = *self.began.get_or_insert(now);
        let passed = now.saturating_sub(began) + self.phase;
        let (knot, within) = (passed / self.spacing, passed % self.spacing);
        let part = within as f64 / self.spacing as f64;
        let (before, after) = (self.knot(knot), self.knot(knot + 1));
        before + (after - before) * part
    }

    /// The value of a knot. It depends only on the number and the seed, so a pause does not change it.
    fn knot(&self, number: u64) -> f64 {
        let mut random = Random::new(self.seed.wrapping_add(number + 1));
        (2.0 * random.unit() - 1.0) * self.most
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn mean_and_deviation_are_as_set() {
        let deviation = 1_000_000;
        let mut jitter = Jitter::new(deviation, 3);
        // 20,000 knots, with 20 packets between two knots.
        let step = jitter.spacing / 20;
        let values: Vec<f64> = (0..400_000).map(|i| jitter.at(i * step)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares = values.iter().map(|it| (it - mean).powi(2)).sum::<f64>();
        let realised = (squares / values.len() as f64).sqrt();
        assert!(mean.abs() < 0.02 * deviation as f64, "{mean}");
        assert!(
            (realised / deviation as f64 - 1.0).abs() < 0.02,
            "{realised}"
        );
    }

    proptest! {
        #[test]
        fn order_is_kept(
            seed: u64,
            deviation in 1_u64..50_000_000,
            gaps in prop::collection::vec(0_u64..300_000_000, 1..300),
        ) {
            let mut jitter = Jitter::new(deviation, seed);
            let (mut now, mut last) = (0, f64::MIN);
            for gap in gaps {
                now += gap;
                let arrival = now as f64 + jitter.at(now);
                prop_assert!(arrival >= last);
                last = arrival;
            }
        }
    }
}
