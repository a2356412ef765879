//! Where the figures of the measured calls are gathered.

#[cfg(test)]
mod tests;

use rpcgauge_trial::{ErrorSamples, FailureKind, Schedule, Stage, Timeline, Timing};

use crate::Histogram;
use crate::account::Account;
use crate::histogram::{histogram, record, small_histogram};
use crate::measurement::{Marks, Stages};
use crate::progress::IntervalTimes;
use crate::slow::{SlowCall, SlowCalls};
use crate::steps::{StepFigures, StepRecorder};
use crate::timeline::TimelineRecorder;

/// A succeeded call's times in its stages, ns; `None` for what it did not have.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StageTimes {
    pub(crate) connect: Option<u64>,
    pub(crate) encode: Option<u64>,
    pub(crate) compress: Option<u64>,
    pub(crate) send: u64,
    pub(crate) wait: u64,
    pub(crate) receive: u64,
    pub(crate) decompress: Option<u64>,
    pub(crate) decode: Option<u64>,
    /// Request, handler and response time.
    pub(crate) server: MarkTimes,
}

/// What the server's marks give.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum MarkTimes {
    #[default]
    Absent,
    Implausible,
    Used {
        request: u64,
        handler: u64,
        response: u64,
    },
}

impl MarkTimes {
    /// Request, handler and response time from the marks and the call's own times, all ns of one
    /// clock. Marks of another clock lie outside the call, but for a chance that is as small as
    /// the call is short.
    pub(crate) fn from_marks(handler: (u64, u64), encode_start: u64, done: u64) -> MarkTimes {
        let (start, end) = handler;
        if encode_start <= start && start <= end && end <= done {
            MarkTimes::Used {
                request: start - encode_start,
                handler: end - start,
                response: done - end,
            }
        } else {
            MarkTimes::Implausible
        }
    }
}

/// Gathers the measured calls' figures.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// When the first measured call was due, once there is one.
    pub(crate) start: Option<u64>,
    /// When the last measured call ended.
    pub(crate) end: u64,
    /// The time in which calls counted, ns, where that is not from the start to the end.
    pub(crate) counted_ns: Option<u64>,
    /// Until when calls arrived at a rate, ns.
    pub(crate) arrivals_end: Option<u64>,
    pub(crate) latency: Histogram,
    /// Times of the calls since the last snapshot of the trial, where snapshots are taken.
    pub(crate) interval: Option<IntervalTimes>,
    pub(crate) failed_latency: Histogram,
    pub(crate) send_delay: Histogram,
    stages: Vec<(Stage, Histogram)>,
    /// The stages of the last call, until there is time to count them.
    uncounted: Option<StageTimes>,
    pub(crate) marks: Marks,
    timeline: TimelineRecorder,
    /// Where they are asked for.
    slow: Option<SlowCalls>,
    steps: StepRecorder,
    pub(crate) account: Account,
    pub(crate) errors: ErrorSamples,
    /// Calls that were due and had no body yet.
    pub(crate) bodies_late: u64,
}

impl Recorder {
    pub(crate) fn new(
        timing: Timing,
        schedule: &Schedule,
        looked_at: bool,
        keeps_slow: bool,
    ) -> Recorder {
        let stages = match timing {
            Timing::Load => Vec::new(),
            Timing::Stages => Stage::ALL.map(|stage| (stage, small_histogram())).to_vec(),
        };
        Recorder {
            start: None,
            end: 0,
            counted_ns: None,
            arrivals_end: None,
            latency: histogram(),
            interval: looked_at.then(IntervalTimes::new),
            failed_latency: histogram(),
            send_delay: histogram(),
            stages,
            uncounted: None,
            marks: Marks::default(),
            timeline: TimelineRecorder::new(),
            slow: keeps_slow.then(SlowCalls::default),
            steps: StepRecorder::new(schedule),
            account: Account::default(),
            errors: ErrorSamples::default(),
            bodies_late: 0,
        }
    }

    /// A call was taken from the schedule.
    pub(crate) fn started(&mut self, due: u64) {
        self.start.get_or_insert(due);
        self.account.calls.started += 1;
        if let Some(step) = self.step(due) {
            step.started += 1;
        }
    }

    /// The program began to work on a call, or gave it up before it could.
    pub(crate) fn begun(&mut self, due: u64, now: u64) {
        let delay = now.saturating_sub(due);
        record(&mut self.send_delay, delay);
        if let Some(step) = self.step(due) {
            record(&mut step.send_delay, delay);
        }
        if let Some(interval) = &mut self.interval {
            record(&mut interval.send_delay, delay);
        }
    }

    /// The slow calls so far, where they are kept.
    pub(crate) fn slow(&self) -> &[SlowCall] {
        self.slow.as_ref().map_or(&[], SlowCalls::kept)
    }

    /// A call was given to the transport, for the first time.
    pub(crate) fn sent(&mut self, due: u64) {
        self.account.sent += 1;
        if let Some(step) = self.step(due) {
            step.sent += 1;
        }
    }

