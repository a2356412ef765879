//! `rpcgauge compare`: a study made from flags, on a user's own method.
//!
//! The variants differ from one another by one choice where they can: `rest-json` is what most
//! services do, `grpc` is the usual other, and the rest change one thing of these two.

mod ways;

use std::time::Duration;

use rpcgauge_message::nearest::Nearest;
use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_message::{Limits, OverLimit, Workload, WorkloadError, WorkloadSpec};

pub use self::ways::{WAYS, Way};
use crate::plan::draft::{Checks, Draft, Guard};
use crate::plan::estimate::guess_call;
use crate::plan::order::Rounds;
use crate::plan::{Metric, Pair, Plan, SLICE_US, Variant};
use crate::resolve::{DEFAULT_CONFIDENCE, DEFAULT_MARGIN, DEFAULT_SEED, DEFAULT_WARMUP};
use crate::scale::{self, ScaleError};
use crate::settings::{Idle, Placement, Stop};
use crate::words::time_word;

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareOptions {
    /// The names of the ways to compare; empty for all.
    pub only: Vec<String>,
    /// The way that every other is held against.
    pub against: String,
    /// How many times as long the answer is made, each a size of its own; empty for the sample's.
    pub sizes: Vec<u32>,
    /// How long all of it may take, as far as can be told before it runs.
    pub budget: Duration,
    /// Seed of every random choice.
    pub seed: Option<u64>,
    /// Cores this program may use.
    pub cores: u32,
    /// Bounds of what is decoded, on both sides.
    pub limits: Limits,
}

impl Default for CompareOptions {
    /// All ways against `rest-json` in a minute, on two cores.
    fn default() -> Self {
        Self {
            only: Vec::new(),
            against: "rest-json".to_owned(),
            sizes: Vec::new(),
            budget: Duration::from_secs(60),
            seed: None,
            cores: 2,
            limits: Limits::DEFAULT,
        }
    }
}

/// Why a comparison cannot be planned. One line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// `--only` or `--against` names no way.
    #[error("{option}: there is no variant \"{name}\"{hint}")]
    NoSuchWay {
        /// The option.
        option: &'static str,
        /// What was written.
        name: String,
        /// The nearest name.
        hint: Nearest,
    },
    /// There is nothing to hold the `--against` way against.
    #[error("--only leaves nothing to compare with \"{0}\"; name another variant")]
    Alone(String),
    /// A size of nothing.
    #[error("--size-sweep: 0 is no size; the smallest is 1, the sample as it is")]
    NoSize,
    /// A size that stands twice.
    #[error("--size-sweep: {0} stands twice; name each size once")]
    SameSize(u32),
    /// The answer cannot be made longer.
    #[error("--size-sweep: {0}")]
    Scale(#[from] ScaleError),
    /// A size of which only compressing ways are asked, and that tells nothing of compression.
    #[error("--size-sweep: at {factor}, {why}")]
    Alike {
        /// How many times as long.
        factor: u32,
        /// The reason.
        why: String,
    },
    /// A message is over a limit, so that every trial that sends it would fail.
    #[error("{0}")]
    OverLimit(#[from] OverLimit),
    /// The workload's description does not fit its samples.
    #[error("{0}")]
    Workload(#[from] WorkloadError),
    /// The parts do not make a plan.
    #[error("{0}")]
    Plan(String),
    /// Too little time for a result.
    #[error(
        "--budget: {} is too short for {variants} variants; give at least {}, or take fewer by --only",
        time_word(.budget.as_millis() as u64),
        seconds(*.needed)
    )]
    Budget {
        /// The time asked for.
        budget: Duration,
        /// The least that would do.
        needed: Duration,
        /// How many variants there are.
        variants: usize,
    },
}

fn seconds(time: Duration) -> String {
    format!("{}s", time.as_secs_f64().ceil())
}

/// Plans a comparison of `own` that fits the budget.
///
/// # Errors
///
/// When an option names what is not there, or the budget is too short.
pub fn study(own: &OwnWorkload, options: &CompareOptions) -> Result<Plan, CompareError> {
    let ways = chosen(options)?;
    let sizes = sized(&ways, own, options)?;
    check_limits(&sizes, options.limits)?;
    let mut least = Duration::MAX;
    for rounds in REPETITIONS {
        let draft = draft(&sizes, own, options, rounds);
        let mut plan = draft
            .finish()
            .map_err(|error| CompareError::Plan(error.to_string()))?;
        set_trial(&mut plan, SHORTEST_TRIAL_MS);
        least = least.min(plan.estimate());
        let wanted = match rounds {
            LAST_RESORT => SHORTEST_TRIAL_MS,
            Rounds { invocations, .. } if invocations > ENOUGH_INVOCATIONS => LONG_TRIAL_MS,
            _ => wanted_trial_ms(&plan),
        };
        if fill(&mut plan, wanted, options.budget) {
            return Ok(plan);
        }
    }
    let variants = sizes.iter().map(|size| size.ways.len()).sum();
    Err(CompareError::Budget {
        budget: options.budget,
        needed: least,
        variants,
    })
}

