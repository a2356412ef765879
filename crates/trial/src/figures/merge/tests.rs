use proptest::prelude::*;

use super::*;
use crate::failure::FailureKind;
use crate::figures::tests::measured;
use crate::figures::{Calls, CpuTimes, StreamForm, Timeline};
use crate::histogram::{Times, Unit};
use crate::latency_counts::LatencyCounts;
use crate::stage::Stage;
use crate::timeline::TimelineSlice;

fn processes(later_ns: u64) -> Concurrency {
    Concurrency::Processes { later_ns }
}

fn times(all: &[u64]) -> Histogram {
    let mut times = Times::new(Unit::Ns);
    all.iter().for_each(|ns| times.add_each(*ns, 1));
    Histogram::from(times)
}

/// Numbers for the fields of figures, in turn.
struct Numbers(std::vec::IntoIter<u64>);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0.next().unwrap_or(7)
    }

    fn is_next_even(&mut self) -> bool {
        self.next().is_multiple_of(2)
    }

    fn times(&mut self) -> Histogram {
        times(&[self.next()])
    }

    fn failed(&mut self) -> BTreeMap<FailureKind, u64> {
        let kind = FailureKind::HttpStatus(500 + (self.next() % 3) as u16);
        [(kind, self.next())].into()
    }

    fn timeline(&mut self) -> Timeline {
        let slices = (0..1 + self.next() % 200).map(|_| TimelineSlice {
            answered: self.next(),
            latency_max_ns: self.next(),
            ..TimelineSlice::default()
        });
        Timeline {
            slices: slices.collect(),
            // As the engine's, a power of two.
            slice_ns: 1 << (self.next() % 30),
        }
    }

    fn messages(&mut self) -> MessageFigures {
        MessageFigures {
            form: StreamForm::Server,
            sent: self.next(),
            received: self.next(),
            over_ns: self.next(),
            ended_early: self.next(),
            paired: self.next(),
            unpaired: self.next(),
            unmatched: self.next(),
            unanswered: self.next(),
            first: self.times(),
            gap: self.times(),
            latency: self.is_next_even().then(|| self.times()),
        }
    }

    fn step(&mut self) -> Step {
        Step {
            from: 1.0,
            to: 2.0,
            time_ns: 9,
            started: self.next(),
            never_sent: self.next(),
            answered: self.next(),
            answered_within: self.next(),
            failed: self.next(),
            stalled: self.next(),
            latency: self.times(),
            send_delay: self.times(),
        }
    }

    fn mix(&mut self) -> MixFigures {
        MixFigures {
            name: "read".to_owned(),
            started: self.next(),
            never_sent: self.next(),
            answered: self.next(),
            failed: self.failed(),
            latency: self.times(),
        }
    }

    fn bytes(&mut self) -> BytesByClass {
        BytesByClass {
            headers: self.next(),
            bodies: self.next(),
            overhead: self.next(),
            marks: self.next(),
        }
    }

    /// Everything that can be merged except mean sizes, whose sums are rounded. Only threads have parts: stages, steps
    /// and a mix.
    fn figures(&mut self, has_parts: bool) -> TrialFigures {
        let endings = [
            Ending::Complete,
            Ending::Interrupted,
            Ending::GaveUp,
            Ending::MaxRequests,
        ];
        let n = self;
        let mut figures = TrialFigures {
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
                settled: n.is_next_even(),
            },
            elapsed_ns: n.next(),
            latency: n.times(),
            failed_latency: n.is_next_even().then(|| n.times()),
            send_delay: n.times(),
            service_time: n.is_next_even().then(|| n.times()),
            first_byte: n.is_next_even().then(|| n.times()),
            messages: n.is_next_even().then(|| Box::new(n.messages())),
            timeline: n.timeline(),
            requests_sent: n.is_next_even().then(|| n.next()),
            late: LateCalls {
                ended: n.next(),
                failed: n.next(),
                never_sent: n.next(),
                sent_before: n.next(),
            },
            bytes: n.is_next_even().then(|| Bytes {
                sent: n.bytes(),
                received: n.bytes(),
            }),
            client_share: n.is_next_even().then(|| n.next() as f64),
            ending: endings[(n.next() % 4) as usize],
            connections_at_start: Some(n.next()),
            connections_opened: Some(n.next()),
            connections_reopened: n.next(),
            tls_resumed: n.next(),
            connects_failed: n.next(),
            uncompressed_responses: n.next(),
            checked_responses: n.is_next_even().then(|| n.next()),
            bodies_late: n.next(),
            stalls: Stalls {
                count: n.next() % 2,
                total_ns: n.next() % 2,
                longest_ns: n.next() % 2,
                longest_at_ns: n.next(),
            },
            most_in_flight: Some(n.next()),
            errors_without_sample: n.next(),
            ..TrialFigures::default()
        };
        figures.memory.client_peak = n.next();
        figures.threads.client = n.next();
        figures.cpu.client = n.is_next_even().then(|| Cpu {
            total_ns: n.next(),
            user_ns: Some(n.next()),
            system_ns: n.is_next_even().then(|| n.next()),
        });
        let samples = (0..2).map(|_| ErrorSample {
            kind: FailureKind::Protocol,
            text: format!("text {}", n.next() % 3),
            count: n.next() % 4,
        });
        figures.error_samples = add_samples(samples.collect(), Vec::new());
        if has_parts {
            figures.stages = [(Stage::ALL[(n.next() % 2) as usize], n.times())].into();
            figures.steps = vec![n.step(), n.step()];
            figures.mix = vec![n.mix(), n.mix()];
        }
        figures
    }
}

