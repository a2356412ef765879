use proptest::prelude::*;
use rpcgauge_trial::{Calls, FailureKind, RampPart, Schedule, Stage, StreamForm};

use super::*;
use crate::histogram::{histogram, record};
use crate::slow::SlowCalls;
use crate::steps::StepRecorder;
use crate::timeline::TimelineRecorder;

/// Numbers for the fields of a measurement, in turn.
struct Numbers(std::vec::IntoIter<u64>);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0.next().unwrap_or(7)
    }

    fn histogram(&mut self) -> Histogram {
        let mut times = histogram();
        record(&mut times, self.next());
        times
    }

    fn failed(&mut self) -> BTreeMap<FailureKind, u64> {
        let kind = FailureKind::HttpStatus(500 + (self.next() % 3) as u16);
        [(kind, self.next())].into()
    }

    fn timeline(&mut self) -> Timeline {
        let mut timeline = TimelineRecorder::with_latencies();
        for _ in 0..5 {
            timeline.succeeded(self.next(), self.next(), 1);
        }
        timeline.failed(self.next(), 3);
        timeline.finish(self.next())
    }

    fn slow(&mut self) -> SlowCalls {
        let mut slow = SlowCalls::default();
        (0..16).for_each(|call| slow.succeeded(call, 10));
        (0..3).for_each(|_| slow.succeeded(self.next(), self.next()));
        slow
    }

    fn call_figures(&mut self) -> CallFigures {
        CallFigures {
            started: self.next(),
            sent: self.next(),
            answered: self.next(),
            failed: self.failed(),
            latency: self.histogram(),
        }
    }

    fn steps(&mut self) -> Vec<StepFigures> {
        let part = RampPart {
            from: 1.0,
            to: 2.0,
            time_ms: 9,
        };
        let ramp = Schedule::Ramp {
            parts: vec![part],
            arrivals: rpcgauge_trial::Arrivals::Constant,
        };
        let mut steps = StepRecorder::new(&ramp).figures;
        for step in &mut steps {
            step.calls = self.call_figures();
            step.answered_within = self.next();
            step.send_delay = self.histogram();
        }
        steps
    }
}

fn measurement(numbers: Vec<u64>) -> Measurement {
    let mut n = Numbers(numbers.into_iter());
    let endings = [
        Ending::Complete,
        Ending::Interrupted,
        Ending::GaveUp,
        Ending::MaxRequests,
    ];
    let mut traffic = rpcgauge_wire::Traffic::default();
    traffic.sent.body = n.next();
    Measurement {
        calls: Calls {
            started: n.next(),
            failed: n.failed(),
            retried: n.next(),
            ..Calls::default()
        },
        warmup: Warmup {
            calls: n.next(),
            failed: n.next(),
            elapsed_ns: n.next(),
            settled: n.next().is_multiple_of(2),
        },
        elapsed: Duration::from_nanos(n.next()),
        spent_over: Duration::from_nanos(n.next()),
        latency: n.histogram(),
        failed_latency: n.histogram(),
        send_delay: n.histogram(),
        service: n.next().is_multiple_of(2).then(|| ServiceTimes {
            whole: n.histogram(),
            first_byte: n.histogram(),
        }),
        messages: n.next().is_multiple_of(2).then(|| {
            let mut messages = Box::new(MessageFigures::new(StreamForm::Server));
            (messages.sent, messages.received) = (n.next(), n.next());
            (messages.ended_early, messages.unpaired) = (n.next(), n.next());
            (messages.first, messages.gap) = (n.histogram(), n.histogram());
            messages
        }),
        stages: [(Stage::ALL[(n.next() % 2) as usize], n.histogram())].into(),
        marks: Marks {
            used: n.next(),
            absent: n.next(),
            implausible: n.next(),
        },
        began: Some(n.next()),
        timeline: n.timeline(),
        slow: n.slow(),
        steps: n.steps(),
        mix: vec![n.call_figures(), n.call_figures()],
        traffic,
        requests_sent: n.next(),
        late: LateCalls {
            ended: n.next(),
            failed: n.next(),
            never_sent: n.next(),
            sent_before: n.next(),
        },
        late_answered: n.next(),
        slices: None,
        sizes: MessageSizes {
            requests: n.next(),
            request_plain: n.next(),
            ..MessageSizes::default()
        },
        cpu: Cpu {
            total_ns: n.next(),
            user_ns: Some(n.next()),
            system_ns: None,
        },
        busiest_share: n.next() as f64,
        connections_at_start: n.next(),
        connections_opened: n.next(),
        connections_reopened: n.next(),
        tls_resumed: n.next(),
        connects_failed: n.next(),
        bodies_late: n.next(),
        stalls: Stalls {
            count: n.next() % 2,
            total_ns: n.next() % 2,
            longest_ns: n.next(),
            longest_at_ns: n.next(),
        },
        most_in_flight: n.next(),
        uncompressed_responses: n.next(),
        checked_responses: n.next().is_multiple_of(2).then(|| n.next()),
        error_samples: (0..2)
            .map(|_| ErrorSample {
                kind: FailureKind::Protocol,
                text: format!("text {}", n.next() % 3),
                count: n.next() % 4,
            })
            .collect(),
        errors_without_sample: n.next(),
        ending: endings[(n.next() % 4) as usize],
    }
}