/// Sets the longest trials, of at least `wanted_ms`, that fit the budget; false where none do.
fn fill(plan: &mut Plan, wanted_ms: u64, budget: Duration) -> bool {
    let mut fits = |trial_ms| {
        set_trial(plan, trial_ms);
        plan.estimate() <= budget
    };
    if !fits(wanted_ms) {
        return false;
    }
    let longer_by = |steps: u64| wanted_ms + steps * TRIAL_STEP_MS;
    let (mut fitting, mut too_many) = (0, (LONGEST_TRIAL_MS - wanted_ms) / TRIAL_STEP_MS + 1);
    while too_many - fitting > 1 {
        let middle = fitting.midpoint(too_many);
        match fits(longer_by(middle)) {
            true => fitting = middle,
            false => too_many = middle,
        }
    }
    set_trial(plan, longer_by(fitting));
    true
}

/// Sets the length of every trial, and bounds its warm-up by the same: most end long before.
fn set_trial(plan: &mut Plan, trial_ms: u64) {
    for variant in &mut plan.variants {
        variant.settings.stop = Stop {
            calls: None,
            time_ms: Some(trial_ms),
        };
    }
    plan.warmup = Stop {
        calls: None,
        time_ms: Some(trial_ms),
    };
}

/// Shortest measured part of a trial: below it, the warm-up's end is all that is seen.
const SHORTEST_TRIAL_MS: u64 = 50;
/// Trials of this length are long enough: more time goes into more invocations first.
const LONG_TRIAL_MS: u64 = 1_000;
/// The longest that a trial may be.
const LONGEST_TRIAL_MS: u64 = 3_000;
/// Lengths of trials differ by multiples of this.
const TRIAL_STEP_MS: u64 = 5;
/// More invocations than these are for budgets in which every trial is long.
const ENOUGH_INVOCATIONS: u32 = 12;
/// Repetitions, the most wanted first: intervals over few invocations are wide, so that blocks go
/// first.
const REPETITIONS: [Rounds; 10] = [
    rounds(48, 3),
    rounds(24, 3),
    rounds(16, 3),
    rounds(12, 3),
    rounds(12, 2),
    rounds(10, 2),
    rounds(8, 2),
    rounds(8, 1),
    rounds(6, 1),
    LAST_RESORT,
];
/// The fewest repetitions that still give an interval.
const LAST_RESORT: Rounds = rounds(5, 1);

const fn rounds(invocations: u32, blocks: u32) -> Rounds {
    Rounds {
        invocations,
        blocks,
    }
}

/// Calls that a trial should have room for, so that its median means something.
const CALLS_A_TRIAL: u64 = 10;

/// The length of a trial that gives the slowest variant enough calls.
fn wanted_trial_ms(plan: &Plan) -> u64 {
    let slowest = plan
        .variants
        .iter()
        .map(|variant| guess_call(&variant.settings))
        .max();
    let enough = slowest.unwrap_or_default().as_millis() as u64 * CALLS_A_TRIAL;
    enough.clamp(100, LONG_TRIAL_MS)
}

fn chosen(options: &CompareOptions) -> Result<Vec<Way>, CompareError> {
    let find = |option: &'static str, name: &str| {
        WAYS.iter()
            .find(|way| way.name == name)
            .ok_or_else(|| CompareError::NoSuchWay {
                option,
                name: name.to_owned(),
                hint: Nearest::or_known(name, WAYS.iter().map(|way| way.name)),
            })
    };
    let against = find("--against", &options.against)?;
    let mut only = Vec::new();
    for name in &options.only {
        only.push(find("--only", name)?.name);
    }
    let is_in =
        |way: &&Way| only.is_empty() || way.name == against.name || only.contains(&way.name);
    let ways: Vec<Way> = WAYS.iter().filter(is_in).copied().collect();
    if ways.len() < 2 {
        return Err(CompareError::Alone(against.name.to_owned()));
    }
    Ok(ways)
}

/// One size of the answer: the group of its variants, where there are several, its workload, and
/// the ways that it can be compared in.
struct Sized {
    group: Option<String>,
    workload: OwnWorkload,
    ways: Vec<Way>,
    /// Why the ways that compress are left out, where they are.
    left_out: Option<String>,
}

impl Sized {
    /// A variant's name: `grpc`, or `scale=10-grpc`.
    fn name(&self, way: &Way) -> String {
        match &self.group {
            Some(group) => format!("{group}-{}", way.name),
            None => way.name.to_owned(),
        }
    }
}

