//! Prints how often a diff of two runs of unchanged code reports "faster" or "slower", and how
//! often it detects a real slowdown. The runs are simulated, and the machine's speed differs
//! between them.
//!
//! `cargo run --release -p rpcgauge-stats --example diffs` takes a few minutes. The tables are in
//! `docs/method.md`.

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use rpcgauge_stats::{Outcome, SplitMix64};
use synthetic::Shape;
use synthetic::runs::{ROWS, Row, Speeds, diff, with_a_change};

const DIFFS: usize = 200;
const SEED: u64 = 2026;
const SHAPES: [Shape; 2] = [
    Shape {
        invocations: 8,
        blocks: 2,
    },
    Shape {
        invocations: 20,
        blocks: 1,
    },
];

/// Standard deviations between runs: of the machine's speed, of the kernel's additional variation,
/// and of each variant's own speed.
const SPEEDS: [[f64; 3]; 4] = [
    [0.05, 0.01, 0.0],
    [0.15, 0.03, 0.005],
    [0.15, 0.1, 0.005],
    [0.3, 0.2, 0.01],
];

fn main() {
    println!(
        "Diffs of unchanged code in which anything is faster or slower, in % of {DIFFS}, {ROWS} rows each\n"
    );
    println!(
        "| machine, kernel, own | invocations × blocks | figures as they are | floor | base | both |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for speeds in SPEEDS {
        for shape in SHAPES {
            let diffs = diffs(speeds, shape, [1.0; 3]);
            let said: [fn(&Row) -> Option<Outcome>; 4] =
                [|r| r.as_they_are, |r| r.floor, |r| r.base, |r| r.said];
            let rates = said.map(|said| percent(with_a_change(&diffs, said)));
            println!("| {} | {} |", named(speeds, shape), rates.join(" | "));
        }
    }

    println!("\nDiffs that find one figure that got slower, in % of {DIFFS}\n");
    println!("| machine, kernel, own | invocations × blocks | by | of a variant | of the base |");
    println!("| --- | --- | --- | --- | --- |");
    for speeds in &SPEEDS[1..3] {
        for shape in SHAPES {
            for factor in [1.05, 1.1, 1.2, 1.5] {
                let found = [1, 0].map(|row: usize| {
                    let mut slower = [1.0; 3];
                    slower[row] = factor;
                    let diffs = diffs(*speeds, shape, slower);
                    let is_found = |rows: &&Vec<Row>| rows[row].said == Some(Outcome::Slower);
                    percent(diffs.iter().filter(is_found).count())
                });
                let by = 100.0 * (factor - 1.0);
                println!(
                    "| {} | {by:.0}% | {} |",
                    named(*speeds, shape),
                    found.join(" | ")
                );
            }
        }
    }
}

fn diffs([machine, kernel, own]: [f64; 3], shape: Shape, slower: [f64; 3]) -> Vec<Vec<Row>> {
    let speeds = Speeds {
        machine,
        kernel,
        own,
    };
    let mut rng = SplitMix64::new(SEED);
    (0..DIFFS)
        .map(|_| diff(speeds, shape, slower, &mut rng))
        .collect()
}

fn named(speeds: [f64; 3], shape: Shape) -> String {
    let Shape {
        invocations,
        blocks,
    } = shape;
    let speeds = speeds.map(|deviation| format!("{}%", 100.0 * deviation));
    format!("{} | {invocations} × {blocks}", speeds.join(", "))
}

fn percent(count: usize) -> String {
    format!("{:.1}", 100.0 * count as f64 / DIFFS as f64)
}
