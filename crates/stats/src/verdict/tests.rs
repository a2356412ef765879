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
        // The interval excludes 1, but the difference is too small to matter.
        (1.01, 1.02, Outcome::NoDifference),
    ];
    for (low, high, expected) in table {
        assert_eq!(
            judge(&Estimate::sample(low, high), &[], &COST).outcome,
            expected,
            "{low} to {high}"
        );
    }
    for (low, high) in [(0.9, 1.05), (0.98, 1.04), (0.5, 2.0)] {
        let outcome = judge(&Estimate::sample(low, high), &[], &COST).outcome;
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
        judge(&Estimate::sample(1.2, 1.3), &[], &YIELD).outcome,
        Outcome::Faster
    );
    assert_eq!(
        judge(&Estimate::sample(0.7, 0.8), &[], &YIELD).outcome,
        Outcome::Slower
    );
    assert_eq!(Direction::of_ratio(1.0, Better::Higher), None);
    assert_eq!(Direction::of_ratio(f64::NAN, Better::Higher), None);
}

#[test]
fn the_margin_is_the_one_that_the_study_sets() {
    let estimate = Estimate::sample(0.95, 1.08);
    let wide = VerdictRule {
        margin: 0.1,
        ..COST
    };
    assert_eq!(judge(&estimate, &[], &wide).outcome, Outcome::NoDifference);
    let none = VerdictRule {
        margin: 0.0,
        ..COST
    };
    assert!(reason(judge(&estimate, &[], &none).outcome).is_some());
}

#[test]
fn one_invocation_resolves_nothing() {
    let verdict = judge(
        &Estimate::sample_of_one(4.0),
        &[Estimate::sample(0.99, 1.01)],
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
fn a_difference_counts_if_all_of_it_lies_beyond_the_aa_interval() {
    let off = Estimate::sample(1.01, 1.10);
    let wide = Estimate::sample(0.95, 1.05);
    let table = [
        // From a study whose A/A interval did not contain 1.
        (off, (1.36, 1.69), None),
        (off, (1.08, 1.20), Some(Unresolved::NotBeyondAa)),
        (wide, (1.06, 1.10), None),
        (wide, (1.03, 1.05), Some(Unresolved::NotBeyondAa)),
        // The estimate lies beyond it, but the interval does not entirely.
        (wide, (1.04, 1.20), Some(Unresolved::NotBeyondAa)),
    ];
    for (aa, (low, high), expected) in table {
        // In both pairs, try either order of the variants.
        for aa in [(&aa, 1), (&aa, -1)].map(|(aa, power)| turned(aa, power)) {
            for power in [1, -1] {
                let difference = turned(&Estimate::sample(low, high), power);
                let outcome = judge(&difference, &[aa], &COST).outcome;
                assert_eq!(reason(outcome), expected, "{low} to {high}, {aa:?}");
            }
        }
    }
    let unknown = Estimate::sample_of_one(1.0);
    let outcome = judge(&Estimate::sample(1.36, 1.69), &[unknown], &COST).outcome;
    assert_eq!(reason(outcome), Some(Unresolved::AaNoInterval));
}

/// The estimate itself, or for a power of −1 the estimate of the same pair in reverse order.
fn turned(estimate: &Estimate, power: i32) -> Estimate {
    let ends = estimate.interval.unwrap();
    Estimate::sample(ends.low().powi(power), ends.high().powi(power))
}

#[test]
fn aa_pairs_of_two_runs_add_up() {
    let aa = Estimate::sample(0.95, 1.05);
    for (low, high, expected) in [
        (1.06, 1.10, Some(Unresolved::NotBeyondAa)),
        (1.12, 1.20, None),
    ] {
        let outcome = judge(&Estimate::sample(low, high), &[aa, aa], &COST).outcome;
        assert_eq!(reason(outcome), expected, "{low} to {high}");
    }
}

#[test]
fn aa_pair_without_any_noise_forbids_nothing() {
    let exact = Estimate::sample(1.0, 1.0);
    for (low, high, expected) in [
        (1.5, 1.5, Outcome::Slower),
        (1.031, 1.031, Outcome::Slower),
        (1.0, 1.0, Outcome::NoDifference),
    ] {
        let outcome = judge(&Estimate::sample(low, high), &[exact], &COST).outcome;
        assert_eq!(outcome, expected, "{low} to {high}");
    }
}

#[test]
fn no_difference_needs_an_aa_interval_inside_the_margin() {
    let same = Estimate::sample(0.99, 1.01);
    let table = [
        (Estimate::sample(0.98, 1.02), None),
        (Estimate::sample(1.001, 1.01), None),
        (
            Estimate::sample(0.95, 1.02),
            Some(Unresolved::AaBeyondMargin),
        ),
        (
            Estimate::sample(1.05, 1.08),
            Some(Unresolved::AaBeyondMargin),
        ),
        (Estimate::sample_of_one(1.0), Some(Unresolved::AaNoInterval)),
    ];
    for (aa, expected) in table {
        let outcome = judge(&same, &[aa], &COST).outcome;
        assert_eq!(reason(outcome), expected, "{aa:?}");
    }
}

#[test]
fn more_helps_against_a_wide_aa_pair_and_not_against_one_that_is_off() {
    let more = |aa| match judge(&Estimate::sample(1.05, 1.08), &[aa], &COST).outcome {
        Outcome::NotResolved { more, .. } => more,
        other => panic!("{other:?}"),
    };
    let needed = more(Estimate::sample(0.94, 1.0 / 0.94)).unwrap();
    assert!((1..100).contains(&needed.invocations), "{needed:?}");
    assert_eq!(more(Estimate::sample(1.08, 1.12)), None);
}

#[test]
fn what_is_missing_grows_with_the_noise() {
    let missing =
        |low: f64, high: f64| match judge(&Estimate::sample(low, high), &[], &COST).outcome {
            Outcome::NotResolved {
                more: Some(more), ..
            } => more,
            other => panic!("{other:?}"),
        };
    let (little, much) = (missing(0.96, 1.04), missing(0.8, 1.25));
    assert!(0 < little.invocations && little.invocations < much.invocations);
    assert_eq!(little.blocks, 2 * little.invocations);
}
