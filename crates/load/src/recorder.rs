//! Collects the figures of the measured calls.

#[cfg(test)]
mod tests;

use rpcgauge_trial::{Calls, ErrorSamples, FailureKind, Pace, SlowCall, Stage, Stalls, Timing};

use crate::Histogram;
use crate::engine::CallStream;
use crate::error::LoadError;
use crate::histogram::{histogram, record, small_histogram};
use crate::measurement::Marks;
use crate::message_recorder::MessageRecorder;
use crate::progress::IntervalTimes;
use crate::slow::SlowCalls;
use crate::steps::{StepRecorder, Steps};
use crate::timeline::TimelineRecorder;
use crate::trial::Trial;

/// The measured calls, counted by outcome. Each outcome is counted separately where it happens, so that the
/// sum can be checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// All counts except [`Calls::never_sent`], which is known only at the end.
    pub(crate) calls: Calls,
    pub(crate) sent: u64,
}

impl Account {
    /// Checks that the counts add up to the number of started calls.
    pub(crate) fn close(self) -> Result<Calls, LoadError> {
        let Account { mut calls, sent } = self;
        // If more calls were sent than started, this value makes the check fail.
        calls.never_sent = calls.started.checked_sub(sent).unwrap_or(u64::MAX);
        calls.check().map_err(LoadError::Accounting)?;
        Ok(calls)
    }
}

/// The stage times of a successful call, ns.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StageTimes {
    /// The client's stages, in the order of [`Stage::ALL`]; `None` for a stage that the call did not go
    /// through.
    pub(crate) client: [Option<u64>; 8],
    /// The server's stages, which follow the client's in [`Stage::ALL`].
    pub(crate) server: MarkTimes,
}

/// The stage times derived from the server's marks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum MarkTimes {
    #[default]
    Absent,
    Implausible,
    /// The times of the request, the handler and the response.
    Used([u64; 3]),
}

impl MarkTimes {
    /// Computes the times from the marks and the call's own times, ns of one clock. Marks from another clock
    /// almost always lie outside the call; the shorter the call, the more reliably they do.
    pub(crate) fn from_marks(handler: (u64, u64), encode_start: u64, done: u64) -> MarkTimes {
        let (start, end) = handler;
        if encode_start <= start && start <= end && end <= done {
            MarkTimes::Used([start - encode_start, end - start, done - end])
        } else {
            MarkTimes::Implausible
        }
    }
}

/// Times of successful calls from just before the first write of the request, or of its last retry. Writes and
/// reads carry many calls, so the times include what else was in the same write and read.
#[derive(Debug)]
pub(crate) struct ServiceTimes {
    /// Until the read that brought the last byte of the response.
    pub(crate) whole: Histogram,
    /// Until the read that brought its first byte.
    pub(crate) first_byte: Histogram,
}

#[derive(Debug)]
pub(crate) struct Recorder {
    /// When the first measured call was due, once there is one.
    pub(crate) start: Option<u64>,
    /// When the last measured call ended.
    pub(crate) end: u64,
    pub(crate) latency: Histogram,
    /// Times of the calls since the last snapshot, if snapshots are taken.
    pub(crate) interval: Option<IntervalTimes>,
    pub(crate) failed_latency: Histogram,
    pub(crate) send_delay: Histogram,
    /// `None` unless the trial keeps detail.
    pub(crate) service: Option<ServiceTimes>,
    /// `None` unless calls stream.
    pub(crate) messages: Option<Box<MessageRecorder>>,
    /// When the messages of a call are due.
    pace: Pace,
    /// All stages if they are timed; otherwise empty.
    pub(crate) stages: Vec<(Stage, Histogram)>,
    /// The stage times of the last call, until they are counted.
    uncounted: Option<StageTimes>,
    pub(crate) marks: Marks,
    pub(crate) timeline: TimelineRecorder,
    /// `None` unless slow calls are recorded.
    pub(crate) slow: Option<SlowCalls>,
    pub(crate) steps: Steps,
    pub(crate) account: Account,
    pub(crate) errors: ErrorSamples,
    /// Calls that were due but had no body yet.
    pub(crate) bodies_late: u64,
    pub(crate) stalls: Stalls,
}

