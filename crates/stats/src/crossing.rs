//! The message size beyond which the other of two variants becomes the better one.
//!
//! ```text
//! cost │        of ·        Between neighboring sizes, costs are interpolated linearly: a cost per
//!      │      ·  · against  call plus a cost per item. The difference of two costs is therefore
//!      │   ·  ·             linear too, and the lines cross where it is 0.
//!      │ ·  ·
//!      └─────────── size    The interval contains the sizes at which the difference may be 0.
//! ```

use crate::compare::{Bootstrap, interval_reach};
use crate::error::{StatsError, check_setting};
use crate::paired::{Pair, PairedRatios};
use crate::quantile::median_in_place;
use crate::rng::SplitMix64;
use crate::verdict::Direction;

/// The costs of two variants at one size.
#[derive(Debug, Clone, PartialEq)]
pub struct AtSize {
    /// The size: a number of items, or a multiple of a sample.
    pub size: f64,
    /// The direction of the verdict; `None` if it is neither faster nor slower.
    pub direction: Option<Direction>,
    /// The costs of both variants in each block, by invocation. Lower is better; for a yield, pass
    /// the inverse.
    pub costs: Vec<Vec<Pair>>,
}

/// A size at which the verdict is reversed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// The direction of the first variant at smaller sizes.
    pub below: Direction,
    /// The size at which both variants cost the same.
    pub size: f64,
    /// The confidence interval of `size`.
    pub interval: [f64; 2],
    /// The nearest sizes below and above with a verdict of faster or slower.
    pub between: [f64; 2],
}

/// Finds the crossings between sizes in ascending order. There is a crossing between two sizes if
/// their verdicts are opposite (faster and slower), and no size between them has either verdict.
///
/// The interval contains every size at which the difference in cost, interpolated between the
/// neighboring sizes, is within t(k − 1) standard errors of 0 (Fieller 1954), which is how far an
/// interval of [`compare`](crate::compare()) extends. The standard errors come from the
/// hierarchical bootstrap; each resample draws the same invocations for all sizes.
///
/// # Errors
/// [`StatsError::Setting`] for invalid bootstrap settings or sizes, [`StatsError::Uneven`] if the
/// sizes do not have the same number of invocations, and the errors of
/// [`PairedRatios::from_pairs`].
pub fn crossings(sizes: &[AtSize], bootstrap: &Bootstrap) -> Result<Vec<Crossing>, StatsError> {
    bootstrap.check()?;
    check(sizes)?;
    let all = sizes.iter().enumerate();
    let directed = all.filter_map(|(place, at)| Some((place, at.direction?)));
    let directed: Vec<(usize, Direction)> = directed.collect();
    let turns: Vec<&[(usize, Direction)]> = directed
        .windows(2)
        .filter(|two| two[0].1 != two[1].1)
        .collect();
    if turns.is_empty() {
        return Ok(Vec::new());
    }
    let differences = Differences::of(sizes, bootstrap)?;
    let crossing = |two: &&[(usize, Direction)]| {
        let ((first, below), (last, _)) = (two[0], two[1]);
        let between = [sizes[first].size, sizes[last].size];
        let size = differences.zero(first, last, below);
        Crossing {
            below,
            size,
            interval: match differences.invocations {
                0 | 1 => between,
                _ => differences.may_be_zero(first, last, size),
            },
            between,
        }
    };
    Ok(turns.iter().map(crossing).collect())
}

fn check(sizes: &[AtSize]) -> Result<(), StatsError> {
    let mut last = 0.0;
    for at in sizes {
        let rises = at.size.is_finite() && at.size > last;
        let allowed = "a finite number above 0 and above the size before it";
        check_setting("size", at.size, rises, allowed)?;
        last = at.size;
    }
    for two in sizes.windows(2) {
        let (first, second) = (two[0].costs.len(), two[1].costs.len());
        if first != second {
            return Err(StatsError::Uneven { first, second });
        }
    }
    Ok(())
}

/// Logarithms of ratios are clamped to this. The difference is far from 0 either way, and its
/// square stays finite.
const MAX_LOG: f64 = 100.0;

