//! A ramp step by step: one percentile over all of its rates would mean little.

use rpcgauge_study::record::Step;
use serde::Serialize;

use super::cell::{MeasuredTrial, merged};
use super::figures::Distribution;
use super::trial::goodput;
use crate::error::ReportError;

/// What became of the calls that were due in one step of a ramp.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepFindings {
    /// Calls a second that were asked for at its start.
    pub from: f64,
    /// Calls a second that were asked for at its end.
    pub to: f64,
    /// When it began, after the ramp did.
    pub start_ns: u64,
    /// How long it was to last.
    pub time_ns: u64,
    /// How long it did: less where the load ended before its ramp, 0 where it ended before this step.
    pub lasted_ns: u64,
    /// Calls that were due in it.
    pub started: u64,
    /// How many of them were sent, then or later.
    pub sent: u64,
    /// How many were answered, then or later.
    pub answered: u64,
    /// How many failed. What is neither was still open when the ramp ended.
    pub failed: u64,
    /// Answered ones a second of the time that it lasted.
    pub goodput: f64,
    /// Latency of those that were answered.
    pub latency: Option<Distribution>,
    /// How long after they were due they were begun, or failed before that.
    pub send_delay: Option<Distribution>,
}

impl StepFindings {
    /// Whether calls were asked for in it, and the load had ended before.
    pub(crate) fn is_not_reached(&self) -> bool {
        let is_pause = self.from == 0.0 && self.to == 0.0;
        self.lasted_ns == 0 && self.started == 0 && !is_pause
    }
}

/// The steps of a variant's trials, each step of all trials together; none without a ramp.
pub(super) fn steps(
    variant: &str,
    trials: &[MeasuredTrial<'_>],
) -> Result<Vec<StepFindings>, ReportError> {
    let most = trials.iter().map(|(_, m)| m.steps.len()).max().unwrap_or(0);
    let mut steps = Vec::new();
    let mut start_ns = 0_u64;
    for index in 0..most {
        let same: Vec<(&Step, u64)> = trials
            .iter()
            .filter_map(|(_, m)| Some((m.steps.get(index)?, m.elapsed_ns)))
            .collect();
        let found = step(variant, &same, start_ns)?;
        start_ns = start_ns.saturating_add(found.time_ns);
        steps.push(found);
    }
    Ok(steps)
}

/// The same step of all trials, each with how long the trial was measured; there is at least one.
fn step(variant: &str, same: &[(&Step, u64)], start_ns: u64) -> Result<StepFindings, ReportError> {
    let sum = |of: fn(&Step) -> u64| same.iter().map(|(s, _)| of(s)).fold(0, u64::saturating_add);
    let merge = |of: fn(&Step) -> &rpcgauge_study::record::Histogram| {
        let histograms: Vec<_> = same.iter().map(|(s, _)| of(s)).collect();
        merged(variant, &histograms)
    };
    let (latency, send_delay) = (merge(|s| &s.latency)?, merge(|s| &s.send_delay)?);
    let answered = sum(|s| s.answered);
    // A load may end inside its ramp (--calls, Ctrl-C).
    let lasted =
        |(step, elapsed_ns): &(&Step, u64)| step.time_ns.min(elapsed_ns.saturating_sub(start_ns));
    let lasted_ns = same.iter().map(lasted).fold(0, u64::saturating_add);
    let (first, _) = same[0];
    Ok(StepFindings {
        from: first.from,
        to: first.to,
        start_ns,
        time_ns: first.time_ns,
        lasted_ns,
        started: sum(|s| s.started),
        // Older records know only that what was never begun has no delay.
        sent: sum(|s| s.started.saturating_sub(s.never_sent))
            .min(send_delay.as_ref().map_or(0, |delays| delays.len())),
        answered,
        failed: sum(|s| s.failed),
        goodput: goodput(answered, lasted_ns).unwrap_or(0.0),
        latency: latency.map(Distribution::of),
        send_delay: send_delay.map(Distribution::of),
    })
}
