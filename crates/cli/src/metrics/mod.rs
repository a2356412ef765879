//! The figures of a load while it runs, for a monitoring system to collect.
//!
//! They count the measured calls, as the reports do, from all trials of each target so far. A look
//! a second brings them up to date; the thread that measures knows nothing of who reads them.

mod buckets;
mod endpoint;
mod exposition;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rpcgauge_load::{ByteCount, Traffic};

use self::buckets::Buckets;
pub(crate) use self::endpoint::Endpoint;
use crate::watch::Look;

/// The figures of every target, shared with who answers for them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metrics(Arc<Mutex<Vec<Target>>>);

/// The figures of one target.
#[derive(Debug, Default)]
struct Target {
    name: String,
    /// What is called, as its reports name it.
    called: String,
    /// Of the trials that have ended.
    ended: Counts,
    /// Of the one that goes on.
    current: Counts,
    in_flight: u64,
    latency: Buckets,
    failed_latency: Buckets,
    send_delay: Buckets,
}

/// Counts that only grow within a trial.
#[derive(Debug, Clone, Default, PartialEq)]
struct Counts {
    started: u64,
    sent: u64,
    answered: u64,
    failed: BTreeMap<String, u64>,
    retried: u64,
    traffic: Traffic,
}

impl Metrics {
    /// Of these targets, each with its name and what is called.
    pub(crate) fn new(targets: impl IntoIterator<Item = (String, String)>) -> Self {
        let targets = targets.into_iter().map(|(name, called)| Target {
            name,
            called,
            ..Target::default()
        });
        Self(Arc::new(Mutex::new(targets.collect())))
    }

    /// A trial of this target begins.
    pub(crate) fn begin(&self, target: &str) {
        self.change(target, |target| {
            let current = std::mem::take(&mut target.current);
            target.ended.add(&current);
            target.in_flight = 0;
        });
    }

    /// How the trial of this target stands.
    pub(crate) fn update(&self, target: &str, look: &Look) {
        self.change(target, |target| {
            target.current.follow(look);
            target.in_flight = look.in_flight;
            target.latency.add(&look.times.latency);
            target.failed_latency.add(&look.times.failed_latency);
            target.send_delay.add(&look.times.send_delay);
        });
    }

    /// The text that is collected.
    fn text(&self) -> String {
        exposition::text(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Target)) {
        let mut targets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(target) = targets.iter_mut().find(|target| target.name == name) {
            change(target);
        }
    }
}

impl Target {
    fn counts(&self) -> Counts {
        let mut counts = self.ended.clone();
        counts.add(&self.current);
        counts
    }
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.started += other.started;
        self.sent += other.sent;
        self.answered += other.answered;
        self.retried += other.retried;
        for (kind, count) in &other.failed {
            *self.failed.entry(kind.clone()).or_default() += count;
        }
        self.traffic += other.traffic;
    }

    fn follow(&mut self, look: &Look) {
        self.started = look.started;
        self.sent = look.sent.max(self.sent);
        self.answered = look.answered;
        self.retried = look.retried;
        let failed = look.failed.iter();
        self.failed = failed.map(|(kind, n)| (kind.to_string(), *n)).collect();
        // Calls and bytes that were not written after all, or are found to be another class, are taken back; a
        // counter that shrinks would be read as a new start.
        self.traffic = Traffic {
            sent: grown(self.traffic.sent, look.traffic.sent),
            received: grown(self.traffic.received, look.traffic.received),
        };
    }
}

fn grown(before: ByteCount, now: ByteCount) -> ByteCount {
    ByteCount {
        header: now.header.max(before.header),
        marks: now.marks.max(before.marks),
        body: now.body.max(before.body),
        overhead: now.overhead.max(before.overhead),
    }
}

#[cfg(test)]
mod tests;
