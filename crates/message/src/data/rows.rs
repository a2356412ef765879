//! Rows of a data file: JSON lines or CSV.

use std::collections::BTreeSet;
use std::path::Path;

use csv::StringRecord;
use serde_json::{Map, Value};

use super::error::DataError;
use super::file::RowFile;

/// How the rows of a data file are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFormat {
    /// One JSON object a line. Empty lines are passed over.
    JsonLines,
    /// Comma-separated values (RFC 4180). The first line names the columns.
    Csv,
}

/// The rows of a data file.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows(pub(super) Kept);

/// Where rows are.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kept {
    /// All of them in memory.
    Memory(Vec<Row>),
    /// In their file, which is read as they are wanted.
    File(RowFile),
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// Its first line in the file, from 1.
    pub(super) line: u64,
    fields: Map<String, Value>,
    /// The row as it stands in the file, where it is a message by itself.
    whole: Option<Box<str>>,
}

impl Row {
    /// Reads a line of JSON.
    pub(super) fn from_json(line: u64, text: &str) -> Result<Self, DataError> {
        let fields = serde_json::from_str(text).map_err(|error| DataError::Row {
            line,
            column: Some(error.column() as u64).filter(|column| *column > 0),
            what: json_words(&error),
        })?;
        Ok(Self {
            line,
            fields,
            whole: Some(text.into()),
        })
    }

    /// Names the values of a record.
    pub(super) fn from_csv(columns: &StringRecord, record: &StringRecord) -> Self {
        let values = record.iter().map(|value| Value::String(value.to_owned()));
        Self {
            line: record.position().map_or(0, csv::Position::line),
            fields: columns.iter().map(str::to_owned).zip(values).collect(),
            whole: None,
        }
    }

    /// The names of its values.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// Makes sure that it has `column`.
    pub(super) fn check_column(&self, column: &str) -> Result<(), DataError> {
        if self.fields.contains_key(column) {
            return Ok(());
        }
        Err(DataError::Row {
            line: self.line,
            column: None,
            what: format!("the row has no \"{column}\", which the template asks for"),
        })
    }

    /// One value. A row without it was refused by [`Row::check_column`].
    pub(super) fn value(&self, column: &str) -> &Value {
        self.fields.get(column).unwrap_or(&Value::Null)
    }

    /// Appends the whole row as a JSON object.
    pub(super) fn whole(&self, out: &mut String) {
        match &self.whole {
            Some(text) => out.push_str(text),
            None => out.push_str(&Value::Object(self.fields.clone()).to_string()),
        }
    }
}

impl Rows {
    /// Takes the rows from their file as they are wanted, for one that is too large for memory. Only
    /// the first row is read now; one that cannot be read fails when its turn comes.
    ///
    /// # Errors
    /// A file that cannot be read, or whose first row cannot.
    pub fn in_file(path: &Path, format: RowFormat) -> Result<Self, DataError> {
        RowFile::open(path, format).map(|file| Self(Kept::File(file)))
    }

    /// Reads all rows of a text.
    ///
    /// # Errors
    /// As [`Rows::from_json_lines`] and [`Rows::from_csv`].
    pub fn from_text(text: &str, format: RowFormat) -> Result<Self, DataError> {
        match format {
            RowFormat::JsonLines => Self::from_json_lines(text),
            RowFormat::Csv => Self::from_csv(text.as_bytes()),
        }
    }

    /// Reads one JSON object a line. Empty lines are passed over.
    ///
    /// # Errors
    /// A line that is no JSON object, with its line and column.
    pub fn from_json_lines(text: &str) -> Result<Self, DataError> {
        let mut rows = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            if text.trim().is_empty() {
                continue;
            }
            rows.push(Row::from_json(line, text)?);
        }
        Ok(Self(Kept::Memory(rows)))
    }

    /// Reads comma-separated values (RFC 4180). The first line names the columns.
    ///
    /// # Errors
    /// A row with more or fewer values than there are columns, bytes that are no UTF-8, two columns
    /// with one name.
    pub fn from_csv(bytes: &[u8]) -> Result<Self, DataError> {
        let mut reader = csv::Reader::from_reader(bytes);
        let columns = csv_columns(&mut reader)?;
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| csv_error(&error, Some(&columns)))?;
            rows.push(Row::from_csv(&columns, &record));
        }
        Ok(Self(Kept::Memory(rows)))
    }

    /// Whether there are none. A file has one at least.
    pub(super) fn is_empty(&self) -> bool {
        matches!(&self.0, Kept::Memory(rows) if rows.is_empty())
    }

    /// The names that the first row has.
    pub(super) fn columns(&self) -> Vec<&str> {
        match &self.0 {
            Kept::Memory(rows) => rows.first().into_iter().flat_map(Row::columns).collect(),
            Kept::File(file) => file.columns().collect(),
        }
    }

    /// Makes sure that every row has `column`. Those in a file are looked at when their turn comes.
    pub(super) fn check_column(&self, column: &str) -> Result<(), DataError> {
        match &self.0 {
            Kept::Memory(rows) => rows.iter().try_for_each(|row| row.check_column(column)),
            Kept::File(_) => Ok(()),
        }
    }
}

/// Reads the line that names the columns.
pub(super) fn csv_columns(
    reader: &mut csv::Reader<impl std::io::Read>,
) -> Result<StringRecord, DataError> {
    let columns = reader.headers();
    let columns = columns.map_err(|error| csv_error(&error, None))?.clone();
    let mut known = BTreeSet::new();
    match columns.iter().find(|column| !known.insert(*column)) {
        None => Ok(columns),
        Some(twice) => Err(DataError::Row {
            line: 1,
            column: None,
            what: format!("two columns have the name \"{twice}\""),
        }),
    }
}

/// The error without the place, which is always the first line of the text that was parsed.
fn json_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let what = text.strip_suffix(place.as_str()).unwrap_or(&text);
    match error.classify() {
        serde_json::error::Category::Data => format!("not a JSON object: {what}"),
        _ => format!("not JSON: {what}"),
    }
}

/// The error with the name of the column at fault, once the columns are known.
pub(super) fn csv_error(error: &csv::Error, columns: Option<&StringRecord>) -> DataError {
    let line = error.position().map_or(1, csv::Position::line);
    let what = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!("{len} values, but the first line names {expected_len} columns"),
        csv::ErrorKind::Utf8 { err, .. } => {
            match columns.and_then(|columns| columns.get(err.field())) {
                Some(name) => format!("the value of \"{name}\" is not UTF-8"),
                None => format!("value {} is not UTF-8", err.field() + 1),
            }
        }
        _ => error.to_string(),
    };
    DataError::Row {
        line,
        column: None,
        what,
    }
}
