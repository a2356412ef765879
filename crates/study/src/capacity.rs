//! The search for the highest rate that holds objectives, as it is planned.

use std::ops::RangeInclusive;

use rpcgauge_trial::{LONGEST_MS, MOST_RATE, is_rate};

use crate::live::{LoadOptions, LoadPlanError};
use crate::objective::{Measure, Objective};
use crate::plan::Capacity;
use crate::settings::{AtEnd, Schedule, Settings, Stop};
use crate::words::number_word;

/// The most trials of a search: twelve doublings, a bracket of 1% and repeats take some 30.
pub const MOST_TRIALS: u32 = 60;
/// The least time of a trial where none is given.
const TRIAL_MS: u64 = 5_000;
/// No rate is tried at which a trial would need more than so many times its least time to tell of its
/// percentile.
const LONGEST_TRIAL_TIMES: u64 = 12;
/// The longest warm-up of a trial where none is given.
const LONGEST_WARMUP_MS: u64 = 2_000;
/// How near both ends must come where nothing is said.
const PRECISION: f64 = 0.05;

/// How near they can be asked to come.
const PRECISIONS: RangeInclusive<f64> = 0.001..=1.0;

impl Capacity {
    /// Holds a search of a plan to what can be asked for.
    pub(crate) fn check(&self) -> Result<(), String> {
        let rates = [Some(self.start), Some(self.lowest), self.highest];
        if let Some(rate) = rates.into_iter().flatten().find(|rate| !is_rate(*rate)) {
            return Err(format!(
                "a rate of the search must be more than 0 and at most 1e9 calls a second, not {}",
                number_word(rate)
            ));
        }
        match PRECISIONS.contains(&self.precision)
            && (1..=LONGEST_MS).contains(&self.time_ms)
            && self.calls > 0
        {
            true => Ok(()),
            false => Err(
                "the search has a precision, time or number of calls that cannot be \
                          asked for"
                    .to_owned(),
            ),
        }
    }
}

/// What the command line says of a search. Rates are in calls a second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CapacityOptions {
    /// The first rate that is tried.
    pub start: Option<f64>,
    /// The highest rate that is tried.
    pub highest: Option<f64>,
    /// How near the rate that holds and the one that does not must come: 0.05 for 5%.
    pub precision: Option<f64>,
    /// The least time of a trial, ms.
    pub time_ms: Option<u64>,
}

/// Plans a search; none where none is asked for.
pub(crate) fn search(options: &LoadOptions) -> Result<Option<Capacity>, LoadPlanError> {
    let Some(asked) = &options.capacity else {
        return Ok(None);
    };
    check(options, asked)?;
    let time_ms = asked.time_ms.unwrap_or(TRIAL_MS);
    let needed = |objective: &Objective| objective.measure.reliable_calls(objective.bound);
    let calls = options.objectives.iter().map(needed).max().unwrap_or(1);
    let rate_in = |ms: u64| calls as f64 * 1_000.0 / ms as f64;
    let start = asked
        .start
        .unwrap_or_else(|| rate_in(time_ms))
        .min(asked.highest.unwrap_or(MOST_RATE));
    Ok(Some(Capacity {
        start,
        lowest: rate_in(time_ms.saturating_mul(LONGEST_TRIAL_TIMES)).min(start),
        highest: asked.highest,
        precision: asked.precision.unwrap_or(PRECISION),
        time_ms,
        calls,
    }))
}

/// The settings of a trial at a rate.
pub fn at_rate(settings: &Settings, search: &Capacity, rate: f64) -> Settings {
    let mut settings = settings.clone();
    if let Schedule::Rate { per_second, .. } = &mut settings.schedule {
        *per_second = rate;
    }
    settings.stop = Stop {
        calls: None,
        time_ms: Some(search.trial_ms(rate)),
    };
    settings
}

/// The warm-up of each trial.
pub(crate) fn warmup(options: &LoadOptions, search: &Capacity) -> Stop {
    let longest = LONGEST_WARMUP_MS.min(search.time_ms);
    Stop {
        calls: None,
        time_ms: Some(options.warmup_ms.unwrap_or(longest)),
    }
}

fn check(options: &LoadOptions, asked: &CapacityOptions) -> Result<(), LoadPlanError> {
    let refuse = |option, what: &str| {
        Err(LoadPlanError::Number {
            option,
            what: what.to_owned(),
        })
    };
    if options.versus.is_some() {
        return refuse(
            "--find-capacity",
            "it searches one target at a time; leave --vs out",
        );
    }
    if options.at_end == AtEnd::Cancel {
        return refuse(
            "--at-end cancel",
            "would give up calls in every trial of a search; leave it out",
        );
    }
    if options.objectives.is_empty() {
        return refuse(
            "--find-capacity",
            "what must hold? Give an objective of latency or errors, as in --slo 'p99<20ms'",
        );
    }
    let grows = |objective: &Objective| objective.measure == Measure::Goodput;
    if options.objectives.iter().any(grows) {
        return refuse(
            "--slo",
            "a search needs objectives that are harder to hold at a higher rate: latency and errors, \
             not goodput",
        );
    }
    for (option, rate) in [("--start-rate", asked.start), ("--max-rate", asked.highest)] {
        if rate.is_some_and(|rate| !is_rate(rate)) {
            return refuse(option, "must be more than 0 and at most 1e9 calls a second");
        }
    }
    if let (Some(start), Some(highest)) = (asked.start, asked.highest)
        && start > highest
    {
        return refuse("--start-rate", "is above --max-rate");
    }
    if asked
        .precision
        .is_some_and(|share| !PRECISIONS.contains(&share))
    {
        return refuse("--precision", "must be from 0.1% to 100%");
    }
    Ok(())
}
