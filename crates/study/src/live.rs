//! `rpcgauge load`: a plan made from flags, for a service that is there already.
//!
//! One target is one trial, as long as was asked for. Two targets are compared like variants of a
//! study: in interleaved blocks, with one of them measured a second time under another name.

mod called;
mod check;
mod options;

use rpcgauge_message::Encoding;
use rpcgauge_trial::RampPart;

pub use options::{LoadOptions, LoadPlanError};

use called::called;
use check::{check_concurrency, check_numbers, check_ramp, check_targets};

use crate::capacity;
use crate::plan::draft::{Checks, Draft, Guard};
use crate::plan::order::Rounds;
use crate::plan::{Metric, Pair, Plan, SLICE_US, Variant};
use crate::resolve::{DEFAULT_CONFIDENCE, DEFAULT_MARGIN, DEFAULT_SEED};
use crate::settings::{
    Callee, ConnectionUse, DEFAULT_DEADLINE_MS, HttpVersion, Idle, LiveService, Placement,
    Protocol, Schedule, Settings, Stop, Transport,
};
use crate::target::{Address, Target};

/// How long a load runs when it is bounded neither by calls nor by time.
pub const DEFAULT_STOP: Stop = Stop {
    calls: None,
    time_ms: Some(10_000),
};
/// Longest warm-up where none is given: long enough for a service of some 100 ms a call to settle.
pub const LONGEST_WARMUP_MS: u64 = 5_000;
/// A ramp has none: its first part can be one, and is then measured like the others.
const NO_WARMUP: Stop = Stop {
    calls: None,
    time_ms: Some(0),
};
/// Connections at a rate where each call in flight needs one and none are asked for: a call that waits
/// for another's connection would tell of the client, not of the service.
const CONNECTIONS_AT_A_RATE: u32 = 64;
/// Interleaved blocks of a comparison where no number is given.
pub const DEFAULT_BLOCKS: u32 = 10;
/// Fewest blocks of a comparison: intervals over fewer are too wide to tell anything.
pub const FEWEST_BLOCKS: u32 = 5;
/// Most blocks of a comparison.
pub const MOST_BLOCKS: u32 = 1_000;
/// Shortest part of a comparison's duration that a block may have.
const SHORTEST_BLOCK_MS: u64 = 50;
/// The name of the target, and of the one that it is compared with.
const NAMES: [&str; 2] = ["a", VS];
/// The variant of the second of two targets, that of `--vs`.
pub const VS: &str = "b";
/// The name of a target that is compared with none.
const ALONE: &str = "target";

/// Plans a load.
///
/// # Errors
/// When options contradict each other, or the target.
pub fn plan(options: &LoadOptions) -> Result<Plan, LoadPlanError> {
    check_numbers(options)?;
    check_ramp(options)?;
    let blocks = blocks(options)?;
    let capacity = capacity::search(options)?;
    let rounds = Rounds {
        // Nothing is started afresh: every block is of the same running services.
        invocations: 1,
        blocks: capacity.map_or(blocks, |_| capacity::MOST_TRIALS),
    };
    let targets: Vec<&Target> = std::iter::once(&options.target)
        .chain(&options.versus)
        .collect();
    check_targets(options, &targets)?;
    let names: &[&str] = if targets.len() == 1 { &[ALONE] } else { &NAMES };
    let mut variants = Vec::new();
    for ((name, target), headers) in names.iter().zip(&targets).zip(&options.header_names) {
        let mut settings = settings(options, target, headers, blocks)?;
        if let Some(capacity) = &capacity {
            settings = capacity::at_rate(&settings, capacity, capacity.start);
        }
        let variant = Variant {
            name: (*name).to_owned(),
            group: None,
            repeats: None,
            settings,
        };
        variants.push((variant, rounds));
    }
    check_concurrency(variants.iter().map(|(variant, _)| &variant.settings))?;
    let stop = stop(options);
    let shown = |place: usize| {
        let (variant, _) = &variants[place];
        let service = variant.settings.callee.live();
        service.map_or_else(String::new, |service| service.target.to_string())
    };
    let question = match targets.len() {
        1 => shown(0),
        _ => format!("{} (a) against {} (b)", shown(0), shown(1)),
    };
    let pairs = match targets.len() {
        1 => Vec::new(),
        _ => vec![pair(Metric::LatencyP50), pair(Metric::LatencyP99)],
    };
    let draft = Draft {
        name: name(&options.target),
        question,
        seed: options.seed.unwrap_or(DEFAULT_SEED),
        main: Placement::Free,
        checks: Checks {
            placements: Vec::new(),
            rounds,
        },
        idle: Idle::AsIs,
        margin: DEFAULT_MARGIN,
        confidence: DEFAULT_CONFIDENCE,
        warmup: match &capacity {
            Some(capacity) => capacity::warmup(options, capacity),
            None => warmup(options, part(stop, blocks)),
        },
        slice_us: SLICE_US,
        limits: options.limits,
        guard: if pairs.is_empty() {
            Guard::Absent
        } else {
            Guard::Headline
        },
        variants,
        pairs,
        claims: Vec::new(),
        objectives: options.objectives.clone(),
        capacity,
    };
    draft
        .finish()
        .map_err(|error| LoadPlanError::Plan(error.to_string()))
}

