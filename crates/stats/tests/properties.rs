//! Properties that must hold for any input.

use proptest::collection::vec;
use proptest::num::f64::{NORMAL, POSITIVE, SUBNORMAL};
use proptest::prelude::*;
use rpcgauge_stats::{
    AtSize, Better, Bootstrap, Crossing, Direction, Estimate, Outcome, Pair, PairedRatios,
    VerdictRule, WarmUp, compare, crossings, judge, quantile, smallest_difference,
};

/// Realistic latencies, in invocations of one to four blocks.
fn study() -> impl Strategy<Value = Vec<Vec<Pair>>> {
    pairs(10.0..1_000.0_f64)
}

/// Any finite value above 0, including subnormal ones. Values are generated rather than filtered
/// because proptest gives up after a fixed number of rejections.
fn any_study() -> impl Strategy<Value = Vec<Vec<Pair>>> {
    pairs(POSITIVE | NORMAL | SUBNORMAL)
}

/// Two variants that differ by up to a quarter, with little noise, so that every kind of verdict
/// occurs.
fn resolving_study() -> impl Strategy<Value = Vec<Vec<Pair>>> {
    (pairs(98.0..102.0_f64), 0.8..1.25_f64).prop_map(|(study, ratio)| {
        map(&study, |p| Pair {
            of: p.of * ratio,
            ..*p
        })
    })
}

fn pairs(value: impl Strategy<Value = f64> + Clone) -> impl Strategy<Value = Vec<Vec<Pair>>> {
    let pair = (value.clone(), value).prop_map(|(of, against)| Pair { of, against });
    vec(vec(pair, 1..5), 1..8)
}

fn estimate(study: &[Vec<Pair>]) -> Estimate {
    let bootstrap = Bootstrap {
        resamples: 200,
        ..Bootstrap::default()
    };
    compare(&PairedRatios::from_pairs(study).unwrap(), &bootstrap).unwrap()
}

/// Two variants at two to six sizes, with arbitrary verdicts, in the same invocations of one to
/// four blocks.
fn sweep(value: impl Strategy<Value = f64> + Clone) -> impl Strategy<Value = Vec<AtSize>> {
    let pair = (value.clone(), value).prop_map(|(of, against)| Pair { of, against });
    let direction = prop_oneof![
        Just(None),
        Just(Some(Direction::Faster)),
        Just(Some(Direction::Slower)),
    ];
    (1..8_usize).prop_flat_map(move |invocations| {
        let costs = vec(vec(pair.clone(), 1..5), invocations);
        vec((1.0..1e4_f64, direction.clone(), costs), 2..7).prop_map(|steps| {
            let mut size = 0.0;
            let at = |(step, direction, costs)| {
                size += step;
                AtSize {
                    size,
                    direction,
                    costs,
                }
            };
            steps.into_iter().map(at).collect()
        })
    })
}

fn found(sweep: &[AtSize]) -> Vec<Crossing> {
    let bootstrap = Bootstrap {
        resamples: 100,
        ..Bootstrap::default()
    };
    crossings(sweep, &bootstrap).unwrap()
}

/// The same sweep with other costs and verdicts.
fn change(
    sweep: &[AtSize],
    cost: impl Fn(&Pair) -> Pair,
    direction: impl Fn(Direction) -> Direction,
) -> Vec<AtSize> {
    let at = |at: &AtSize| AtSize {
        size: at.size,
        direction: at.direction.map(&direction),
        costs: map(&at.costs, &cost),
    };
    sweep.iter().map(at).collect()
}

fn reverse(direction: Direction) -> Direction {
    match direction {
        Direction::Faster => Direction::Slower,
        Direction::Slower => Direction::Faster,
    }
}

/// Whether sizes and intervals are equal up to rounding errors.
fn close_crossings(a: &[Crossing], b: &[Crossing]) -> bool {
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
    let one = |(a, b): (&Crossing, &Crossing)| {
        let [low, high] = a.interval;
        near(a.size, b.size) && near(low, b.interval[0]) && near(high, b.interval[1])
    };
    a.len() == b.len() && a.iter().zip(b).all(one)
}

fn map(study: &[Vec<Pair>], change: impl Fn(&Pair) -> Pair) -> Vec<Vec<Pair>> {
    study
        .iter()
        .map(|blocks| blocks.iter().map(&change).collect())
        .collect()
}

