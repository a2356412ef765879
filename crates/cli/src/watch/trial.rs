//! A running trial: its variant, and its estimated time.

use std::time::Duration;

use rpcgauge_lab::RunProgress;
use rpcgauge_load::TrialProgress;
use rpcgauge_study::plan::Variant;
use rpcgauge_study::settings::Stop;

use crate::screen::clock;

#[derive(Debug, Clone)]
pub(crate) struct TrialStart {
    pub(super) variant: String,
    /// When the trial stops.
    stop: Stop,
    /// Estimated time of the trials after this one.
    after: Duration,
    /// Estimated time of this trial and those after it; `None` in a search, where the number of
    /// trials is unknown.
    remaining: Option<Duration>,
}

impl TrialStart {
    /// Creates the start of a trial of `variant` at this progress of its run.
    pub(crate) fn new(variant: &Variant, progress: RunProgress) -> Self {
        let left = u32::try_from(progress.total - progress.done.min(progress.total));
        let left = left.unwrap_or(u32::MAX).max(1);
        Self {
            variant: variant.name.clone(),
            stop: variant.settings.stop,
            after: progress.remaining / left * (left - 1),
            remaining: (progress.total > 0).then_some(progress.remaining),
        }
    }

    /// Estimated time of this trial and those after it; in a search, of this trial only.
    pub(super) fn remaining(&self) -> Duration {
        let of_it = self.stop.time_ms.map(Duration::from_millis);
        self.remaining.or(of_it).unwrap_or_default()
    }

    /// For example `0:07 left`.
    pub(super) fn words(&self, left: Duration) -> String {
        let of = if self.remaining.is_none() {
            " of this trial"
        } else {
            ""
        };
        format!("{} left{of}", clock(left))
    }

    /// Estimated remaining time of the run (in a search, of the trial) as of `progress`.
    pub(super) fn left(&self, progress: &TrialProgress) -> Duration {
        let by_time = self.stop.time_ms.map(Duration::from_millis);
        let by_time = by_time.map(|time| time.saturating_sub(progress.elapsed));
        let by_calls = self.stop.calls.and_then(|calls| {
            let each = progress.elapsed.as_secs_f64() / progress.started as f64;
            let left = calls.saturating_sub(progress.started) as f64 * each;
            Duration::try_from_secs_f64(left).ok()
        });
        match by_time.into_iter().chain(by_calls).min() {
            Some(of_the_trial) => of_the_trial + self.after,
            // The trial stops for another reason, such as the end of its schedule.
            None => self.remaining().saturating_sub(progress.elapsed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::sampler::example;

    fn trial(calls: Option<u64>, time_ms: Option<u64>) -> TrialStart {
        TrialStart {
            variant: "a".to_owned(),
            stop: Stop { calls, time_ms },
            after: Duration::from_secs(20),
            remaining: Some(Duration::from_secs(30)),
        }
    }

    #[test]
    fn a_search_shows_what_is_left_of_its_trial() {
        let search = TrialStart {
            remaining: None,
            after: Duration::ZERO,
            ..trial(None, Some(10_000))
        };
        let left = search.left(&example([]));
        assert_eq!(search.words(left), "0:07 left of this trial");
    }

    #[test]
    fn what_is_left_is_what_ends_first_and_the_trials_after_it() {
        // The example has 1,504 calls in 3 s.
        let snapshot = example([]);
        let left = |calls, time_ms| trial(calls, time_ms).left(&snapshot).as_millis();
        assert_eq!(left(None, Some(10_000)), 27_000);
        assert_eq!(left(Some(3_008), None), 23_000);
        assert_eq!(left(Some(3_008), Some(10_000)), 23_000);
        assert_eq!(left(Some(1_000), Some(2_000)), 20_000, "it drains");
        assert_eq!(left(None, None), 27_000, "by the estimate");
        let nothing = TrialProgress {
            started: 0,
            ..snapshot
        };
        assert_eq!(trial(Some(5), None).left(&nothing), Duration::from_secs(27));
    }
}
