//! A planned search for the highest rate that meets all objectives.

use std::ops::RangeInclusive;

use rpcgauge_trial::{MAX_MS, is_rate};
use serde::{Deserialize, Serialize};

use crate::settings::{Settings, Stop, Target};
use crate::words::format_number;

/// The maximum number of trials of a search. Twelve doublings, a bracket of 1% and repeats take about 30.
pub const MAX_TRIALS: u32 = 60;

/// The valid precisions of a search.
pub(crate) const PRECISIONS: RangeInclusive<f64> = 0.001..=1.0;

/// A search for the highest rate that meets all objectives. Rates are in calls per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capacity {
    /// The first rate that is tried.
    pub start: f64,
    /// The lowest rate that is tried.
    pub lowest: f64,
    /// The highest rate that is tried, if there is a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest: Option<f64>,
    /// The search ends when the lowest rate that misses the objectives is at most this share above the highest rate
    /// that meets them: 0.05 for 5%.
    pub precision: f64,
    /// The minimum time of a trial, ms.
    pub time_ms: u64,
    /// The minimum number of calls in a trial. At low rates, trials run longer to reach it.
    pub calls: u64,
}

impl Capacity {
    /// The length of a trial at a rate, ms.
    pub fn trial_ms(&self, rate: f64) -> u64 {
        let needed = (self.calls as f64 / rate * 1_000.0).ceil();
        self.time_ms.max(needed as u64)
    }

    /// Checks the bounds of a plan's search.
    pub(crate) fn check(&self) -> Result<(), String> {
        let rates = [Some(self.start), Some(self.lowest), self.highest];
        if let Some(rate) = rates.into_iter().flatten().find(|rate| !is_rate(*rate)) {
            return Err(format!(
                "a rate of the search must be more than 0 and at most 1e9 calls per second, not {}",
                format_number(rate)
            ));
        }
        let is_time = (1..=MAX_MS).contains(&self.time_ms);
        if PRECISIONS.contains(&self.precision) && is_time && self.calls > 0 {
            return Ok(());
        }
        let problem = "the precision, time or number of calls of the search is out of range";
        Err(problem.to_owned())
    }

    /// The settings of a trial at a rate.
    pub fn at_rate(&self, settings: &Settings, rate: f64) -> Settings {
        let mut settings = settings.clone();
        if let Target::Live(live) = &mut settings.target {
            live.set_rate(rate);
        }
        settings.stop = Stop::after_ms(self.trial_ms(rate));
        settings
    }
}