/// Whether two numbers are equal up to rounding errors.
fn close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

fn close_estimates(a: &Estimate, b: &Estimate) -> bool {
    let intervals = match (a.interval, b.interval) {
        (Some(a), Some(b)) => close(a.low(), b.low()) && close(a.high(), b.high()),
        (None, None) => true,
        _ => false,
    };
    close(a.ratio(), b.ratio()) && intervals
}

proptest! {
    #[test]
    fn unit_does_not_matter(study in study(), scale in 1e-6..1e6_f64) {
        let scaled = map(&study, |p| Pair { of: p.of * scale, against: p.against * scale });
        prop_assert!(close_estimates(&estimate(&study), &estimate(&scaled)));
    }

    #[test]
    fn scaling_one_variant_scales_the_ratio(study in study(), scale in 0.1..10.0_f64) {
        let scaled = map(&study, |p| Pair { of: p.of * scale, ..*p });
        prop_assert!(close(estimate(&study).ratio() * scale, estimate(&scaled).ratio()));
    }

    #[test]
    fn swapping_inverts(study in study()) {
        let swapped = estimate(&map(&study, |p| Pair { of: p.against, against: p.of }));
        let straight = estimate(&study);
        prop_assert!(close(swapped.ratio(), 1.0 / straight.ratio()));
        if let (Some(a), Some(b)) = (swapped.interval, straight.interval) {
            prop_assert!(close(a.low(), 1.0 / b.high()) && close(a.high(), 1.0 / b.low()));
        }
    }

    #[test]
    fn swapping_turns_the_verdict(study in resolving_study(), margin in 0.0..0.5_f64) {
        let rule = VerdictRule { better: Better::Lower, margin };
        let straight = judge(&estimate(&study), &[], &rule).outcome;
        let swapped = map(&study, |p| Pair { of: p.against, against: p.of });
        let swapped = judge(&estimate(&swapped), &[], &rule).outcome;
        let turned = match straight {
            Outcome::Faster => Outcome::Slower,
            Outcome::Slower => Outcome::Faster,
            other => other,
        };
        prop_assert_eq!(swapped, turned);
    }

    #[test]
    fn order_does_not_matter(
        (study, shuffled) in study().prop_flat_map(|s| {
            let shuffled = s.iter().map(|b| Just(b.clone()).prop_shuffle()).collect::<Vec<_>>();
            (Just(s), shuffled.prop_shuffle())
        })
    ) {
        prop_assert_eq!(estimate(&study), estimate(&shuffled));
    }

    #[test]
    fn interval_holds_its_estimate(study in any_study()) {
        let estimate = estimate(&study);
        prop_assert_eq!(estimate.interval.is_some(), study.len() > 1);
        if let Some(interval) = estimate.interval {
            prop_assert!(interval.holds(estimate.ratio()));
        }
    }

    #[test]
    fn nothing_is_nan_or_infinite(study in any_study(), difference in 0.0..10.0_f64) {
        let estimate = estimate(&study);
        let mut figures = vec![estimate.ratio(), estimate.log_ratio];
        figures.extend(estimate.interval.iter().flat_map(|i| [i.low(), i.high(), i.half_width()]));
        figures.extend(estimate.standard_error);
        figures.extend(smallest_difference(&estimate, &[estimate]));
        prop_assert!(figures.iter().all(|f| f.is_finite()), "{:?}", figures);
        let _no_panic = judge(&estimate, &[estimate], &VerdictRule::new(Better::Higher));
        let _no_panic = rpcgauge_stats::invocations_needed(&estimate, difference);
    }

    #[test]
    fn more_confidence_is_wider(study in study(), a in 0.6..0.99_f64, b in 0.6..0.99_f64) {
        let ratios = PairedRatios::from_pairs(&study).unwrap();
        let half_width = |confidence| {
            let bootstrap = Bootstrap { confidence, resamples: 200, ..Bootstrap::default() };
            compare(&ratios, &bootstrap).unwrap().interval.map(|i| i.half_width())
        };
        prop_assert!(half_width(a.min(b)) <= half_width(a.max(b)));
    }

    #[test]
    fn a_wider_margin_never_undoes_no_difference(
        study in resolving_study(), a in 0.0..0.5_f64, b in 0.0..0.5_f64,
    ) {
        let outcome = |margin| {
            judge(&estimate(&study), &[], &VerdictRule { better: Better::Lower, margin }).outcome
        };
        if outcome(a.min(b)) == Outcome::NoDifference {
            prop_assert_eq!(outcome(a.max(b)), Outcome::NoDifference);
        }
    }

    #[test]
    fn identical_blocks_give_an_interval_of_no_width(ratio in 0.01..100.0_f64, invocations in 2..6_usize) {
        let ratios = PairedRatios::from_ratios(&vec![vec![ratio; 3]; invocations]).unwrap();
        let estimate = compare(&ratios, &Bootstrap::default()).unwrap();
        prop_assert_eq!(estimate.standard_error, Some(0.0));
    }

    #[test]
    fn impossible_values_are_refused(
        study in study(),
        bad in prop_oneof![Just(0.0), Just(-1.0), Just(f64::NAN), Just(f64::INFINITY)],
        first in any::<bool>(),
    ) {
        let mut study = study;
        let pair = &mut study[0][0];
        if first { pair.of = bad } else { pair.against = bad }
        prop_assert!(PairedRatios::from_pairs(&study).is_err());
    }

    #[test]
    fn quantiles_rise_and_stay_inside(
        values in vec(any::<f64>().prop_filter("finite", |v| v.is_finite()), 1..40),
        a in 0.0..=1.0_f64,
        b in 0.0..=1.0_f64,
    ) {
        let at = |p| quantile(&values, p).unwrap();
        let (low, high) = (at(a.min(b)), at(a.max(b)));
        prop_assert!(at(0.0) <= low && low <= high && high <= at(1.0));
    }

    #[test]
    fn warm_up_always_ends(slices in vec(0.0..1e9_f64, 200)) {
        let mut warm_up = WarmUp::default();
        let last = slices.into_iter().map(|slice| warm_up.push(slice).unwrap()).last();
        prop_assert_ne!(last, Some(rpcgauge_stats::Settling::NotYet));
    }

    #[test]
    fn warm_up_does_not_depend_on_the_unit(slices in vec(1.0..100.0_f64, 60), power in -20..20_i32) {
        let settled = |scale: f64| {
            let mut warm_up = WarmUp::default();
            slices.iter().map(|s| warm_up.push(s * scale).unwrap()).collect::<Vec<_>>()
        };
        prop_assert_eq!(settled(1.0), settled(2.0_f64.powi(power)));
    }

    #[test]
    fn each_turn_of_the_verdict_is_one_crossing_between_its_sizes(
        sweep in sweep(POSITIVE | NORMAL | SUBNORMAL),
    ) {
        let directed: Vec<_> = sweep.iter().filter_map(|at| Some((at.size, at.direction?))).collect();
        let turns = directed.windows(2).filter(|two| two[0].1 != two[1].1);
        let turns: Vec<_> = turns.map(|two| (two[0].1, [two[0].0, two[1].0])).collect();
        let crossings = found(&sweep);
        let seen: Vec<_> = crossings.iter().map(|one| (one.below, one.between)).collect();
        prop_assert_eq!(seen, turns);
        for Crossing { size, interval: [low, high], between: [first, last], .. } in crossings {
            prop_assert!(first <= low && low <= size && size <= high && high <= last);
        }
    }

    #[test]
    fn a_crossing_does_not_depend_on_the_unit(sweep in sweep(10.0..1_000.0_f64), power in -20..20_i32) {
        let scale = 2.0_f64.powi(power);
        let scaled = |p: &Pair| Pair { of: p.of * scale, against: p.against * scale };
        let in_unit = change(&sweep, scaled, |direction| direction);
        prop_assert!(close_crossings(&found(&sweep), &found(&in_unit)));
    }

    #[test]
    fn swapping_the_variants_leaves_a_crossing_where_it_is(sweep in sweep(10.0..1_000.0_f64)) {
        let swapped = change(&sweep, |p| Pair { of: p.against, against: p.of }, reverse);
        let (one, other) = (found(&sweep), found(&swapped));
        prop_assert!(close_crossings(&one, &other), "{one:?} {other:?}");
        prop_assert!(one.iter().zip(&other).all(|(a, b)| a.below == reverse(b.below)));
    }
}
