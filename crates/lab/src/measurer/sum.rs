//! Adds up the records of a client's or codec's slices.

use std::collections::BTreeMap;

use rpcgauge_contract::{Operation, Record, SliceDone, Stream};
use rpcgauge_load::{SlowCalls, TimelineRecorder};
use rpcgauge_message::Compression;
use rpcgauge_study::histogram::{Times, Unit};
use rpcgauge_trial::{
    Calls, Cpu, CpuTimes, ErrorSamples, FailureKind, Histogram, Payload, Slice, Slices, Stage,
    TrialFigures, Warmup,
};

use super::cover::Cover;
use super::message_sum::MessageSum;
use crate::subject::{SliceRecords, one_line};

/// The sum of all slices so far.
pub(super) struct Sum {
    /// What a codec's operations do; `None` for a client.
    operation: Option<Operation>,
    pub(super) calls: Calls,
    latency: Times,
    failed_latency: Times,
    /// The messages of streams; `None` for other calls.
    messages: Option<Box<MessageSum>>,
    stages: BTreeMap<Stage, Times>,
    timeline: TimelineRecorder,
    slow: SlowCalls,
    /// The time from a slice's first call until its next call would have been due, summed over all slices.
    pub(super) elapsed_ns: u64,
    /// Covers only slices without failed calls, because a client may wait after a failure.
    cover: Cover,
    /// When the first record begins and the last one ends.
    began: Option<u64>,
    ended: u64,
    request_bytes: Mean,
    response_bytes: Mean,
    client_cpu_ns: Option<u64>,
    errors: ErrorSamples,
    reopened: u64,
    slices: u64,
    skipped: u64,
}

impl Sum {
    pub(super) fn new(operation: Option<Operation>, stream: Option<Stream>) -> Self {
        Self {
            operation,
            calls: Calls::default(),
            latency: Times::new(unit(operation)),
            failed_latency: Times::new(unit(operation)),
            messages: stream.map(|stream| Box::new(MessageSum::new(stream))),
            stages: BTreeMap::new(),
            timeline: TimelineRecorder::default(),
            slow: SlowCalls::default(),
            elapsed_ns: 0,
            cover: Cover::default(),
            began: None,
            ended: 0,
            request_bytes: Mean::default(),
            response_bytes: Mean::default(),
            client_cpu_ns: Some(0),
            errors: ErrorSamples::default(),
            reopened: 0,
            slices: 0,
            skipped: 0,
        }
    }

    /// Adds a slice. Its records do not include the first `skipped` operations.
    pub(super) fn add(&mut self, records: &SliceRecords, done: &SliceDone, skipped: u64) {
        let SliceRecords {
            calls: records,
            messages,
        } = records;
        self.slices += 1;
        self.skipped += skipped;
        self.reopened = self.reopened.saturating_add(done.reopened);
        let both = self.client_cpu_ns.zip(done.cpu_ns);
        self.client_cpu_ns = both.map(|(all, slice)| all.saturating_add(slice));
        let began = records.iter().map(|record| record.begin).min();
        let ended = records.iter().map(|record| record.end).max();
        // The next call would have been due when the first call without a successor ended.
        let last = records.iter().map(|record| record.begin).max();
        let after_last = records.iter().map(|record| record.end);
        let until = after_last.filter(|end| Some(*end) >= last).min();
        let (Some(began), Some(ended), Some(until)) = (began, ended, until) else {
            return;
        };
        self.elapsed_ns += until - began;
        self.began.get_or_insert(began);
        self.ended = self.ended.max(ended);
        let mut failed = 0;
        for record in records {
            failed += self.record(record);
        }
        if let Some(sum) = &mut self.messages {
            for (call, messages) in records.iter().zip(messages) {
                sum.add(call, messages);
            }
        }
        match failed {
            0 => self.cover.add(records, until - began),
            _ => self.failed(failed, done.error.as_deref()),
        }
    }

    /// Adds a record. Returns how many of its operations failed.
    fn record(&mut self, record: &Record) -> u64 {
        let operations = u64::from(record.operations);
        let took = record.end - record.begin;
        let due = record
            .begin
            .saturating_sub(self.began.unwrap_or(record.begin));
        self.calls.started += operations;
        if record.failed {
            self.failed_latency.add_each(took, operations);
            self.timeline.failed(due, operations);
            return operations;
        }
        self.calls.answered += operations;
        // A slow batch of a codec is slow as a whole, because it is unknown which operation was slow.
        self.slow.succeeded(record.begin, took);
        self.latency.add_each(took, operations);
        self.timeline.succeeded(due, took, operations);
        self.request_bytes.add(record.request_bytes, operations);
        self.response_bytes.add(record.response_bytes, operations);
        let stages = match self.operation {
            Some(Operation::Encode) => vec![(Stage::Encode, took)],
            Some(Operation::Decode) => vec![(Stage::Decode, took)],
            None => stages(record),
        };
        let unit = unit(self.operation);
        for (stage, ns) in stages {
            let of_stage = self.stages.entry(stage);
            let of_stage = of_stage.or_insert_with(|| Times::new(unit));
            of_stage.add_each(ns, operations);
        }
        0
    }

