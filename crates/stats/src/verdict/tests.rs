//! Verdicts, in tables.

use super::*;

const COST: VerdictRule = VerdictRule {
    better: Better::Lower,
    margin: DEFAULT_MARGIN,
};
const YIELD: VerdictRule = VerdictRule {
    better: Better::Higher,
    margin: DEFAULT_MARGIN,
};

fn reason(outcome: Outcome) -> Option<Unresolved> {
    match outcome {
        Outcome::NotResolved { reason, .. } => Some(reason),
        _ => None,
    }
}

#[test]
fn interval_decides() {
    let table = [
        (0.50, 0.60, Outcome::Faster),
        (0.90, 0.99, Outcome::Faster),
        (1.01, 1.10, Outcome::Slower),
        (1.90, 2.10, Outcome::Slower),
        (0.98, 1.02, Outcome::NoDifference),
        // Not 1, but too little to matter.
        (1.01, 1.02, Outcome::NoDifference),
    ];
    for (low, high, expected) in table {
        assert_eq!(
            judge(&Estimate::sample(low, high), None, &COST).outcome,
            expected,
            "{low} to {high}"
        );
    }
    for (low, high) in [(0.9, 1.05), (0.98, 1.04), (0.5, 2.0)] {
        let outcome = judge(&Estimate::sample(low, high), None, &COST).outcome;
        assert_eq!(
            reason(outcome),
            Some(Unresolved::IntervalTooWide),
            "{low} to {high}"
        );
    }
}

#[test]
fn more_of_a_yield_is_faster() {
    assert_eq!(
        judge(&Estimate::sample(1.2, 1.3), None, &YIELD).outcome,
        Outcome::Faster
    );
    assert_eq!(
        judge(&Estimate::sample(0.7, 0.8), None, &YIELD).outcome,
        Outcome::Slower
    );
    assert_eq!(Direction::of_ratio(1.0, Better::Higher), None);
    assert_eq!(Direction::of_ratio(f64::NAN, Better::Higher), None);
}

#[test]
fn margin_is_the_studys() {
    let estimate = Estimate::sample(0.95, 1.08);
    let wide = VerdictRule {
        margin: 0.1,
        ..COST
    };
    assert_eq!(judge(&estimate, None, &wide).outcome, Outcome::NoDifference);
    let none = VerdictRule {
        margin: 0.0,
        ..COST
    };
    assert!(reason(judge(&estimate, None, &none).outcome).is_some());
}

#[test]
fn one_invocation_resolves_nothing() {
    let verdict = judge(
        &Estimate::sample_of_one(4.0),
        Some(&Estimate::sample(0.99, 1.01)),
        &COST,
    );
    let more = Some(More {
        invocations: 7,
        blocks: 21,
    });
    assert_eq!(
        verdict.outcome,
        Outcome::NotResolved {
            reason: Unresolved::NoInterval,
            more
        }
    );
}

#[test]
fn aa_pair_forbids_what_it_casts_doubt_on() {
    let four_percent_slower = Estimate::sample(1.03, 1.05);
    let table = [
        (Estimate::sample(0.99, 1.01), None),
        // Wider than the difference: ±5% against 4%.
        (Estimate::sample(0.95, 1.05), Some(Unresolved::AaTooWide)),
        (Estimate::sample(1.001, 1.01), Some(Unresolved::AaNotOne)),
        (Estimate::sample_of_one(1.0), Some(Unresolved::AaNoInterval)),
    ];
    for (aa, expected) in table {
        let outcome = judge(&four_percent_slower, Some(&aa), &COST).outcome;
        assert_eq!(reason(outcome), expected, "{aa:?}");
    }
    // The same ±5% leave a difference of a half standing.
    let wide = Estimate::sample(0.95, 1.05);
    assert_eq!(
        judge(&Estimate::sample(1.4, 1.6), Some(&wide), &COST).outcome,
        Outcome::Slower
    );
}

#[test]
fn aa_pair_that_misses_1_inside_the_margin_forbids_a_difference_of_any_size() {
    let inside = Estimate::sample(1.001, 1.002);
    let twice = judge(&Estimate::sample(1.9, 2.1), Some(&inside), &COST).outcome;
    assert_eq!(reason(twice), Some(Unresolved::AaNotOne));
}

#[test]
fn aa_pair_without_any_noise_forbids_nothing() {
    let exact = Estimate::sample(1.0, 1.0);
    for (low, high, expected) in [
        (1.5, 1.5, Outcome::Slower),
        (1.031, 1.031, Outcome::Slower),
        (1.0, 1.0, Outcome::NoDifference),
    ] {
        let outcome = judge(&Estimate::sample(low, high), Some(&exact), &COST).outcome;
        assert_eq!(outcome, expected, "{low} to {high}");
    }
}

#[test]
fn aa_pair_off_by_more_than_the_margin_forbids_no_difference_too() {
    let same = Estimate::sample(0.99, 1.01);
    let off = judge(&same, Some(&Estimate::sample(1.05, 1.08)), &COST).outcome;
    assert_eq!(reason(off), Some(Unresolved::AaNotOne));
    let slightly_off = judge(&same, Some(&Estimate::sample(1.001, 1.01)), &COST).outcome;
    assert_eq!(slightly_off, Outcome::NoDifference);
}

#[test]
fn what_is_missing_grows_with_the_noise() {
    let missing =
        |low: f64, high: f64| match judge(&Estimate::sample(low, high), None, &COST).outcome {
            Outcome::NotResolved {
                more: Some(more), ..
            } => more,
            other => panic!("{other:?}"),
        };
    let (little, much) = (missing(0.96, 1.04), missing(0.8, 1.25));
    assert!(0 < little.invocations && little.invocations < much.invocations);
    assert_eq!(little.blocks, 2 * little.invocations);
}

#[test]
fn factor_is_the_same_from_either_side() {
    let factor = |low, high| judge(&Estimate::sample(low, high), None, &COST).factor();
    assert!((factor(0.25, 0.25) - 4.0).abs() < 1e-9 && (factor(4.0, 4.0) - 4.0).abs() < 1e-9);
}
