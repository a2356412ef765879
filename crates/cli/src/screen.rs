//! Progress on standard error: a bar on a terminal, otherwise lines.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rpcgauge_report::escape;

/// Shows a run in progress. Clones draw on the same screen.
#[derive(Clone)]
pub(crate) struct Screen {
    /// Hidden unless the form is a bar.
    bar: ProgressBar,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Bar,
    Lines,
    Nothing,
}

impl Screen {
    /// Creates a screen on standard error with a bar of this template. With `quiet`, shows only
    /// warnings.
    pub(crate) fn new(quiet: bool, template: &str) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(10)
        };
        let bar = ProgressBar::with_draw_target(None, target);
        // The bar is also hidden without a terminal, or if TERM names one that it cannot draw on.
        let form = match (quiet, bar.is_hidden()) {
            (true, _) => Form::Nothing,
            (false, false) => Form::Bar,
            (false, true) => Form::Lines,
        };
        // If the template is invalid, which is a bug, the default style still shows the run.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸ "));
        }
        Self { bar, form }
    }

    /// Whether progress is shown line by line.
    pub(crate) fn has_lines(&self) -> bool {
        self.form == Form::Lines
    }

    /// Whether only warnings are shown.
    pub(crate) fn is_quiet(&self) -> bool {
        self.form == Form::Nothing
    }

    /// Changes the bar and draws it.
    pub(crate) fn draw(&self, change: impl FnOnce(&ProgressBar)) {
        change(&self.bar);
        self.bar.tick();
        self.rest_at_line_start();
    }

    /// Moves the cursor to the start of the line. Otherwise the `^C` that the terminal echoes for
    /// Ctrl-C would wrap the bar's full last line, and clearing it would leave a line behind.
    fn rest_at_line_start(&self) {
        if self.form == Form::Bar {
            let _ = std::io::stderr().write_all(b"\r");
        }
    }

    /// Shows a warning, unless the report will show it on the same terminal.
    pub(crate) fn warning(&self, text: &str) {
        if !(std::io::stdout().is_terminal() && std::io::stderr().is_terminal()) {
            self.line(&format!("warning: {text}"));
        }
    }

    /// Shows one line. It is escaped because names and reasons may come from a server or a study
    /// file.
    pub(crate) fn line(&self, text: &str) {
        let text = escape::terminal(text);
        match self.form {
            Form::Bar => {
                self.bar.println(text);
                self.rest_at_line_start();
            }
            Form::Lines | Form::Nothing => {
                // If standard error is closed, there is no way to report it.
                let _ = writeln!(std::io::stderr(), "{text}");
            }
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Formats a time as minutes and seconds, for example `1:05`.
pub(crate) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