    /// The transport took nothing of a call that it was given.
    pub(crate) fn not_sent(&mut self, due: u64) {
        self.account.sent -= 1;
        if let Some(step) = self.step(due) {
            step.sent -= 1;
        }
    }

    /// A call succeeded.
    pub(crate) fn answered(&mut self, due: u64, done: u64) {
        let latency = done.saturating_sub(due);
        record(&mut self.latency, latency);
        if let Some(interval) = &mut self.interval {
            record(&mut interval.latency, latency);
        }
        let offset = self.offset(due);
        self.timeline.answered(offset, latency);
        if let Some(slow) = &mut self.slow {
            slow.answered(due, latency);
        }
        if let Some(step) = self.step(due) {
            step.answered += 1;
            record(&mut step.latency, latency);
        }
        self.account.calls.answered += 1;
        self.end = self.end.max(done);
    }

    /// A call failed.
    pub(crate) fn failed(&mut self, due: u64, done: u64, kind: FailureKind, text: &str) {
        let latency = done.saturating_sub(due);
        record(&mut self.failed_latency, latency);
        if let Some(interval) = &mut self.interval {
            record(&mut interval.failed_latency, latency);
        }
        self.timeline.failed(self.offset(due));
        if let Some(step) = self.step(due) {
            step.failed += 1;
        }
        *self.account.calls.failed.entry(kind).or_default() += 1;
        self.errors.add(kind, text);
        self.end = self.end.max(done);
    }

    /// A succeeded call's stages. They are counted by [`Recorder::count_stages`].
    pub(crate) fn stages(&mut self, times: StageTimes) {
        self.count_stages();
        self.uncounted = Some(times);
    }

    /// Counts the stages of the last call. Called while the next one is on its way: a dozen
    /// histograms lie far from the processor, and between two calls they would lengthen both.
    pub(crate) fn count_stages(&mut self) {
        let Some(times) = self.uncounted.take() else {
            return;
        };
        let (request, handler, response) = match times.server {
            MarkTimes::Used {
                request,
                handler,
                response,
            } => {
                self.marks.used += 1;
                (Some(request), Some(handler), Some(response))
            }
            MarkTimes::Absent => {
                self.marks.absent += 1;
                (None, None, None)
            }
            MarkTimes::Implausible => {
                self.marks.implausible += 1;
                (None, None, None)
            }
        };
        // In the order of `Stage::ALL`.
        let values = [
            times.connect,
            times.encode,
            times.compress,
            Some(times.send),
            Some(times.wait),
            Some(times.receive),
            times.decompress,
            times.decode,
            request,
            handler,
            response,
        ];
        for ((_, histogram), value) in self.stages.iter_mut().zip(values) {
            if let Some(value) = value {
                record(histogram, value);
            }
        }
    }

    /// From the first measured call's due time to the last one's end, or until when calls arrived, ns.
    pub(crate) fn span_ns(&self) -> u64 {
        self.end.saturating_sub(self.start.unwrap_or(self.end))
    }

    /// What the stages, the timeline and the samples came to.
    pub(crate) fn finish(mut self) -> Recorded {
        self.count_stages();
        let span_ns = self.span_ns();
        let arrivals_ns = self.arrivals_end.map(|end| self.offset(end));
        let spent_over_ns = self.counted_ns.unwrap_or(span_ns);
        let stages = self
            .stages
            .into_iter()
            .filter(|(_, histogram)| !histogram.is_empty())
            .collect();
        Recorded {
            elapsed_ns: arrivals_ns.unwrap_or(spent_over_ns),
            spent_over_ns,
            latency: self.latency,
            failed_latency: self.failed_latency,
            send_delay: self.send_delay,
            stages,
            marks: self.marks,
            began: self.start,
            timeline: self.timeline.finish(span_ns),
            slow: self.slow.unwrap_or_default(),
            steps: self.steps.figures,
            account: self.account,
            errors: self.errors,
            bodies_late: self.bodies_late,
        }
    }

    /// The step of a ramp that a call was due in.
    fn step(&mut self, due: u64) -> Option<&mut StepFigures> {
        if self.steps.figures.is_empty() {
            return None;
        }
        let offset = self.offset(due);
        self.steps.at(offset)
    }

    fn offset(&self, due: u64) -> u64 {
        due.saturating_sub(self.start.unwrap_or(due))
    }
}

/// A recorder's figures at the end of a trial.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) elapsed_ns: u64,
    pub(crate) spent_over_ns: u64,
    pub(crate) latency: Histogram,
    pub(crate) failed_latency: Histogram,
    pub(crate) send_delay: Histogram,
    pub(crate) stages: Stages,
    pub(crate) marks: Marks,
    pub(crate) began: Option<u64>,
    pub(crate) timeline: Timeline,
    pub(crate) slow: SlowCalls,
    pub(crate) steps: Vec<StepFigures>,
    pub(crate) account: Account,
    pub(crate) errors: ErrorSamples,
    pub(crate) bodies_late: u64,
}
