//! The figures of a load, for the run directory in which a master collects those of all its workers.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rpcgauge_load::{MessageRecorder, TrialProgress, bytes_of};
use rpcgauge_locust::{CollectedRun, Figures};
use rpcgauge_study::histogram::{self, Unpacked as Histogram};
use rpcgauge_study::plan::{Plan, Variant};
use rpcgauge_study::record::{
    Calls, Environment, Histogram as Recorded, SCHEMA, Timeline, TimelineSlice, TrialFigures,
    WorkerRecord,
};
use rpcgauge_study::run::NewRun;
use rpcgauge_trial::{LatencyCounts, StreamForm};

use super::load::REPORT_EVERY;

/// What the records of all loads of a worker have in common.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) worker: String,
    pub(super) plan: Plan,
    pub(super) variant: Variant,
    /// How its calls stream; `None` if they do not.
    pub(super) form: Option<StreamForm>,
    pub(super) environment: Environment,
}

/// The figures of a load that a master collects.
pub(super) struct Collection {
    run: String,
    files: Vec<(&'static str, String)>,
    name: String,
    so_far: SoFar,
    /// The record that is sent, with other figures each time.
    record: WorkerRecord,
}

/// What the calls took so far, added up from the snapshots.
struct SoFar {
    /// How they stream; `None` if they do not.
    form: Option<StreamForm>,
    latency: Histogram,
    failed_latency: Histogram,
    timeline: Timeline,
}

impl Collection {
    /// Begins with the load. `name` is that of its file, which no other load has.
    pub(super) fn begin(
        described: &Described,
        run: &CollectedRun,
        name: String,
    ) -> Result<Collection, String> {
        let now = SystemTime::now();
        let new = NewRun {
            rpcgauge: env!("CARGO_PKG_VERSION"),
            created_at: now,
            study: None,
            plan: &described.plan,
        };
        let files = new.files_for_workers(&described.environment);
        let began = Instant::now().saturating_duration_since(run.began);
        let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Collection {
            run: run.name.clone(),
            files: files.map_err(|error| error.to_string())?.to_vec(),
            name,
            so_far: SoFar::of(described.form),
            record: WorkerRecord {
                schema: SCHEMA,
                worker: described.worker.clone(),
                variant: described.variant.clone(),
                began_ns: u64::try_from(began.as_nanos()).unwrap_or(u64::MAX),
                started_at_ms: u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX),
                users: 0,
                ended: false,
                environment: described.environment.clone(),
                figures: TrialFigures::default(),
            },
        })
    }

    pub(super) fn run(&self) -> &str {
        &self.run
    }

    pub(super) fn set_users(&mut self, users: u32) {
        self.record.users = self.record.users.max(users);
    }

    pub(super) fn add(&mut self, progress: &TrialProgress) {
        self.so_far.add(progress);
    }

    /// The figures until a snapshot, the last that was added.
    pub(super) fn so_far(&mut self, progress: &TrialProgress) -> Result<Figures, String> {
        self.record.figures = self.so_far.figures(progress);
        self.figures()
    }

    /// The figures of the whole load.
    pub(super) fn last(mut self, figures: TrialFigures) -> Result<Figures, String> {
        self.record.figures = figures;
        self.record.ended = true;
        self.figures()
    }

    fn figures(&self) -> Result<Figures, String> {
        Ok(Figures {
            run: self.run.clone(),
            files: self.files.clone(),
            name: self.name.clone(),
            text: self.record.to_file()?,
            ended: self.record.ended,
        })
    }
}

impl SoFar {
    fn of(form: Option<StreamForm>) -> SoFar {
        SoFar {
            form,
            latency: histogram::times(),
            failed_latency: histogram::times(),
            timeline: Timeline::default(),
        }
    }

    fn add(&mut self, progress: &TrialProgress) {
        let times = &progress.times;
        for (all, more) in [
            (&mut self.latency, &times.latency),
            (&mut self.failed_latency, &times.failed_latency),
        ] {
            // Histograms of the same precision that resize themselves can always be added.
            let _ = all.add(more);
        }
        let latencies = times.latency.iter_recorded().map(|time| {
            let ns = times.latency.median_equivalent(time.value_iterated_to());
            (ns, time.count_at_value())
        });
        let mut slice = TimelineSlice {
            failed: times.failed_latency.len(),
            ..TimelineSlice::default()
        };
        for (ns, calls) in latencies {
            slice.add(&TimelineSlice {
                answered: calls,
                latency_sum_ns: ns.saturating_mul(calls),
                latency_max_ns: ns,
                latencies: LatencyCounts::of(ns, calls),
                ..TimelineSlice::default()
            });
        }
        let began = progress.elapsed.saturating_sub(progress.interval);
        let interval = Timeline {
            slice_ns: nanos(REPORT_EVERY),
            slices: vec![slice],
        };
        self.timeline.add(&interval, nanos(began));
    }

