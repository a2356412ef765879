//! Estimates a run's remaining time from the trials so far.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rpcgauge_study::plan::{Plan, TrialSpec};

use crate::run::RunProgress;

#[derive(Debug)]
pub(super) struct Pace {
    started: Instant,
    /// 0 if the number is not known in advance.
    total: usize,
    left: Vec<(u32, u32)>,
    /// The plan's own estimate for a trial, used until the trial's variant has been measured once.
    guess: Duration,
    /// The time spent and the number of finished trials, by variant.
    seen: BTreeMap<u32, (Duration, u32)>,
}

impl Pace {
    /// Starts estimating a run of `trials`, which are part of `plan`.
    pub(super) fn new(plan: &Plan, trials: &[TrialSpec]) -> Self {
        let count = u32::try_from(plan.trials.len()).unwrap_or(u32::MAX).max(1);
        Self {
            started: Instant::now(),
            total: match plan.capacity {
                None => plan.trials.len(),
                Some(_) => 0,
            },
            left: trials
                .iter()
                // The number of trials in a search is not known in advance.
                .filter(|_| plan.capacity.is_none())
                .map(|trial| (trial.index, trial.variant))
                .collect(),
            guess: plan.estimate() / count,
            seen: BTreeMap::new(),
        }
    }

    /// Records that a trial ended after this time, including its preparation.
    pub(super) fn ended(&mut self, trial: &TrialSpec, took: Duration) {
        self.left.retain(|(index, _)| *index != trial.index);
        let seen = self.seen.entry(trial.variant).or_default();
        seen.0 += took;
        seen.1 += 1;
    }

    pub(super) fn progress(&self) -> RunProgress {
        let left = self.left.iter();
        let remaining = left.map(|(_, variant)| self.expected(*variant)).sum();
        RunProgress {
            done: self.total.saturating_sub(self.left.len()),
            total: self.total,
            elapsed: self.started.elapsed(),
            remaining,
        }
    }

    fn expected(&self, variant: u32) -> Duration {
        self.seen
            .get(&variant)
            .map_or(self.guess, |(time, trials)| *time / (*trials).max(1))
    }
}