/// The difference in cost at each size, with its uncertainty.
struct Differences {
    sizes: Vec<f64>,
    invocations: usize,
    /// Above 0 if the first variant costs more.
    values: Vec<f64>,
    /// The square of an interval's reach in standard errors, times the variance of each difference
    /// (`own`) and times its covariance with the difference at the next size (`with_next`).
    own: Vec<f64>,
    with_next: Vec<f64>,
}

impl Differences {
    fn of(sizes: &[AtSize], bootstrap: &Bootstrap) -> Result<Self, StatsError> {
        let ratios = sizes.iter().map(|at| PairedRatios::from_pairs(&at.costs));
        let ratios = ratios.collect::<Result<Vec<_>, _>>()?;
        let levels: Vec<f64> = sizes.iter().map(log_level).collect();
        let highest = levels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // The two costs are level × √ratio and level / √ratio. Levels are relative to the highest
        // one because only their ratios matter.
        let difference = |place: usize, log_ratio: f64| {
            let half = log_ratio.clamp(-MAX_LOG, MAX_LOG) / 2.0;
            2.0 * (levels[place] - highest).exp() * half.sinh()
        };
        let values = ratios.iter().enumerate().map(|(place, ratios)| {
            difference(place, median_in_place(&mut ratios.log_ratios().concat()))
        });
        let values: Vec<f64> = values.collect();
        let invocations = ratios.first().map_or(0, PairedRatios::invocations);
        let (mut own, mut with_next) = (vec![0.0; values.len()], vec![0.0; values.len()]);
        let mut rng = SplitMix64::new(bootstrap.seed);
        let (mut drawn, mut blocks) = (vec![0; invocations], Vec::new());
        let mut means = vec![0.0; values.len()];
        let mut off = vec![0.0; values.len()];
        for resample in 1..=bootstrap.resamples {
            drawn
                .iter_mut()
                .for_each(|place| *place = rng.index(invocations));
            // Welford's update (1962), also for the products with the next size.
            for (place, ratios) in ratios.iter().enumerate() {
                blocks.clear();
                for invocation in &drawn {
                    let own = &ratios.log_ratios()[*invocation];
                    blocks.extend((0..own.len()).map(|_| own[rng.index(own.len())]));
                }
                let value = difference(place, median_in_place(&mut blocks));
                let before = value - means[place];
                means[place] += before / resample as f64;
                let after = value - means[place];
                own[place] += before * after;
                if place > 0 {
                    with_next[place - 1] += off[place - 1] * after;
                }
                off[place] = before;
            }
        }
        // Corrected for the bootstrap's narrowness bias, as in `compare`.
        let k = invocations.max(2) as f64;
        let reach =
            interval_reach(bootstrap.confidence, invocations.max(2)).powi(2) * k / (k - 1.0);
        let scale = reach / (bootstrap.resamples - 1) as f64;
        let scaled = |sums: Vec<f64>| sums.into_iter().map(|sum| sum * scale).collect();
        Ok(Self {
            invocations,
            sizes: sizes.iter().map(|at| at.size).collect(),
            values,
            own: scaled(own),
            with_next: scaled(with_next),
        })
    }

    /// The size between two others at which the difference is 0, or the middle one if there are
    /// several. At both ends, the difference is assumed to have the verdict's sign.
    fn zero(&self, first: usize, last: usize, below: Direction) -> f64 {
        let sign = match below {
            Direction::Faster => 1.0,
            Direction::Slower => -1.0,
        };
        let is_over = |place: usize| match place {
            place if place == first => false,
            place if place == last => true,
            place => sign * self.values[place] >= 0.0,
        };
        let turns: Vec<usize> = (first..last)
            .filter(|place| is_over(*place) != is_over(place + 1))
            .collect();
        // The number of turns is odd because the signs at the ends differ.
        let place = turns[turns.len() / 2];
        let (a, b) = (self.values[place], self.values[place + 1]);
        let part = match a / (a - b) {
            part if part.is_finite() => part.clamp(0.0, 1.0),
            _ => 0.5,
        };
        self.at(place, part)
    }