fn any_figures(has_parts: bool) -> impl Strategy<Value = TrialFigures> {
    prop::collection::vec((0..64u32, any::<u64>()), 600).prop_map(move |numbers| {
        // Of all magnitudes.
        let numbers = numbers
            .into_iter()
            .map(|(bits, number)| number & ((1 << bits) - 1));
        Numbers(numbers.collect::<Vec<_>>().into_iter()).figures(has_parts)
    })
}

fn merged(one: &TrialFigures, other: &TrialFigures, how: Concurrency) -> TrialFigures {
    let mut merged = one.clone();
    merged.merge(other.clone(), how).unwrap();
    merged
}

/// Checks that the order of merging does not matter.
fn check_order(of: &[TrialFigures; 3], how: Concurrency) -> Result<(), TestCaseError> {
    let [one, two, three] = of;
    prop_assert_eq!(merged(one, two, how), merged(two, one, how));
    let first = merged(&merged(one, two, how), three, how);
    prop_assert_eq!(first, merged(one, &merged(two, three, how), how));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_threads_does_not_matter(of in prop::array::uniform3(any_figures(true))) {
        check_order(&of, Concurrency::Threads)?;
    }

    #[test]
    fn the_order_of_processes_does_not_matter(of in prop::array::uniform3(any_figures(false))) {
        check_order(&of, processes(0))?;
    }
}

#[test]
fn threads_share_their_times_and_stalls_and_processes_do_not() {
    let figures = |ns: u64, settled: bool| TrialFigures {
        elapsed_ns: ns,
        warmup: Warmup {
            elapsed_ns: ns,
            settled,
            ..Warmup::default()
        },
        stalls: Stalls {
            count: 1,
            total_ns: ns,
            longest_ns: ns,
            longest_at_ns: 4,
        },
        ..TrialFigures::default()
    };
    let all = |how| {
        let all = merged(&figures(30, false), &figures(50, true), how);
        let stalls = all.stalls;
        let stalls = (stalls.count, stalls.total_ns, stalls.longest_at_ns);
        (all.elapsed_ns, all.warmup.settled, stalls)
    };
    assert_eq!(all(Concurrency::Threads), (50, true, (1, 50, 4)));
    assert_eq!(all(processes(7)), (57, false, (2, 80, 11)));
}

#[test]
fn what_has_a_time_of_its_own_cannot_be_merged() {
    let mut ramp = TrialFigures {
        steps: vec![Numbers(Vec::new().into_iter()).step()],
        ..TrialFigures::default()
    };
    let mut sum = TrialFigures::default();
    let problem = sum.merge(ramp.clone(), processes(0)).unwrap_err();
    assert!(problem.contains("ramps"), "{problem}");
    assert_eq!(sum.merge(ramp.clone(), Concurrency::Threads), Ok(()));
    ramp.watched = Some(crate::Watched::default());
    sum.merge(ramp, Concurrency::Threads).unwrap_err();
}

#[test]
fn the_rarest_texts_are_left_out() {
    let samples = |counts: std::ops::RangeInclusive<u64>| TrialFigures {
        error_samples: counts
            .map(|count| ErrorSample {
                kind: FailureKind::Protocol,
                text: count.to_string(),
                count,
            })
            .collect(),
        errors_without_sample: 1,
        ..TrialFigures::default()
    };
    let mut all = merged(&samples(1..=10), &samples(11..=13), Concurrency::Threads);
    all.bound_error_samples();
    let counts = all.error_samples.iter().map(|sample| sample.count);
    assert_eq!(
        counts.collect::<Vec<_>>(),
        [13, 12, 11, 10, 9, 8, 7, 6, 5, 4]
    );
    assert_eq!(all.errors_without_sample, 2 + 1 + 2 + 3);
}

