use proptest::prelude::*;
use rpcgauge_trial::{Arrivals, RampPart, Schedule};

use super::*;
use crate::engine::tests::{trial, unused};
use crate::schedule::DueTimes;

fn recorder() -> Recorder {
    Recorder::new(&trial(unused()), false)
}

/// The sizes of everything in a recorder that could grow with the number of calls.
fn kept(recorder: &Recorder) -> Vec<usize> {
    let histograms = [
        &recorder.latency,
        &recorder.failed_latency,
        &recorder.send_delay,
    ];
    let stages = recorder.stages.iter().map(|(_, histogram)| histogram);
    let steps = recorder.steps.each.iter();
    let steps = steps.flat_map(|step| [&step.calls.latency, &step.send_delay]);
    let interval = recorder.interval.iter();
    let interval =
        interval.flat_map(|times| [&times.latency, &times.failed_latency, &times.send_delay]);
    let service = recorder.service.iter();
    let service = service.flat_map(|times| [&times.whole, &times.first_byte]);
    let mut kept: Vec<usize> = histograms
        .into_iter()
        .chain(service)
        .chain(stages)
        .chain(steps)
        .chain(interval)
        .map(Histogram::distinct_values)
        .collect();
    kept.push(recorder.timeline.room());
    kept.push(recorder.account.calls.failed.len());
    kept.push(recorder.errors.samples.len());
    kept
}

#[test]
fn an_answer_counts_in_the_step_that_it_comes_in() {
    let part = |from| RampPart {
        from,
        to: from,
        time_ms: 1,
    };
    let trial = Trial {
        schedule: Schedule::Ramp {
            parts: [2_000.0, 1_000.0].map(part).to_vec(),
            arrivals: Arrivals::Constant,
        },
        ..trial(unused())
    };
    let mut recorder = Recorder::new(&trial, false);
    // Each call takes a millisecond, and the last one ends after the ramp.
    for due in [7, 500_007, 1_000_007] {
        recorder.started(due);
        recorder.succeeded(due, due + 1_000_000);
    }
    let steps = recorder.steps.each.iter();
    let counts = steps.map(|step| (step.calls.answered, step.answered_within));
    assert_eq!(counts.collect::<Vec<_>>(), [(2, 0), (1, 2)]);
}

#[test]
fn a_million_calls_are_kept_in_no_more_than_ten_thousand() {
    let part = |time_ms| RampPart {
        from: 1e5,
        to: 1e5,
        time_ms,
    };
    let trial = Trial {
        schedule: Schedule::Ramp {
            parts: [5, 5, 100_000].map(part).to_vec(),
            arrivals: Arrivals::Constant,
        },
        timing: Timing::Stages,
        keeps_slow: true,
        keeps_detail: true,
        ..trial(unused())
    };
    let mut recorder = Recorder::new(&trial, true);
    let mut after_few = Vec::new();
    for call in 0..1_000_000u64 {
        let due = call * 10_000;
        // Latencies of up to 2 s, and a different error text for each failure.
        let latency = (call % 2000) * 1_000_000;
        recorder.begun(due, due + latency / 2);
        recorder.sent(due);
        if call % 10 == 0 {
            let kind = FailureKind::HttpStatus(500 + (call % 100) as u16);
            recorder.failed(due, due + latency, kind, &format!("error of call {call}"));
        } else {
            recorder.succeeded(due, due + latency);
            recorder.served(due + 1, [due + latency / 2, due + latency]);
            recorder.stages(StageTimes {
                client: [Some(latency); 8],
                ..StageTimes::default()
            });
        }
        if call == 10_000 {
            after_few = kept(&recorder);
        }
    }
    assert_eq!(kept(&recorder), after_few);
    assert_eq!(recorder.account.close().unwrap().started, 1_000_000);
}

#[test]
fn marks_count_only_inside_the_call() {
    let used = MarkTimes::Used([10, 5, 85]);
    assert_eq!(MarkTimes::from_marks((110, 115), 100, 200), used);
    for outside in [(99, 115), (110, 201), (115, 110)] {
        let times = MarkTimes::from_marks(outside, 100, 200);
        assert_eq!(times, MarkTimes::Implausible, "{outside:?}");
    }
}

