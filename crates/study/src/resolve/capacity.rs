//! `[capacity]`: turns what a study requests into a planned search.

use toml::Spanned;

use rpcgauge_trial::{MAX_RATE, is_rate};

use super::{Combined, Resolver};
use crate::capacity::PRECISIONS;
use crate::error::StudyError;
use crate::file::CapacityWritten;
use crate::objective::{Measure, Objective};
use crate::plan::Capacity;
use crate::read::value;
use crate::setting::Key;
use crate::settings::{AtEnd, Stop};
use crate::words::format_time;

/// The minimum time of a trial if the study gives none.
const TRIAL_MS: u64 = 5_000;
/// The search tries no rate at which a trial would need more than this many times its minimum time to measure its
/// percentile.
const MAX_TRIAL_FACTOR: u64 = 12;
/// The maximum warm-up of a trial if the study gives none.
const MAX_WARMUP_MS: u64 = 2_000;
/// The default precision: how close the two ends of the bracket must be.
const PRECISION: f64 = 0.05;

impl Resolver<'_> {
    /// Plans the search, and sets its first rate in the settings of its variant.
    pub(super) fn search(
        &self,
        written: &Spanned<CapacityWritten>,
        combined: &mut [Combined],
    ) -> Result<Capacity, StudyError> {
        let asked = written.get_ref();
        let objectives = self.study.objectives();
        let wrong = |message: &str| Err(self.source.error(written.span(), message));
        let [one] = combined else {
            return wrong(
                "[capacity] searches one variant of a live service at a time; leave the others out",
            );
        };
        let Some(live) = one.live() else {
            return wrong("[capacity] is for a live service; write [service]");
        };
        if live.service.at_end == AtEnd::Cancel {
            return wrong(
                "at-end \"cancel\" would abandon calls in every trial of a search; leave it out",
            );
        }
        if objectives.is_empty() {
            return wrong(
                "a search needs objectives for latency or errors; write objectives = [\"p99<20ms\"]",
            );
        }
        if let Some(written) = &self.study.top.objectives
            && objectives.iter().any(|one| one.measure == Measure::Goodput)
        {
            let message = "a search needs objectives that are harder to meet at a higher rate: latency and \
                errors, not goodput";
            return Err(self.source.error(written.span(), message));
        }
        for key in [Key::InFlight, Key::Rate, Key::Calls] {
            if let Some(place) = one.layer.span(key) {
                let word = key.row().name;
                let message = format!(
                    "\"{word}\": the search chooses the rate of each trial, and how many calls it has; leave it out"
                );
                return Err(self.source.error(place, message));
            }
        }
        for rate in [&asked.start_rate, &asked.max_rate].into_iter().flatten() {
            if !is_rate(*rate.get_ref()) {
                let message = "the rate must be more than 0 and at most 1e9 calls per second";
                return Err(self.source.error(rate.span(), message));
            }
        }
        let (start, highest) = (value(&asked.start_rate), value(&asked.max_rate));
        if let (Some(written), Some(start), Some(highest)) = (&asked.start_rate, start, highest)
            && start > highest
        {
            let message = format!("the first rate is above the highest, {highest} calls/s");
            return Err(self.source.error(written.span(), message));
        }
        let time_ms = match one.layer.get(Key::Time) {
            None => TRIAL_MS,
            Some(_) => one.variant.settings.stop.time_ms.unwrap_or(TRIAL_MS),
        };
        let longest_ms = time_ms.saturating_mul(MAX_TRIAL_FACTOR);
        for rate in [&asked.start_rate, &asked.max_rate].into_iter().flatten() {
            if rate.get_ref() * (longest_ms as f64) < 1_000.0 {
                let time = format_time(longest_ms);
                let message = format!(
                    "the rate makes no call in the {time} of the longest trial; give a higher rate"
                );
                return Err(self.source.error(rate.span(), message));
            }
        }
        if let Some(share) = &asked.precision
            && !PRECISIONS.contains(share.get_ref())
        {
            let message = "the precision must be from 0.001 to 1, which is 0.1% to 100%";
            return Err(self.source.error(share.span(), message));
        }
        let needed = |objective: &Objective| objective.measure.reliable_calls(objective.bound);
        let calls = objectives.iter().map(needed).max().unwrap_or(1);
        let rate_in = |ms: u64| calls as f64 * 1_000.0 / ms as f64;
        let start = start.unwrap_or_else(|| rate_in(time_ms));
        let start = start.min(highest.unwrap_or(MAX_RATE));
        let search = Capacity {
            start,
            lowest: rate_in(longest_ms).min(start),
            highest,
            precision: value(&asked.precision).unwrap_or(PRECISION),
            time_ms,
            calls,
        };
        one.variant.settings = search.at_rate(&one.variant.settings, start);
        Ok(search)
    }
}

/// The maximum warm-up of a search's trials.
pub(super) fn warmup(search: &Capacity) -> Stop {
    Stop::after_ms(MAX_WARMUP_MS.min(search.time_ms))
}
