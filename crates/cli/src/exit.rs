//! How the program exits: exit codes, and a one-line reason.

use std::fmt::Display;
use std::io::Write as _;
use std::process::ExitCode;

use rpcgauge_report::escape;
use rpcgauge_study::printable;

/// Everything ran, but some trials failed, an objective was not reached, or something got slower.
pub(crate) const NOT_ALL_WELL: u8 = 1;
/// The input was invalid, so nothing was run.
pub(crate) const BAD_INPUT: u8 = 2;
/// The machine or rpcgauge itself could not do it.
pub(crate) const CANNOT: u8 = 3;
/// Interrupted by Ctrl-C; results up to that point are kept (128 + SIGINT).
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command did not succeed: one line, and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    line: String,
    code: u8,
}

impl Failure {
    fn new(line: impl Display, code: u8) -> Self {
        Self {
            line: line.to_string(),
            code,
        }
    }

    /// The user's input is invalid.
    pub(crate) fn input(error: impl Display) -> Self {
        Self::new(error, BAD_INPUT)
    }

    /// The same failure with another line.
    pub(crate) fn with(self, line: impl FnOnce(String) -> String) -> Self {
        Self {
            line: line(self.line),
            ..self
        }
    }

    /// Everything ran, but the result is not good enough.
    pub(crate) fn not_all_well(what: impl Display) -> Self {
        Self::new(what, NOT_ALL_WELL)
    }

    /// Ctrl-C was pressed before there were any results.
    pub(crate) fn interrupted(what: impl Display) -> Self {
        Self::new(what, INTERRUPTED)
    }

    /// The input is valid, but the command cannot run here.
    pub(crate) fn cannot(error: impl Display) -> Self {
        Self::new(error, CANNOT)
    }

    /// The reason.
    pub(crate) fn line(&self) -> &str {
        &self.line
    }

    /// Whether the failure was caused by Ctrl-C.
    pub(crate) fn is_interruption(&self) -> bool {
        self.code == INTERRUPTED
    }
}

/// The result of every command.
pub(crate) type Outcome = Result<ExitCode, Failure>;

/// Prints the failure's line and returns its exit code.
pub(crate) fn report_failure(failure: Failure) -> ExitCode {
    note(&failure.line);
    ExitCode::from(failure.code)
}

/// Prints a line to standard error. It is escaped, so it stays one line whatever names it contains.
pub(crate) fn note(line: &str) {
    // If standard error is closed, the exit code still shows the outcome.
    let _ = writeln!(std::io::stderr(), "rpcgauge: {}", escape::terminal(line));
}

/// Writes a command's output. A closed pipe (`| head`) is not an error.
pub(crate) fn print(text: &str) -> Outcome {
    let mut stdout = std::io::stdout();
    let written = stdout.write_all(text.as_bytes());
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::cannot(
            format!("cannot write to standard output: {error}"),
        )),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Writes a command's output without colors. It is escaped, since the names and texts in it may
/// contain anything.
pub(crate) fn print_plain(text: &str) -> Outcome {
    print(&escape::page(text))
}

/// Writes a value as indented JSON, for `--json`.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Outcome {
    print_json_text(serde_json::to_string_pretty(value))
}

/// Writes a value as a single line of JSON, for programs that read line by line.
pub(crate) fn print_json_line(value: &impl serde::Serialize) -> Outcome {
    print_json_text(serde_json::to_string(value))
}

fn print_json_text(text: serde_json::Result<String>) -> Outcome {
    let text =
        text.map_err(|error| Failure::cannot(format!("cannot write this as JSON: {error}")))?;
    print(&(printable::json(text) + "\n"))
}
