//! `rpcgauge load`: a plan made from flags, for a service that is there already.
//!
//! One target is one trial, as long as was asked for. Two targets are compared like variants of a
//! study: in interleaved blocks, with one of them measured a second time under another name.

use std::path::PathBuf;

use rpcgauge_message::{Compression, Encoding, Limits};

use crate::capacity::{self, CapacityOptions};
use crate::objective::Objective;
use crate::plan::draft::{Checks, Draft, Guard, Rounds};
use crate::plan::{Metric, Pair, Plan, Variant};
use crate::ramp;
use crate::resolve::{DEFAULT_CONFIDENCE, DEFAULT_DEADLINE_MS, DEFAULT_MARGIN, DEFAULT_SEED};
use crate::settings::{
    Callee, ConnectionUse, HttpVersion, Idle, LiveService, Messages, Placement, Protocol, Schedule,
    Settings, Stop, TlsChoice, Transport,
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
/// Interleaved blocks of a comparison where no number is given.
pub const DEFAULT_BLOCKS: u32 = 10;
/// Fewest blocks of a comparison: intervals over fewer are too wide to tell anything.
pub const FEWEST_BLOCKS: u32 = 5;
/// Most blocks of a comparison.
pub const MOST_BLOCKS: u32 = 1_000;
/// Shortest part of a comparison's duration that a block may have.
const SHORTEST_BLOCK_MS: u64 = 50;
/// Most connections, and most calls in flight.
const MOST_AT_ONCE: u32 = 100_000;

/// The name of the target, and of the one that it is compared with.
const NAMES: [&str; 2] = ["a", "b"];
/// The name of a target that is compared with none.
const ALONE: &str = "target";

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadOptions {
    /// What is called.
    pub target: Target,
    /// What it is compared with.
    pub versus: Option<Target>,
    /// Interleaved blocks of the comparison.
    pub blocks: Option<u32>,
    /// A Unix domain socket to connect to instead of the target's address.
    pub unix_socket: Option<PathBuf>,
    /// The gRPC method, where the URL names none.
    pub method: Option<String>,
    /// The method of HTTP calls.
    pub http_method: Option<String>,
    /// The version of HTTP, where it is not the protocol's usual one.
    pub http: Option<HttpVersion>,
    /// The names of the user's own header fields.
    pub header_names: Vec<String>,
    /// How TLS is spoken.
    pub tls: TlsChoice,
    /// What is sent.
    pub messages: Messages,
    /// How requests are compressed.
    pub request_compression: Compression,
    /// The compression that answers are asked for in.
    pub response_compression: Compression,
    /// Connections open at the same time.
    pub connections: u32,
    /// Whether they are kept.
    pub connection: ConnectionUse,
    /// When calls are sent.
    pub schedule: Schedule,
    /// When it ends; a ramp ends with its last part at the latest.
    pub stop: Stop,
    /// Longest warm-up, ms; 0 for none.
    pub warmup_ms: Option<u64>,
    /// When a call has failed, ms.
    pub deadline_ms: Option<u64>,
    /// What must be reached.
    pub objectives: Vec<Objective>,
    /// Search for the highest rate that reaches it; [`LoadOptions::schedule`] is then a rate, of
    /// which only the spacing counts.
    pub capacity: Option<CapacityOptions>,
    /// Seed of every random choice.
    pub seed: Option<u64>,
    /// Bounds of messages.
    pub limits: Limits,
}

/// Why a load cannot be planned. One line each, naming the option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadPlanError {
    /// A gRPC target without a method.
    #[error(
        "{0}: which method? Write it behind the address, as in grpc://HOST:PORT/package.Service/Method, or give --method"
    )]
    NoMethod(String),
    /// Two methods for one call.
    #[error("--method {given}: the target names {named} already; leave one of the two out")]
    TwoMethods {
        /// The option's.
        given: String,
        /// The URL's.
        named: String,
    },
    /// A method that is none.
    #[error("--method: \"{0}\" is no gRPC method; write package.Service/Method")]
    BadMethod(String),
    /// An option of HTTP for gRPC, of gRPC for HTTP, or of TLS without it.
    #[error("{option}: {target} {why}")]
    NotFor {
        /// The option.
        option: &'static str,
        /// The target.
        target: String,
        /// What it is not for, and what to do.
        why: &'static str,
    },
    /// A body without a method that carries one.
    #[error(
        "--data: {0} is called with GET, which carries no body; say what to send it with, as in -X POST"
    )]
    BodyOfGet(String),
    /// A number that cannot be carried out.
    #[error("{option}: {what}")]
    Number {
        /// The option.
        option: &'static str,
        /// What is wrong, and what may be.
        what: String,
    },
    /// The parts do not make a plan.
    #[error("{0}")]
    Plan(String),
}

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
        // Every block stands by itself: nothing is started anew between them.
        invocations: blocks,
        blocks: capacity.map_or(1, |_| capacity::MOST_TRIALS),
    };
    let targets: Vec<&Target> = std::iter::once(&options.target)
        .chain(&options.versus)
        .collect();
    check_targets(options, &targets)?;
    let names: &[&str] = if targets.len() == 1 { &[ALONE] } else { &NAMES };
    let mut variants = Vec::new();
    for (name, target) in names.iter().zip(&targets) {
        let mut settings = settings(options, target, blocks)?;
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
            time_ms: Some(ramp::time_ms(parts)),
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

fn check_numbers(options: &LoadOptions) -> Result<(), LoadPlanError> {
    let number = |option, what: &str| {
        Err(LoadPlanError::Number {
            option,
            what: what.to_owned(),
        })
    };
    let too_many = |count: u32| count > MOST_AT_ONCE;
    match &options.schedule {
        Schedule::Closed { in_flight: 0 } => return number("--in-flight", "must be at least 1"),
        Schedule::Closed { in_flight } if too_many(*in_flight) => {
            return number("--in-flight", "must be at most 100000");
        }
        Schedule::Rate { per_second, .. } if !(*per_second > 0.0 && *per_second <= 1e9) => {
            return number(
                "--rate",
                "must be more than 0 and at most 1e9 calls a second",
            );
        }
        _ => {}
    }
    if options.connections == 0 {
        return number("--connections", "must be at least 1");
    }
    if too_many(options.connections) {
        return number("--connections", "must be at most 100000");
    }
    match (&options.schedule, options.connection) {
        (Schedule::Closed { in_flight }, ConnectionUse::Reuse)
            if *in_flight < options.connections =>
        {
            let connections = options.connections;
            let what = format!(
                "{connections} connections are more than the {in_flight} calls in flight; give \
                 --in-flight {connections} or more, or fewer connections"
            );
            return number("--connections", &what);
        }
        _ => {}
    }
    if options.stop.calls == Some(0) {
        return number("--calls", "must be at least 1");
    }
    Ok(())
}

/// Refuses what a ramp cannot be combined with.
fn check_ramp(options: &LoadOptions) -> Result<(), LoadPlanError> {
    if !matches!(options.schedule, Schedule::Ramp { .. }) {
        return Ok(());
    }
    let refuse = |option, what: &str| {
        Err(LoadPlanError::Number {
            option,
            what: what.to_owned(),
        })
    };
    if options.versus.is_some() {
        return refuse(
            "--ramp",
            "two targets are compared at one rate or in a closed loop; give --rate, or leave --vs out",
        );
    }
    if options.warmup_ms.is_some_and(|ms| ms > 0) {
        return refuse(
            "--warmup",
            "a ramp has none; begin the ramp with it, as in --ramp 100:5s,100..1000:30s",
        );
    }
    Ok(())
}

/// Refuses options that none of the targets can have: gRPC and HTTP may be compared.
fn check_targets(options: &LoadOptions, targets: &[&Target]) -> Result<(), LoadPlanError> {
    let any = |is: fn(&Target) -> bool| targets.iter().any(|target| is(target));
    let not_for = |option, why| {
        Err(LoadPlanError::NotFor {
            option,
            target: options.target.to_string(),
            why,
        })
    };
    let is_grpc = |target: &Target| target.scheme.is_grpc();
    let is_http = |target: &Target| !target.scheme.is_grpc();
    if options.http_method.is_some() && !any(is_http) {
        return not_for("-X", "is called by gRPC, which has its own; leave it out");
    }
    if options.method.is_some() && !any(is_grpc) {
        return not_for(
            "--method",
            "is called by HTTP; the path behind its host says what is called",
        );
    }
    if options.http == Some(HttpVersion::Http1) && any(is_grpc) {
        return not_for("--http 1.1", "is called by gRPC, which needs HTTP/2");
    }
    if options.tls != TlsChoice::default() && !any(|target| target.scheme.is_tls()) {
        return not_for(
            "--cacert, --cert, --key, --server-name, --insecure",
            "is called without TLS; write grpcs:// or https://",
        );
    }
    Ok(())
}

fn settings(
    options: &LoadOptions,
    target: &Target,
    blocks: u32,
) -> Result<Settings, LoadPlanError> {
    let is_grpc = target.scheme.is_grpc();
    let has_body = options.messages.template.is_some() || options.messages.rows.is_some();
    if has_body && !is_grpc && options.http_method.is_none() {
        return Err(LoadPlanError::BodyOfGet(target.to_string()));
    }
    let target = called(options, target)?;
    let tls = target.scheme.is_tls().then(|| options.tls.clone());
    let http_method = (!is_grpc).then(|| {
        let given = options.http_method.clone();
        given.unwrap_or_else(|| "GET".to_owned())
    });
    Ok(Settings {
        transport: match target.address {
            Address::Tcp { .. } => Transport::Tcp,
            Address::Unix { .. } => Transport::Unix,
        },
        callee: Callee::Live {
            service: Box::new(LiveService {
                target,
                tls,
                http_method,
                header_names: options.header_names.clone(),
                messages: options.messages.clone(),
            }),
        },
        protocol: if is_grpc {
            Protocol::Grpc
        } else {
            Protocol::Rest
        },
        http: match options.http {
            Some(http) => http,
            None if is_grpc => HttpVersion::Http2,
            None => HttpVersion::Http1,
        },
        encoding: is_grpc.then_some(Encoding::Protobuf),
        request_compression: options.request_compression,
        response_compression: options.response_compression,
        connection: options.connection,
        connections: options.connections,
        schedule: options.schedule.clone(),
        stop: part(stop(options), blocks),
        deadline_ms: options.deadline_ms.unwrap_or(DEFAULT_DEADLINE_MS),
    })
}

/// The target with the method and the address that options give it.
fn called(options: &LoadOptions, target: &Target) -> Result<Target, LoadPlanError> {
    let mut target = match &options.unix_socket {
        Some(path) => target.clone().over_unix_socket(path),
        None => target.clone(),
    };
    if !target.scheme.is_grpc() {
        return Ok(target);
    }
    match (target.method(), &options.method) {
        (None, None) => Err(LoadPlanError::NoMethod(target.to_string())),
        (Some(named), Some(given)) => Err(LoadPlanError::TwoMethods {
            given: given.clone(),
            named: named.to_owned(),
        }),
        (Some(_), None) => Ok(target),
        (None, Some(given)) => {
            target.path =
                method_path(given).ok_or_else(|| LoadPlanError::BadMethod(given.clone()))?;
            Ok(target)
        }
    }
}

/// `/package.Service/Method` from what people write: with or without the first `/`, and with a `.`
/// for the last one.
fn method_path(given: &str) -> Option<String> {
    let name = given.strip_prefix('/').unwrap_or(given);
    let (service, method) = name.split_once('/').or_else(|| name.rsplit_once('.'))?;
    let plain = |part: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        !part.is_empty() && part.chars().all(is_plain)
    };
    (plain(service) && plain(method)).then(|| format!("/{service}/{method}"))
}

#[cfg(test)]
mod tests;
