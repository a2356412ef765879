//! Merges the figures of the threads that ran a trial. Counts add up, percentiles come from merged histograms, and
//! times that all threads share are not added. The order of merging does not matter.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use rpcgauge_trial::{Cpu, Ending, ErrorSample, LateCalls, Stalls, Timeline, Warmup};

use crate::Histogram;
use crate::histogram::add;
use crate::measurement::{
    Marks, Measurement, MessageFigures, MessageSizes, ServiceTimes, SliceCount,
};
use crate::progress::{IntervalTimes, TrialProgress};
use crate::steps::{CallFigures, StepFigures};

/// Maximum number of distinct error texts of a trial.
const MAX_SAMPLES: usize = 10;

/// Adds the figures of another thread. Implementations name every field, so that a new one cannot be forgotten.
pub(crate) trait Merge {
    fn merge_with(&mut self, other: Self);
}

/// A count.
impl Merge for u64 {
    fn merge_with(&mut self, other: u64) {
        *self = self.saturating_add(other);
    }
}

/// A time that all threads share.
impl Merge for Duration {
    fn merge_with(&mut self, other: Duration) {
        *self = (*self).max(other);
    }
}

impl Merge for Histogram {
    fn merge_with(&mut self, other: Histogram) {
        add(self, &other);
    }
}

impl<T: Merge> Merge for Option<T> {
    fn merge_with(&mut self, other: Option<T>) {
        match (self.as_mut(), other) {
            (Some(one), Some(other)) => one.merge_with(other),
            (None, other) => *self = other,
            (Some(_), None) => {}
        }
    }
}

impl<K: Ord, V: Merge> Merge for BTreeMap<K, V> {
    fn merge_with(&mut self, other: BTreeMap<K, V>) {
        for (key, value) in other {
            let mut merged = self.remove(&key);
            merged.merge_with(Some(value));
            self.extend(merged.map(|value| (key, value)));
        }
    }
}

/// Values that belong to each other by their place.
impl<T: Merge> Merge for Vec<T> {
    fn merge_with(&mut self, other: Vec<T>) {
        let mut other = other.into_iter();
        for (one, other) in self.iter_mut().zip(&mut other) {
            one.merge_with(other);
        }
        self.extend(other);
    }
}

impl Merge for Measurement {
    fn merge_with(&mut self, other: Measurement) {
        let Measurement {
            calls,
            warmup,
            elapsed,
            spent_over,
            latency,
            failed_latency,
            send_delay,
            service,
            messages,
            stages,
            marks,
            began,
            timeline,
            slow,
            steps,
            mix,
            traffic,
            requests_sent,
            late,
            late_answered,
            slices,
            sizes,
            cpu,
            busiest_share,
            connections_at_start,
            connections_opened,
            connections_reopened,
            tls_resumed,
            connects_failed,
            bodies_late,
            stalls,
            most_in_flight,
            uncompressed_responses,
            checked_responses,
            error_samples,
            errors_without_sample,
            ending,
        } = other;
        self.calls.add(&calls);
        self.warmup.merge_with(warmup);
        self.elapsed.merge_with(elapsed);
        self.spent_over.merge_with(spent_over);
        self.latency.merge_with(latency);
        self.failed_latency.merge_with(failed_latency);
        self.send_delay.merge_with(send_delay);
        self.service.merge_with(service);
        self.messages.merge_with(messages);
        self.stages.merge_with(stages);
        self.marks.merge_with(marks);
        // All threads begin to measure at the same time.
        self.began = [self.began, began].into_iter().flatten().min();
        self.timeline.merge_with(timeline);
        self.slow.merge(slow);
        self.steps.merge_with(steps);
        self.mix.merge_with(mix);
        self.traffic += traffic;
        self.requests_sent.merge_with(requests_sent);
        self.late.merge_with(late);
        self.late_answered.merge_with(late_answered);
        self.slices.merge_with(slices);
        self.sizes.merge_with(sizes);
        self.cpu.merge_with(cpu);
        self.busiest_share = self.busiest_share.max(busiest_share);
        self.connections_at_start.merge_with(connections_at_start);
        self.connections_opened.merge_with(connections_opened);
        self.connections_reopened.merge_with(connections_reopened);
        self.tls_resumed.merge_with(tls_resumed);
        self.connects_failed.merge_with(connects_failed);
        self.bodies_late.merge_with(bodies_late);
        self.stalls.merge_with(stalls);
        self.most_in_flight.merge_with(most_in_flight);
        self.uncompressed_responses
            .merge_with(uncompressed_responses);
        self.checked_responses.merge_with(checked_responses);
        merge_samples(&mut self.error_samples, error_samples);
        self.errors_without_sample.merge_with(errors_without_sample);
        self.ending = worse(self.ending, ending);
    }
}

