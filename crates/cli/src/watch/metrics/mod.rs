//! A load's figures while it runs, in OpenMetrics text for a monitoring system to scrape, or pushed to it.
//!
//! Like the reports, they cover only measured calls, over all trials of each target so far. Each
//! snapshot of a trial updates them.

mod buckets;
mod endpoint;
mod push;
mod remote_write;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use rpcgauge_load::{ByteCount, Histogram, IntervalTimes, Traffic, TrialProgress};

use self::buckets::Buckets;
pub(super) use self::endpoint::Endpoint;
pub(super) use self::push::{Push, Pushing};

/// Label names and values. The first label is always `target`.
type Labels = Vec<(&'static str, String)>;

/// A metric family: its name without the unit, its help, and a function that reads its value.
type Row<From, To> = (&'static str, &'static str, fn(&From) -> To);

const COUNTS: [Row<TrialProgress, u64>; 6] = [
    (
        "calls_started",
        "Calls that were started, or failed before they could start",
        |s| s.started,
    ),
    ("calls_sent", "Calls handed to the transport", |s| s.sent),
    ("calls_answered", "Calls that succeeded", |s| s.answered),
    ("calls_retried", "Retries of calls", |s| s.retried),
    (
        "messages_sent",
        "Messages of streaming calls handed to the transport",
        |s| s.messages_sent,
    ),
    (
        "messages_received",
        "Messages of streaming calls that were received",
        |s| s.messages_received,
    ),
];

const GAUGES: [Row<TrialProgress, u64>; 2] = [
    (
        "calls_in_flight",
        "Calls that were started but have not ended",
        |s| s.in_flight,
    ),
    (
        "calls_waiting",
        "Calls that are due but not started, including warm-up calls",
        |s| s.waiting,
    ),
];

const BYTES: [Row<Traffic, ByteCount>; 2] = [
    ("sent", "Bytes sent, by class", |t| t.sent),
    ("received", "Bytes received, by class", |t| t.received),
];

type TimesOf = fn(&IntervalTimes) -> &Histogram;

const TIMES: [(&str, &str, TimesOf); 3] = [
    (
        "latency",
        "Latency of successful calls, from when they were due",
        |times| &times.latency,
    ),
    (
        "failed_latency",
        "Latency of failed calls, from when they were due",
        |times| &times.failed_latency,
    ),
    (
        "send_delay",
        "Delay from when calls were due to when they were started",
        |times| &times.send_delay,
    ),
];

/// The metrics of all targets, shared with the endpoint and the pushes. The lock ensures that they see
/// only complete snapshots.
#[derive(Clone)]
pub(super) struct Metrics(Arc<Mutex<Figures>>);

struct Figures {
    registry: Registry,
    /// In the order of [`COUNTS`].
    calls: [Counts; 6],
    failed: Counts,
    /// In the order of [`GAUGES`].
    gauges: [Family<Labels, Gauge<u64, AtomicU64>>; 2],
    /// In the order of [`BYTES`].
    bytes: [Counts; 2],
    /// In the order of [`TIMES`].
    times: [Family<Labels, Buckets>; 3],
}

/// Totals over all trials, although each trial counts from 0.
#[derive(Default)]
struct Counts {
    total: Family<Labels, Counter>,
    /// The part of the total that comes from running trials.
    current: HashMap<Labels, u64>,
}

/// An info metric with one sample per target. The client library's own info metric supports only
/// one set of labels.
#[derive(Debug)]
struct Targets(Vec<Labels>);

impl EncodeMetric for Targets {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let mut targets = self.0.iter();
        targets.try_for_each(|labels| encoder.encode_info(labels))
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Info
    }
}

impl Metrics {
    /// Creates metrics for these targets, each given as its name and URL.
    pub(super) fn new(targets: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut figures = Figures::new();
        let mut infos = Vec::new();
        for (name, url) in targets {
            figures.update(&name, &TrialProgress::default());
            infos.push(vec![("target", name), ("called", url)]);
        }
        let load = figures.registry.sub_registry_with_prefix("load");
        load.register("target", "The URL that is called", Targets(infos));
        Self(Arc::new(Mutex::new(figures)))
    }

    pub(super) fn begin(&self, target: &str) {
        self.lock().begin(target);
    }

    /// Adds what a trial has counted since its previous snapshot.
    pub(super) fn update(&self, target: &str, progress: &TrialProgress) {
        self.lock().update(target, progress);
    }

    fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &self.lock().registry);
        text
    }

    fn lock(&self) -> MutexGuard<'_, Figures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Figures {
    fn new() -> Self {
        let mut registry = Registry::with_prefix("rpcgauge");
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        registry.register("build", "The program", Info::new(version));
        let load = registry.sub_registry_with_prefix("load");
        let calls = COUNTS.map(|(name, help, _)| {
            let counts = Counts::default();
            load.register(name, help, counts.total.clone());
            counts
        });
        let failed = Counts::default();
        let help = "Calls that failed, by kind";
        load.register("calls_failed", help, failed.total.clone());
        let gauges = GAUGES.map(|(name, help, _)| {
            let gauge = Family::default();
            load.register(name, help, gauge.clone());
            gauge
        });
        let bytes = BYTES.map(|(name, help, _)| {
            let counts = Counts::default();
            load.register_with_unit(name, help, Unit::Bytes, counts.total.clone());
            counts
        });
        let times = TIMES.map(|(name, help, _)| {
            let family = Family::default();
            load.register_with_unit(name, help, Unit::Seconds, family.clone());
            family
        });
        Self {
            registry,
            calls,
            failed,
            gauges,
            bytes,
            times,
        }
    }

    fn begin(&mut self, target: &str) {
        let all = self.calls.iter_mut().chain(&mut self.bytes);
        for counts in all.chain([&mut self.failed]) {
            counts.current.retain(|labels, _| labels[0].1 != target);
        }
        let target = vec![("target", target.to_owned())];
        for gauge in &self.gauges {
            gauge.get_or_create(&target).set(0);
        }
    }

    fn update(&mut self, target: &str, progress: &TrialProgress) {
        let target: Labels = vec![("target", target.to_owned())];
        let and = |name, value: String| [&target[..], &[(name, value)]].concat();
        for (counts, (.., calls)) in self.calls.iter_mut().zip(COUNTS) {
            counts.count(&target, calls(progress));
        }
        for (kind, calls) in &progress.failed {
            self.failed.count(&and("kind", kind.to_string()), *calls);
        }
        for (gauge, (.., calls)) in self.gauges.iter().zip(GAUGES) {
            gauge.get_or_create(&target).set(calls(progress));
        }
        for (counts, (.., bytes)) in self.bytes.iter_mut().zip(BYTES) {
            let bytes = bytes(&progress.traffic);
            for (class, bytes) in [
                ("headers", bytes.header + bytes.marks),
                ("bodies", bytes.body),
                ("overhead", bytes.overhead),
            ] {
                counts.count(&and("class", class.to_owned()), bytes);
            }
        }
        for (family, (.., times)) in self.times.iter().zip(TIMES) {
            family.get_or_create(&target).add(times(&progress.times));
        }
    }
}

impl Counts {
    /// Adds what the current trial has counted since the last update. `now` is the trial's total.
    fn count(&mut self, labels: &Labels, now: u64) {
        let before = self.current.entry(labels.clone()).or_default();
        // A trial's count can shrink if bytes turn out to be unsent or in another class. A counter
        // must not, because a decrease would be read as a restart.
        let more = now.saturating_sub(*before);
        *before += more;
        self.total.get_or_create(labels).inc_by(more);
    }
}

#[cfg(test)]
mod tests;