#[test]
fn a_lost_call_is_the_instruments_fault() {
    let mut recorder = recorder();
    recorder.started(0);
    recorder.started(1);
    recorder.sent(0);
    recorder.succeeded(0, 10);
    let error = recorder.account.close().unwrap_err();
    assert!(matches!(error, LoadError::Accounting(_)));
    let text = "2 calls were started, but 1 succeeded, 0 failed and 0 were abandoned: this is a \
                bug in rpcgauge; please report it";
    assert_eq!(error.to_string(), text);
}

proptest! {
    #[test]
    fn sums_hold_and_every_figure_agrees(
        ends in prop::collection::vec((0u8..4, 0u64..1 << 30, 0u64..1 << 20), 0..200),
    ) {
        let mut recorder = recorder();
        for &(end, due, latency) in &ends {
            recorder.started(due);
            if end < 2 {
                recorder.sent(due);
            }
            match end {
                0 => recorder.succeeded(due, due + latency),
                1 => recorder.failed(due, due + latency, FailureKind::Deadline, "late"),
                2 => recorder.failed(due, due + latency, FailureKind::HttpStatus(503), ""),
                _ => recorder.account.calls.abandoned += 1,
            }
        }
        let span_ns = recorder.span_ns();
        let calls = recorder.account.close().unwrap();
        prop_assert_eq!(calls.started, ends.len() as u64);
        prop_assert_eq!(calls.answered, recorder.latency.len());
        prop_assert_eq!(calls.failed_total(), recorder.failed_latency.len());
        let never_sent = ends.iter().filter(|(end, ..)| *end >= 2).count();
        prop_assert_eq!(calls.never_sent, never_sent as u64);
        let slices = recorder.timeline.finish(span_ns).slices;
        prop_assert_eq!(slices.iter().map(|s| s.answered).sum::<u64>(), calls.answered);
        prop_assert_eq!(slices.iter().map(|s| s.failed).sum::<u64>(), calls.failed_total());
    }
}

/// A server answers one call after another instantly, but pauses for the first 100 ms of every second. It is
/// called 1,000 times per second in virtual time. A call that is due during the pause waits until the pause
/// ends, so 90% of the latencies are 0 and the rest are uniform from 0 to 100 ms: p95 is 50 ms, p99 is 90 ms,
/// and the maximum is 100 ms. A client that times from the send misses almost all of this.
#[test]
fn a_stalled_server_shows_in_the_latency_however_few_calls_are_in_flight() {
    const MS: u64 = 1_000_000;
    let schedule = Schedule::Rate {
        per_second: 1000.0,
        arrivals: Arrivals::Constant,
    };
    let mut due_times = DueTimes::new(&schedule, 0, 0);
    let mut recorder = recorder();
    let mut from_send = histogram();
    let mut free = 0;
    for _ in 0..60_000 {
        let due = due_times.take().unwrap();
        // With one call in flight, a call is sent when it is due or, if later, when the previous one has
        // ended.
        let sent = due.max(free);
        let done = if sent % (1000 * MS) < 100 * MS {
            sent - sent % (1000 * MS) + 100 * MS
        } else {
            sent
        };
        recorder.begun(due, sent);
        recorder.succeeded(due, done);
        record(&mut from_send, done - sent);
        free = done;
    }
    for (quantile, truth_ms) in [(0.5, 0), (0.95, 50), (0.99, 90), (1.0, 100)] {
        let got = recorder.latency.value_at_quantile(quantile) as f64 / MS as f64;
        assert!((got - truth_ms as f64).abs() <= 1.1, "{quantile}: {got} ms");
    }
    assert_eq!(recorder.send_delay.value_at_quantile(0.5), 0);
    assert!(
        recorder.send_delay.max() >= 98 * MS,
        "the send delay is kept too"
    );
    assert_eq!(from_send.value_at_quantile(0.99), 0, "timed from the send");
}