impl Recorder {
    /// `has_snapshots` indicates whether times are also recorded by interval.
    pub(crate) fn new(trial: &Trial, has_snapshots: bool) -> Recorder {
        let stages = match trial.timing {
            Timing::Load => Vec::new(),
            Timing::Stages => Stage::ALL.map(|stage| (stage, small_histogram())).to_vec(),
        };
        Recorder {
            start: None,
            end: 0,
            latency: histogram(),
            interval: has_snapshots.then(IntervalTimes::default),
            failed_latency: histogram(),
            send_delay: histogram(),
            service: trial.keeps_detail.then(|| ServiceTimes {
                whole: histogram(),
                first_byte: histogram(),
            }),
            messages: trial
                .streaming
                .map(|streaming| Box::new(MessageRecorder::new(streaming.form))),
            pace: trial.streaming.map_or(Pace::Unpaced, |of| of.pace),
            stages,
            uncounted: None,
            marks: Marks::default(),
            timeline: if trial.keeps_detail {
                TimelineRecorder::with_latencies()
            } else {
                TimelineRecorder::default()
            },
            slow: trial.keeps_slow.then(SlowCalls::default),
            steps: Steps::new(&trial.schedule),
            account: Account::default(),
            errors: ErrorSamples::default(),
            bodies_late: 0,
            stalls: Stalls::default(),
        }
    }

    /// Counts a call that was taken from the schedule but will not begin.
    pub(crate) fn started(&mut self, due: u64) {
        self.start.get_or_insert(due);
        self.account.calls.started += 1;
        if let Some(step) = self.step(due) {
            step.calls.started += 1;
        }
    }

    /// Counts a call that began, or failed before it could begin, and records its send delay.
    #[inline]
    pub(crate) fn begun(&mut self, due: u64, now: u64) {
        let delay = now.saturating_sub(due);
        self.start.get_or_insert(due);
        self.account.calls.started += 1;
        record(&mut self.send_delay, delay);
        if !self.steps.each.is_empty() {
            self.begun_in_step(due, delay);
        }
        if let Some(interval) = &mut self.interval {
            record(&mut interval.send_delay, delay);
        }
    }

    #[cold]
    fn begun_in_step(&mut self, due: u64, delay: u64) {
        if let Some(step) = self.step(due) {
            step.calls.started += 1;
            record(&mut step.send_delay, delay);
        }
    }

    /// The slow calls so far, if they are recorded.
    pub(crate) fn slow(&self) -> &[SlowCall] {
        self.slow.as_ref().map_or(&[], SlowCalls::kept)
    }

    /// Counts a call that was passed to the transport for the first time.
    pub(crate) fn sent(&mut self, due: u64) {
        self.account.sent += 1;
        if let Some(step) = self.step(due) {
            step.calls.sent += 1;
        }
    }

    /// Undoes [`Recorder::sent`] for a call if the transport sent nothing of it.
    pub(crate) fn not_sent(&mut self, due: u64) {
        self.account.sent -= 1;
        if let Some(step) = self.step(due) {
            step.calls.sent -= 1;
        }
    }

    pub(crate) fn succeeded(&mut self, due: u64, done: u64) {
        let latency = done.saturating_sub(due);
        record(&mut self.latency, latency);
        if let Some(interval) = &mut self.interval {
            record(&mut interval.latency, latency);
        }
        let offset = self.offset(due);
        self.timeline.succeeded(offset, latency, 1);
        if let Some(slow) = &mut self.slow {
            slow.succeeded(due, latency);
        }
        if !self.steps.each.is_empty() {
            self.succeeded_in_step(due, done);
        }
        self.account.calls.answered += 1;
        self.end = self.end.max(done);
    }

    #[cold]
    fn succeeded_in_step(&mut self, due: u64, done: u64) {
        if let Some(step) = self.step(due) {
            step.calls.succeeded(done.saturating_sub(due));
        }
        if let Some(step) = self.step(done) {
            step.answered_within += 1;
        }
    }