fn sized(
    ways: &[Way],
    own: &OwnWorkload,
    options: &CompareOptions,
) -> Result<Vec<Sized>, CompareError> {
    let sizes = &options.sizes;
    if sizes.is_empty() {
        return Ok(vec![Sized {
            group: None,
            workload: own.clone(),
            ways: ways.to_vec(),
            left_out: None,
        }]);
    }
    let mut all = Vec::new();
    for (place, factor) in sizes.iter().enumerate() {
        if *factor == 0 {
            return Err(CompareError::NoSize);
        }
        if sizes[..place].contains(factor) {
            return Err(CompareError::SameSize(*factor));
        }
        let workload = scale::answer(own, *factor, options.limits)?;
        let compresses = |way: &&Way| !way.compression.is_none();
        let why = scale::alike(&workload)
            .filter(|_| *factor > 1 && ways.iter().any(|way| compresses(&way)));
        let mut ways = ways.to_vec();
        if let Some(why) = &why {
            ways.retain(|way| !compresses(&way));
            if ways.len() < 2 || ways.iter().all(|way| way.name != options.against) {
                return Err(CompareError::Alike {
                    factor: *factor,
                    why: why.clone(),
                });
            }
        }
        all.push(Sized {
            group: Some(format!("scale={factor}")),
            workload,
            ways,
            left_out: why,
        });
    }
    Ok(all)
}

/// Whether the readers of each way's messages would take them.
fn check_limits(sizes: &[Sized], limits: Limits) -> Result<(), CompareError> {
    for size in sizes {
        let workload = Workload::new(&WorkloadSpec::Own(Box::new(size.workload.clone())))?;
        for way in &size.ways {
            workload.check_limits(way.encoding, way.compression, way.compression, limits)?;
        }
    }
    Ok(())
}

fn draft(sizes: &[Sized], own: &OwnWorkload, options: &CompareOptions, rounds: Rounds) -> Draft {
    let mut variants = Vec::new();
    let mut pairs = Vec::new();
    for size in sizes {
        let ways = &size.ways;
        for way in ways {
            let settings = way.settings(&size.workload);
            let variant = Variant {
                name: size.name(way),
                group: size.group.clone(),
                repeats: None,
                settings,
            };
            variants.push((variant, rounds));
        }
        let against = ways.iter().find(|way| way.name == options.against);
        for (of, against) in ways.iter().filter_map(|of| Some((of, against?))) {
            if of.name != against.name {
                // The same question at every size, so that its answers stand together.
                let question = format!(
                    "Is a call faster with {} than with {}?",
                    of.name, against.name
                );
                pairs.push(pair(question, size.name(of), size.name(against)));
            }
        }
    }
    let two_cores = options.cores >= 2;
    let method = own.method.rsplit(['/', '.']).next().unwrap_or(&own.method);
    let plain = |c: char| if c.is_alphanumeric() { c } else { '-' };
    Draft {
        name: format!("compare-{}", method.chars().map(plain).collect::<String>()),
        question: question(own, sizes, options),
        seed: options.seed.unwrap_or(DEFAULT_SEED),
        main: if two_cores {
            Placement::TwoCores
        } else {
            Placement::OneCore
        },
        checks: Checks {
            placements: vec![if two_cores {
                Placement::OneCore
            } else {
                Placement::Free
            }],
            // Enough to see a verdict flip, in a small part of the time.
            rounds: Rounds {
                invocations: rounds.invocations.div_ceil(2).max(4),
                blocks: 1,
            },
        },
        idle: Idle::Held,
        margin: DEFAULT_MARGIN,
        confidence: DEFAULT_CONFIDENCE,
        warmup: DEFAULT_WARMUP,
        slice_us: SLICE_US,
        limits: options.limits,
        variants,
        pairs,
        claims: Vec::new(),
        objectives: Vec::new(),
        capacity: None,
        guard: Guard::Headline,
    }
}

fn question(own: &OwnWorkload, sizes: &[Sized], options: &CompareOptions) -> String {
    let question = format!(
        "What does another way of calling {} gain over {}?",
        own.method, options.against
    );
    if options.sizes.is_empty() {
        return question;
    }
    let repeated = scale::repeated(own);
    let left_out = sizes.iter().find_map(|size| size.left_out.as_ref());
    let left_out = left_out.map_or(String::new(), |why| {
        format!("; nothing is said of compression where N is not 1: {why}")
    });
    format!("{question} (scale=N: the answer with its {repeated} N times as long{left_out})")
}

fn pair(question: String, of: String, against: String) -> Pair {
    Pair {
        name: format!("{of}-vs-{against}"),
        question,
        of,
        against,
        metric: Metric::LatencyP50,
        headline: true,
        a_a: false,
    }
}
