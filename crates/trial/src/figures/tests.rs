//! What records leave out and read back, and the refusal of figures that contradict themselves.

use super::*;
use crate::latency_counts::LatencyCounts;
use crate::timeline::TimelineSlice;

pub(crate) fn measured() -> TrialFigures {
    TrialFigures {
        warmup: Warmup {
            settled: true,
            ..Warmup::default()
        },
        elapsed_ns: 1,
        bytes: Some(Bytes::default()),
        client_share: Some(0.5),
        code: Some(CodeKind::Dynamic),
        connections_opened: Some(0),
        ..TrialFigures::default()
    }
}

#[test]
fn counts_of_what_did_not_happen_are_left_out() {
    let calm = measured();
    let text = serde_json::to_string(&calm).unwrap();
    for key in [
        "never_begun",
        "never_sent",
        "retried",
        "answered_after_retry",
        "bodies_late",
        "most_in_flight",
        "warmup_ended_after",
        "warmup_failed_after",
        "warmup_never_sent_after",
        "warmup_sent_before",
        "failed",
        "connections_at_start",
        "connects_failed",
        "uncompressed_responses",
        "errors_without_sample",
    ] {
        assert!(!text.contains(&format!("\"{key}\"")), "{key}: {text}");
    }
    assert_eq!(serde_json::from_str::<TrialFigures>(&text).unwrap(), calm);
}

#[test]
fn counts_of_failures_come_back() {
    let mut failing = measured();
    failing.calls.never_begun = 1;
    failing.calls.never_sent = 2;
    failing.calls.retried = 6;
    failing.calls.answered_after_retry = 7;
    failing.bodies_late = 8;
    failing.late = LateCalls {
        ended: 10,
        failed: 4,
        never_sent: 3,
        sent_before: 2,
    };
    failing.most_in_flight = Some(9);
    failing.warmup.failed = 2;
    failing.connections_at_start = Some(0);
    failing.connects_failed = 3;
    failing.uncompressed_responses = 4;
    failing.errors_without_sample = 5;
    let text = serde_json::to_string(&failing).unwrap();
    assert_eq!(
        serde_json::from_str::<TrialFigures>(&text).unwrap(),
        failing
    );
}

#[test]
fn marks_that_are_absent_are_zero_and_zero_is_absent() {
    let without = r#"{"headers":3,"bodies":2,"overhead":1}"#;
    let mut traffic: BytesByClass = serde_json::from_str(without).unwrap();
    assert_eq!((traffic.of_call(), traffic.total()), (6, 6));
    assert_eq!(serde_json::to_string(&traffic).unwrap(), without);
    traffic.marks = 76;
    let line = serde_json::to_string(&traffic).unwrap();
    assert_eq!(
        serde_json::from_str::<BytesByClass>(&line).unwrap(),
        traffic
    );
    assert_eq!((traffic.of_call(), traffic.total()), (6, 82));
}

/// A histogram of `count` values.
fn times(count: u64) -> Histogram {
    let mut times = crate::histogram::Unpacked::new(3).unwrap();
    times.record_n(7, count).unwrap();
    Histogram::from(times)
}

fn step(started: u64) -> Step {
    Step {
        from: 0.0,
        to: 100.0,
        time_ns: 1,
        started,
        never_sent: 0,
        answered: started,
        answered_within: started,
        failed: 0,
        stalled: 0,
        latency: times(started),
        send_delay: times(started),
    }
}

/// As many calls of each outcome.
fn mix_call(name: &str, calls: u64) -> MixFigures {
    MixFigures {
        name: name.to_owned(),
        started: 3 * calls,
        never_sent: 0,
        answered: calls,
        failed: [(FailureKind::Deadline, calls)].into(),
        latency: times(calls),
    }
}

