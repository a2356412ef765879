//! The promises of the statistics, held to on made-up studies whose truth is known.

mod synthetic;

use rpcgauge_stats::{
    Better, Estimate, Outcome, SplitMix64, VerdictRule, invocations_needed, judge, median,
    smallest_difference,
};
use synthetic::runs::{Moods, diff, with_a_change};
use synthetic::{Noise, REAL_RUN, SLICES, Shape};

const STUDIES: usize = 1_000;
const QUICKSTART: Shape = Shape {
    invocations: 8,
    blocks: 2,
};
const SHAPES: [Shape; 3] = [
    QUICKSTART,
    Shape {
        invocations: 6,
        blocks: 3,
    },
    Shape {
        invocations: 10,
        blocks: 1,
    },
];

/// The part of [`STUDIES`] studies for which `holds`, given the estimate and an A/A pair's.
fn part(
    noise: Noise,
    shape: Shape,
    ratio: f64,
    seed: u64,
    holds: impl Fn(&Estimate, &Estimate) -> bool,
) -> f64 {
    let mut rng = SplitMix64::new(seed);
    let held = (0..STUDIES)
        .filter(|_| {
            let estimate = noise.estimate(shape, ratio, &mut rng);
            let aa = noise.estimate(shape, 1.0, &mut rng);
            holds(&estimate, &aa)
        })
        .count();
    held as f64 / STUDIES as f64
}

fn outcome(estimate: &Estimate, aa: &[Estimate]) -> Outcome {
    judge(estimate, aa, &VerdictRule::new(Better::Lower)).outcome
}

fn holds_one(estimate: &Estimate) -> bool {
    estimate
        .interval()
        .expect("several invocations give an interval")
        .holds(1.0)
}

#[test]
fn no_difference_is_called_one_in_at_most_5_percent() {
    for (seed, shape) in (1..).zip(SHAPES) {
        let called = |outcome| matches!(outcome, Outcome::Faster | Outcome::Slower);
        let guarded = part(REAL_RUN, shape, 1.0, seed, |e, aa| {
            called(outcome(e, &[*aa]))
        });
        let unguarded = part(REAL_RUN, shape, 1.0, seed, |e, _| called(outcome(e, &[])));
        assert!(
            guarded <= 0.05 && unguarded <= 0.05,
            "{shape:?}: {guarded}, {unguarded}"
        );
    }
}

#[test]
fn what_lies_well_beyond_the_aa_pair_is_found_in_at_least_95_percent() {
    for (noise, ratio) in [(REAL_RUN, 1.08), (SLICES, 1.06)] {
        for (seed, shape) in (11..).zip(SHAPES) {
            let found = |ratio, expected| {
                part(noise, shape, ratio, seed, |e, aa| {
                    outcome(e, &[*aa]) == expected
                })
            };
            let slower = found(ratio, Outcome::Slower);
            let faster = found(1.0 / ratio, Outcome::Faster);
            assert!(
                slower >= 0.95 && faster >= 0.95,
                "{ratio}, {shape:?}: {slower}, {faster}"
            );
        }
    }
}

#[test]
fn aa_interval_holds_1_in_at_least_95_percent() {
    for (seed, shape) in (21..).zip(SHAPES) {
        let held = part(REAL_RUN, shape, 1.0, seed, |_, aa| holds_one(aa));
        assert!(held >= 0.95, "{shape:?}: {held}");
    }
}

#[test]
fn quickstart_mostly_sees_that_there_is_no_difference() {
    let seen = part(SLICES, QUICKSTART, 1.0, 31, |e, aa| {
        outcome(e, &[*aa]) == Outcome::NoDifference
    });
    assert!(seen >= 0.8, "{seen}");
}

#[test]
fn few_invocations_that_differ_much_are_covered_too() {
    // The case in which bootstrap percentiles fail: all the noise is between invocations. The bound
    // is 95% less three standard deviations of 1,000 draws.
    let noise = Noise {
        invocation: 0.03,
        block: 0.003,
        outlier: 0.0,
    };
    for invocations in 2..=5 {
        let shape = Shape {
            invocations,
            blocks: 3,
        };
        let held = part(noise, shape, 1.0, 41, |e, _| holds_one(e));
        assert!(held >= 0.93, "{shape:?}: {held}");
    }
}

#[test]
fn smallest_difference_is_found_with_the_power_it_names() {
    let mut rng = SplitMix64::new(51);
    let smallest: Vec<f64> = (0..STUDIES)
        .map(|_| {
            let mut estimate = || SLICES.estimate(QUICKSTART, 1.0, &mut rng);
            let (estimate, aa) = (estimate(), estimate());
            smallest_difference(&estimate, &[aa]).expect("there is an interval")
        })
        .collect();
    let typical = median(&smallest).expect("there are values");
    let found = part(SLICES, QUICKSTART, typical, 52, |e, aa| {
        outcome(e, &[*aa]) == Outcome::Slower
    });
    assert!((0.8..0.99).contains(&found), "{typical}: {found}");
}

#[test]
fn further_invocations_asked_for_do_resolve() {
    let small = Shape {
        invocations: 4,
        blocks: 2,
    };
    let mut rng = SplitMix64::new(61);
    let more: Vec<f64> = (0..STUDIES)
        .filter_map(|_| invocations_needed(&REAL_RUN.estimate(small, 1.0, &mut rng), 0.02))
        .map(|more| more.invocations as f64)
        .collect();
    assert!(
        more.len() > STUDIES * 9 / 10,
        "4 invocations are seldom enough for 2%"
    );
    let typical = median(&more).expect("there are values") as usize;
    let shape = Shape {
        invocations: small.invocations + typical,
        ..small
    };
    let found = part(REAL_RUN, shape, 1.02, 62, |e, _| !holds_one(e));
    assert!(found >= 0.8, "{typical} more: {found}");
}

#[test]
fn unchanged_code_comes_out_changed_in_at_most_5_percent_of_diffs() {
    const DIFFS: usize = 100;
    let moods = Moods {
        machine: 0.15,
        kernel: 0.05,
        own: 0.005,
    };
    let mut rng = SplitMix64::new(71);
    let diffs: Vec<_> = (0..DIFFS)
        .map(|_| diff(moods, QUICKSTART, [1.0; 3], &mut rng))
        .collect();
    let said = with_a_change(&diffs, |row| row.said);
    let as_they_are = with_a_change(&diffs, |row| row.as_they_are);
    assert!(said <= 5 && as_they_are > 50, "{said}, {as_they_are}");
}
