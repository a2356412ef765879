//! Invariants of the figures of every trial: the sums in the engine's accounting, and the ranges of figures.
//!
//! Figures that contradict themselves would make a report wrong. Sums of counts over all trials of a run fit into 64
//! bits, because a plan has at most 200,000 trials.

use super::{
    Calls, Histogram, LinkCounts, MessageFigures, MixFigures, Step, TrialFigures, Watched,
};
use crate::bounds::is_rate;
use crate::histogram::RESOLUTION;
use crate::slow::MAX_SLOW;

/// The maximum of any count in a trial: about a million calls per second for a year.
pub const MAX_CALLS: u64 = 1 << 45;

/// The maximum of any time in a trial, ns: a year.
const MAX_NS: u64 = 366 * 24 * 3_600 * 1_000_000_000;

/// The maximum number of cores whose CPU time a trial can use.
const MAX_CORES: u64 = 4_096;

/// The maximum time after a trial's measured part in which it still uses CPU time, ns: calls may end later.
const CPU_AROUND_NS: u64 = 60_000_000_000;

/// The error is the reason why a record is damaged, as part of a sentence.
type Check = Result<(), String>;

fn holds(holds: bool, what: &str) -> Check {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

/// A saturating sum, which cannot overflow to a small number.
fn sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

impl TrialFigures {
    /// Checks the figures against each other.
    ///
    /// # Errors
    /// The reason why they are damaged, as part of a sentence.
    pub fn check(&self) -> Result<(), String> {
        self.calls.check()?;
        self.check_counts()?;
        let Calls {
            started, answered, ..
        } = self.calls;
        let failed = self.calls.failed_total();
        let latencies = [
            ("successful", Some(&self.latency), answered),
            ("failed", self.failed_latency.as_ref(), failed),
        ];
        for (what, latency, calls) in latencies {
            let count = latency.map_or(calls, Histogram::count);
            if count != calls {
                return Err(format!(
                    "it has {calls} {what} calls, but {count} latencies"
                ));
            }
        }
        let least_sent = self.sent_calls().saturating_add(self.calls.retried);
        holds(
            self.requests_sent.is_none_or(|sent| sent >= least_sent),
            "it sent fewer requests than calls",
        )?;
        let delays = self.send_delay.count();
        holds(delays <= started, "it has more send delays than calls")?;
        let stages = self.stages.values().map(Histogram::count);
        holds(
            stages.max() <= Some(answered),
            "one of its stages has more times than there are successful calls",
        )?;
        let service = self.service_times().map(Histogram::count);
        holds(
            service.max() <= Some(answered),
            "it has more service times than successful calls",
        )?;
        self.messages
            .as_deref()
            .map_or(Ok(()), MessageFigures::check)?;
        self.check_times()?;
        self.check_timeline(answered, failed)?;
        self.watched.as_ref().map_or(Ok(()), Watched::check)?;
        self.link.as_ref().map_or(Ok(()), check_link)?;
        self.steps.iter().try_for_each(Step::check)?;
        let of_steps = |count: fn(&Step) -> u64| sum(self.steps.iter().map(count));
        let fit = of_steps(|step| step.started) <= started
            && of_steps(|step| step.answered) <= answered
            && of_steps(|step| step.answered_within) <= answered
            && of_steps(|step| step.failed) <= failed;
        holds(fit, "its steps have more calls than the trial")?;
        self.check_mix()?;
        let max_cpu = self.spanned_ns().saturating_add(CPU_AROUND_NS);
        let max_cpu = max_cpu.saturating_mul(MAX_CORES);
        let cpu = [self.cpu.client, self.cpu.server].into_iter().flatten();
        holds(
            cpu.map(|cpu| cpu.total_ns).all(|ns| ns <= max_cpu),
            "it has more CPU time than all cores provide in that time",
        )?;
        let is_share = |share| (0.0..=1.0).contains(&share);
        holds(
            self.client_share.is_none_or(is_share),
            "the client's share of its core must be from 0 to 1",
        )?;
        let payload = &self.payload;
        let sizes = [
            payload.request,
            payload.request_compressed,
            payload.response,
            payload.response_compressed,
        ];
        holds(
            sizes.into_iter().flatten().all(is_amount),
            "the size of a message must be a non-negative number",
        )
    }

    /// Checks that the calls of the mix, if there is one, add up to those of the trial.
    fn check_mix(&self) -> Check {
        if self.mix.is_empty() {
            return Ok(());
        }
        self.mix.iter().try_for_each(MixFigures::check)?;
        let of_mix = |count: fn(&MixFigures) -> u64| sum(self.mix.iter().map(count));
        let Calls {
            started, answered, ..
        } = self.calls;
        let fit = of_mix(|call| call.started) == started
            && of_mix(|call| call.answered) == answered
            && of_mix(MixFigures::failed_total) == self.calls.failed_total();
        holds(
            fit,
            "the calls of its mix do not add up to those of the trial",
        )
    }

    fn check_times(&self) -> Check {
        let startup = self.startup;
        let times = [
            Some(self.spanned_ns()),
            Some(self.warmup.elapsed_ns),
            Some(self.stalls.total_ns),
            startup.client_ns,
            startup.server_ns,
            startup.cold.map(|cold| cold.first_ns.max(cold.mean_ns)),
        ];
        let steps = self.steps.iter().map(|step| step.time_ns);
        let longest = times.into_iter().flatten().chain(steps).max();
        let calls = [Some(&self.latency), self.failed_latency.as_ref()];
        let calls = calls.into_iter().flatten().chain([&self.send_delay]);
        let mut calls = calls.chain(self.service_times());
        holds(
            longest <= Some(MAX_NS) && calls.all(are_short),
            "one of its times is longer than a year",
        )?;
        holds(
            self.elapsed_ns > 0 || self.calls.answered == 0,
            "it has successful calls, but took no time",
        )
    }

    fn service_times(&self) -> impl Iterator<Item = &Histogram> {
        self.service_time.iter().chain(&self.first_byte)
    }

    /// Checks that the slices of the timeline, if it has any, contain each call of the trial with its latency.
    fn check_timeline(&self, answered: u64, failed: u64) -> Check {
        let slices = &self.timeline.slices;
        let of_slices = [
            sum(slices.iter().map(|slice| slice.answered)),
            sum(slices.iter().map(|slice| slice.failed)),
        ];
        let fit = slices.is_empty() || of_slices == [answered, failed];
        holds(fit, "its timeline does not match the trial's calls")?;
        let are_counted = slices.iter().any(|slice| slice.latencies.calls() > 0);
        let fit = slices.iter().all(|slice| {
            let calls = if are_counted { slice.answered } else { 0 };
            slice.latencies.is_sound() && slice.latencies.calls() == calls
        });
        holds(
            fit,
            "a slice of its timeline does not have one latency for each call",
        )?;
        let latency = self.latency.unpack();
        let by_calls = latency.mean() * latency.len() as f64;
        let by_slices = sum(slices.iter().map(|slice| slice.latency_sum_ns)) as f64;
        let off = by_slices * RESOLUTION + answered as f64;
        holds(
            slices.is_empty() || (by_calls - by_slices).abs() <= off,
            "its timeline does not match the trial's latencies",
        )
    }

    fn check_counts(&self) -> Check {
        let slices = self.slices.map_or([0; 4], |slices| {
            [
                slices.count,
                slices.skipped,
                slices.skipped_failed,
                slices.skipped_never_sent,
            ]
        });
        let counts = [
            self.calls.started,
            self.calls.retried,
            self.warmup.calls,
            self.warmup.failed,
            self.late.ended,
            self.connections_at_start.unwrap_or(0),
            self.connections_opened.unwrap_or(0),
            self.connections_reopened,
            self.tls_resumed,
            self.connects_failed,
            self.uncompressed_responses,
            self.checked_responses.unwrap_or(0),
            self.bodies_late,
            self.stalls.count,
            self.most_in_flight.unwrap_or(0),
            self.errors_without_sample,
            self.requests_sent.unwrap_or(0),
        ];
        let samples = self.error_samples.iter().map(|sample| sample.count);
        let mut all = counts.into_iter().chain(slices).chain(samples);
        if let Some(count) = all.find(|count| *count > MAX_CALLS) {
            return Err(format!("{count} is more than can be counted in a trial"));
        }
        let [_, skipped, failed, never_sent] = slices;
        holds(
            never_sent <= failed && failed <= skipped,
            "more skipped calls failed or were never sent than were skipped",
        )?;
        holds(
            self.late.is_sound(),
            "more late calls of its warm-up failed or were sent than there were",
        )
    }
}

impl Step {
    fn check(&self) -> Check {
        let ended = sum([self.answered, self.failed]);
        let fit =
            ended <= self.started && self.never_sent <= self.started.saturating_sub(self.answered);
        holds(
            fit && self.stalled <= self.failed,
            "the outcomes in one of its steps do not match the calls that were due",
        )?;
        holds(
            self.latency.count() == self.answered && self.send_delay.count() <= self.started,
            "the times in one of its steps do not match its calls",
        )?;
        let is_level = |rate| rate == 0.0 || is_rate(rate);
        holds(
            is_level(self.from) && is_level(self.to),
            "calls cannot be sent at the rate of one of its steps",
        )
    }
}

impl MixFigures {
    fn check(&self) -> Check {
        let ended = sum([self.answered, self.failed_total()]);
        let fit =
            ended <= self.started && self.never_sent <= self.started.saturating_sub(self.answered);
        holds(
            fit && self.latency.count() == self.answered,
            "the outcomes of a call of its mix do not match the calls that were due",
        )
    }

    /// The number of failed calls.
    pub fn failed_total(&self) -> u64 {
        sum(self.failed.values().copied())
    }
}

impl MessageFigures {
    fn check(&self) -> Check {
        let received = self.first.count().saturating_add(self.gap.count());
        holds(
            received <= self.received,
            "it has more times of messages than messages",
        )?;
        let latencies = self.latency.as_ref().map_or(0, Histogram::count);
        let fit = sum([latencies, self.unmatched]) <= self.received
            && sum([latencies, self.unanswered]) <= self.sent;
        holds(fit, "it has more latencies of messages than messages")?;
        let mut times = [&self.first, &self.gap].into_iter().chain(&self.latency);
        holds(
            times.all(are_short),
            "one of its times is longer than a year",
        )
    }
}

impl Watched {
    fn check(&self) -> Check {
        let fit = self.slow.len() <= MAX_SLOW && self.not_kept <= MAX_CALLS;
        holds(fit, "it has more slow calls than are kept")?;
        let mut calls = self.slow.iter();
        let are_slow = calls.all(|call| call.usual_ns < call.latency_ns);
        holds(are_slow, "one of its slow calls took no longer than usual")
    }
}

fn check_link(link: &LinkCounts) -> Check {
    for direction in [&link.up, &link.down] {
        let gone = sum([direction.lost, direction.dropped]);
        holds(
            gone <= direction.packets && direction.packets <= MAX_CALLS,
            "its link lost more packets than were offered",
        )?;
    }
    let late = &link.lateness;
    holds(
        late.p50_ns <= late.p99_ns && late.p99_ns <= late.max_ns,
        "the percentiles of its link's lateness are not in ascending order",
    )?;
    let probes = &link.calibration;
    holds(
        probes.median_ns <= probes.worst_ns,
        "its link's worst probe is faster than the median",
    )
}

/// Whether all times are within the bounds of a trial.
pub fn are_short(times: &Histogram) -> bool {
    times.unpack().max() <= MAX_NS as f64
}

/// Whether a number can be a mean of counts.
pub fn is_amount(number: f64) -> bool {
    (0.0..=u64::MAX as f64).contains(&number)
}
