//! Standard error: a bar on a terminal, lines elsewhere.

use std::io::Write as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rpcgauge_report::escape;

/// Where a run is shown while it goes on. Copies draw on the same screen.
#[derive(Clone)]
pub(crate) struct Screen {
    /// Hidden where nothing is drawn.
    pub(crate) bar: ProgressBar,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Bar,
    Lines,
    Nothing,
}

impl Screen {
    /// Standard error with a bar of this template; `quiet` shows warnings only.
    pub(crate) fn new(quiet: bool, template: &str) -> Self {
        let target = match quiet {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr_with_hz(10),
        };
        let bar = ProgressBar::with_draw_target(None, target);
        // Hidden as well where there is no terminal, or none that can be drawn on (TERM).
        let form = match (quiet, bar.is_hidden()) {
            (true, _) => Form::Nothing,
            (false, false) => Form::Bar,
            (false, true) => Form::Lines,
        };
        // A template that does not parse is a defect of this program, and the default style still
        // shows the run.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸ "));
        }
        Self { bar, form }
    }

    /// Whether the run is told line by line.
    pub(crate) fn has_lines(&self) -> bool {
        self.form == Form::Lines
    }

    /// Whether nothing but warnings is shown.
    pub(crate) fn is_quiet(&self) -> bool {
        self.form == Form::Nothing
    }

    /// Names and reasons may come from a server or a study file; each text stays one harmless line.
    pub(crate) fn line(&self, text: &str) {
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
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// `1:05`: minutes and seconds.
pub(crate) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
