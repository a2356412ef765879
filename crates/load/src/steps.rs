//! The figures of a part of the calls: those of each step of a ramp, or of each call of a mix.

use std::collections::BTreeMap;

use rpcgauge_trial::{FailureKind, RampPart, RampStep, Schedule};

use crate::Histogram;
use crate::clock::nanos;
use crate::histogram::{record, small_histogram};

/// Some of a trial's calls, by outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct CallFigures {
    /// Calls that were due.
    pub started: u64,
    /// How many of them were passed to the transport.
    pub sent: u64,
    /// How many of them succeeded.
    pub answered: u64,
    /// How many of them failed, by kind.
    pub failed: BTreeMap<FailureKind, u64>,
    /// Latency of those that succeeded, ns.
    pub latency: Histogram,
}

impl CallFigures {
    pub(crate) fn new() -> CallFigures {
        CallFigures {
            started: 0,
            sent: 0,
            answered: 0,
            failed: BTreeMap::new(),
            latency: small_histogram(),
        }
    }

    pub(crate) fn succeeded(&mut self, latency_ns: u64) {
        self.answered += 1;
        record(&mut self.latency, latency_ns);
    }

    pub(crate) fn failed(&mut self, kind: FailureKind) {
        *self.failed.entry(kind).or_default() += 1;
    }
}

/// The calls that were due in one step of a ramp, and the calls that succeeded during the step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepFigures {
    /// The step.
    pub step: RampStep,
    /// The calls that were due in it.
    pub calls: CallFigures,
    /// Calls that succeeded during the step, whenever they were due.
    pub answered_within: u64,
    /// How long after its due time each of its calls began, or failed before it could begin, ns.
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
                calls: CallFigures::new(),
                answered_within: 0,
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
                step.calls.started += 1;
            }
        }
        let started = recorder.figures.iter().map(|step| step.calls.started);
        let started: Vec<u64> = started.collect();
        assert_eq!(
            started,
            [2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2],
            "and none after the end"
        );
        let rate = Schedule::Closed { in_flight: 1 };
        assert!(StepRecorder::new(&rate).at(0).is_none());
    }
}
