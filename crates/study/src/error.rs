//! Errors in studies: a position in the file and a sentence.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use rpcgauge_message::position;

/// What is wrong with a study: one line with the file, the line, the column and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{}{message}", Place(*position))]
pub struct StudyError {
    /// The file, by the name given to [`crate::file::StudyFile::parse`].
    pub file: String,
    /// The position in the file; `None` if the error is about the whole study.
    pub position: Option<Position>,
    /// What is wrong and what to do.
    pub message: String,
    /// The minimum `budget` in seconds, if the study's is too short.
    pub min_budget_s: Option<u64>,
}

/// Why a text does not have the required form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not {kind}: {what}; write it like {example}")]
pub struct FormError {
    pub(crate) text: String,
    pub(crate) kind: &'static str,
    pub(crate) what: String,
    pub(crate) example: &'static str,
}

impl FormError {
    /// What is wrong, without the text, which may contain a secret.
    pub fn what(&self) -> &str {
        &self.what
    }
}

/// A position in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

struct Place(Option<Position>);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(Position { line, column }) => write!(f, "{line}:{column}: "),
            None => f.write_str(" "),
        }
    }
}

/// A study's text and name, to locate errors in it.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) file: Arc<str>,
    pub(crate) text: Arc<str>,
}

impl Source {
    /// An error at a span of bytes.
    pub(crate) fn error(&self, span: Range<usize>, message: impl Into<String>) -> StudyError {
        StudyError {
            file: self.file.to_string(),
            position: Some(self.position(span.start)),
            message: one_line(message.into()),
            min_budget_s: None,
        }
    }

    /// An error of the study as a whole.
    pub(crate) fn whole(&self, message: impl Into<String>) -> StudyError {
        let file = self.file.to_string();
        StudyError {
            file,
            position: None,
            message: one_line(message.into()),
            min_budget_s: None,
        }
    }

    fn position(&self, byte: usize) -> Position {
        let (line, column) = position(&self.text, byte);
        Position { line, column }
    }
}

/// Replaces control characters, which can only come from a user's value, so that they cannot break the line or the
/// terminal.
fn one_line(message: String) -> String {
    message.replace(char::is_control, " ")
}
