//! Shows a load on standard error, using the lab's events and snapshots.

use rpcgauge_lab::{Event, Observer, Watch};
use rpcgauge_report::units;
use rpcgauge_study::plan::Plan;
use rpcgauge_study::record::TrialOutcome;
use rpcgauge_study::settings::Target;

use super::exports::Exports;
use super::metrics::{Endpoint, Metrics, Pushing};
use super::trial::TrialStart;
use super::watcher::Watcher;
use crate::exit::{Failure, note};
use crate::screen::{Screen, clock};

const BAR: &str = "{bar:12} {prefix}\n{wide_msg}";

pub(crate) struct LoadView {
    screen: Screen,
    /// `None` if there is nothing to show or write. Snapshots slow down the calls a little. A
    /// second thread may, too, because the kernel then counts file references on every read and
    /// write.
    watcher: Option<Watcher>,
    pushing: Option<Pushing>,
    /// Number of blocks in a comparison; 1 without a comparison.
    blocks: u32,
    /// The next block to announce.
    next_block: u32,
}

impl LoadView {
    /// Starts showing `plan` on standard error (only warnings if `quiet`) and writing the exports
    /// of each second.
    pub(crate) fn start(plan: &Plan, quiet: bool, exports: &mut Exports) -> Result<Self, Failure> {
        let screen = Screen::new(quiet, BAR);
        let several = plan.variants.len() > 1;
        let log = exports.interval_log.take();
        let (endpoint, push) = (exports.metrics.take(), exports.push.take());
        let metrics = (endpoint.is_some() || push.is_some()).then(|| metrics(plan));
        if let Some((endpoint, metrics)) = endpoint.zip(metrics.clone()) {
            serve(endpoint, metrics)?;
        }
        let pushing = push.zip(metrics.clone());
        let pushing = pushing.map(|(push, metrics)| push.start(metrics, screen.clone()));
        let is_wanted = !screen.is_quiet() || log.is_some() || metrics.is_some();
        let watcher = is_wanted.then(|| Watcher::start(screen.clone(), several, metrics, log));
        Ok(Self {
            screen,
            watcher: watcher.transpose()?,
            pushing: pushing.transpose()?,
            blocks: plan.capacity.map_or(plan.blocks, |_| 1),
            next_block: 0,
        })
    }

    /// Waits until everything is shown, written and pushed, then removes the bar.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let ended = self.watcher.map_or(Ok(()), Watcher::finish);
        if let Some(pushing) = self.pushing {
            pushing.finish();
        }
        self.screen.finish();
        ended
    }
}

/// The metrics of a plan's targets.
fn metrics(plan: &Plan) -> Metrics {
    Metrics::new(plan.variants.iter().map(|variant| {
        let called = match &variant.settings.target {
            // Leave out the query, which may contain a secret: others can read the metrics.
            Target::Live(live) => live.service.url.clone().without_query().to_string(),
            target @ (Target::Call(_) | Target::Codec(_)) => target.called(),
        };
        (variant.name.clone(), called)
    }))
}

/// Serves metrics and reports the URL, because the system chooses the port if it is 0.
fn serve(endpoint: Endpoint, metrics: Metrics) -> Result<(), Failure> {
    let url = endpoint.url();
    endpoint
        .serve(metrics)
        .map_err(|error| Failure::cannot(format!("cannot serve metrics: {error}")))?;
    note(&format!("serving metrics at {url}"));
    Ok(())
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
                if let Some(watcher) = &self.watcher {
                    watcher.begin(TrialStart::new(variant, *progress));
                }
            }
            Event::TrialEnded { record, .. } => {
                if let TrialOutcome::Failed { reason, .. } = &record.outcome {
                    self.screen
                        .line(&format!("failed: {}: {reason}", record.variant));
                }
            }
            Event::Warning { text } => self.screen.warning(text),
            _ => {}
        }
    }

    fn watch(&mut self) -> Option<&mut dyn Watch> {
        let watcher = self.watcher.as_mut()?;
        Some(watcher.sampler())
    }
}
