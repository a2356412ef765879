//! How a load goes, from what the lab tells and what the looks show.

use std::io::Write as _;
use std::thread::JoinHandle;

use rpcgauge_lab::{Event, Observer, Watch};
use rpcgauge_report::units;
use rpcgauge_study::plan::Plan;
use rpcgauge_study::record::Outcome;

use super::look::Taker;
use super::trial::TrialStart;
use super::{Outlets, Watcher};
use crate::exit::Failure;
use crate::metrics::{Endpoint, Metrics};
use crate::screen::{Screen, clock};
use crate::show;

const BAR: &str = "{bar:12} {prefix}\n{wide_msg}";

/// Follows a load.
pub(crate) struct LoadView {
    screen: Screen,
    /// None where nobody wants to know. Looks cost the calls a little, and so may a second thread: with
    /// one, the kernel counts a reference to the file at every read and write.
    watching: Option<Watching>,
    /// Blocks of a comparison; 1 without one.
    blocks: u32,
    /// The first of them that no line has told.
    next_block: u32,
}

/// The thread that watches, and who takes looks for it.
pub(super) struct Watching {
    pub(super) taker: Taker,
    pub(super) thread: JoinHandle<Result<(), Failure>>,
}

impl LoadView {
    /// Starts to follow `plan` on standard error, where `quiet` shows warnings only, and in what is
    /// written while it runs.
    pub(crate) fn start(plan: &Plan, quiet: bool, outlets: &mut Outlets) -> Result<Self, Failure> {
        let screen = Screen::new(quiet, BAR);
        let several = plan.variants.len() > 1;
        let log = outlets.interval_log.take();
        let metrics = outlets.metrics.take();
        let metrics = metrics.map(|endpoint| serve(plan, endpoint)).transpose()?;
        let is_wanted = !screen.is_quiet() || log.is_some() || metrics.is_some();
        let watching = match is_wanted {
            true => Some(Watcher::start(screen.clone(), several, metrics, log)?),
            false => None,
        };
        Ok(Self {
            screen,
            watching,
            blocks: plan.capacity.map_or(plan.blocks, |_| 1),
            next_block: 0,
        })
    }

    /// Waits until everything that was seen is shown and written, and takes the bar away.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let ended = match self.watching {
            Some(watching) => watching.finish(),
            None => Ok(()),
        };
        self.screen.finish();
        ended
    }
}

impl Watching {
    /// Waits until everything that was seen is shown and written.
    fn finish(self) -> Result<(), Failure> {
        drop(self.taker);
        let ended = self.thread.join();
        ended.unwrap_or_else(|_| Err(Failure::cannot("what was seen of the load is not complete")))
    }
}

/// Lets the metrics of a load be collected, and says where: the port may be one that was free.
fn serve(plan: &Plan, endpoint: Endpoint) -> Result<Metrics, Failure> {
    let targets = plan.variants.iter().map(|variant| {
        let service = variant.settings.callee.live();
        // Anybody who reaches the port can read it.
        let called = service.map(|service| service.target.clone().without_query().to_string());
        (variant.name.clone(), called.unwrap_or_default())
    });
    let metrics = Metrics::new(targets);
    let url = endpoint.url();
    endpoint
        .serve(metrics.clone())
        .map_err(|error| Failure::cannot(format!("cannot start a thread: {error}")))?;
    let _ = writeln!(std::io::stderr(), "rpcgauge: metrics are at {url}");
    Ok(metrics)
}

impl Observer for LoadView {
    fn notice(&mut self, event: &Event<'_>) {
        match event {
            Event::InvocationStarted { progress, .. }
                if self.screen.has_lines() && progress.total > 0 && self.blocks == 1 =>
            {
                let left = clock(progress.remaining);
                self.screen.line(&format!("about {left} left"));
            }
            Event::RateChosen { rate, number } if !self.screen.is_quiet() => {
                let rate = units::rate(*rate);
                self.screen.line(&format!("trial {number}: {rate} calls/s"));
            }
            Event::TrialStarted {
                trial,
                variant,
                progress,
            } => {
                let is_new = self.blocks > 1 && trial.block == self.next_block;
                if is_new && self.screen.has_lines() {
                    self.next_block += 1;
                    let (of, left) = (self.blocks, clock(progress.remaining));
                    let line = format!("block {} of {of}: about {left} left", self.next_block);
                    self.screen.line(&line);
                }
                if let Some(watching) = &self.watching {
                    watching.taker.begin(TrialStart::new(variant, *progress));
                }
            }
            Event::TrialEnded { record, .. } => {
                if let Outcome::Failed { reason, .. } = &record.outcome {
                    self.screen
                        .line(&format!("failed: {}: {reason}", record.variant));
                }
            }
            Event::Warning { text } if !show::report_follows() => {
                self.screen.line(&format!("warning: {text}"));
            }
            _ => {}
        }
    }

    fn watch(&mut self) -> Option<&mut dyn Watch> {
        let watching = self.watching.as_mut()?;
        Some(&mut watching.taker)
    }
}
