//! Two simulated runs of a study, with different machine speeds.

use rpcgauge_stats::{
    Better, Bootstrap, Estimate, InRuns, Outcome, Pair, PairedRatios, SplitMix64, VerdictRule,
    compare, judge, judge_changes,
};

use super::Shape;

/// What varies between runs, as standard deviations of logarithms.
#[derive(Clone, Copy)]
pub(crate) struct Speeds {
    /// The machine's speed, the same for everything measured.
    pub(crate) machine: f64,
    /// The kernel's additional variation. It fully affects the floor, and affects a variant in
    /// proportion to the time that its calls spend in the kernel.
    pub(crate) kernel: f64,
    /// Each variant's own speed.
    pub(crate) own: f64,
}

/// The fraction of a call spent in the kernel, for a group's base variant and for the variants
/// compared with it.
const KERNEL: [f64; 3] = [0.4, 0.2, 0.6];

/// Standard deviations between fresh processes of a variant and between its blocks. Two of them
/// differ by √2 times as much.
const PROCESS: f64 = 0.008;
const BLOCK: f64 = 0.007;

/// Standard deviation of the machine's speed between blocks, the same for everything measured.
const BLOCK_MOOD: f64 = 0.05;

/// The groups of the study. The fourth variant of each group is the first one under a second name.
const GROUPS: usize = 4;
const AGAIN: usize = KERNEL.len();

/// Metrics of each variant, simulated as independent.
const METRICS: usize = 4;

/// The number of rows that a diff judges.
pub(crate) const ROWS: usize = GROUPS * AGAIN * METRICS;

/// A figure by invocation and block.
type Blocks = Vec<Vec<f64>>;

/// A metric of a group's variants and of the floor.
struct Measured {
    variants: Vec<Blocks>,
    floor: Blocks,
}

/// Simulates a run. The first metric of the first group's variants is multiplied by `slower`.
fn run(speeds: Speeds, shape: Shape, slower: [f64; 3], rng: &mut SplitMix64) -> Vec<Measured> {
    let machine = speeds.machine * rng.normal();
    let kernel = speeds.kernel * rng.normal();
    let mut all = Vec::new();
    for _ in 0..GROUPS {
        let own = KERNEL.map(|part| machine + part * kernel + speeds.own * rng.normal());
        for _ in 0..METRICS {
            let is_first = all.is_empty();
            let speeds: Blocks = (0..shape.invocations)
                .map(|_| {
                    (0..shape.blocks)
                        .map(|_| BLOCK_MOOD * rng.normal())
                        .collect()
                })
                .collect();
            let mut blocks = |level: f64, process: f64| -> Blocks {
                let invocation = |speeds: &Vec<f64>| {
                    let level = level + process * rng.normal();
                    let block = |speed: &f64| (level + speed + BLOCK * rng.normal()).exp();
                    speeds.iter().map(block).collect()
                };
                speeds.iter().map(invocation).collect()
            };
            let variant = |index: usize| {
                let factor = if is_first { slower[index] } else { 1.0 };
                blocks(own[index] + factor.ln(), PROCESS)
            };
            all.push(Measured {
                variants: [0, 1, 2, 0].into_iter().map(variant).collect(),
                floor: blocks(machine + kernel, 0.0),
            });
        }
    }
    all
}

fn estimate(of: &Blocks, against: &Blocks) -> Estimate {
    let pairs = of.iter().zip(against).map(|(of, against)| {
        let pair = |(of, against): (&f64, &f64)| Pair {
            of: *of,
            against: *against,
        };
        of.iter().zip(against).map(pair).collect()
    });
    let pairs: Vec<Vec<Pair>> = pairs.collect();
    let ratios = PairedRatios::from_pairs(&pairs).expect("simulated latencies are above 0");
    let bootstrap = Bootstrap {
        resamples: 100,
        ..Bootstrap::default()
    };
    compare(&ratios, &bootstrap).expect("the settings are in range")
}

/// The outcomes of a row.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    /// From the figures themselves, without a base.
    pub(crate) as_they_are: Option<Outcome>,
    /// Against the floor only.
    pub(crate) floor: Option<Outcome>,
    /// Against the base variant only.
    pub(crate) base: Option<Outcome>,
    /// The verdict of `rpcgauge diff`.
    pub(crate) said: Option<Outcome>,
}

/// The rows of a diff of two runs of one study. In the second run, the first three variants take
/// `slower` times as long.
pub(crate) fn diff(
    speeds: Speeds,
    shape: Shape,
    slower: [f64; 3],
    rng: &mut SplitMix64,
) -> Vec<Row> {
    let runs = [[1.0; 3], slower].map(|slower| run(speeds, shape, slower, rng));
    let [before, after] = &runs;
    let rule = VerdictRule::new(Better::Lower);
    let nothing: Blocks = vec![vec![1.0; shape.blocks]; shape.invocations];
    let mut rows = Vec::new();
    for (before, after) in before.iter().zip(after) {
        let in_runs = |ratio: &dyn Fn(&Measured) -> Estimate| {
            let [before, after] = [before, after].map(ratio);
            InRuns { before, after }
        };
        let aa = [before, after].map(|m| estimate(&m.variants[AGAIN], &m.variants[0]));
        let beside_floor = |v: usize| in_runs(&|m| estimate(&m.variants[v], &m.floor));
        let floors: Vec<InRuns> = (0..AGAIN).map(beside_floor).collect();
        for variant in 0..AGAIN {
            let base = usize::from(variant == 0);
            let as_they_are = in_runs(&|m| estimate(&m.variants[variant], &nothing)).change(1);
            let beside_base = in_runs(&|m| estimate(&m.variants[variant], &m.variants[base]));
            let changes = [floors[variant], beside_base].map(|runs| runs.change(ROWS));
            let apart = floors[base].change(1);
            rows.push(Row {
                as_they_are: Some(judge(&as_they_are, &[], &rule).outcome),
                floor: judge_changes(&changes[..1], &aa, None, &rule),
                base: judge_changes(&changes[1..], &aa, None, &rule),
                said: judge_changes(&changes, &aa, Some(&apart), &rule),
            });
        }
    }
    rows
}

/// The number of diffs in which a row reports a change.
pub(crate) fn with_a_change(diffs: &[Vec<Row>], said: impl Fn(&Row) -> Option<Outcome>) -> usize {
    let is_change = |row: &Row| matches!(said(row), Some(Outcome::Faster | Outcome::Slower));
    diffs
        .iter()
        .filter(|rows| rows.iter().any(is_change))
        .count()
}