    /// Counts failed calls. A slice reports only the reason of its first failed call.
    fn failed(&mut self, count: u64, reason: Option<&str>) {
        let kind = FailureKind::CallFailed;
        *self.calls.failed.entry(kind).or_default() += count;
        let with_text = u64::from(reason.is_some());
        if let Some(reason) = reason {
            self.errors.add(kind, &one_line(reason));
        }
        self.errors.without_sample += count - with_text;
    }

    /// The slow calls so far, and when the first call began, ns.
    pub(super) fn slow(&self) -> (&SlowCalls, u64) {
        (&self.slow, self.began.unwrap_or(0))
    }

    /// Why the sum cannot be used: every operation failed, or the records cover too little of the time for
    /// `in_flight` concurrent calls. `None` if it can be used.
    pub(super) fn failure(&self, in_flight: u64) -> Option<String> {
        if let Some(failure) = self.cover.failure(in_flight) {
            return Some(failure);
        }
        let said = self.errors.samples.first();
        let said = said.map_or("the subject does not report why", |sample| &sample.text);
        let started = self.calls.started;
        (self.calls.answered == 0).then(|| format!("all {started} calls failed: {said}"))
    }

    /// The figures of all calls. A subject reports nothing else.
    pub(super) fn finish(
        self,
        [request_coding, response_coding]: [Compression; 2],
        warmup: Warmup,
        each: Slice,
    ) -> TrialFigures {
        let elapsed_ns = self.elapsed_ns;
        let wall_ns = self.ended.saturating_sub(self.began.unwrap_or(self.ended));
        let (request, response) = (self.request_bytes.mean(), self.response_bytes.mean());
        let client_cpu_ns = self.client_cpu_ns.filter(|_| self.slices > 0);
        let stages = self.stages.into_iter();
        TrialFigures {
            calls: self.calls,
            warmup,
            elapsed_ns,
            latency: self.latency.into(),
            failed_latency: Histogram::from(self.failed_latency).non_empty(),
            messages: self
                .messages
                .map(|messages| Box::new(messages.finish(elapsed_ns))),
            stages: stages.map(|(stage, times)| (stage, times.into())).collect(),
            timeline: self.timeline.finish(wall_ns),
            slices: Some(Slices {
                count: self.slices,
                each,
                skipped: self.skipped,
                // A subject does not record the calls that it skips.
                skipped_failed: 0,
                skipped_never_sent: 0,
            }),
            // Without compression, the bytes sent are the encoded bytes.
            payload: Payload {
                request: request.filter(|_| request_coding.is_none()),
                request_compressed: request,
                response: response.filter(|_| response_coding.is_none()),
                response_compressed: response,
            },
            cpu: CpuTimes {
                client: client_cpu_ns.map(|total_ns| Cpu {
                    total_ns,
                    ..Cpu::default()
                }),
                server: None,
            },
            connections_reopened: self.reopened,
            error_samples: self.errors.samples,
            errors_without_sample: self.errors.without_sample,
            ..TrialFigures::default()
        }
    }
}

/// The stages between those times that a call's record contains.
fn stages(record: &Record) -> Vec<(Stage, u64)> {
    let (begin, end) = (Some(record.begin), Some(record.end));
    [
        (Stage::Encode, begin, record.encoded),
        (Stage::Send, record.encoded, record.sent),
        (Stage::Wait, record.sent, record.first_byte),
        (Stage::Receive, record.first_byte, record.received),
        (Stage::Decode, record.received, end),
        (Stage::RequestTime, begin, record.handler_start),
        (Stage::HandlerTime, record.handler_start, record.handler_end),
        (Stage::ResponseTime, record.handler_end, end),
    ]
    .into_iter()
    .filter_map(|(stage, from, to)| Some((stage, to?.saturating_sub(from?))))
    .collect()
}

/// The unit of times. A codec's operation may take a fraction of a nanosecond.
fn unit(operation: Option<Operation>) -> Unit {
    match operation {
        Some(_) => Unit::Ps,
        None => Unit::Ns,
    }
}

/// A mean; unknown if any of its terms is unknown.
#[derive(Default)]
struct Mean {
    total: u64,
    count: u64,
    unknown: bool,
}

impl Mean {
    fn add(&mut self, size: Option<u32>, count: u64) {
        self.unknown |= size.is_none();
        self.count += count;
        let all = u64::from(size.unwrap_or(0)).saturating_mul(count);
        self.total = self.total.saturating_add(all);
    }

    fn mean(&self) -> Option<f64> {
        (!self.unknown && self.count > 0).then(|| self.total as f64 / self.count as f64)
    }
}

#[cfg(test)]
mod tests;
