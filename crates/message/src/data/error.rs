//! Errors in a template or a data file.

/// A template or rows that cannot be used. Lines and columns start at 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// There is nothing to send: neither a row nor a template.
    #[error("there are no rows; provide a file with at least one row, or omit the file")]
    NoRows,
    /// A placeholder in the template that is unclosed, unknown or malformed.
    #[error("line {line}, column {column}: {what}")]
    Placeholder {
        /// The line on which it begins.
        line: usize,
        /// The column at which it begins.
        column: usize,
        /// What is wrong, and what is expected.
        what: String,
    },
    /// A row that cannot be read.
    #[error("line {line}{}: {what}", .column.map(|c| format!(", column {c}")).unwrap_or_default())]
    Row {
        /// The line in the file.
        line: u64,
        /// The column in that line, in bytes, if known.
        column: Option<u64>,
        /// What is wrong.
        what: String,
    },
    /// The data file cannot be read any further. Contains the system's message.
    #[error("cannot read its rows: {0}")]
    Unreadable(String),
}

impl DataError {
    /// An error that concerns a whole row.
    pub(super) fn row(line: u64, what: impl Into<String>) -> Self {
        Self::Row {
            line,
            column: None,
            what: what.into(),
        }
    }

    pub(super) fn unreadable(error: impl std::fmt::Display) -> Self {
        Self::Unreadable(error.to_string())
    }
}
