//! Merges the figures of clients that called at the same time. Histograms are merged, so percentiles are those of all
//! calls, and the time is that from the first call of any client to the last.

use std::collections::BTreeMap;

use rpcgauge_trial::{Cpu, Ending, ErrorSample, LateCalls, Payload, Stalls};

use super::{Bytes, BytesByClass, Histogram, MessageFigures, TrialFigures};

impl TrialFigures {
    /// Adds the figures of another client, whose measured part began `later_ns` after this one.
    ///
    /// # Errors
    /// The reason why they cannot be added, as part of a sentence.
    pub fn add_concurrent(&mut self, other: Self, later_ns: u64) -> Result<(), String> {
        // Name every field, so that a new one cannot be forgotten here.
        let Self {
            calls,
            warmup,
            elapsed_ns,
            latency,
            failed_latency,
            send_delay,
            service_time,
            first_byte,
            messages,
            stages,
            timeline,
            steps,
            mix,
            requests_sent,
            late,
            slices,
            measured_from_ms: _,
            watched,
            bytes,
            link,
            payload,
            cpu,
            memory,
            threads,
            startup: _,
            client_share,
            code: _,
            ending,
            connections_at_start,
            connections_opened,
            connections_reopened,
            tls_resumed,
            connects_failed,
            uncompressed_responses,
            checked_responses,
            bodies_late,
            stalls,
            most_in_flight,
            error_samples,
            errors_without_sample,
        } = other;
        let are_own = stages.is_empty()
            && steps.is_empty()
            && mix.is_empty()
            && slices.is_none()
            && watched.is_none()
            && link.is_none();
        if !are_own {
            return Err(
                "stages, ramps, mixes, slices and links of clients cannot be merged".to_owned(),
            );
        }
        self.payload = mean_payload([
            (&self.payload, self.calls.answered),
            (&payload, calls.answered),
        ]);
        self.calls.add(&calls);
        for (sum, more) in [
            (&mut self.warmup.calls, warmup.calls),
            (&mut self.warmup.failed, warmup.failed),
            (&mut self.connections_reopened, connections_reopened),
            (&mut self.tls_resumed, tls_resumed),
            (&mut self.connects_failed, connects_failed),
            (&mut self.uncompressed_responses, uncompressed_responses),
            (&mut self.bodies_late, bodies_late),
            (&mut self.errors_without_sample, errors_without_sample),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.warmup.elapsed_ns = self.warmup.elapsed_ns.max(warmup.elapsed_ns);
        self.warmup.settled &= warmup.settled;
        self.elapsed_ns = self.elapsed_ns.max(later_ns.saturating_add(elapsed_ns));
        add_times(&mut self.latency, Some(latency))?;
        add_times(&mut self.send_delay, Some(send_delay))?;
        for (times, more) in [
            (&mut self.failed_latency, failed_latency),
            (&mut self.service_time, service_time),
            (&mut self.first_byte, first_byte),
        ] {
            match times {
                Some(times) => add_times(times, more)?,
                None => *times = more,
            }
        }
        match (&mut self.messages, messages) {
            (Some(sum), Some(more)) => sum.add_concurrent(*more, later_ns)?,
            (_, None) => {}
            (none, more) => *none = more,
        }
        self.timeline.add(&timeline, later_ns);
        add_late(&mut self.late, late);
        add_stalls(&mut self.stalls, stalls);
        self.bytes = both(self.bytes, bytes, add_bytes);
        self.cpu.client = both(self.cpu.client, cpu.client, add_cpu);
        self.memory.client_peak = self.memory.client_peak.max(memory.client_peak);
        self.threads.client = self.threads.client.max(threads.client);
        self.client_share = [self.client_share, client_share]
            .into_iter()
            .flatten()
            .reduce(f64::max);
        if self.ending == Ending::Complete {
            self.ending = ending;
        }
        for (sum, more) in [
            (&mut self.requests_sent, requests_sent),
            (&mut self.connections_at_start, connections_at_start),
            (&mut self.connections_opened, connections_opened),
            (&mut self.checked_responses, checked_responses),
            // The clients need not have had the most calls at the same moment: an upper bound.
            (&mut self.most_in_flight, most_in_flight),
        ] {
            *sum = both(*sum, more, u64::saturating_add);
        }
        self.error_samples = add_samples(std::mem::take(&mut self.error_samples), error_samples);
        Ok(())
    }
}

impl MessageFigures {
    /// See [`TrialFigures::add_concurrent`].
    fn add_concurrent(&mut self, other: Self, later_ns: u64) -> Result<(), String> {
        let Self {
            // All clients make the same calls.
            form: _,
            sent,
            received,
            over_ns,
            ended_early,
            paired,
            unpaired,
            first,
            gap,
            latency,
        } = other;
        for (sum, more) in [
            (&mut self.sent, sent),
            (&mut self.received, received),
            (&mut self.ended_early, ended_early),
            (&mut self.paired, paired),
            (&mut self.unpaired, unpaired),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.over_ns = self.over_ns.max(later_ns.saturating_add(over_ns));
        add_times(&mut self.first, Some(first))?;
        add_times(&mut self.gap, Some(gap))?;
        match &mut self.latency {
            Some(sum) => add_times(sum, latency)?,
            none => *none = latency,
        }
        Ok(())
    }
}

/// The sum of two figures, which is unknown unless both are known.
fn both<T>(one: Option<T>, other: Option<T>, add: impl FnOnce(T, T) -> T) -> Option<T> {
    Some(add(one?, other?))
}

fn add_times(times: &mut Histogram, more: Option<Histogram>) -> Result<(), String> {
    if let Some(more) = more.filter(|more| more.count() > 0) {
        let mut sum = times.unpack();
        sum.add(&more.unpack())?;
        *times = sum.into();
    }
    Ok(())
}

fn add_late(sum: &mut LateCalls, more: LateCalls) {
    let LateCalls {
        ended,
        failed,
        never_sent,
        sent_before,
    } = more;
    for (sum, more) in [
        (&mut sum.ended, ended),
        (&mut sum.failed, failed),
        (&mut sum.never_sent, never_sent),
        (&mut sum.sent_before, sent_before),
    ] {
        *sum = sum.saturating_add(more);
    }
}

fn add_stalls(sum: &mut Stalls, more: Stalls) {
    sum.count = sum.count.saturating_add(more.count);
    sum.total_ns = sum.total_ns.saturating_add(more.total_ns);
    if more.longest_ns > sum.longest_ns {
        (sum.longest_ns, sum.longest_at_ns) = (more.longest_ns, more.longest_at_ns);
    }
}

fn add_bytes(one: Bytes, other: Bytes) -> Bytes {
    let add = |one: BytesByClass, other: BytesByClass| BytesByClass {
        headers: one.headers.saturating_add(other.headers),
        bodies: one.bodies.saturating_add(other.bodies),
        overhead: one.overhead.saturating_add(other.overhead),
        marks: one.marks.saturating_add(other.marks),
    };
    Bytes {
        sent: add(one.sent, other.sent),
        received: add(one.received, other.received),
    }
}

fn add_cpu(one: Cpu, other: Cpu) -> Cpu {
    Cpu {
        total_ns: one.total_ns.saturating_add(other.total_ns),
        user_ns: both(one.user_ns, other.user_ns, u64::saturating_add),
        system_ns: both(one.system_ns, other.system_ns, u64::saturating_add),
    }
}

/// The mean sizes, weighted by the calls that succeeded. A client without such calls knows no size.
fn mean_payload(clients: [(&Payload, u64); 2]) -> Payload {
    let mean = |size: fn(&Payload) -> Option<f64>| {
        let known = clients
            .iter()
            .filter_map(|(payload, calls)| Some((size(payload)?, *calls)));
        let known: Vec<(f64, u64)> = known.filter(|(_, calls)| *calls > 0).collect();
        let calls: f64 = known.iter().map(|(_, calls)| *calls as f64).sum();
        let all: f64 = known.iter().map(|(size, calls)| size * *calls as f64).sum();
        (calls > 0.0).then_some(all / calls)
    };
    Payload {
        request: mean(|payload| payload.request),
        request_compressed: mean(|payload| payload.request_compressed),
        response: mean(|payload| payload.response),
        response_compressed: mean(|payload| payload.response_compressed),
    }
}

fn add_samples(samples: Vec<ErrorSample>, more: Vec<ErrorSample>) -> Vec<ErrorSample> {
    let mut counts = BTreeMap::new();
    for sample in samples.into_iter().chain(more) {
        let count: &mut u64 = counts.entry((sample.kind, sample.text)).or_default();
        *count = count.saturating_add(sample.count);
    }
    let samples = counts.into_iter();
    samples
        .map(|((kind, text), count)| ErrorSample { kind, text, count })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rpcgauge_trial::{FailureKind, LatencyCounts, Timeline, TimelineSlice};

    use super::*;
    use crate::histogram::{Times, Unit};
    use crate::record::tests::measured;
    use crate::record::{Calls, CpuTimes};

    #[test]
    fn messages_of_clients_add_up_over_the_time_of_all() {
        let times = |ns: u64| {
            let mut times = Times::new(Unit::Ns);
            times.add_each(ns, 1);
            Histogram::from(times)
        };
        let messages = |sent, over_ns, latency: Option<u64>| MessageFigures {
            form: rpcgauge_trial::StreamForm::Bidirectional,
            sent,
            received: 2,
            over_ns,
            ended_early: 0,
            paired: 1,
            unpaired: 0,
            first: times(10),
            gap: times(20),
            latency: latency.map(times),
        };
        let mut sum = messages(3, 100, None);
        sum.add_concurrent(messages(4, 90, Some(30)), 50).unwrap();
        assert_eq!((sum.sent, sum.received, sum.paired), (7, 4, 2));
        assert_eq!(sum.over_ns, 140);
        let counts = [&sum.first, &sum.gap].map(Histogram::count);
        assert_eq!(counts, [2, 2]);
        assert_eq!(sum.latency.as_ref().map(Histogram::count), Some(1));
    }

    /// A client that made calls of these lengths in `elapsed_ns`, and one that failed.
    fn client(latencies: &[u64], elapsed_ns: u64) -> TrialFigures {
        let times = |all: &[u64]| {
            let mut times = Times::new(Unit::Ns);
            all.iter().for_each(|ns| times.add_each(*ns, 1));
            Histogram::from(times)
        };
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
        all.add_concurrent(client(&[9_000_000], 1_000_000), 250_000)
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
            all.add_concurrent(client(&[80, 6_000_000_000], 4_096), later_ns)
                .unwrap();
        }
        assert_eq!(all.check_figures(), Ok(()));
    }

    #[test]
    fn what_one_client_does_not_know_is_unknown() {
        let mut all = client(&[1], 1);
        let lost = TrialFigures {
            cpu: CpuTimes::default(),
            bytes: None,
            ..client(&[1], 1)
        };
        all.add_concurrent(lost, 0).unwrap();
        assert_eq!((all.cpu.client, all.bytes), (None, None));
    }
}
