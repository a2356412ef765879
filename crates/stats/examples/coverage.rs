//! Prints how often intervals contain the true ratio, and how often verdicts are right, in
//! simulated studies.
//!
//! Run with `cargo run -p rpcgauge-stats --example coverage`. The tables are in `docs/method.md`.
//! "Percentile" is the plain percentile interval of the same hierarchical bootstrap, which rpcgauge
//! does not use.

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use rpcgauge_stats::{
    Better, Bootstrap, Outcome, Pair, PairedRatios, SplitMix64, VerdictRule, compare, judge,
    median, quantile,
};
use synthetic::{Noise, REAL_RUN, SLICES, Shape};

const STUDIES: usize = 2_000;
const RESAMPLES: usize = 1_000;
const SEED: u64 = 2026;

fn main() {
    println!("Coverage of 95% intervals, {STUDIES} studies of 2 blocks per invocation, in %\n");
    let noises = [
        ("real run", REAL_RUN),
        (
            "invocations only",
            Noise {
                invocation: 0.03,
                block: 0.0,
                outlier: 0.0,
            },
        ),
        (
            "blocks only",
            Noise {
                invocation: 0.0,
                block: 0.015,
                outlier: 0.02,
            },
        ),
        (
            "many outliers",
            Noise {
                outlier: 0.1,
                ..REAL_RUN
            },
        ),
    ];
    println!("| noise | invocations | rpcgauge | its half-width | percentile |");
    println!("| --- | --- | --- | --- | --- |");
    for (name, noise) in noises {
        for invocations in 2..=10 {
            print_coverage(
                name,
                noise,
                Shape {
                    invocations,
                    blocks: 2,
                },
            );
        }
    }

    println!("\nVerdicts guarded by an A/A pair, {STUDIES} studies, in %\n");
    println!(
        "| noise | invocations × blocks | true ratio | faster | slower | no difference | not resolved |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let noises = [
        ("real run", REAL_RUN, [1.0, 1.05, 1.08]),
        ("slices", SLICES, [1.0, 1.03, 1.05]),
    ];
    for (name, noise, ratios) in noises {
        for (invocations, blocks) in [(6, 3), (8, 2), (10, 1), (10, 2), (16, 1), (20, 1)] {
            for ratio in ratios {
                let shape = Shape {
                    invocations,
                    blocks,
                };
                print_verdicts(name, noise, shape, ratio);
            }
        }
    }
}

fn print_coverage(name: &str, noise: Noise, shape: Shape) {
    let mut rng = SplitMix64::new(SEED);
    let (mut held, mut percentile_held, mut half_widths) = (0, 0, Vec::new());
    for _ in 0..STUDIES {
        let study = noise.pairs(shape, 1.0, &mut rng);
        let ratios = PairedRatios::from_pairs(&study).expect("simulated latencies are above 0");
        let bootstrap = Bootstrap {
            resamples: RESAMPLES,
            seed: rng.next_u64(),
            ..Bootstrap::default()
        };
        let estimate = compare(&ratios, &bootstrap).expect("the settings are in range");
        let interval = estimate
            .interval
            .expect("several invocations give an interval");
        held += usize::from(interval.holds(1.0));
        half_widths.push(interval.half_width());
        percentile_held += usize::from(percentile_holds_1(&study, &mut rng));
    }
    let typical = 100.0 * median(&half_widths).expect("there are values");
    let (ours, percentile) = (percent(held), percent(percentile_held));
    println!(
        "| {name} | {} | {ours:.1} | ±{typical:.1}% | {percentile:.1} |",
        shape.invocations
    );
}

/// Whether the plain percentile interval of the hierarchical bootstrap contains 1.
fn percentile_holds_1(study: &[Vec<Pair>], rng: &mut SplitMix64) -> bool {
    let medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let drawn: Vec<f64> = (0..study.len())
                .flat_map(|_| {
                    let blocks = &study[rng.index(study.len())];
                    let draws: Vec<&Pair> = blocks
                        .iter()
                        .map(|_| &blocks[rng.index(blocks.len())])
                        .collect();
                    draws.into_iter().map(|pair| pair.of / pair.against)
                })
                .collect();
            median(&drawn).expect("there are values")
        })
        .collect();
    let end = |p| quantile(&medians, p).expect("there are values");
    (end(0.025)..=end(0.975)).contains(&1.0)
}

fn print_verdicts(name: &str, noise: Noise, shape: Shape, ratio: f64) {
    let mut rng = SplitMix64::new(SEED);
    let mut counts = [0; 4];
    for _ in 0..STUDIES {
        let estimate = noise.estimate(shape, ratio, &mut rng);
        let aa = noise.estimate(shape, 1.0, &mut rng);
        let verdict = judge(&estimate, &[aa], &VerdictRule::new(Better::Lower));
        counts[match verdict.outcome {
            Outcome::Faster => 0,
            Outcome::Slower => 1,
            Outcome::NoDifference => 2,
            Outcome::NotResolved { .. } => 3,
        }] += 1;
    }
    let [faster, slower, none, unresolved] = counts.map(percent);
    let Shape {
        invocations,
        blocks,
    } = shape;
    println!(
        "| {name} | {invocations} × {blocks} | {ratio} | {faster:.1} | {slower:.1} | {none:.1} | {unresolved:.1} |"
    );
}

fn percent(count: usize) -> f64 {
    100.0 * count as f64 / STUDIES as f64
}
