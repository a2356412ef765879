//! The search for the highest rate that holds objectives, as it is planned.

use std::ops::RangeInclusive;

use rpcgauge_trial::{LONGEST_MS, is_rate};

use crate::plan::Capacity;
use crate::settings::{Schedule, Settings, Stop};
use crate::words::number_word;

/// The most trials of a search: twelve doublings, a bracket of 1% and repeats take some 30.
pub const MOST_TRIALS: u32 = 60;

/// How near both ends of a search can be asked to come.
pub(crate) const PRECISIONS: RangeInclusive<f64> = 0.001..=1.0;

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

    /// The settings of a trial at a rate.
    pub fn at_rate(&self, settings: &Settings, rate: f64) -> Settings {
        let mut settings = settings.clone();
        if let Schedule::Rate { per_second, .. } = &mut settings.schedule {
            *per_second = rate;
        }
        settings.stop = Stop {
            calls: None,
            time_ms: Some(self.trial_ms(rate)),
        };
        settings
    }
}