#[test]
fn messages_of_clients_add_up_over_the_time_of_all() {
    let messages = |sent, over_ns, latency: Option<u64>| MessageFigures {
        form: StreamForm::Bidirectional,
        sent,
        received: 2,
        over_ns,
        ended_early: 0,
        paired: 1,
        unpaired: 0,
        unmatched: 0,
        unanswered: 0,
        first: times(&[10]),
        gap: times(&[20]),
        latency: latency.map(|ns| times(&[ns])),
    };
    let mut sum = messages(3, 100, None);
    sum.merge(messages(4, 90, Some(30)), 50).unwrap();
    assert_eq!((sum.sent, sum.received, sum.paired), (7, 4, 2));
    assert_eq!(sum.over_ns, 140);
    let counts = [&sum.first, &sum.gap].map(Histogram::count);
    assert_eq!(counts, [2, 2]);
    assert_eq!(sum.latency.as_ref().map(Histogram::count), Some(1));
}

/// A client that made calls of these lengths in `elapsed_ns`, and one that failed.
fn client(latencies: &[u64], elapsed_ns: u64) -> TrialFigures {
    let answered = latencies.len() as u64;
    let mut slice = TimelineSlice {
        answered,
        failed: 1,
        latency_sum_ns: latencies.iter().sum(),
        latency_max_ns: latencies.iter().copied().max().unwrap_or(0),
        ..TimelineSlice::default()
    };
    for ns in latencies {
        slice.latencies.add(&LatencyCounts::of(*ns, 1));
    }
    TrialFigures {
        calls: Calls {
            started: answered + 1,
            answered,
            failed: BTreeMap::from([(FailureKind::Deadline, 1)]),
            ..Calls::default()
        },
        elapsed_ns,
        latency: times(latencies),
        failed_latency: Some(times(&[5])),
        send_delay: times(latencies),
        timeline: Timeline {
            slice_ns: elapsed_ns,
            slices: vec![slice],
        },
        payload: Payload {
            request: Some(answered as f64),
            ..Payload::default()
        },
        cpu: CpuTimes {
            client: Some(Cpu {
                total_ns: 3,
                ..Cpu::default()
            }),
            server: None,
        },
        error_samples: vec![ErrorSample {
            kind: FailureKind::Deadline,
            text: String::new(),
            count: 1,
        }],
        most_in_flight: Some(2),
        ..measured()
    }
}

#[test]
fn percentiles_are_those_of_all_calls() {
    let fast = vec![1_000; 99];
    let mut all = client(&fast, 1_000_000);
    all.merge(client(&[9_000_000], 1_000_000), processes(250_000))
        .unwrap();
    let latency = all.latency.unpack();
    assert_eq!(latency.len(), 100);
    assert!(
        latency.quantile(0.99) < 2_000.0,
        "the mean of both p99 is above 4 ms"
    );
    assert!(latency.max() >= 9_000_000.0);
    assert_eq!(
        all.elapsed_ns, 1_250_000,
        "not the sum, and not the longest"
    );
    assert_eq!((all.calls.started, all.calls.failed_total()), (102, 2));
    assert_eq!(all.payload.request, Some(98.02));
    assert_eq!(all.error_samples.len(), 1);
    assert_eq!(all.error_samples[0].count, 2);
    assert_eq!(
        (all.most_in_flight, all.cpu.client.unwrap().total_ns),
        (Some(4), 6)
    );
}

#[test]
fn merged_figures_are_a_valid_record() {
    let mut all = client(&[1_000, 70_000], 1_000_000);
    for later_ns in [0, 300_000, 5_000_000_000] {
        all.merge(client(&[80, 6_000_000_000], 4_096), processes(later_ns))
            .unwrap();
    }
    assert_eq!(all.check(), Ok(()));
}

#[test]
fn what_one_client_does_not_know_is_unknown() {
    let mut all = client(&[1], 1);
    let lost = TrialFigures {
        cpu: CpuTimes::default(),
        bytes: None,
        ..client(&[1], 1)
    };
    all.merge(lost, processes(0)).unwrap();
    assert_eq!((all.cpu.client, all.bytes), (None, None));
}
