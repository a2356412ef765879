//! The thread that shows and exports snapshots, so that the measuring thread never waits.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hdrhistogram::serialization::V2DeflateSerializer;
use rpcgauge_load::IntervalTimes;

use super::interval_log::IntervalLog;
use super::metrics::Metrics;
use super::output_file::OutputFile;
use super::sampler::{INTERVAL, Message, Sampler, Snapshot};
use super::status::{Before, Status};
use super::trial::TrialStart;
use crate::exit::Failure;
use crate::screen::Screen;

/// Sets of histograms allocated before the first snapshot.
const READY: usize = 2;

/// Snapshots per line of output, if standard error is not a terminal.
const SNAPSHOTS_PER_LINE: u32 = 5;

pub(super) struct Watcher {
    sampler: Sampler,
    thread: JoinHandle<Result<(), Failure>>,
}

impl Watcher {
    /// Starts the thread. With `several` variants, its output names them.
    pub(super) fn start(
        screen: Screen,
        several: bool,
        metrics: Option<Metrics>,
        log: Option<OutputFile>,
    ) -> Result<Self, Failure> {
        let (messages, received) = channel();
        let (to_empty, emptied) = channel();
        for _ in 0..READY {
            let _ = to_empty.send(IntervalTimes::default());
        }
        let thread = WatchThread {
            screen,
            metrics,
            several,
            began: Instant::now(),
            trials: BTreeMap::new(),
            snapshots: 0,
        };
        let thread = std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || thread.run(&received, &to_empty, log))
            .map_err(|error| Failure::cannot(format!("cannot start a thread: {error}")))?;
        let sampler = Sampler { messages, emptied };
        Ok(Self { sampler, thread })
    }

    pub(super) fn begin(&self, trial: TrialStart) {
        // If the thread has ended, joining it returns its error.
        let _ = self.sampler.messages.send(Message::Trial(trial));
    }

    pub(super) fn sampler(&mut self) -> &mut Sampler {
        &mut self.sampler
    }

    /// Waits until everything is shown and written.
    pub(super) fn finish(self) -> Result<(), Failure> {
        drop(self.sampler);
        let ended = self.thread.join();
        ended.unwrap_or_else(|_| {
            Err(Failure::cannot(
                "the thread that shows the load failed; its output is incomplete",
            ))
        })
    }
}

struct WatchThread {
    screen: Screen,
    metrics: Option<Metrics>,
    several: bool,
    began: Instant,
    /// Running trials by variant. A comparison alternates between them.
    trials: BTreeMap<String, WatchedTrial>,
    snapshots: u32,
}

struct WatchedTrial {
    start: TrialStart,
    /// Calls sent at the previous snapshot.
    before: Before,
}

impl WatchThread {
    /// Runs until the sampler is dropped. Fails if some output could not be written.
    fn run(
        mut self,
        messages: &Receiver<Message>,
        to_empty: &Sender<IntervalTimes>,
        mut file: Option<OutputFile>,
    ) -> Result<(), Failure> {
        let mut serializer = V2DeflateSerializer::new();
        let log = file.as_mut();
        let log = log.map(|file| IntervalLog::begin(file, &mut serializer));
        let mut log = log.transpose();
        for message in messages {
            match message {
                Message::Trial(trial) => self.begin(trial),
                Message::Snapshot(snapshot) => {
                    self.show(&snapshot);
                    let written = match &mut log {
                        Ok(Some(log)) => log.write(&snapshot, self.variant(&snapshot)),
                        _ => Ok(()),
                    };
                    if let Err(error) = written {
                        log = Err(error);
                    }
                    let mut times = snapshot.progress.times;
                    times.clear();
                    // After the last snapshot, the sampler is gone and does not need them.
                    let _ = to_empty.send(times);
                }
            }
        }
        match (log.err(), file) {
            (Some(error), Some(file)) => Err(file.failure(&error)),
            _ => Ok(()),
        }
    }

    /// The name of a snapshot's variant; `None` if there is only one variant.
    fn variant<'s>(&self, snapshot: &'s Snapshot) -> Option<&'s str> {
        self.several.then_some(snapshot.variant.as_str())
    }

    fn begin(&mut self, start: TrialStart) {
        if let Some(metrics) = &self.metrics {
            metrics.begin(&start.variant);
        }
        let left = start.remaining();
        self.draw(&format!("about {}", start.words(left)), "warming up", left);
        let trial = WatchedTrial {
            start,
            before: Before::default(),
        };
        self.trials.insert(trial.start.variant.clone(), trial);
    }

    fn show(&mut self, snapshot: &Snapshot) {
        let progress = &snapshot.progress;
        let Some(trial) = self.trials.get_mut(&snapshot.variant) else {
            return;
        };
        if let Some(metrics) = &self.metrics {
            metrics.update(&snapshot.variant, progress);
        }
        let left = trial.start.left(progress);
        let status = Status::new(progress, trial.before, trial.start.words(left));
        trial.before = Before::of(progress);
        // A trial's last snapshot may cover too little time to describe a second.
        if progress.interval < INTERVAL / 2 {
            return;
        }
        self.snapshots += 1;
        let variant = self.variant(snapshot);
        if self.screen.has_lines() && self.snapshots.is_multiple_of(SNAPSHOTS_PER_LINE) {
            self.screen.line(&status.line(variant));
        }
        self.draw(&status.head(variant), &status.details(), left);
    }

    fn draw(&self, head: &str, details: &str, left: Duration) {
        let gone = self.began.elapsed();
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.screen.draw(|bar| {
            bar.set_length(ms(gone + left));
            bar.set_position(ms(gone));
            bar.set_prefix(head.to_owned());
            bar.set_message(details.to_owned());
        });
    }
}