fn any_measurement() -> impl Strategy<Value = Measurement> {
    prop::collection::vec((0..40u32, any::<u64>()), 400).prop_map(|numbers| {
        // Of all magnitudes, below the point where sums saturate.
        let numbers = numbers
            .into_iter()
            .map(|(bits, number)| number & ((1 << bits) - 1));
        measurement(numbers.collect())
    })
}

fn merged(one: &Measurement, other: &Measurement) -> Measurement {
    let mut merged = one.clone();
    merged.merge_with(other.clone());
    merged
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_merging_does_not_matter(
        one in any_measurement(),
        two in any_measurement(),
        three in any_measurement(),
    ) {
        prop_assert_eq!(merged(&one, &two), merged(&two, &one));
        prop_assert_eq!(merged(&merged(&one, &two), &three), merged(&one, &merged(&two, &three)));
    }

    #[test]
    fn a_merged_timeline_is_that_of_all_calls(
        calls in prop::collection::vec((0u64..1 << 40, 0u64..1 << 30, any::<bool>()), 1..200),
        ends in [1u64..1 << 40, 1u64..1 << 40],
    ) {
        let mut recorders = [(); 3].map(|()| TimelineRecorder::with_latencies());
        for (due, latency, is_first) in calls {
            for of in [usize::from(is_first), 2] {
                recorders[of].succeeded(due, latency, 1);
            }
        }
        let [first, second, all] = recorders;
        let mut merged = first.finish(ends[0]);
        merged.merge_with(second.finish(ends[1]));
        prop_assert_eq!(merged, all.finish(ends[0].max(ends[1])));
    }
}

#[test]
fn times_that_threads_share_are_not_added() {
    let (mut one, other) = (measurement(vec![30; 400]), measurement(vec![50; 400]));
    one.merge_with(other);
    assert_eq!(one.elapsed, Duration::from_nanos(50));
    assert_eq!((one.busiest_share, one.cpu.total_ns), (50.0, 80));
    assert_eq!((one.began, one.latency.len()), (Some(30), 2));
}

#[test]
fn the_rarest_texts_are_left_out() {
    let mut one = measurement(vec![1; 400]);
    let sample = |count: u64| ErrorSample {
        kind: FailureKind::Protocol,
        text: format!("{count}"),
        count,
    };
    one.error_samples = (1..=MAX_SAMPLES as u64).map(sample).collect();
    let mut other = one.clone();
    other.error_samples = (11..=13).map(sample).collect();
    one.merge_with(other);
    one.bound_samples();
    let counts: Vec<u64> = one
        .error_samples
        .iter()
        .map(|sample| sample.count)
        .collect();
    assert_eq!(counts, [13, 12, 11, 10, 9, 8, 7, 6, 5, 4]);
    assert_eq!(one.errors_without_sample, 2 + 1 + 2 + 3);
}