/// The run's name: `load-` and the host, made plain for a directory.
fn name(target: &Target) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    format!(
        "load-{}",
        target.authority.chars().map(plain).collect::<String>()
    )
}

fn pair(metric: Metric) -> Pair {
    let [of, against] = NAMES;
    Pair {
        name: format!("{of}-vs-{against}"),
        question: format!("Is a call to {of} faster than one to {against}?"),
        of: of.to_owned(),
        against: against.to_owned(),
        metric,
        headline: metric == Metric::LatencyP50,
        a_a: false,
    }
}

/// When the whole ends.
fn stop(options: &LoadOptions) -> Stop {
    match &options.schedule {
        Schedule::Ramp { parts, .. } => Stop {
            time_ms: Some(RampPart::time_of(parts)),
            ..options.stop
        },
        Schedule::Closed { .. } | Schedule::Rate { .. } => options.stop,
    }
}

/// One block's part of the whole, of each target.
fn part(stop: Stop, blocks: u32) -> Stop {
    Stop {
        calls: stop.calls.map(|calls| calls.div_ceil(u64::from(blocks))),
        time_ms: stop.time_ms.map(|ms| ms.div_ceil(u64::from(blocks))),
    }
}

/// The warm-up of one trial: no longer than what it prepares for, unless that was asked for.
fn warmup(options: &LoadOptions, trial: Stop) -> Stop {
    if matches!(options.schedule, Schedule::Ramp { .. }) {
        return NO_WARMUP;
    }
    let longest = trial
        .time_ms
        .unwrap_or(LONGEST_WARMUP_MS)
        .min(LONGEST_WARMUP_MS);
    Stop {
        calls: trial.calls,
        time_ms: Some(options.warmup_ms.unwrap_or(longest)),
    }
}

fn blocks(options: &LoadOptions) -> Result<u32, LoadPlanError> {
    let number = |what: String| LoadPlanError::Number {
        option: "--blocks",
        what,
    };
    match (&options.versus, options.blocks) {
        (None, None) => Ok(1),
        (None, Some(_)) => Err(number(
            "there is nothing to compare; give --vs TARGET, or leave it out".to_owned(),
        )),
        (Some(_), blocks) => {
            let blocks = blocks.unwrap_or(DEFAULT_BLOCKS);
            if !(FEWEST_BLOCKS..=MOST_BLOCKS).contains(&blocks) {
                return Err(number(format!(
                    "{blocks} is not from {FEWEST_BLOCKS} to {MOST_BLOCKS}"
                )));
            }
            let least = SHORTEST_BLOCK_MS * u64::from(blocks);
            if let Some(ms) = options.stop.time_ms.filter(|ms| *ms < least) {
                return Err(LoadPlanError::Number {
                    option: "--duration",
                    what: format!(
                        "{ms}ms is too short for {blocks} blocks; give at least {least}ms"
                    ),
                });
            }
            Ok(blocks)
        }
    }
}

fn settings(
    options: &LoadOptions,
    target: &Target,
    header_names: &[String],
    blocks: u32,
) -> Result<Settings, LoadPlanError> {
    let is_grpc = target.scheme.is_grpc();
    let has_body = options.messages.template.is_some() || options.messages.rows.is_some();
    let target = called(options, target)?;
    let tls = target.scheme.is_tls().then(|| options.tls.clone());
    let http_method = (!is_grpc).then(|| {
        let given = options.http_method.clone();
        given.unwrap_or_else(|| if has_body { "POST" } else { "GET" }.to_owned())
    });
    let http = match options.http {
        Some(http) => http,
        None if is_grpc => HttpVersion::Http2,
        None => HttpVersion::Http1,
    };
    let transport = match target.address {
        Address::Tcp { .. } => Transport::Tcp,
        Address::Unix { .. } => Transport::Unix,
    };
    let protocol = match is_grpc {
        true => Protocol::Grpc,
        false => Protocol::Rest,
    };
    let service = Box::new(LiveService {
        target,
        tls,
        http_method,
        header_names: header_names.to_vec(),
        messages: options.messages.clone(),
        at_end: options.at_end,
        keepalive: options.keepalive,
    });
    Ok(Settings {
        http,
        encoding: is_grpc.then_some(Encoding::Protobuf),
        request_compression: options.request_compression,
        response_compression: options.response_compression,
        transport,
        connection: options.connection,
        connections: connections(options, http),
        schedule: options.schedule.clone(),
        stop: part(stop(options), blocks),
        deadline_ms: options.deadline_ms.unwrap_or(DEFAULT_DEADLINE_MS),
        ..Settings::new(Callee::Live { service }, protocol)
    })
}

/// Connections to a target: where each call in flight needs one, as many as can be.
fn connections(options: &LoadOptions, http: HttpVersion) -> u32 {
    let one_call_each = http == HttpVersion::Http1 || options.connection == ConnectionUse::PerCall;
    options.connections.unwrap_or(match options.schedule {
        _ if !one_call_each => 1,
        Schedule::Closed { in_flight } => in_flight,
        Schedule::Rate { .. } | Schedule::Ramp { .. } => CONNECTIONS_AT_A_RATE,
    })
}

#[cfg(test)]
mod tests;