/// Five calls of each outcome, three of which were never begun.
fn sound() -> TrialFigures {
    let slice = TimelineSlice {
        answered: 5,
        failed: 5,
        latency_sum_ns: 35,
        latency_max_ns: 7,
        latencies: LatencyCounts::of(7, 5),
    };
    TrialFigures {
        calls: Calls {
            started: 15,
            answered: 5,
            answered_late: 0,
            failed: [
                (FailureKind::Deadline, 4),
                (FailureKind::HttpStatus(503), 1),
            ]
            .into(),
            abandoned: 5,
            never_begun: 3,
            never_sent: 3,
            sent_late: 0,
            retried: 100,
            answered_after_retry: 1,
        },
        latency: times(5),
        failed_latency: Some(times(5)),
        send_delay: times(12),
        service_time: Some(times(5)),
        first_byte: Some(times(5)),
        stages: [(Stage::Encode, times(4))].into(),
        timeline: Timeline {
            slice_ns: 1,
            slices: vec![slice],
        },
        steps: vec![step(2), step(3)],
        mix: vec![mix_call("read", 4), mix_call("write", 1)],
        ..measured()
    }
}

fn problem(change: impl FnOnce(&mut TrialFigures)) -> String {
    let mut measured = sound();
    change(&mut measured);
    measured.check().err().unwrap_or_default()
}

#[test]
fn right_records_are_believed() {
    assert_eq!(problem(|_| {}), "");
    assert_eq!(problem(|m| *m = measured()), "", "nothing was called");
    assert_eq!(problem(|m| m.failed_latency = None), "");
    assert_eq!(problem(|m| m.timeline = Timeline::default()), "");
    let uncounted = problem(|m| m.timeline.slices[0].latencies = LatencyCounts::default());
    assert_eq!(uncounted, "", "in older records");
    // A client subject reports no delays, and calls after a ramp's end are in none of its steps.
    assert_eq!(problem(|m| m.send_delay = times(0)), "");
    assert_eq!(problem(|m| m.steps.truncate(1)), "");
    assert_eq!(problem(|m| m.mix.clear()), "");
    // Calls that slices leave out are not included in the other counts.
    let left_out = |skipped_failed| {
        problem(|m| {
            m.slices = Some(Slices {
                count: 1,
                each: Slice {
                    skip_calls: 1,
                    skip_us: 0,
                    least_calls: 1,
                    time_us: 1,
                },
                skipped: 100,
                skipped_failed,
                skipped_never_sent: 100,
            });
        })
    };
    assert_eq!(left_out(100), "");
    assert_ne!(left_out(101), "");
    assert_ne!(left_out(99), "");
}

