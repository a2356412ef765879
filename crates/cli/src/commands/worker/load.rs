//! One load of a worker, from the first user to the master's stop.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use rpcgauge_lab::live::{Live, LiveError, UserLoad};
use rpcgauge_load::{Demand, IntervalTimes, Measurement, ProgressHook, TrialProgress};
use rpcgauge_locust::{Calls, Report};
use rpcgauge_report::units;
use rpcgauge_trial::{FailureKind, Schedule};

use crate::exit::Failure;
use crate::watch::{failures, latency};

/// The time between two reports.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// Maximum number of error texts to print.
const MAX_TEXTS: usize = 3;

/// What all loads of a worker have in common.
pub(super) struct LoadSettings<'a> {
    pub(super) live: Live,
    /// The calls of one user.
    pub(super) schedule: Schedule,
    pub(super) connections: Option<u32>,
    pub(super) seed: u64,
    /// The method and the name in Locust's table.
    pub(super) method: &'a str,
    pub(super) name: &'a str,
}

/// A load that is running on a thread of its own.
pub(super) struct Load {
    users: Arc<Demand>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Measurement, LiveError>>,
    snapshots: Receiver<TrialProgress>,
    /// Returns cleared histograms to the measuring thread.
    to_empty: Sender<IntervalTimes>,
    reporter: Reporter,
}

impl Load {
    pub(super) fn begin(settings: &LoadSettings<'_>, users: u32) -> Result<Load, Failure> {
        let demand = Arc::new(Demand::new(settings.connections.is_none()));
        demand.set_users(users);
        let of = UserLoad {
            users: Arc::clone(&demand),
            schedule: settings.schedule.clone(),
            connections: settings.connections,
            seed: settings.seed,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (to_report, snapshots) = channel();
        let (to_empty, emptied) = channel::<IntervalTimes>();
        let thread = std::thread::Builder::new().name("load".to_owned()).spawn({
            let (live, stop) = (settings.live.clone(), Arc::clone(&stop));
            move || {
                let progress = ProgressHook {
                    every: REPORT_EVERY,
                    sample: Box::new(move |progress| {
                        // The receiver lives until this thread has ended.
                        let _ = to_report.send(progress);
                        emptied.try_recv().unwrap_or_default()
                    }),
                };
                live.run_users(&of, progress, &stop)
            }
        });
        let thread =
            thread.map_err(|error| Failure::cannot(format!("cannot start a thread: {error}")))?;
        Ok(Load {
            users: demand,
            stop,
            thread,
            snapshots,
            to_empty,
            reporter: Reporter::new(settings.method, settings.name),
        })
    }

    pub(super) fn set_users(&self, users: u32) {
        self.users.set_users(users);
    }

    /// The reports of the snapshots that have arrived.
    pub(super) fn new_reports(&mut self) -> impl Iterator<Item = Report> {
        self.snapshots.try_iter().map(|mut progress| {
            let report = self.reporter.report(&progress);
            progress.times.clear();
            // After the last snapshot, the measuring thread is gone and does not need them.
            let _ = self.to_empty.send(progress.times);
            report
        })
    }

    /// Whether the load has ended by itself, which only an error can cause.
    pub(super) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the load. Returns the last reports, and what to print about the load.
    pub(super) fn end(self) -> (Vec<Report>, Result<Vec<String>, String>) {
        self.stop.store(true, Ordering::Relaxed);
        let mut reporter = self.reporter;
        let measured = self.thread.join();
        let snapshots = self.snapshots.try_iter();
        let last = snapshots.map(|progress| reporter.report(&progress));
        let last = last.collect();
        let summary = match measured {
            Ok(Ok(measured)) => Ok(reporter.summary(&measured)),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the thread that makes the calls failed".to_owned()),
        };
        (last, summary)
    }
}

/// Turns snapshots into reports.
struct Reporter {
    method: String,
    name: String,
    began: SystemTime,
    /// What was reported so far.
    answered: u64,
    failed: BTreeMap<FailureKind, u64>,
    body_bytes: u64,
}

impl Reporter {
    fn new(method: &str, name: &str) -> Reporter {
        Reporter {
            method: method.to_owned(),
            name: name.to_owned(),
            began: SystemTime::now(),
            answered: 0,
            failed: BTreeMap::new(),
            body_bytes: 0,
        }
    }

    /// What is new in a snapshot.
    fn report(&mut self, progress: &TrialProgress) -> Report {
        let failed = progress.failed.iter().map(|(kind, count)| {
            let before = self.failed.get(kind).copied().unwrap_or(0);
            (kind.to_string(), count - before)
        });
        let failed = failed.filter(|(_, count)| *count > 0).collect();
        let times = &progress.times;
        let recorded = times.latency.iter_recorded();
        let recorded = recorded.chain(times.failed_latency.iter_recorded());
        let body_bytes = progress.traffic.received.body;
        let calls = Calls {
            method: self.method.clone(),
            name: self.name.clone(),
            succeeded: progress.answered - self.answered,
            failed,
            times: recorded
                .map(|time| (time.value_iterated_to(), time.count_at_value()))
                .collect(),
            content_bytes: body_bytes.saturating_sub(self.body_bytes),
        };
        self.answered = progress.answered;
        self.failed.clone_from(&progress.failed);
        self.body_bytes = body_bytes;
        Report {
            began: self.began,
            until: SystemTime::now(),
            calls,
        }
    }

    /// The calls that were reported, and examples of errors.
    fn summary(&self, measured: &Measurement) -> Vec<String> {
        let calls = self.answered + self.failed.values().sum::<u64>();
        let ended = format!(
            "the load has ended: {}; {}; {}",
            units::counted(calls, "call"),
            latency(&measured.latency),
            failures(&self.failed)
        );
        let samples = measured.error_samples.iter();
        let texts = samples
            .filter(|sample| !sample.text.is_empty())
            .map(|sample| format!("{}: {}", sample.kind, sample.text));
        std::iter::once(ended)
            .chain(texts.take(MAX_TEXTS))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_only_what_is_new() {
        let snapshot = |answered, failed: &[(FailureKind, u64)], ms: &[u64]| {
            let mut progress = TrialProgress {
                answered,
                failed: failed.iter().copied().collect(),
                ..TrialProgress::default()
            };
            progress.traffic.received.body = answered * 10;
            for ms in ms {
                progress.times.latency += ms * 1_000_000;
            }
            progress
        };
        let (busy, late) = (FailureKind::HttpStatus(503), FailureKind::Deadline);
        let mut reporter = Reporter::new("GET", "/");
        reporter.report(&snapshot(3, &[(busy, 2)], &[1, 1, 2]));
        let mut second = snapshot(4, &[(busy, 2), (late, 1)], &[5]);
        second.times.failed_latency += 9_000_000;
        let calls = reporter.report(&second).calls;
        assert_eq!(calls.succeeded, 1);
        assert_eq!(calls.failed, BTreeMap::from([("deadline".to_owned(), 1)]));
        assert_eq!(calls.content_bytes, 10);
        let times = calls.times.iter();
        let times: Vec<_> = times.map(|(ns, count)| (ns / 1_000_000, *count)).collect();
        assert_eq!(times, [(5, 1), (9, 1)]);
    }
}
