//! The records of a client's or codec's slices, added up.

use std::collections::BTreeMap;

use rpcgauge_contract::{Operation, Record, SliceDone};
use rpcgauge_load::{SlowCalls, TimelineRecorder};
use rpcgauge_message::Compression;
use rpcgauge_study::histogram::{Times, Unit};
use rpcgauge_study::record::{CpuTimes, Histogram, Measured, Slices};
use rpcgauge_trial::{
    Calls, Cpu, Ending, ErrorSamples, FailureKind, LateCalls, Payload, Stage, Stalls, Warmup,
};

use super::measured::Surroundings;
use crate::subject::one_line;

/// How much of the time of its slices the records of a subject cover at least, for each call in flight: in a
/// closed loop nearly all, and a quarter where one call is made at a time instead of four.
const MIN_COVER: f64 = 0.3;

/// Fewer calls (batches) than this do not show it.
const JUDGED_RECORDS: u64 = 20;

/// What all slices so far came to.
pub(super) struct Sum {
    /// What one record's operations do, of a codec.
    operation: Option<Operation>,
    pub(super) calls: Calls,
    latency: Times,
    failed_latency: Times,
    stages: BTreeMap<Stage, Times>,
    timeline: TimelineRecorder,
    slow: SlowCalls,
    /// From the first record's begin to the last one's end, over all slices.
    pub(super) elapsed_ns: u64,
    /// What the records of slices without a failed call cover. A client may wait after a failure.
    cover: Cover,
    /// The first record's begin, and the last one's end.
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
    pub(super) fn new(operation: Option<Operation>) -> Self {
        Self {
            operation,
            calls: Calls::default(),
            latency: Times::new(unit(operation)),
            failed_latency: Times::new(unit(operation)),
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

    /// Takes a slice, in which so many operations were left out of the records.
    pub(super) fn add(&mut self, records: &[Record], done: &SliceDone, skipped: u64) {
        self.slices += 1;
        self.skipped += skipped;
        self.reopened = self.reopened.saturating_add(done.reopened);
        let both = self.client_cpu_ns.zip(done.cpu_ns);
        self.client_cpu_ns = both.map(|(all, slice)| all.saturating_add(slice));
        let began = records.iter().map(|record| record.begin).min();
        let ended = records.iter().map(|record| record.end).max();
        // The next call would have been due when the first one ended for which there was none any more.
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
        match failed {
            0 => self.cover.add(records, until - began),
            _ => self.failed(failed, done.error.as_deref()),
        }
    }

    /// Counts a record; how many operations of it failed.
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
        // What held up a codec's batch held up all of it: which operation is not known.
        self.slow.answered(record.begin, took);
        self.latency.add_each(took, operations);
        self.timeline.answered(due, took, operations);
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

    /// A slice gives the reason of its first failed call alone.
    fn failed(&mut self, count: u64, reason: Option<&str>) {
        let kind = FailureKind::CallFailed;
        *self.calls.failed.entry(kind).or_default() += count;
        let with_text = u64::from(reason.is_some());
        if let Some(reason) = reason {
            self.errors.add(kind, &one_line(reason));
        }
        self.errors.without_sample += count - with_text;
    }

    /// The slow calls so far, and when the first call began.
    pub(super) fn slow(&self) -> (&SlowCalls, u64) {
        (&self.slow, self.began.unwrap_or(0))
    }

    /// Why the records cannot be right of so many calls in flight: every operation failed, or they leave most of
    /// the time open.
    pub(super) fn failure(&self, in_flight: u64) -> Option<String> {
        let Cover {
            records,
            taken_ns,
            time_ns,
        } = self.cover;
        let cover = taken_ns as f64 / (in_flight * time_ns) as f64;
        if records >= JUDGED_RECORDS && cover < MIN_COVER {
            return Some(format!(
                "its records cover {:.1}% of the time, at {in_flight} in flight: they are too short, or it was idle \
                 or had fewer in flight",
                cover * 100.0
            ));
        }
        let said = self.errors.samples.first();
        let said = said.map_or("the subject does not say why", |sample| &sample.text);
        let started = self.calls.started;
        (self.calls.answered == 0).then(|| format!("all of {started} calls failed: {said}"))
    }

    /// The sum as a record has it. Every field is named, so that none can get lost here.
    pub(super) fn into_measured(
        self,
        (request_coding, response_coding): (Compression, Compression),
        warmup: Warmup,
        around: Surroundings,
    ) -> Measured {
        let Self {
            operation: _,
            calls,
            latency,
            failed_latency,
            stages,
            timeline,
            slow: _,
            elapsed_ns,
            cover: _,
            began,
            ended,
            request_bytes,
            response_bytes,
            client_cpu_ns,
            errors,
            reopened,
            slices,
            skipped,
        } = self;
        let wall_ns = ended.saturating_sub(began.unwrap_or(ended));
        let (request, response) = (request_bytes.mean(), response_bytes.mean());
        let cpu = |total_ns| Cpu {
            total_ns,
            user_ns: None,
            system_ns: None,
        };
        Measured {
            calls,
            warmup,
            elapsed_ns,
            latency: latency.into(),
            failed_latency: Some(failed_latency)
                .filter(|times| !times.is_empty())
                .map(Histogram::from),
            // A subject sends a call when it is due: the one before it has ended.
            send_delay: Times::new(Unit::Ns).into(),
            stages: stages
                .into_iter()
                .map(|(stage, times)| (stage, times.into()))
                .collect(),
            timeline: timeline.finish(wall_ns),
            steps: Vec::new(),
            late: LateCalls::default(),
            requests_sent: None,
            slices: around.slice.map(|each| Slices {
                count: slices,
                each,
                skipped,
                // A subject does not record the calls that it skips.
                skipped_failed: 0,
                skipped_never_sent: 0,
            }),
            measured_from_ms: around.measured_from_ms,
            watched: around.watched,
            link: None,
            bytes: None,
            // Without compression the bytes that were carried are those that were encoded.
            payload: Payload {
                request: request.filter(|_| request_coding.is_none()),
                request_compressed: request,
                response: response.filter(|_| response_coding.is_none()),
                response_compressed: response,
            },
            cpu: CpuTimes {
                client: client_cpu_ns.filter(|_| slices > 0).map(cpu),
                server: around.server_cpu,
            },
            memory: around.memory,
            threads: around.threads,
            startup: around.startup,
            client_share: None,
            code: around.code,
            ending: Ending::Complete,
            connections_at_start: None,
            connections_opened: None,
            connections_reopened: reopened,
            tls_resumed: 0,
            connects_failed: 0,
            uncompressed_responses: 0,
            bodies_late: 0,
            stalls: Stalls::default(),
            most_in_flight: None,
            error_samples: errors.samples,
            errors_without_sample: errors.without_sample,
        }
    }
}

/// The stages between the times that a call's record has.
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

/// What times are counted in: an operation of a codec is a part of what the clock counts.
fn unit(operation: Option<Operation>) -> Unit {
    match operation {
        Some(_) => Unit::Ps,
        None => Unit::Ns,
    }
}

/// How long calls were in flight, and in what time.
#[derive(Default)]
struct Cover {
    records: u64,
    taken_ns: u64,
    time_ns: u64,
}

impl Cover {
    fn add(&mut self, records: &[Record], time_ns: u64) {
        let taken = records.iter().map(|record| record.end - record.begin);
        self.records += records.len() as u64;
        self.taken_ns += taken.sum::<u64>();
        self.time_ns += time_ns;
    }
}

/// A mean, where all that it is of is known.
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
mod tests {
    use rpcgauge_study::record::{Memory, Startup, Threads};
    use rpcgauge_trial::Slice;

    use super::*;

    fn record(begin: u64, end: u64) -> Record {
        Record {
            begin,
            encoded: Some(begin + 1),
            sent: Some(begin + 3),
            first_byte: None,
            received: Some(end - 4),
            end,
            handler_start: None,
            handler_end: Some(end - 10),
            request_bytes: Some(6),
            response_bytes: None,
            failed: false,
            operations: 1,
        }
    }

    fn finish(sum: Sum) -> Measured {
        let warmup = Warmup {
            calls: 0,
            failed: 0,
            elapsed_ns: 0,
            settled: true,
        };
        let around = Surroundings {
            server_cpu: None,
            memory: Memory {
                client_peak: 1,
                server_peak: None,
            },
            threads: Threads {
                client: 1,
                server: None,
            },
            startup: Startup::default(),
            code: None,
            response_size: None,
            slice: Some(Slice {
                skip_calls: 1,
                skip_us: 0,
                least_calls: 1,
                time_us: 1,
            }),
            measured_from_ms: None,
            watched: None,
        };
        sum.into_measured((Compression::None, Compression::None), warmup, around)
    }

    fn done(cpu_ns: Option<u64>, error: Option<&str>) -> SliceDone {
        SliceDone {
            cpu_ns,
            error: error.map(str::to_owned),
            reopened: 1,
            ..SliceDone::default()
        }
    }

    #[test]
    fn slices_add_up_and_what_is_between_them_does_not_count() {
        let mut sum = Sum::new(None);
        sum.add(
            &[record(100, 150), record(120, 200)],
            &done(Some(30), None),
            2,
        );
        sum.add(&[record(5_000, 5_050)], &done(Some(12), None), 1);
        // Of two calls in flight, a third would have been due when the first one ended.
        assert_eq!((sum.calls.started, sum.elapsed_ns), (3, 50 + 50));
        let all = finish(sum);
        assert_eq!((all.calls.answered, all.calls.failed_total()), (3, 0));
        let slices = all.slices.unwrap();
        assert_eq!((slices.count, slices.skipped), (2, 3));
        assert_eq!(all.connections_reopened, 2);
        assert_eq!(all.cpu.client.map(|cpu| cpu.total_ns), Some(42));
        assert_eq!(all.failed_latency, None);
        let latency = all.latency.unpack();
        assert_eq!(
            (latency.len(), latency.min(), latency.max()),
            (3, 50.0, 80.0)
        );
        let stages: Vec<(Stage, u64, f64)> = all
            .stages
            .iter()
            .map(|(stage, times)| (*stage, times.unpack().len(), times.unpack().min()))
            .collect();
        assert_eq!(
            stages,
            [
                (Stage::Encode, 3, 1.0),
                (Stage::Send, 3, 2.0),
                (Stage::Decode, 3, 4.0),
                (Stage::ResponseTime, 3, 10.0)
            ],
            "only between times that are there"
        );
        assert_eq!(all.payload.request_compressed, Some(6.0));
        assert_eq!(all.payload.request, Some(6.0), "without compression");
        assert_eq!(all.payload.response_compressed, None, "absent is not 0");
        // The timeline is on the run's clock.
        let answered = all.timeline.slices.iter().map(|slice| slice.answered);
        assert_eq!(answered.sum::<u64>(), 3);
        assert!(all.timeline.slice_ns * all.timeline.slices.len() as u64 >= 4_950);
    }

    #[test]
    fn a_batch_counts_as_operations_of_its_mean() {
        let mut sum = Sum::new(Some(Operation::Decode));
        let batch = Record {
            operations: 3_000,
            ..record(1_000, 21_000)
        };
        sum.add(&[batch], &done(None, None), 0);
        let all = finish(sum);
        assert_eq!(all.calls.answered, 3_000);
        assert_eq!(all.stages.keys().collect::<Vec<_>>(), [&Stage::Decode]);
        let decode = all.stages[&Stage::Decode].unpack();
        // 20 µs for 3,000 is not a whole number of nanoseconds each.
        for times in [all.latency.unpack(), decode] {
            assert_eq!(times.len(), 3_000);
            for ns in [times.min(), times.quantile(0.5), times.mean(), times.max()] {
                assert!((ns - 20.0 / 3.0).abs() < 0.005, "{ns}");
            }
        }
        let slices = all.timeline.slices.iter();
        assert_eq!(slices.map(|s| s.latency_sum_ns).sum::<u64>(), 20_000);
        assert_eq!(all.cpu.client, None, "a slice did not give it");
    }

    #[test]
    fn a_slow_batch_is_slow_as_a_whole() {
        let batch = |begin, end| Record {
            operations: 4,
            ..record(begin, end)
        };
        let mut batches: Vec<Record> = (0..16).map(|n| batch(n * 100, n * 100 + 100)).collect();
        batches.push(batch(2_000, 2_900));
        let mut sum = Sum::new(Some(Operation::Encode));
        sum.add(&batches, &done(None, None), 0);
        let (slow, from_ns) = sum.slow();
        let found = slow.kept().iter();
        let found = found.map(|call| (call.due, call.latency, call.usual));
        assert_eq!(found.collect::<Vec<_>>(), [(2_000, 900, 100)]);
        assert_eq!(from_ns, 0);
    }

    #[test]
    fn the_records_of_calls_in_flight_cover_the_time() {
        // Calls that begin so far from each other and take so long, ns.
        let failure = |in_flight, count: u64, step: u64, took, failed| {
            let call = |n: u64| Record {
                failed,
                ..record(n * step, n * step + took)
            };
            let calls: Vec<Record> = (0..count).map(call).collect();
            let mut sum = Sum::new(None);
            sum.add(&calls, &done(None, None), 0);
            sum.add(&[record(90_000_000, 90_009_000)], &done(None, None), 0);
            sum.failure(in_flight).unwrap_or_default()
        };
        assert_eq!(failure(1, 20, 10_000, 4_000, false), "");
        assert_eq!(failure(4, 20, 10_000, 40_000, false), "");
        let idle = failure(1, 20, 100_000, 2_000, false);
        assert!(idle.contains("cover 2.6% of the time, at 1 in"), "{idle}");
        let sequential = failure(4, 100, 10_000, 9_000, false);
        assert!(sequential.contains("at 4 in flight"), "{sequential}");
        // Too few to tell, and a client that waits after failures.
        assert_eq!(failure(1, 18, 100_000, 2_000, false), "");
        assert_eq!(failure(1, 20, 100_000, 2_000, true), "");
    }

    #[test]
    fn failed_calls_are_no_latency_and_keep_their_reason() {
        let mut sum = Sum::new(None);
        let failed = Record {
            failed: true,
            ..record(100, 200)
        };
        let slice = [failed, record(200, 250), failed];
        sum.add(&slice, &done(None, Some("refused\n")), 0);
        sum.add(&slice[..1], &done(None, Some("refused")), 0);
        sum.add(&slice[..1], &done(None, None), 0);
        let all = finish(sum);
        assert_eq!((all.calls.started, all.calls.answered), (5, 1));
        assert_eq!(all.calls.failed.get(&FailureKind::CallFailed), Some(&4));
        assert_eq!(all.failed_latency.map(|h| h.unpack().len()), Some(4));
        assert_eq!(all.latency.unpack().len(), 1);
        let samples: Vec<(&str, u64)> = all
            .error_samples
            .iter()
            .map(|sample| (sample.text.as_str(), sample.count))
            .collect();
        assert_eq!(samples, [("refused", 2)]);
        assert_eq!(all.errors_without_sample, 2);
    }
}
