//! Ramps: rates that change over time, and the steps for which figures are reported.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::bounds::{MAX_MS, OutOfBounds, is_rate};

/// A part of a ramp: a time in which the rate is constant or changes linearly. If both rates are 0,
/// it is a pause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RampPart {
    /// Calls per second at the start.
    pub from: f64,
    /// Calls per second at the end.
    pub to: f64,
    /// The length in ms.
    pub time_ms: u64,
}

/// A step for which figures are reported: a part of a ramp with a constant rate, or a slice of a
/// part whose rate changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RampStep {
    /// Calls per second at the start.
    pub from: f64,
    /// Calls per second at the end.
    pub to: f64,
    /// How long it lasts.
    pub time: Duration,
}

/// A part whose rate changes is split into this many equal slices, because a single percentile over
/// the whole part would mean little.
const SLICES: u32 = 10;
/// The maximum number of steps in a ramp. Each step has its own histograms.
const MAX_STEPS: usize = 200;

impl RampPart {
    /// Whether the rate is constant.
    pub fn is_level(&self) -> bool {
        self.from == self.to
    }

    /// The steps for which figures are reported.
    pub fn steps(&self) -> Vec<RampStep> {
        let slices = if self.is_level() { 1 } else { SLICES };
        // The rate after `ended` slices.
        let rate = |ended: u32| match ended {
            _ if ended == slices => self.to,
            _ => self.from + (self.to - self.from) * f64::from(ended) / f64::from(slices),
        };
        let step = |slice| RampStep {
            from: rate(slice),
            to: rate(slice + 1),
            time: Duration::from_millis(self.time_ms) / slices,
        };
        (0..slices).map(step).collect()
    }

    /// The number of calls that are due in this part, on average.
    pub fn calls(&self) -> f64 {
        (self.from + self.to) / 2.0 * self.time_ms as f64 / 1_000.0
    }

    /// The total time of all parts, ms.
    pub fn time_of(parts: &[Self]) -> u64 {
        let times = parts.iter().map(|part| part.time_ms);
        times.fold(0, u64::saturating_add)
    }

    /// Returns an error for a ramp that cannot be run.
    pub fn check(parts: &[Self]) -> Result<(), OutOfBounds> {
        let mut rates = parts.iter().flat_map(|part| [part.from, part.to]);
        let mut times = parts.iter().map(|part| part.time_ms);
        let begins_with_a_pause = |first: &Self| first.from == 0.0 && first.to == 0.0;
        let (what, allowed) = if parts.is_empty() {
            ("the number of parts in a ramp", "at least 1")
        } else if !rates.all(|rate| rate == 0.0 || is_rate(rate)) {
            ("each rate in a ramp", "0 to 1e9 calls per second")
        } else if !times.all(|ms| (1..=MAX_MS).contains(&ms)) {
            ("the time of each part in a ramp", "1ms to 24h")
        } else if parts.first().is_some_and(begins_with_a_pause) {
            ("the first part of a ramp", "a step or a slope, not a pause")
        } else if parts.iter().flat_map(RampPart::steps).count() > MAX_STEPS {
            let allowed = "at most 200 (a part whose rate changes has 10)";
            ("the number of steps in a ramp", allowed)
        } else if parts.iter().map(RampPart::calls).sum::<f64>() < 1.0 {
            ("the number of calls in a ramp", "at least 1")
        } else {
            return Ok(());
        };
        Err(OutOfBounds { what, allowed })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn part(from: f64, to: f64, time_ms: u64) -> RampPart {
        RampPart { from, to, time_ms }
    }

    #[test]
    fn a_rate_that_changes_has_ten_steps() {
        let part = part(100.0, 0.0, 5);
        let steps = part.steps();
        assert_eq!(steps.len(), 10);
        assert_eq!((steps[0].from, steps[0].to), (100.0, 90.0));
        assert_eq!((steps[9].from, steps[9].to), (10.0, 0.0));
        assert!(
            steps
                .iter()
                .all(|step| step.time == Duration::from_micros(500))
        );
        assert_eq!(part.calls(), 0.25);
    }

    #[test]
    fn an_invalid_ramp_is_refused() {
        let level = part(1.0, 1.0, 1_000);
        let table = [
            (vec![], "the number of parts in a ramp must be at least 1"),
            (
                vec![level, part(-1.0, 1.0, 10)],
                "each rate in a ramp must be 0 to 1e9 calls per second",
            ),
            (
                vec![level, part(1.0, f64::NAN, 10)],
                "each rate in a ramp must be 0 to 1e9 calls per second",
            ),
            (
                vec![part(1.0, 2e9, 10)],
                "each rate in a ramp must be 0 to 1e9 calls per second",
            ),
            (
                vec![level, part(1.0, 1.0, 0)],
                "the time of each part in a ramp must be 1ms to 24h",
            ),
            (
                vec![part(1.0, 1.0, MAX_MS + 1)],
                "the time of each part in a ramp must be 1ms to 24h",
            ),
            (
                vec![part(0.0, 0.0, 10), level],
                "the first part of a ramp must be a step or a slope, not a pause",
            ),
            (
                vec![part(0.0, 1.0, 1_999), part(0.0, 0.0, 1_000)],
                "the number of calls in a ramp must be at least 1",
            ),
            (
                vec![level; 201],
                "the number of steps in a ramp must be at most 200 (a part whose rate changes has 10)",
            ),
            (
                vec![part(0.0, 1.0, 1); 21],
                "the number of steps in a ramp must be at most 200 (a part whose rate changes has 10)",
            ),
        ];
        for (parts, why) in table {
            assert_eq!(RampPart::check(&parts).unwrap_err().to_string(), why);
        }
        assert_eq!(RampPart::check(&vec![level; 200]), Ok(()));
        assert_eq!(RampPart::check(&vec![part(0.0, 1.0, 1_000); 20]), Ok(()));
        assert_eq!(RampPart::check(&[level, part(0.0, 0.0, 10)]), Ok(()));
    }

    proptest! {
        #[test]
        fn steps_go_from_end_to_end_without_a_gap(
            from in 0.0..1e6f64, to in 0.0..1e6f64, time_ms in 1..10_000_000u64,
        ) {
            let part = part(from, to, time_ms);
            let steps = part.steps();
            prop_assert_eq!((steps[0].from, steps[steps.len() - 1].to), (from, to));
            prop_assert!(steps.windows(2).all(|pair| pair[0].to == pair[1].from));
            let lasts: Duration = steps.iter().map(|step| step.time).sum();
            prop_assert_eq!(lasts, Duration::from_millis(time_ms));
            let calls: f64 = steps
                .iter()
                .map(|step| (step.from + step.to) / 2.0 * step.time.as_secs_f64())
                .sum();
            prop_assert!((calls - part.calls()).abs() <= 1e-9 * part.calls().max(1.0));
        }
    }
}