    /// The smallest and largest size between two others at which the difference may be 0, including
    /// `zero`.
    fn may_be_zero(&self, first: usize, last: usize, zero: f64) -> [f64; 2] {
        let parts = (first..last).flat_map(|place| {
            let parts = self.parts(place).into_iter();
            parts.map(move |part| self.at(place, part))
        });
        parts.fold([zero, zero], |[low, high], size| {
            [low.min(size), high.max(size)]
        })
    }

    /// The ends of the range in which the difference may be 0, that is, its square is at most the
    /// squared reach of its interval. They are fractions of the distance from one size to the next.
    fn parts(&self, place: usize) -> Vec<f64> {
        let (a, b) = (self.values[place], self.values[place + 1]);
        let (from, to, both) = (self.own[place], self.own[place + 1], self.with_next[place]);
        // The condition is square × w² + 2 × half × w + start ≤ 0, where w is the fraction of the
        // distance.
        let step = b - a;
        let square = step * step - (from - 2.0 * both + to);
        let half = a * step + from - both;
        let start = a * a - from;
        let within = |part: f64| square * part * part + 2.0 * half * part + start <= 0.0;
        let corners = [0.0, 1.0].into_iter().filter(|part| within(*part));
        // Without a real root, this is NaN, which is in no range. One root is computed from the
        // other to avoid cancellation.
        let far = -half - (half * half - square * start).sqrt().copysign(half);
        let ends = [far / square, start / far];
        let inside = ends.into_iter().filter(|part| (0.0..=1.0).contains(part));
        inside.chain(corners).collect()
    }

    fn at(&self, place: usize, part: f64) -> f64 {
        let (from, to) = (self.sizes[place], self.sizes[place + 1]);
        from + (to - from) * part
    }
}

