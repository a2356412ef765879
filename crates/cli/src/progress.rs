//! Shows the progress of a study on standard error.

use std::collections::BTreeSet;

use rpcgauge_lab::{Event, Observer, RunProgress, Stacks};
use rpcgauge_report::escape;
use rpcgauge_study::record::TrialOutcome;

use crate::screen::{Screen, clock};

const BAR: &str = "{bar:28} {pos}/{len} {prefix:>14}  {wide_msg}";

/// Draws only on the lab's events, which occur between trials, so nothing is drawn while calls are
/// timed.
pub(crate) struct ProgressView {
    screen: Screen,
    failed: usize,
    /// Reasons for leaving out stacks. They were shown before the run started, so they are not
    /// repeated.
    left_out: BTreeSet<String>,
}

impl ProgressView {
    /// Shows a run of these stacks on standard error. With `quiet`, shows only warnings.
    pub(crate) fn new(quiet: bool, stacks: &Stacks) -> Self {
        Self {
            screen: Screen::new(quiet, BAR),
            failed: 0,
            left_out: stacks.left_out().map(str::to_owned).collect(),
        }
    }

    fn show(&self, progress: RunProgress, what: &str) {
        let what = escape::terminal(what);
        self.screen.draw(|bar| {
            bar.set_length(progress.total as u64);
            bar.set_position(progress.done as u64);
            bar.set_prefix(format!("{} left", clock(progress.remaining)));
            bar.set_message(match self.failed {
                0 => what,
                1 => format!("{what} · 1 trial failed"),
                n => format!("{what} · {n} trials failed"),
            });
        });
    }

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
                let RunProgress { done, total, .. } = progress;
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
                if let TrialOutcome::Failed { reason, .. } = &record.outcome {
                    self.failed += 1;
                    if !self.left_out.contains(reason) {
                        self.screen
                            .line(&format!("failed: {}: {reason}", record.variant));
                    }
                }
                self.show(*progress, &record.variant);
            }
            Event::Warning { text } => self.screen.warning(text),
            _ => {}
        }
    }
}
