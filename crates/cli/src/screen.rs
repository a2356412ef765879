//! Standard error: a bar on a terminal, lines elsewhere.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rpcgauge_report::escape;

/// Shows a run while it runs. Copies draw on the same screen.
#[derive(Clone)]
pub(crate) struct Screen {
    /// Hidden where nothing is drawn.
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
    /// Standard error with a bar of this template; `quiet` shows warnings only.
    pub(crate) fn new(quiet: bool, template: &str) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(10)
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

    /// Whether the run is shown line by line.
    pub(crate) fn has_lines(&self) -> bool {
        self.form == Form::Lines
    }

    /// Whether nothing but warnings is shown.
    pub(crate) fn is_quiet(&self) -> bool {
        self.form == Form::Nothing
    }

    /// Draws the bar as `change` leaves it.
    pub(crate) fn draw(&self, change: impl FnOnce(&ProgressBar)) {
        change(&self.bar);
        self.bar.tick();
        self.rest_at_line_start();
    }

    /// A bar fills its last line. The `^C` that the terminal echoes for Ctrl-C would wrap it, and clearing would
    /// leave a line behind.
    fn rest_at_line_start(&self) {
        if self.form == Form::Bar {
            let _ = std::io::stderr().write_all(b"\r");
        }
    }

    /// A warning, which the report has too: it is not shown twice on one terminal.
    pub(crate) fn warning(&self, text: &str) {
        if !(std::io::stdout().is_terminal() && std::io::stderr().is_terminal()) {
            self.line(&format!("warning: {text}"));
        }
    }

    /// Names and reasons may come from a server or a study file; each text stays one harmless line.
    pub(crate) fn line(&self, text: &str) {
        let text = escape::terminal(text);
        match self.form {
            Form::Bar => {
                self.bar.println(text);
                self.rest_at_line_start();
            }
            Form::Lines | Form::Nothing => {
                // Where standard error is closed there is no place to say so.
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
