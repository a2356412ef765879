//! The figures of a ramp, step by step.

use rpcgauge_trial::{RampPart, RampStep, Schedule};

use crate::Histogram;
use crate::clock::nanos;
use crate::histogram::small_histogram;

/// The calls that were due in one step of a ramp, by outcome, and the calls that succeeded during the step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepFigures {
    /// The step.
    pub step: RampStep,
    /// Calls that were due in the step.
    pub started: u64,
    /// How many of the started calls were passed to the transport.
    pub sent: u64,
    /// How many of the started calls succeeded.
    pub answered: u64,
    /// Calls that succeeded during the step, whenever they were due.
    pub answered_within: u64,
    /// How many of the started calls failed.
    pub failed: u64,
    /// How many of the failed calls failed because the client was stalled.
    pub stalled: u64,
    /// Latency of the started calls that succeeded, ns.
    pub latency: Histogram,
    /// How long after its due time each started call began, or failed before it could begin, ns.
    pub send_delay: Histogram,
}

/// Fills in the figures of a ramp's steps. Other schedules have no steps.
#[derive(Debug)]
pub(crate) struct StepRecorder {
    /// When each step ends, ns after the ramp's start.
    ends: Vec<u64>,
    pub(crate) figures: Vec<StepFigures>,
}

impl StepRecorder {
    pub(crate) fn new(schedule: &Schedule) -> StepRecorder {
        let mut end = 0u64;
        let figures = |step: RampStep| {
            end = end.saturating_add(nanos(step.time));
            let figures = StepFigures {
                step,
                started: 0,
                sent: 0,
                answered: 0,
                answered_within: 0,
                failed: 0,
                stalled: 0,
                latency: small_histogram(),
                send_delay: small_histogram(),
            };
            (end, figures)
        };
        let steps = schedule.ramp().iter().flat_map(RampPart::steps);
        let (ends, figures) = steps.map(figures).unzip();
        StepRecorder { ends, figures }
    }

    /// All steps with the time at which each ends, ns after the ramp's start.
    pub(crate) fn by_end(&mut self) -> impl Iterator<Item = (u64, &mut StepFigures)> {
        self.ends.iter().copied().zip(&mut self.figures)
    }

    /// The step at `time_ns` after the ramp's start; `None` after its end.
    pub(crate) fn at(&mut self, time_ns: u64) -> Option<&mut StepFigures> {
        let index = self.ends.partition_point(|end| *end <= time_ns);
        self.figures.get_mut(index)
    }
}

#[cfg(test)]
mod tests {

    use rpcgauge_trial::Arrivals;

    use super::*;

    #[test]
    fn a_call_is_counted_where_it_was_due() {
        let part = |from, time_ms| RampPart {
            from,
            to: 1.0,
            time_ms,
        };
        // The first part has ten steps of one millisecond each.
        let ramp = Schedule::Ramp {
            parts: vec![part(0.0, 10), part(1.0, 1), part(1.0, 5)],
            arrivals: Arrivals::Constant,
        };
        let mut recorder = StepRecorder::new(&ramp);
        for due_us in [0, 999, 1_000, 9_999, 10_000, 11_000, 15_999, 16_000] {
            if let Some(step) = recorder.at(due_us * 1_000) {
                step.started += 1;
            }
        }
        let started: Vec<u64> = recorder.figures.iter().map(|step| step.started).collect();
        assert_eq!(
            started,
            [2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2],
            "and none after the end"
        );
        let rate = Schedule::Closed { in_flight: 1 };
        assert!(StepRecorder::new(&rate).at(0).is_none());
    }
}
