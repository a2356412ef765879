//! What is wrong with a template or a data file.

use crate::nearest::Nearest;

/// A template or rows that cannot be used. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// There is nothing to send.
    #[error("there are no rows; give a file with at least one row, or a text without rows")]
    NoRows,
    /// `{{` without `}}`.
    #[error(
        "line {line}, column {column}: the placeholder is not closed; end it with }}}}, or write \
         {{{{\"{{{{\"}}}} for the two braces themselves"
    )]
    Unclosed {
        /// Where it begins.
        line: usize,
        /// Where it begins.
        column: usize,
    },
    /// A placeholder that is no built-in and no column.
    #[error("line {line}, column {column}: there is no placeholder \"{name}\"{nearest}")]
    Unknown {
        /// Where it begins.
        line: usize,
        /// Where it begins.
        column: usize,
        /// Its content.
        name: String,
        /// What may have been meant.
        nearest: Nearest,
    },
    /// A placeholder whose arguments are wrong.
    #[error("line {line}, column {column}: {what}")]
    Arguments {
        /// Where it begins.
        line: usize,
        /// Where it begins.
        column: usize,
        /// What is wrong, and what is wanted.
        what: String,
    },
    /// A row that cannot be read.
    #[error("line {line}{}: {what}", column_words(*.column))]
    Row {
        /// The line of the file.
        line: u64,
        /// The column of the line, in bytes, where it is known.
        column: Option<u64>,
        /// What is wrong.
        what: String,
    },
    /// The file of the rows cannot be read any further.
    #[error("cannot read its rows: {what}")]
    Unreadable {
        /// What the system said.
        what: String,
    },
    /// A placeholder that is built in, and a column as well.
    #[error(
        "line {line}, column {column}: the rows have a column \"{name}\", and {{{{{name}}}}} is \
         built in; rename the column"
    )]
    ColumnName {
        /// Where it begins.
        line: usize,
        /// Where it begins.
        column: usize,
        /// The name.
        name: String,
    },
}

fn column_words(column: Option<u64>) -> String {
    column.map_or_else(String::new, |column| format!(", column {column}"))
}
