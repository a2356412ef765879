//! The figures of a part of the calls: those of each step of a ramp, or of each call of a mix.

use std::collections::BTreeMap;

use rpcgauge_trial::{FailureKind, MixFigures, RampPart, RampStep, Schedule, Step};

use crate::Histogram;
use crate::clock::nanos;
use crate::histogram::{record, small_histogram};

/// Counts some of a trial's calls, by outcome.
#[derive(Debug)]
pub(crate) struct CallRecorder {
    /// Calls that were due.
    pub(crate) started: u64,
    /// How many of them were passed to the transport.
    pub(crate) sent: u64,
    /// How many of them succeeded.
    pub(crate) answered: u64,
    /// How many of them failed, by kind.
    pub(crate) failed: BTreeMap<FailureKind, u64>,
    /// Latency of those that succeeded, ns.
    pub(crate) latency: Histogram,
}

impl CallRecorder {
    pub(crate) fn new() -> CallRecorder {
        CallRecorder {
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

    /// The figures of the call of a mix with this name.
    pub(crate) fn finish(self, name: String) -> MixFigures {
        let CallRecorder {
            started,
            sent,
            answered,
            failed,
            latency,
        } = self;
        MixFigures {
            name,
            started,
            never_sent: started - sent,
            answered,
            failed,
            latency: latency.into(),
        }
    }
}

/// Counts the calls that were due in one step of a ramp, and those that succeeded during the step.
#[derive(Debug)]
pub(crate) struct StepRecorder {
    step: RampStep,
    /// The calls that were due in it.
    pub(crate) calls: CallRecorder,
    /// Calls that succeeded during the step, whenever they were due.
    pub(crate) answered_within: u64,
    /// How long after its due time each of its calls began, or failed before it could begin, ns.
    pub(crate) send_delay: Histogram,
}

impl StepRecorder {
    fn new(step: RampStep) -> StepRecorder {
        StepRecorder {
            step,
            calls: CallRecorder::new(),
            answered_within: 0,
            send_delay: small_histogram(),
        }
    }

    fn finish(self) -> Step {
        let StepRecorder {
            step,
            calls,
            answered_within,
            send_delay,
        } = self;
        let stalled = calls.failed.get(&FailureKind::ClientStalled);
        Step {
            from: step.from,
            to: step.to,
            time_ns: nanos(step.time),
            started: calls.started,
            never_sent: calls.started - calls.sent,
            answered: calls.answered,
            answered_within,
            failed: calls.failed.values().sum(),
            stalled: stalled.copied().unwrap_or(0),
            latency: calls.latency.into(),
            send_delay: send_delay.into(),
        }
    }
}

/// The steps of a ramp. Other schedules have none.
#[derive(Debug)]
pub(crate) struct Steps {
    /// When each step ends, ns after the ramp's start.
    ends: Vec<u64>,
    pub(crate) each: Vec<StepRecorder>,
}

impl Steps {
    pub(crate) fn new(schedule: &Schedule) -> Steps {
        let mut end = 0u64;
        let recorder = |step: RampStep| {
            end = end.saturating_add(nanos(step.time));
            (end, StepRecorder::new(step))
        };
        let steps = schedule.ramp().iter().flat_map(RampPart::steps);
        let (ends, each) = steps.map(recorder).unzip();
        Steps { ends, each }
    }

    /// All steps with the time at which each ends, ns after the ramp's start.
    pub(crate) fn by_end(&mut self) -> impl Iterator<Item = (u64, &mut StepRecorder)> {
        self.ends.iter().copied().zip(&mut self.each)
    }

    /// The step at `time_ns` after the ramp's start; `None` after its end.
    pub(crate) fn at(&mut self, time_ns: u64) -> Option<&mut StepRecorder> {
        let index = self.ends.partition_point(|end| *end <= time_ns);
        self.each.get_mut(index)
    }

    pub(crate) fn finish(self) -> Vec<Step> {
        self.each.into_iter().map(StepRecorder::finish).collect()
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
        let mut recorder = Steps::new(&ramp);
        for due_us in [0, 999, 1_000, 9_999, 10_000, 11_000, 15_999, 16_000] {
            if let Some(step) = recorder.at(due_us * 1_000) {
                step.calls.started += 1;
            }
        }
        let started = recorder.each.iter().map(|step| step.calls.started);
        let started: Vec<u64> = started.collect();
        assert_eq!(
            started,
            [2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2],
            "and none after the end"
        );
        let rate = Schedule::Closed { in_flight: 1 };
        assert!(Steps::new(&rate).at(0).is_none());
    }
}
