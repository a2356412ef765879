//! How far a run is, on standard error: a bar on a terminal, a line an invocation elsewhere.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rpcgauge_lab::{Event, Observer, Progress};
use rpcgauge_report::escape;
use rpcgauge_study::record::Outcome;

/// Draws only when the lab tells something, which is between trials: no thread of its own ticks
/// while calls are timed.
pub(crate) struct ProgressView {
    bar: ProgressBar,
    form: Form,
    /// Whether a service is called that was there before: nothing is started afresh then.
    live: bool,
    failed: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Bar,
    Lines,
    Nothing,
}

impl ProgressView {
    /// A view of a run on standard error; `quiet` shows warnings only.
    pub(crate) fn new(quiet: bool, live: bool) -> Self {
        let form = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Form::Nothing,
            (false, true) => Form::Bar,
            (false, false) => Form::Lines,
        };
        let target = match form {
            Form::Bar => ProgressDrawTarget::stderr_with_hz(10),
            Form::Lines | Form::Nothing => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(None, target);
        // A template that does not parse is a defect of this line, and the default style still
        // shows the run.
        if let Ok(style) =
            ProgressStyle::with_template("{bar:28} {pos}/{len} {prefix:>14}  {wide_msg}")
        {
            bar.set_style(style.progress_chars("━╸ "));
        }
        Self {
            bar,
            form,
            live,
            failed: 0,
        }
    }

    fn show(&self, progress: Progress, what: &str) {
        let what = escape::terminal(what);
        match progress.total {
            // A search: nobody knows how many trials it takes.
            0 => self
                .bar
                .set_prefix(format!("{} so far", clock(progress.elapsed))),
            total => {
                self.bar.set_length(total as u64);
                self.bar.set_position(progress.done as u64);
                self.bar
                    .set_prefix(format!("{} left", clock(progress.remaining)));
            }
        }
        self.bar.set_message(match self.failed {
            0 => what,
            1 => format!("{what} · 1 trial failed"),
            n => format!("{what} · {n} trials failed"),
        });
        self.bar.tick();
    }

    /// Names and reasons may come from a server or a study file; each text stays one harmless line.
    fn line(&self, text: &str) {
        let text = escape::terminal(text);
        match self.form {
            Form::Bar => self.bar.println(text),
            Form::Lines | Form::Nothing => {
                // Nobody reads standard error any more: nobody is left to tell.
                let _ = writeln!(std::io::stderr(), "{text}");
            }
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for ProgressView {
    fn notice(&mut self, event: &Event<'_>) {
        match event {
            Event::InvocationStarted {
                invocation,
                of,
                progress,
            } if self.form == Form::Lines => {
                let Progress { done, total, .. } = progress;
                let left = clock(progress.remaining);
                if self.live {
                    self.line(&format!(
                        "block {} of {of}: about {left} left",
                        invocation + 1
                    ));
                    return;
                }
                self.line(&format!(
                    "invocation {} of {of}: {done} of {total} trials done, about {left} left",
                    invocation + 1
                ));
            }
            Event::RateChosen { rate, number } if self.form != Form::Nothing => {
                self.line(&format!("trial {number}: {rate} calls/s"));
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
                    self.line(&format!("failed: {}: {reason}", record.variant));
                }
                self.show(*progress, &record.variant);
            }
            Event::FloorStarted { progress, .. } => {
                self.show(*progress, "calibrating the floor");
            }
            Event::Warning { text } => self.line(&format!("warning: {text}")),
            _ => {}
        }
    }
}

/// `1:05`: minutes and seconds.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
