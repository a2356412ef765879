//! Tests sums of made-up slices.

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

/// The records of a slice of unary calls or batches.
fn of(calls: &[Record]) -> SliceRecords {
    SliceRecords {
        calls: calls.to_vec(),
        messages: Vec::new(),
    }
}

fn finish(sum: Sum) -> TrialFigures {
    let warmup = Warmup {
        calls: 0,
        failed: 0,
        elapsed_ns: 0,
        settled: true,
    };
    let slice = Slice {
        skip_calls: 1,
        skip_us: 0,
        least_calls: 1,
        time_us: 1,
    };
    let figures = sum.finish([Compression::None; 2], warmup, slice);
    assert_eq!(figures.check(), Ok(()));
    figures
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
    let mut sum = Sum::new(None, None);
    sum.add(
        &of(&[record(100, 150), record(120, 200)]),
        &done(Some(30), None),
        2,
    );
    sum.add(&of(&[record(5_000, 5_050)]), &done(Some(12), None), 1);
    // With two calls in flight, a third would have been due when the first one ended.
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
        "only between times that the record contains"
    );
    assert_eq!(all.payload.request_compressed, Some(6.0));
    assert_eq!(all.payload.request, Some(6.0), "without compression");
    assert_eq!(all.payload.response_compressed, None, "absent is not 0");
    // The timeline uses the run's clock.
    let answered = all.timeline.slices.iter().map(|slice| slice.answered);
    assert_eq!(answered.sum::<u64>(), 3);
    assert!(all.timeline.slice_ns * all.timeline.slices.len() as u64 >= 4_950);
}

#[test]
fn a_batch_counts_as_operations_of_its_mean() {
    let mut sum = Sum::new(Some(Operation::Decode), None);
    let batch = Record {
        operations: 3_000,
        ..record(1_000, 21_000)
    };
    sum.add(&of(&[batch]), &done(None, None), 0);
    let all = finish(sum);
    assert_eq!(all.calls.answered, 3_000);
    assert_eq!(all.stages.keys().collect::<Vec<_>>(), [&Stage::Decode]);
    let decode = all.stages[&Stage::Decode].unpack();
    // 20 µs for 3,000 operations is not a whole number of nanoseconds each.
    for times in [all.latency.unpack(), decode] {
        assert_eq!(times.len(), 3_000);
        for ns in [times.min(), times.quantile(0.5), times.mean(), times.max()] {
            assert!((ns - 20.0 / 3.0).abs() < 0.005, "{ns}");
        }
    }
    let slices = all.timeline.slices.iter();
    assert_eq!(slices.map(|s| s.latency_sum_ns).sum::<u64>(), 20_000);
    assert_eq!(all.cpu.client, None, "a slice did not report it");
}

#[test]
fn a_slow_batch_is_slow_as_a_whole() {
    let batch = |begin, end| Record {
        operations: 4,
        ..record(begin, end)
    };
    let mut batches: Vec<Record> = (0..16).map(|n| batch(n * 100, n * 100 + 100)).collect();
    batches.push(batch(2_000, 2_900));
    let mut sum = Sum::new(Some(Operation::Encode), None);
    sum.add(&of(&batches), &done(None, None), 0);
    let (slow, from_ns) = sum.slow();
    let found = slow.kept().iter();
    let found = found.map(|call| (call.due_ns, call.latency_ns, call.usual_ns));
    assert_eq!(found.collect::<Vec<_>>(), [(2_000, 900, 100)]);
    assert_eq!(from_ns, 0);
}

#[test]
fn the_records_of_calls_in_flight_cover_the_time() {
    // Calls that begin every `step` ns and take `took` ns.
    let failure = |in_flight, count: u64, step: u64, took, failed| {
        let call = |n: u64| Record {
            failed,
            ..record(n * step, n * step + took)
        };
        let calls: Vec<Record> = (0..count).map(call).collect();
        let mut sum = Sum::new(None, None);
        sum.add(&of(&calls), &done(None, None), 0);
        sum.add(&of(&[record(90_000_000, 90_009_000)]), &done(None, None), 0);
        sum.failure(in_flight).unwrap_or_default()
    };
    assert_eq!(failure(1, 20, 10_000, 4_000, false), "");
    assert_eq!(failure(4, 20, 10_000, 40_000, false), "");
    let idle = failure(1, 20, 100_000, 2_000, false);
    assert!(idle.contains("cover 2.6% of the time, at 1 in"), "{idle}");
    let sequential = failure(4, 100, 10_000, 9_000, false);
    assert!(sequential.contains("at 4 in flight"), "{sequential}");
    // Too few records to decide, and a client that waits after failures.
    assert_eq!(failure(1, 18, 100_000, 2_000, false), "");
    assert_eq!(failure(1, 20, 100_000, 2_000, true), "");
}

#[test]
fn failed_calls_are_no_latency_and_keep_their_reason() {
    let mut sum = Sum::new(None, None);
    let failed = Record {
        failed: true,
        ..record(100, 200)
    };
    let slice = [failed, record(200, 250), failed];
    sum.add(&of(&slice), &done(None, Some("refused\n")), 0);
    sum.add(&of(&slice[..1]), &done(None, Some("refused")), 0);
    sum.add(&of(&slice[..1]), &done(None, None), 0);
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
