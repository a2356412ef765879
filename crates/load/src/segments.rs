//! The figures of a ramp, segment by segment.

use crate::Histogram;
use crate::clock::nanos;
use crate::histogram::small_histogram;
use crate::schedule::Schedule;

/// What became of the calls that were due in one segment of a ramp.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentFigures {
    /// Calls that were due in it.
    pub started: u64,
    /// How many of them were given to the transport.
    pub sent: u64,
    /// How many of them succeeded.
    pub answered: u64,
    /// How many failed.
    pub failed: u64,
    /// Latency of those that succeeded, ns.
    pub latency: Histogram,
    /// How long after it was due each was begun, or failed before that, ns.
    pub send_delay: Histogram,
}

/// Fills the figures of a ramp's segments. Other schedules have none.
#[derive(Debug)]
pub(crate) struct SegmentRecorder {
    /// When each segment ends, ns after the ramp's start.
    ends: Vec<u64>,
    pub(crate) figures: Vec<SegmentFigures>,
}

impl SegmentRecorder {
    pub(crate) fn new(schedule: &Schedule) -> SegmentRecorder {
        let segments = match schedule {
            Schedule::Closed { .. } | Schedule::Rate { .. } => &[],
            Schedule::Ramp { segments, .. } => segments.as_slice(),
        };
        let mut end = 0u64;
        SegmentRecorder {
            ends: segments
                .iter()
                .map(|segment| {
                    end = end.saturating_add(nanos(segment.duration));
                    end
                })
                .collect(),
            figures: segments
                .iter()
                .map(|_| SegmentFigures {
                    started: 0,
                    sent: 0,
                    answered: 0,
                    failed: 0,
                    latency: small_histogram(),
                    send_delay: small_histogram(),
                })
                .collect(),
        }
    }

    /// The segment of a call that was due `due_ns` after the ramp's start.
    pub(crate) fn at(&mut self, due_ns: u64) -> Option<&mut SegmentFigures> {
        let index = self.ends.partition_point(|end| *end <= due_ns);
        self.figures.get_mut(index)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::schedule::{Arrivals, Segment};

    #[test]
    fn a_call_is_counted_where_it_was_due() {
        let segment = |ns| Segment {
            from: 1.0,
            to: 1.0,
            duration: Duration::from_nanos(ns),
        };
        let ramp = Schedule::Ramp {
            segments: vec![segment(10), segment(1), segment(5)],
            arrivals: Arrivals::Constant,
        };
        let mut recorder = SegmentRecorder::new(&ramp);
        for due in [0, 9, 10, 11, 12, 15, 16, 99] {
            if let Some(segment) = recorder.at(due) {
                segment.started += 1;
            }
        }
        let started: Vec<u64> = recorder.figures.iter().map(|part| part.started).collect();
        assert_eq!(started, [2, 1, 3], "and none after the end");
        let rate = Schedule::Closed { in_flight: 1 };
        assert!(SegmentRecorder::new(&rate).at(0).is_none());
    }
}
