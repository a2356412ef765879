//! Progress on standard error: a bar on a terminal, otherwise lines.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rpcgauge_report::escape;

/// Shows a run while it runs. Clones draw on the same screen.
#[derive(Clone)]
pub(crate) struct Screen {
    /// Hidden if nothing is drawn.
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
    /// Standard error with a bar of this template; `quiet` shows only warnings.
    pub(crate) fn new(quiet: bool, template: &str) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(10)
        };
        let bar = ProgressBar::with_draw_target(None, target);
        // The bar is also hidden if there is no terminal, or none that can be drawn on (TERM).
        let form = match (quiet, bar.is_hidden()) {
            (true, _) => Form::Nothing,
            (false, false) => Form::Bar,
            (false, true) => Form::Lines,
        };
        // If a template does not parse, which is a bug, the default style still shows the run.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸ "));
        }
        Self { bar, form }
    }

    /// Whether the run is shown line by line.
    pub(crate) fn has_lines(&self) -> bool {
        self.form == Form::Lines
    }

    /// Whether nothing but warnings is shown.
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
    /// Ctrl-C would wrap the bar's full last line, and clearing would leave a line behind.
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

    /// Shows one line. Names and reasons may come from a server or a study file, so the text is
    /// escaped.
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

/// `1:05`: minutes and seconds.
pub(crate) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}
