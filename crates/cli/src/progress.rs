//! How far a run of a study is, on standard error.

use rpcgauge_lab::{Event, Observer, Progress};
use rpcgauge_report::escape;
use rpcgauge_study::record::Outcome;

use crate::screen::{Screen, clock};
use crate::show;

const BAR: &str = "{bar:28} {pos}/{len} {prefix:>14}  {wide_msg}";

/// Draws only when the lab tells something, which is between trials: no thread of its own ticks
/// while calls are timed.
pub(crate) struct ProgressView {
    screen: Screen,
    failed: usize,
}

impl ProgressView {
    /// A view of a run on standard error; `quiet` shows warnings only.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            screen: Screen::new(quiet, BAR),
            failed: 0,
        }
    }

    fn show(&self, progress: Progress, what: &str) {
        let what = escape::terminal(what);
        let bar = &self.screen.bar;
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
        bar.set_prefix(format!("{} left", clock(progress.remaining)));
        bar.set_message(match self.failed {
            0 => what,
            1 => format!("{what} · 1 trial failed"),
            n => format!("{what} · {n} trials failed"),
        });
        bar.tick();
    }

    /// Takes the bar away.
    pub(crate) fn finish(self) {
        self.screen.finish();
    }
}

impl Observer for ProgressView {
    fn notice(&mut self, event: &Event<'_>) {
        match event {
            Event::InvocationStarted {
                invocation,
                of,
                progress,
            } if self.screen.has_lines() => {
                let Progress { done, total, .. } = progress;
                let left = clock(progress.remaining);
                self.screen.line(&format!(
                    "invocation {} of {of}: {done} of {total} trials done, about {left} left",
                    invocation + 1
                ));
            }
            Event::SubjectStarting { variant, progress } => {
                self.show(
                    *progress,
                    &format!("starting a server for {}", variant.name),
                );
            }
            Event::TrialStarted {
                trial,
                variant,
                progress,
            } => {
                self.show(
                    *progress,
                    &format!("{} on {}", variant.name, trial.placement),
                );
            }
            Event::TrialEnded { record, progress } => {
                if let Outcome::Failed { reason, .. } = &record.outcome {
                    self.failed += 1;
                    self.screen
                        .line(&format!("failed: {}: {reason}", record.variant));
                }
                self.show(*progress, &record.variant);
            }
            Event::Warning { text } if !show::report_follows() => {
                self.screen.line(&format!("warning: {text}"));
            }
            _ => {}
        }
    }
}
