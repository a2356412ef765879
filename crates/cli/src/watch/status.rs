//! The status of a load, in words.

use std::collections::BTreeMap;

use rpcgauge_load::{Histogram, TrialProgress};
use rpcgauge_report::units;
use rpcgauge_trial::FailureKind;

/// Minimum number of calls for showing p99, so that at least one call lies beyond it.
const CALLS_FOR_P99: u64 = 100;

/// Maximum number of failure kinds to list; the rest are counted together.
const MAX_KINDS: usize = 3;

/// The counts at the previous snapshot.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Before {
    sent: u64,
    messages_received: u64,
}

impl Before {
    pub(super) fn of(progress: &TrialProgress) -> Self {
        Self {
            sent: progress.sent,
            messages_received: progress.messages_received,
        }
    }
}

/// The status of the last interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Status {
    /// For example `0:07 left`.
    left: String,
    /// Calls per second, and calls in flight.
    rate: String,
    /// Latency of the interval's successful calls.
    latency: String,
    /// Failures in the measured part so far, by kind.
    failures: String,
}

impl Status {
    /// Creates the status from a snapshot. `before` is what had been counted at the
    /// previous snapshot.
    pub(super) fn new(progress: &TrialProgress, before: Before, left: String) -> Self {
        let seconds = progress.interval.as_secs_f64();
        let rate = |calls: u64| {
            if seconds > 0.0 {
                units::number(calls as f64 / seconds)
            } else {
                units::NONE.to_owned()
            }
        };
        let waiting = match progress.waiting {
            0 => String::new(),
            calls => format!(", {} due but not sent yet", units::count(calls)),
        };
        let messages = match progress.messages_received {
            0 => String::new(),
            all => {
                let received = rate(all.saturating_sub(before.messages_received));
                format!(", received {received} messages/s")
            }
        };
        let not_sent = match progress.started.saturating_sub(progress.sent) {
            0 => String::new(),
            calls => format!(", {} never sent", units::count(calls)),
        };
        Self {
            left,
            rate: format!(
                "sent {}/s, succeeded {}/s{messages}, {} in flight{waiting}{not_sent}",
                rate(progress.sent.saturating_sub(before.sent)),
                rate(progress.times.latency.len()),
                units::count(progress.in_flight)
            ),
            latency: latency(&progress.times.latency),
            failures: failures(&progress.failed),
        }
    }

    /// The status on one line, for output that is not a terminal.
    pub(super) fn line(&self, variant: Option<&str>) -> String {
        format!("{}; {}", self.head(variant), self.details())
    }

    /// The remaining time, and the rate.
    pub(super) fn head(&self, variant: Option<&str>) -> String {
        let variant = variant.map(|name| format!("{name}: ")).unwrap_or_default();
        format!("{variant}{}; {}", self.left, self.rate)
    }

    /// Latency and failures.
    pub(super) fn details(&self) -> String {
        format!("{}; {}", self.latency, self.failures)
    }
}

/// The median and the tail.
pub(crate) fn latency(of: &Histogram) -> String {
    if of.is_empty() {
        return format!("p50 {0}, p99 {0}", units::NONE);
    }
    let time = |ns: u64| units::time(ns as f64);
    let (name, tail) = if of.len() < CALLS_FOR_P99 {
        ("max", of.max())
    } else {
        ("p99", of.value_at_quantile(0.99))
    };
    format!(
        "p50 {}, {name} {}",
        time(of.value_at_quantile(0.5)),
        time(tail)
    )
}

/// Failed calls, by kind.
pub(crate) fn failures(failed: &BTreeMap<FailureKind, u64>) -> String {
    if failed.is_empty() {
        return "0 failed".to_owned();
    }
    let mut kinds: Vec<_> = failed.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let rest: u64 = kinds.iter().skip(MAX_KINDS).map(|(_, count)| *count).sum();
    let shown = kinds.iter().take(MAX_KINDS);
    let mut words: Vec<String> = shown
        .map(|(kind, count)| format!("{} × {kind}", units::count(**count)))
        .collect();
    if rest > 0 {
        words.push(format!("{} others", units::count(rest)));
    }
    format!("failed: {}", words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::sampler::example;

    fn line(progress: &TrialProgress) -> String {
        let before = Before {
            sent: 1_000,
            messages_received: 500,
        };
        Status::new(progress, before, "1:07 left".to_owned()).line(None)
    }

    #[test]
    fn a_steady_second_reads_as_rate_latency_and_failures() {
        insta::assert_snapshot!(
            line(&example((1..=500).map(|i| i * 10))),
            @"1:07 left; sent 504/s, succeeded 500/s, 12 in flight; p50 2.50 ms, p99 4.95 ms; 0 failed"
        );
    }

    #[test]
    fn a_second_without_answers_shows_no_percentile() {
        insta::assert_snapshot!(
            line(&example([])),
            @"1:07 left; sent 504/s, succeeded 0/s, 12 in flight; p50 –, p99 –; 0 failed"
        );
    }

    #[test]
    fn messages_of_streams_have_a_rate_of_their_own() {
        let progress = TrialProgress {
            messages_received: 2_500,
            ..example([10])
        };
        assert!(
            line(&progress).contains("succeeded 1.00/s, received 2,000 messages/s, 12 in flight"),
            "{}",
            line(&progress)
        );
    }

    #[test]
    fn with_few_answers_the_longest_is_shown() {
        insta::assert_snapshot!(
            line(&example([10, 20, 5_000])),
            @"1:07 left; sent 504/s, succeeded 3.00/s, 12 in flight; p50 20.0 µs, max 5.00 ms; 0 failed"
        );
    }

    #[test]
    fn calls_that_were_not_sent_have_a_count_of_their_own() {
        let mut progress = example([10]);
        progress.started = 4_000;
        progress.waiting = 70_000;
        insta::assert_snapshot!(
            line(&progress),
            @"1:07 left; sent 504/s, succeeded 1.00/s, 12 in flight, 70,000 due but not sent yet, 2,496 never sent; p50 10.0 µs, max 10.0 µs; 0 failed"
        );
    }

    #[test]
    fn failures_are_listed_by_kind_with_the_most_frequent_first() {
        let mut progress = example([10]);
        progress.failed = BTreeMap::from([
            (FailureKind::Deadline, 2),
            (FailureKind::HttpStatus(503), 1_200),
            (FailureKind::ConnectRefused, 1),
            (FailureKind::ConnectionReset, 3),
            (FailureKind::Protocol, 1),
        ]);
        let before = Before {
            sent: 1_000,
            ..Before::default()
        };
        let shown = Status::new(&progress, before, "0:00 left".to_owned());
        insta::assert_snapshot!(
            shown.line(Some("b")),
            @"b: 0:00 left; sent 504/s, succeeded 1.00/s, 12 in flight; p50 10.0 µs, max 10.0 µs; failed: 1,200 × http-503, 3 × connection-reset, 2 × deadline, 2 others"
        );
    }
}