impl Measurement {
    /// Leaves out the rarest error texts if the threads together have too many.
    pub(crate) fn bound_samples(&mut self) {
        let kept = self.error_samples.len().min(MAX_SAMPLES);
        for sample in self.error_samples.split_off(kept) {
            self.errors_without_sample.merge_with(sample.count);
        }
    }
}

/// Merges equal texts. The most frequent one comes first.
fn merge_samples(samples: &mut Vec<ErrorSample>, other: Vec<ErrorSample>) {
    let all = std::mem::take(samples).into_iter().chain(other);
    let mut counts: BTreeMap<_, u64> = BTreeMap::new();
    for ErrorSample { kind, text, count } in all {
        counts.entry((kind, text)).or_default().merge_with(count);
    }
    let merged = counts
        .into_iter()
        .map(|((kind, text), count)| ErrorSample { kind, text, count });
    samples.extend(merged);
    samples.sort_by_key(|sample| std::cmp::Reverse(sample.count));
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

/// All threads have the same warm-up.
impl Merge for Warmup {
    fn merge_with(&mut self, other: Warmup) {
        let Warmup {
            calls,
            failed,
            elapsed_ns,
            settled,
        } = other;
        self.calls.merge_with(calls);
        self.failed.merge_with(failed);
        self.elapsed_ns = self.elapsed_ns.max(elapsed_ns);
        self.settled |= settled;
    }
}

impl Merge for LateCalls {
    fn merge_with(&mut self, other: LateCalls) {
        let LateCalls {
            ended,
            failed,
            never_sent,
            sent_before,
        } = other;
        self.ended.merge_with(ended);
        self.failed.merge_with(failed);
        self.never_sent.merge_with(never_sent);
        self.sent_before.merge_with(sent_before);
    }
}

/// If the process is stopped, all threads are, so their stalls are not added. The result is that of the thread that
/// was stalled for the longest time.
impl Merge for Stalls {
    fn merge_with(&mut self, other: Stalls) {
        let rank = |stalls: &Stalls| {
            let Stalls {
                count,
                total_ns,
                longest_ns,
                longest_at_ns,
            } = *stalls;
            (total_ns, count, longest_ns, longest_at_ns)
        };
        *self = std::cmp::max_by_key(*self, other, rank);
    }
}

impl Merge for Cpu {
    fn merge_with(&mut self, other: Cpu) {
        let Cpu {
            total_ns,
            user_ns,
            system_ns,
        } = other;
        self.total_ns.merge_with(total_ns);
        self.user_ns.merge_with(user_ns);
        self.system_ns.merge_with(system_ns);
    }
}

/// The timelines begin at the same time.
impl Merge for Timeline {
    fn merge_with(&mut self, other: Timeline) {
        self.add(&other, 0);
    }
}

impl Merge for Marks {
    fn merge_with(&mut self, other: Marks) {
        let Marks {
            used,
            absent,
            implausible,
        } = other;
        self.used.merge_with(used);
        self.absent.merge_with(absent);
        self.implausible.merge_with(implausible);
    }
}

impl Merge for ServiceTimes {
    fn merge_with(&mut self, other: ServiceTimes) {
        let ServiceTimes { whole, first_byte } = other;
        self.whole.merge_with(whole);
        self.first_byte.merge_with(first_byte);
    }
}

impl Merge for Box<MessageFigures> {
    fn merge_with(&mut self, other: Box<MessageFigures>) {
        let MessageFigures {
            // All threads make the same calls.
            form: _,
            sent,
            received,
            over,
            ended_early,
            paired,
            unpaired,
            first,
            gap,
            latency,
        } = *other;
        self.sent.merge_with(sent);
        self.received.merge_with(received);
        self.over.merge_with(over);
        self.paired.merge_with(paired);
        self.ended_early.merge_with(ended_early);
        self.unpaired.merge_with(unpaired);
        self.first.merge_with(first);
        self.gap.merge_with(gap);
        self.latency.merge_with(latency);
    }
}

impl Merge for SliceCount {
    fn merge_with(&mut self, other: SliceCount) {
        let SliceCount {
            slices,
            skipped,
            skipped_failed,
            skipped_never_sent,
        } = other;
        self.slices.merge_with(slices);
        self.skipped.merge_with(skipped);
        self.skipped_failed.merge_with(skipped_failed);
        self.skipped_never_sent.merge_with(skipped_never_sent);
    }
}

impl Merge for MessageSizes {
    fn merge_with(&mut self, other: MessageSizes) {
        let MessageSizes {
            requests,
            request_plain,
            request_carried,
            responses,
            response_carried,
            plain_responses,
            response_plain,
        } = other;
        self.requests.merge_with(requests);
        self.request_plain.merge_with(request_plain);
        self.request_carried.merge_with(request_carried);
        self.responses.merge_with(responses);
        self.response_carried.merge_with(response_carried);
        self.plain_responses.merge_with(plain_responses);
        self.response_plain.merge_with(response_plain);
    }
}

impl Merge for CallFigures {
    fn merge_with(&mut self, other: CallFigures) {
        let CallFigures {
            started,
            sent,
            answered,
            failed,
            latency,
        } = other;
        self.started.merge_with(started);
        self.sent.merge_with(sent);
        self.answered.merge_with(answered);
        self.failed.merge_with(failed);
        self.latency.merge_with(latency);
    }
}

impl Merge for StepFigures {
    fn merge_with(&mut self, other: StepFigures) {
        let StepFigures {
            // It is the same step.
            step: _,
            calls,
            answered_within,
            send_delay,
        } = other;
        self.calls.merge_with(calls);
        self.answered_within.merge_with(answered_within);
        self.send_delay.merge_with(send_delay);
    }
}

impl Merge for TrialProgress {
    fn merge_with(&mut self, other: TrialProgress) {
        let TrialProgress {
            elapsed,
            interval,
            started,
            sent,
            answered,
            failed,
            retried,
            messages_sent,
            messages_received,
            in_flight,
            waiting,
            times,
            traffic,
        } = other;
        self.elapsed.merge_with(elapsed);
        self.interval.merge_with(interval);
        self.started.merge_with(started);
        self.sent.merge_with(sent);
        self.answered.merge_with(answered);
        self.failed.merge_with(failed);
        self.retried.merge_with(retried);
        self.messages_sent.merge_with(messages_sent);
        self.messages_received.merge_with(messages_received);
        self.in_flight.merge_with(in_flight);
        self.waiting.merge_with(waiting);
        self.times.merge_with(times);
        self.traffic += traffic;
    }
}

impl Merge for IntervalTimes {
    fn merge_with(&mut self, other: IntervalTimes) {
        let IntervalTimes {
            latency,
            failed_latency,
            send_delay,
        } = other;
        self.latency.merge_with(latency);
        self.failed_latency.merge_with(failed_latency);
        self.send_delay.merge_with(send_delay);
    }
}
