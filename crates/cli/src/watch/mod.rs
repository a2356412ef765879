//! What is seen of a load while it runs.
//!
//! The thread that measures takes a look at its trial every second and hands it over ([`look`]).
//! What is made of the looks is made on a thread of its own, which the one that measures never
//! waits for.

mod interval_log;
mod line;
mod look;
mod outlets;
mod trial;
mod view;

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use hdrhistogram::serialization::V2DeflateSerializer;
use rpcgauge_load::IntervalTimes;

use self::interval_log::IntervalLog;
use self::line::Standing;
pub(crate) use self::look::Look;
use self::look::{EVERY, Message, Taker};
pub(crate) use self::outlets::Outlets;
use self::trial::TrialStart;
pub(crate) use self::view::LoadView;
use self::view::Watching;
use crate::exit::Failure;
use crate::metrics::Metrics;
use crate::output_file::OutputFile;
use crate::screen::Screen;

/// Sets of histograms that are ready before the first look.
const READY: usize = 2;

/// Looks from one line to the next where standard error is no terminal.
const LOOKS_A_LINE: u32 = 5;

/// The thread that makes something of the looks.
struct Watcher {
    screen: Screen,
    metrics: Option<Metrics>,
    /// Whether there are several targets, so that lines name theirs.
    several: bool,
    began: Instant,
    /// The trials that go on, by their targets: two are measured in turn.
    trials: BTreeMap<String, Watched>,
    looks: u32,
}

/// A trial that goes on.
struct Watched {
    start: TrialStart,
    /// Calls begun at the look before.
    sent_before: u64,
}

impl Watcher {
    /// Starts it. It ends when the taker is gone, and tells whether everything was written.
    fn start(
        screen: Screen,
        several: bool,
        metrics: Option<Metrics>,
        log: Option<OutputFile>,
    ) -> Result<Watching, Failure> {
        let (messages, received) = channel();
        let (emptied, ready) = channel();
        for _ in 0..READY {
            let _ = emptied.send(IntervalTimes::new());
        }
        let watcher = Watcher {
            screen,
            metrics,
            several,
            began: Instant::now(),
            trials: BTreeMap::new(),
            looks: 0,
        };
        let thread = std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || watcher.watch(&received, &emptied, log))
            .map_err(|error| Failure::cannot(format!("cannot start a thread: {error}")))?;
        let taker = Taker::new(messages, ready);
        Ok(Watching { taker, thread })
    }

    fn watch(
        mut self,
        messages: &Receiver<Message>,
        emptied: &Sender<IntervalTimes>,
        mut file: Option<OutputFile>,
    ) -> Result<(), Failure> {
        let mut serializer = V2DeflateSerializer::new();
        let log = file.as_mut();
        let log = log.map(|file| IntervalLog::begin(file, &mut serializer));
        let mut log = log.transpose();
        for message in messages {
            match message {
                Message::Trial(trial) => self.begin(trial),
                Message::Look(look) => {
                    self.look(&look);
                    let written = match &mut log {
                        Ok(Some(log)) => log.write(&look, self.target(&look)),
                        _ => Ok(()),
                    };
                    if let Err(error) = written {
                        log = Err(error);
                    }
                    let mut times = look.times;
                    times.clear();
                    // Nobody takes looks any more: nobody needs them back.
                    let _ = emptied.send(times);
                }
            }
        }
        match (log.err(), file) {
            (Some(error), Some(file)) => Err(file.failure(&error)),
            _ => Ok(()),
        }
    }

    /// The name of a look's target, where there are several.
    fn target<'l>(&self, look: &'l Look) -> Option<&'l str> {
        self.several.then_some(look.target.as_str())
    }

    fn begin(&mut self, trial: TrialStart) {
        if let Some(metrics) = &self.metrics {
            metrics.begin(&trial.target);
        }
        let left = trial.remaining();
        self.draw(&format!("about {}", trial.words(left)), "warming up", left);
        let watched = Watched {
            start: trial,
            sent_before: 0,
        };
        self.trials.insert(watched.start.target.clone(), watched);
    }

    fn look(&mut self, look: &Look) {
        let Some(trial) = self.trials.get_mut(&look.target) else {
            return;
        };
        if let Some(metrics) = &self.metrics {
            metrics.update(&look.target, look);
        }
        let left = trial.start.left(look);
        let standing = Standing::new(look, trial.sent_before, trial.start.words(left));
        trial.sent_before = look.sent;
        // The last look of a trial comes when it ends: a second's figures are not told of less.
        if look.interval < EVERY / 2 {
            return;
        }
        self.looks += 1;
        let target = self.target(look);
        if self.screen.has_lines() && self.looks.is_multiple_of(LOOKS_A_LINE) {
            self.screen.line(&standing.line(target));
        }
        self.draw(&standing.head(target), &standing.details(), left);
    }

    /// Draws the bar, where there is a terminal.
    fn draw(&self, head: &str, details: &str, left: Duration) {
        let gone = self.began.elapsed();
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let bar = &self.screen.bar;
        bar.set_length(ms(gone + left));
        bar.set_position(ms(gone));
        bar.set_prefix(head.to_owned());
        bar.set_message(details.to_owned());
        bar.tick();
    }
}