/// The logarithm of a call's typical cost: the median over all blocks of the two variants'
/// geometric mean.
fn log_level(at: &AtSize) -> f64 {
    let middle = |pair: &Pair| f64::midpoint(pair.of.ln(), pair.against.ln());
    let mut levels: Vec<f64> = at.costs.iter().flatten().map(middle).collect();
    median_in_place(&mut levels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Faster, Slower};

    /// Two affine costs at these sizes. In each block, by invocation, the first cost is multiplied
    /// by a factor from `off`.
    fn studies(sizes: &[(f64, Option<Direction>)], off: &[&[f64]]) -> Vec<AtSize> {
        let at = |&(size, direction): &(f64, Option<Direction>)| {
            let pair = |off: &f64| Pair {
                of: (20.0 + 0.6 * size) * off,
                against: 25.0 + 0.5 * size,
            };
            let costs = off.iter().map(|blocks| blocks.iter().map(pair).collect());
            AtSize {
                size,
                direction,
                costs: costs.collect(),
            }
        };
        sizes.iter().map(at).collect()
    }

    fn found(sizes: &[(f64, Option<Direction>)], off: &[&[f64]]) -> Vec<Crossing> {
        crossings(&studies(sizes, off), &Bootstrap::default()).unwrap()
    }

    const QUIET: &[&[f64]] = &[
        &[0.998, 1.002],
        &[1.0, 1.001],
        &[0.999, 1.0],
        &[1.002, 0.998],
    ];

    const ONE_BLOCK: &[&[f64]] = &[&[0.998], &[1.0], &[0.999], &[1.002]];

    #[test]
    fn linear_costs_cross_where_they_are_equal() {
        // 20 + 0.6 n and 25 + 0.5 n are equal at 50.
        for sizes in [[10.0, 100.0], [1.0, 1_000.0], [49.0, 51.0]] {
            let sizes = [(sizes[0], Some(Faster)), (sizes[1], Some(Slower))];
            let exact = found(&sizes, &[&[1.0, 1.0], &[1.0]]);
            assert_eq!(exact.len(), 1);
            let Crossing {
                size,
                interval: [low, high],
                below,
                ..
            } = exact[0];
            assert!((size - 50.0).abs() < 1e-9 && below == Faster, "{exact:?}");
            assert!(
                (low - 50.0).abs() < 1e-6 && (high - 50.0).abs() < 1e-6,
                "{exact:?}"
            );
        }
    }

    #[test]
    fn the_interval_is_the_sizes_at_which_the_interval_of_the_ratio_contains_1() {
        let two = [(10.0, Some(Faster)), (100.0, Some(Slower))];
        let [crossing] = found(&two, ONE_BLOCK)[..] else {
            panic!("one")
        };
        let [low, high] = crossing.interval;
        assert!(
            10.0 < low && low < 50.0 && 50.0 < high && high < 100.0,
            "{crossing:?}"
        );
        // At each end of the interval, the ratio's own interval ends at 1.
        for (size, end) in [(low, 1), (high, 0)] {
            let at = studies(&[(size, None)], ONE_BLOCK);
            let ratios = PairedRatios::from_pairs(&at[0].costs).unwrap();
            let estimate = crate::compare(&ratios, &Bootstrap::default()).unwrap();
            let interval = estimate.interval.unwrap();
            let end = [interval.low(), interval.high()][end];
            assert!((end - 1.0).abs() < 4e-4, "{size}: {interval:?}");
        }
    }

    #[test]
    fn the_nearest_sizes_with_a_verdict_bound_the_interval() {
        let wild: &[&[f64]] = &[&[0.7], &[1.3], &[0.9], &[1.2]];
        let sizes = [
            (1.0, Some(Faster)),
            (30.0, Some(Faster)),
            (40.0, None),
            (80.0, Some(Slower)),
            (500.0, Some(Slower)),
        ];
        let [crossing] = found(&sizes, wild)[..] else {
            panic!("one")
        };
        assert_eq!(
            (crossing.between, crossing.interval),
            ([30.0, 80.0], [30.0, 80.0])
        );
        assert!((30.0..=80.0).contains(&crossing.size));
    }

    #[test]
    fn every_turn_is_a_crossing_and_no_turn_is_none() {
        let of = |directions: [Option<Direction>; 4]| {
            let sizes: Vec<_> = [5.0, 10.0, 100.0, 900.0]
                .into_iter()
                .zip(directions)
                .collect();
            found(&sizes, QUIET)
                .iter()
                .map(|c| (c.below, c.between))
                .collect::<Vec<_>>()
        };
        let (faster, slower) = (Some(Faster), Some(Slower));
        assert_eq!(of([faster, faster, None, faster]), []);
        assert_eq!(of([None, None, None, slower]), []);
        assert_eq!(of([faster, None, None, slower]), [(Faster, [5.0, 900.0])]);
        assert_eq!(
            of([faster, slower, slower, faster]),
            [(Faster, [5.0, 10.0]), (Slower, [100.0, 900.0])]
        );
    }

    #[test]
    fn if_costs_cross_several_times_unresolved_the_middle_crossing_is_taken() {
        let costs = |of: f64| vec![vec![Pair { of, against: 1.0 }]; 3];
        let at = |(size, of, direction): (f64, f64, Option<Direction>)| AtSize {
            size,
            direction,
            costs: costs(of),
        };
        let sizes = [
            (1.0, 0.5, Some(Faster)),
            (2.0, 1.01, None),
            (3.0, 0.99, None),
            (4.0, 2.0, Some(Slower)),
        ];
        let found = crossings(&sizes.map(at), &Bootstrap::default()).unwrap();
        assert!((2.0..3.0).contains(&found[0].size), "{found:?}");
    }

    #[test]
    fn one_invocation_bounds_it_by_the_sizes_alone() {
        let two = [(10.0, Some(Faster)), (100.0, Some(Slower))];
        assert_eq!(found(&two, &[&[1.0, 1.01]])[0].interval, [10.0, 100.0]);
    }

    #[test]
    fn what_cannot_be_is_named() {
        let refused = |sizes: &[AtSize]| {
            crossings(sizes, &Bootstrap::default())
                .unwrap_err()
                .to_string()
        };
        let sizes = |sizes: [f64; 2]| studies(&sizes.map(|size| (size, None)), QUIET);
        let allowed = "it must be a finite number above 0 and above the size before it";
        assert_eq!(
            refused(&sizes([10.0, 10.0])),
            format!("size is 10: {allowed}")
        );
        assert_eq!(
            refused(&sizes([0.0, 10.0])),
            format!("size is 0: {allowed}")
        );
        let mut uneven = sizes([1.0, 2.0]);
        uneven[1].costs.pop();
        assert!(refused(&uneven).starts_with("one size has 4 invocations and another has 3"));
    }
}