#[test]
fn records_that_contradict_themselves_are_refused() {
    insta::assert_snapshot!(problem(|m| m.calls.started = 16), @"16 calls were started, but 5 succeeded, 5 failed and 5 were abandoned");
    insta::assert_snapshot!(problem(|m| m.calls.abandoned = u64::MAX), @"15 calls were started, but 5 succeeded, 5 failed and 18446744073709551615 were abandoned");
    insta::assert_snapshot!(problem(|m| { m.calls.abandoned = u64::MAX; m.calls.started = u64::MAX }), @"18446744073709551615 is more than can be counted in a trial");
    insta::assert_snapshot!(problem(|m| m.calls.never_begun = 6), @"the numbers of calls that were never begun, never sent, sent late, ended late or succeeded after a retry are inconsistent");
    insta::assert_snapshot!(problem(|m| m.calls.never_sent = 2), @"the numbers of calls that were never begun, never sent, sent late, ended late or succeeded after a retry are inconsistent");
    insta::assert_snapshot!(problem(|m| m.calls.answered_late = 6), @"the numbers of calls that were never begun, never sent, sent late, ended late or succeeded after a retry are inconsistent");
    insta::assert_snapshot!(problem(|m| m.latency = times(0)), @"it has 5 successful calls, but 0 latencies");
    insta::assert_snapshot!(problem(|m| m.failed_latency = Some(times(6))), @"it has 5 failed calls, but 6 latencies");
    insta::assert_snapshot!(problem(|m| m.send_delay = times(16)), @"it has more send delays than calls");
    insta::assert_snapshot!(problem(|m| m.first_byte = Some(times(6))), @"it has more service times than successful calls");
    insta::assert_snapshot!(problem(|m| m.stages = [(Stage::Encode, times(6))].into()), @"one of its stages has more times than there are successful calls");
    insta::assert_snapshot!(problem(|m| m.timeline.slices[0].answered = 4), @"its timeline does not match the trial's calls");
    insta::assert_snapshot!(problem(|m| m.timeline.slices[0].latency_sum_ns = 70), @"its timeline does not match the trial's latencies");
    let latencies = |latencies| problem(|m| m.timeline.slices[0].latencies = latencies);
    insta::assert_snapshot!(latencies(LatencyCounts::of(7, 4)), @"a slice of its timeline does not have one latency for each call");
    let no_bucket = LatencyCounts::of_buckets([(LatencyCounts::BUCKETS, 5)]);
    insta::assert_snapshot!(latencies(no_bucket), @"a slice of its timeline does not have one latency for each call");
    insta::assert_snapshot!(problem(|m| m.elapsed_ns = 0), @"it has successful calls, but took no time");
    insta::assert_snapshot!(problem(|m| m.elapsed_ns = 1 << 63), @"one of its times is longer than a year");
    insta::assert_snapshot!(problem(|m| m.startup.server_ns = Some(1 << 63)), @"one of its times is longer than a year");
    insta::assert_snapshot!(problem(|m| {
        let mut times = crate::histogram::Unpacked::new(3).unwrap();
        times.record_n(1 << 63, 12).unwrap();
        m.send_delay = Histogram::from(times);
    }), @"one of its times is longer than a year");
    insta::assert_snapshot!(problem(|m| m.steps[0].time_ns = u64::MAX), @"one of its times is longer than a year");
    insta::assert_snapshot!(problem(|m| m.steps[0].started = u64::MAX), @"its steps have more calls than the trial");
    insta::assert_snapshot!(problem(|m| m.steps[0].answered = 3), @"the outcomes in one of its steps do not match the calls that were due");
    insta::assert_snapshot!(problem(|m| m.steps[0].latency = times(0)), @"the times in one of its steps do not match its calls");
    insta::assert_snapshot!(problem(|m| m.steps[0].from = -1.0), @"calls cannot be sent at the rate of one of its steps");
    insta::assert_snapshot!(problem(|m| m.mix.truncate(1)), @"the calls of its mix do not add up to those of the trial");
    insta::assert_snapshot!(problem(|m| m.mix[0].failed.clear()), @"the calls of its mix do not add up to those of the trial");
    insta::assert_snapshot!(problem(|m| m.mix[0].answered = 5), @"the outcomes of a call of its mix do not match the calls that were due");
    let link = |change: fn(&mut LinkCounts)| {
        let mut link = LinkCounts::default();
        change(&mut link);
        problem(|m| m.link = Some(link))
    };
    assert_eq!(link(|_| {}), "");
    insta::assert_snapshot!(link(|l| l.up.dropped = 1), @"its link lost more packets than were offered");
    insta::assert_snapshot!(link(|l| l.lateness.p50_ns = 1), @"the percentiles of its link's lateness are not in ascending order");
    insta::assert_snapshot!(link(|l| l.calibration.median_ns = 1), @"its link's worst probe is faster than the median");
    insta::assert_snapshot!(problem(|m| m.client_share = Some(1e308)), @"the client's share of its core must be from 0 to 1");
    insta::assert_snapshot!(problem(|m| m.cpu.client = Some(Cpu { total_ns: 219_000_000_000_000_000, ..Default::default() })), @"it has more CPU time than all cores provide in that time");
    insta::assert_snapshot!(problem(|m| m.payload.request = Some(-1.0)), @"the size of a message must be a non-negative number");
    insta::assert_snapshot!(problem(|m| m.warmup.calls = u64::MAX), @"18446744073709551615 is more than can be counted in a trial");
    insta::assert_snapshot!(problem(|m| m.late.failed = 1), @"more late calls of its warm-up failed or were sent than there were");
    insta::assert_snapshot!(problem(|m| m.errors_without_sample = u64::MAX), @"18446744073709551615 is more than can be counted in a trial");
}