    /// The figures of the calls that have ended.
    fn figures(&self, progress: &TrialProgress) -> TrialFigures {
        let failed = progress.failed.values().sum::<u64>();
        let calls = Calls {
            started: progress.answered + failed,
            answered: progress.answered,
            failed: progress.failed.clone(),
            never_sent: failed.min(progress.started - progress.sent),
            retried: progress.retried,
            ..Calls::default()
        };
        let messages = self.form.map(|form| {
            // Snapshots have no times of messages.
            let mut messages = MessageRecorder::new(form);
            messages.sent = progress.messages_sent;
            messages.received = progress.messages_received;
            Box::new(messages.finish(nanos(progress.elapsed)))
        });
        TrialFigures {
            calls,
            elapsed_ns: nanos(progress.elapsed),
            latency: Recorded::from(self.latency.clone()),
            failed_latency: Recorded::from(self.failed_latency.clone()).non_empty(),
            // Snapshots have the delays of calls in flight, too, which are not counted here.
            send_delay: Recorded::default(),
            messages,
            timeline: self.timeline.clone(),
            requests_sent: Some(progress.sent + progress.retried),
            bytes: Some(bytes_of(&progress.traffic)),
            ..TrialFigures::default()
        }
    }
}

fn nanos(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rpcgauge_study::plan::TrialSpec;
    use rpcgauge_study::record::{FailureKind, TrialOutcome, TrialRecord};
    use rpcgauge_study::settings::{Placement, Timing};

    use super::*;

    /// The snapshot after an interval in which calls took these times, in ms. None of the failed calls were sent.
    fn snapshot(number: u32, answered: &[u64], failed: u64, so_far: [u64; 2]) -> TrialProgress {
        let mut progress = TrialProgress {
            // Snapshots are taken a little late.
            elapsed: REPORT_EVERY * number + Duration::from_micros(u64::from(number)),
            interval: REPORT_EVERY + Duration::from_micros(1),
            // Two calls are in flight.
            started: so_far[0] + so_far[1] + 2,
            sent: so_far[0] + 2,
            answered: so_far[0],
            in_flight: 2,
            messages_sent: so_far[0] + 2,
            messages_received: so_far[0] * 100,
            ..TrialProgress::default()
        };
        if so_far[1] > 0 {
            progress.failed.insert(FailureKind::Deadline, so_far[1]);
        }
        for ms in answered {
            progress.times.latency += ms * 1_000_000;
        }
        for _ in 0..failed {
            progress.times.failed_latency += 1_000;
        }
        progress
    }

    #[test]
    fn figures_so_far_are_a_valid_record_of_the_calls_that_have_ended() {
        let mut so_far = SoFar::of(Some(StreamForm::Server));
        so_far.add(&snapshot(1, &[1, 1, 700], 0, [3, 0]));
        let last = snapshot(2, &[2, 30], 4, [5, 4]);
        so_far.add(&last);
        let figures = so_far.figures(&last);
        assert_eq!((figures.calls.started, figures.calls.never_sent), (9, 4));
        assert_eq!(figures.latency.count(), 5);
        let messages = figures.messages.as_deref().expect("of streams");
        assert_eq!((messages.sent, messages.received), (7, 500));
        assert_eq!(
            figures.latency.unpack().quantile(1.0).round(),
            700_448_767.0
        );
        let slices = figures.timeline.slices.iter();
        let slices: Vec<_> = slices.map(|slice| (slice.answered, slice.failed)).collect();
        assert_eq!(slices, [(3, 0), (2, 4)]);
        let record = TrialRecord {
            trial: TrialSpec {
                index: 0,
                invocation: 0,
                block: 0,
                variant: 0,
                placement: Placement::Free,
                rotation: 0,
            },
            variant: String::new(),
            timing: Timing::Load,
            idle: rpcgauge_study::settings::Idle::AsIs,
            started_at_ms: 0,
            rate: None,
            outcome: TrialOutcome::Measured(Box::new(figures)),
        };
        assert_eq!(record.check(), Ok(()));
    }

    #[test]
    fn a_load_begins_with_figures_without_calls() {
        let figures = SoFar::of(None).figures(&TrialProgress::default());
        assert_eq!((figures.calls.started, figures.elapsed_ns), (0, 0));
    }
}