    /// Records the times of a successful call whose request was written at `written`; 0 if its response came
    /// before that. `received` is when the first and the last byte of the response were read.
    pub(crate) fn served(&mut self, written: u64, received: [u64; 2]) {
        if let Some(service) = &mut self.service
            && written != 0
        {
            let [first, last] = received.map(|at| at.saturating_sub(written));
            record(&mut service.first_byte, first);
            record(&mut service.whole, last);
        }
    }

    /// Counts how a streaming call ended.
    #[cold]
    pub(crate) fn stream_ended(&mut self, stream: &CallStream, succeeded: bool) {
        if let Some(messages) = &mut self.messages {
            messages.count_call(stream, self.pace, succeeded);
        }
    }

    /// Counts the messages of an attempt that is retried.
    #[cold]
    pub(crate) fn stream_retried(&mut self, stream: &CallStream) {
        if let Some(messages) = &mut self.messages {
            messages.count_unanswered(stream);
        }
    }

    /// Counts a message that was passed to the transport, if its call is `measured`.
    pub(crate) fn message_sent(&mut self, measured: bool) {
        if let Some(messages) = self.messages.as_mut().filter(|_| measured) {
            messages.sent += 1;
        }
    }

    pub(crate) fn failed(&mut self, due: u64, done: u64, kind: FailureKind, text: &str) {
        let latency = done.saturating_sub(due);
        record(&mut self.failed_latency, latency);
        if let Some(interval) = &mut self.interval {
            record(&mut interval.failed_latency, latency);
        }
        self.timeline.failed(self.offset(due), 1);
        if let Some(step) = self.step(due) {
            step.calls.failed(kind);
        }
        *self.account.calls.failed.entry(kind).or_default() += 1;
        self.errors.add(kind, text);
        self.end = self.end.max(done);
    }

    /// Counts a stall of this process, which began at `from` and lasted `lasted`, both in ns.
    #[cold]
    pub(crate) fn stalled(&mut self, from: u64, lasted: u64) {
        let offset = self.offset(from);
        self.stalls.add(offset, lasted);
    }

    /// Stores the stage times of a successful call for [`Recorder::count_stages`].
    pub(crate) fn stages(&mut self, times: StageTimes) {
        self.count_stages();
        self.uncounted = Some(times);
    }

    /// Counts the stages of the last call. It is called while the next call is in flight. The histograms are
    /// rarely in the CPU's caches, and counting between two calls would delay them.
    pub(crate) fn count_stages(&mut self) {
        if let Some(times) = self.uncounted.take() {
            self.count(&times);
        }
    }

    /// Not inlined. Otherwise, each turn of the loop would save registers for it, even if stages are not
    /// timed.
    #[inline(never)]
    fn count(&mut self, times: &StageTimes) {
        let server = match times.server {
            MarkTimes::Used(times) => {
                self.marks.used += 1;
                times.map(Some)
            }
            MarkTimes::Absent => {
                self.marks.absent += 1;
                [None; 3]
            }
            MarkTimes::Implausible => {
                self.marks.implausible += 1;
                [None; 3]
            }
        };
        let mut stages = self.stages.iter_mut();
        let mut count = |values: &[Option<u64>]| {
            for (value, (_, histogram)) in values.iter().zip(&mut stages) {
                if let Some(value) = value {
                    record(histogram, *value);
                }
            }
        };
        count(&times.client);
        count(&server);
    }

    /// Time from the due time of the first measured call until the end of the last one or, if later, the end
    /// of arrivals, ns.
    pub(crate) fn span_ns(&self) -> u64 {
        self.end.saturating_sub(self.start.unwrap_or(self.end))
    }

    fn step(&mut self, at: u64) -> Option<&mut StepRecorder> {
        if self.steps.each.is_empty() {
            return None;
        }
        let offset = self.offset(at);
        self.steps.at(offset)
    }

    /// Time from the due time of the first measured call until `at`, ns.
    pub(crate) fn offset(&self, at: u64) -> u64 {
        at.saturating_sub(self.start.unwrap_or(at))
    }
}
