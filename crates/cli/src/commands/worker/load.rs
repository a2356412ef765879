//! One load of a worker, from the first user to the master's stop.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use rpcgauge_lab::live::{Live, LiveError, UserLoad};
use rpcgauge_load::{Demand, IntervalTimes, ProgressHook, TrialProgress};
use rpcgauge_locust::{Calls, Figures, Report, Worker};
use rpcgauge_report::units;
use rpcgauge_study::record::TrialFigures;
use rpcgauge_trial::{FailureKind, Schedule};

use super::collect::Collection;
use crate::exit::{Failure, note};
use crate::watch::{failures, latency};

/// The time between two reports: about a second. Slices of timelines take powers of two, so that a report is a slice.
pub(super) const REPORT_EVERY: Duration = Duration::from_nanos(1 << 30);

/// A master that collects figures gets them with every third report.
const REPORTS_PER_FIGURES: u32 = 3;

/// How long the calls in flight at the end of a load may take to end, if a master collects the figures and waits for them.
const DRAIN: Duration = Duration::from_secs(5);

/// A load follows the number of users within this time.
const FOLLOWS: Duration = Duration::from_millis(60);

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
    thread: JoinHandle<Result<Box<TrialFigures>, LiveError>>,
    snapshots: Receiver<TrialProgress>,
    /// Returns cleared histograms to the measuring thread.
    to_empty: Sender<IntervalTimes>,
    reporter: Reporter,
    is_at_a_rate: bool,
    /// The figures that the master collects, if it does.
    collection: Option<Collection>,
    reports: u32,
}

impl Load {
    pub(super) fn begin(
        settings: &LoadSettings<'_>,
        users: u32,
        collection: Option<Collection>,
    ) -> Result<Load, Failure> {
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
            is_at_a_rate: matches!(settings.schedule, Schedule::Rate { .. }),
            collection,
            reports: 0,
        })
    }

    pub(super) fn set_users(&mut self, users: u32) {
        self.users.set_users(users);
        if let Some(collection) = &mut self.collection {
            collection.set_users(users);
        }
    }

    /// Reports the snapshots that have arrived. Returns the number of calls that have not ended in the last one.
    pub(super) fn report(&mut self, worker: &Worker) -> Option<u64> {
        let mut left = None;
        for mut progress in self.snapshots.try_iter() {
            worker.report(self.reporter.report(&progress));
            self.reports += 1;
            if let Some(collection) = &mut self.collection {
                collection.add(&progress);
                if self.reports.is_multiple_of(REPORTS_PER_FIGURES) {
                    send(worker, collection.so_far(&progress));
                }
            }
            left = Some(progress.in_flight + progress.waiting);
            progress.times.clear();
            // After the last snapshot, the measuring thread is gone and does not need them.
            let _ = self.to_empty.send(progress.times);
        }
        left
    }

    /// Whether the load has ended by itself, which only an error can cause.
    pub(super) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Lets no more calls begin, and waits for those in flight. Returns how long that took.
    fn drain(&mut self, worker: &Worker) -> Duration {
        self.users.set_users(0);
        let began = Instant::now();
        while began.elapsed() < DRAIN && !self.has_ended() {
            let left = self.report(worker);
            if left == Some(0) && began.elapsed() > FOLLOWS {
                break;
            }
            std::thread::sleep(FOLLOWS);
        }
        began.elapsed()
    }

    /// Ends the load with its last reports. Returns what to print about the load. `may_drain` is whether the master waits
    /// for the calls in flight, if it collects the figures.
    pub(super) fn end(mut self, worker: &Worker, may_drain: bool) -> Result<Vec<String>, String> {
        let drained = match self.collection {
            Some(_) if may_drain => self.drain(worker),
            _ => Duration::ZERO,
        };
        self.stop.store(true, Ordering::Relaxed);
        while !self.thread.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.report(worker);
        let failed = |_| "the thread that makes the calls failed".to_owned();
        let measured = self.thread.join().map_err(failed)?;
        let mut measured = measured.map_err(|error| error.to_string())?;
        if self.is_at_a_rate {
            // No calls were due in this time.
            let drained = u64::try_from(drained.as_nanos()).unwrap_or(u64::MAX);
            measured.elapsed_ns = measured.elapsed_ns.saturating_sub(drained).max(1);
        }
        let summary = self.reporter.summary(&measured);
        if let Some(collection) = self.collection {
            send(worker, collection.last(*measured));
        }
        Ok(summary)
    }
}

/// Sends figures. An error leaves those before in place.
pub(super) fn send(worker: &Worker, figures: Result<Figures, String>) {
    match figures {
        Ok(figures) => worker.figures(figures),
        Err(error) => note(&format!(
            "the master cannot collect the newest figures of this worker: {error}; this is an error of rpcgauge"
        )),
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
    fn summary(&self, measured: &TrialFigures) -> Vec<String> {
        let calls = self.answered + self.failed.values().sum::<u64>();
        let ended = format!(
            "the load has ended: {}; {}; {}",
            units::counted(calls, "call"),
            latency(measured.latency.unpack().counts()),
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
