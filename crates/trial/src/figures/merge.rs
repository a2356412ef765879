//! Merges the figures of clients that called at the same time. Counts add up, percentiles come from merged histograms, and
//! times that the clients share are not added.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::{Bytes, BytesByClass, Histogram, MessageFigures, MixFigures, Step, TrialFigures};
use crate::calls::{Cpu, Ending, LateCalls, Payload, Stalls, Warmup};
use crate::failure::{ErrorSample, MAX_SAMPLES};

/// How two clients called at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concurrency {
    /// On two threads of a process. They warmed up and began to measure together, and what stopped one of them stopped
    /// both.
    Threads,
    /// In two processes, perhaps on two machines. They share nothing.
    Processes {
        /// How long after the first one the other began to measure, ns.
        later_ns: u64,
    },
}

impl Concurrency {
    fn later_ns(self) -> u64 {
        match self {
            Self::Threads => 0,
            Self::Processes { later_ns } => later_ns,
        }
    }
}

impl TrialFigures {
    /// Adds the figures of another client. The order of clients that begin together does not matter, except that mean
    /// sizes are rounded.
    ///
    /// # Errors
    /// The reason why they cannot be added, as part of a sentence.
    pub fn merge(&mut self, other: Self, how: Concurrency) -> Result<(), String> {
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
        let are_parts = how == Concurrency::Threads
            || (stages.is_empty() && steps.is_empty() && mix.is_empty());
        if !are_parts || slices.is_some() || watched.is_some() || link.is_some() {
            return Err(
                "stages, ramps, mixes, slices and links of clients cannot be merged".to_owned(),
            );
        }
        let later_ns = how.later_ns();
        self.payload = mean_payload([
            (&self.payload, self.calls.answered),
            (&payload, calls.answered),
        ]);
        self.calls.add(&calls);
        merge_warmup(&mut self.warmup, warmup, how);
        self.elapsed_ns = self.elapsed_ns.max(later_ns.saturating_add(elapsed_ns));
        add_times(&mut self.latency, latency)?;
        add_times(&mut self.send_delay, send_delay)?;
        add_some_times(&mut self.failed_latency, failed_latency)?;
        add_some_times(&mut self.service_time, service_time)?;
        add_some_times(&mut self.first_byte, first_byte)?;
        match (&mut self.messages, messages) {
            (Some(sum), Some(more)) => sum.merge(*more, later_ns)?,
            (_, None) => {}
            (none, more) => *none = more,
        }
        for (stage, times) in stages {
            match self.stages.entry(stage) {
                Entry::Occupied(mut sum) => add_times(sum.get_mut(), times)?,
                Entry::Vacant(none) => drop(none.insert(times)),
            }
        }
        merge_each(&mut self.steps, steps, Step::merge)?;
        merge_each(&mut self.mix, mix, MixFigures::merge)?;
        self.timeline.add(&timeline, later_ns);
        add_late(&mut self.late, late);
        merge_stalls(&mut self.stalls, stalls, how);
        self.bytes = both(self.bytes, bytes, add_bytes);
        self.cpu.client = both(self.cpu.client, cpu.client, add_cpu);
        self.memory.client_peak = self.memory.client_peak.max(memory.client_peak);
        self.threads.client = self.threads.client.max(threads.client);
        self.client_share = [self.client_share, client_share]
            .into_iter()
            .flatten()
            .reduce(f64::max);
        self.ending = worse(self.ending, ending);
        add_counts([
            (&mut self.connections_reopened, connections_reopened),
            (&mut self.tls_resumed, tls_resumed),
            (&mut self.connects_failed, connects_failed),
            (&mut self.uncompressed_responses, uncompressed_responses),
            (&mut self.bodies_late, bodies_late),
            (&mut self.errors_without_sample, errors_without_sample),
        ]);
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

    /// Leaves out the rarest error texts if merged clients have too many.
    pub fn bound_error_samples(&mut self) {
        let kept = self.error_samples.len().min(MAX_SAMPLES);
        for sample in self.error_samples.split_off(kept) {
            self.errors_without_sample = self.errors_without_sample.saturating_add(sample.count);
        }
    }
}

impl MessageFigures {
    fn merge(&mut self, other: Self, later_ns: u64) -> Result<(), String> {
        let Self {
            // All clients make the same calls.
            form: _,
            sent,
            received,
            over_ns,
            ended_early,
            paired,
            unpaired,
            unmatched,
            unanswered,
            first,
            gap,
            latency,
        } = other;
        add_counts([
            (&mut self.sent, sent),
            (&mut self.received, received),
            (&mut self.ended_early, ended_early),
            (&mut self.paired, paired),
            (&mut self.unpaired, unpaired),
            (&mut self.unmatched, unmatched),
            (&mut self.unanswered, unanswered),
        ]);
        self.over_ns = self.over_ns.max(later_ns.saturating_add(over_ns));
        add_times(&mut self.first, first)?;
        add_times(&mut self.gap, gap)?;
        add_some_times(&mut self.latency, latency)
    }
}

impl Step {
    fn merge(&mut self, other: Self) -> Result<(), String> {
        let Self {
            // All threads have the same ramp.
            from: _,
            to: _,
            time_ns: _,
            started,
            never_sent,
            answered,
            answered_within,
            failed,
            stalled,
            latency,
            send_delay,
        } = other;
        add_counts([
            (&mut self.started, started),
            (&mut self.never_sent, never_sent),
            (&mut self.answered, answered),
            (&mut self.answered_within, answered_within),
            (&mut self.failed, failed),
            (&mut self.stalled, stalled),
        ]);
        add_times(&mut self.latency, latency)?;
        add_times(&mut self.send_delay, send_delay)
    }
}

impl MixFigures {
    fn merge(&mut self, other: Self) -> Result<(), String> {
        let Self {
            // All threads have the same mix.
            name: _,
            started,
            never_sent,
            answered,
            failed,
            latency,
        } = other;
        add_counts([
            (&mut self.started, started),
            (&mut self.never_sent, never_sent),
            (&mut self.answered, answered),
        ]);
        for (kind, more) in failed {
            add_counts([(self.failed.entry(kind).or_default(), more)]);
        }
        add_times(&mut self.latency, latency)
    }
}

/// Merges figures that belong to each other by their position.
fn merge_each<T>(
    sum: &mut Vec<T>,
    more: Vec<T>,
    merge: fn(&mut T, T) -> Result<(), String>,
) -> Result<(), String> {
    let mut more = more.into_iter();
    for (one, other) in sum.iter_mut().zip(&mut more) {
        merge(one, other)?;
    }
    sum.extend(more);
    Ok(())
}

fn add_counts<const N: usize>(counts: [(&mut u64, u64); N]) {
    for (sum, more) in counts {
        *sum = sum.saturating_add(more);
    }
}

/// The sum of two figures, which is unknown unless both are known.
fn both<T>(one: Option<T>, other: Option<T>, add: impl FnOnce(T, T) -> T) -> Option<T> {
    Some(add(one?, other?))
}

fn add_times(sum: &mut Histogram, more: Histogram) -> Result<(), String> {
    if sum.count() == 0 {
        *sum = more;
    } else if more.count() > 0 {
        let mut times = sum.unpack();
        times.add(&more.unpack())?;
        *sum = times.into();
    }
    Ok(())
}

/// As [`add_times`]; absent times are those of no call.
fn add_some_times(sum: &mut Option<Histogram>, more: Option<Histogram>) -> Result<(), String> {
    match (sum, more) {
        (_, None) => Ok(()),
        (Some(sum), Some(more)) => add_times(sum, more),
        (none, more) => {
            *none = more;
            Ok(())
        }
    }
}

fn merge_warmup(sum: &mut Warmup, more: Warmup, how: Concurrency) {
    let Warmup {
        calls,
        failed,
        elapsed_ns,
        settled,
    } = more;
    add_counts([(&mut sum.calls, calls), (&mut sum.failed, failed)]);
    sum.elapsed_ns = sum.elapsed_ns.max(elapsed_ns);
    sum.settled = match how {
        // It ended for all of them; one that ended earlier does not know how.
        Concurrency::Threads => sum.settled || settled,
        Concurrency::Processes { .. } => sum.settled && settled,
    };
}

fn add_late(sum: &mut LateCalls, more: LateCalls) {
    let LateCalls {
        ended,
        failed,
        never_sent,
        sent_before,
    } = more;
    add_counts([
        (&mut sum.ended, ended),
        (&mut sum.failed, failed),
        (&mut sum.never_sent, never_sent),
        (&mut sum.sent_before, sent_before),
    ]);
}

fn merge_stalls(sum: &mut Stalls, more: Stalls, how: Concurrency) {
    let Stalls {
        count,
        total_ns,
        longest_ns,
        longest_at_ns,
    } = more;
    match how {
        // The same stalls, as the thread noticed them that was stalled for the longest time.
        Concurrency::Threads => {
            let rank = |of: &Stalls| (of.total_ns, of.count, of.longest_ns, of.longest_at_ns);
            *sum = std::cmp::max_by_key(*sum, more, rank);
        }
        Concurrency::Processes { later_ns } => {
            add_counts([(&mut sum.count, count), (&mut sum.total_ns, total_ns)]);
            let other = (longest_ns, later_ns.saturating_add(longest_at_ns));
            let longest = (sum.longest_ns, sum.longest_at_ns).max(other);
            (sum.longest_ns, sum.longest_at_ns) = longest;
        }
    }
}

/// Why the trial as a whole ended: the reason that matters most.
fn worse(one: Ending, other: Ending) -> Ending {
    let rank = |ending: &Ending| match ending {
        Ending::Complete => 0,
        Ending::MaxRequests => 1,
        Ending::GaveUp => 2,
        Ending::Interrupted => 3,
    };
    std::cmp::max_by_key(one, other, rank)
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

/// Merges equal texts. The most frequent one comes first.
fn add_samples(samples: Vec<ErrorSample>, more: Vec<ErrorSample>) -> Vec<ErrorSample> {
    let mut counts: BTreeMap<_, u64> = BTreeMap::new();
    for ErrorSample { kind, text, count } in samples.into_iter().chain(more) {
        add_counts([(counts.entry((kind, text)).or_default(), count)]);
    }
    let merged = counts.into_iter();
    let mut merged: Vec<_> = merged
        .map(|((kind, text), count)| ErrorSample { kind, text, count })
        .collect();
    merged.sort_by_key(|sample| std::cmp::Reverse(sample.count));
    merged
}
