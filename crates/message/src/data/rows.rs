//! Rows of a data file: JSON lines or CSV.

use std::collections::BTreeSet;

use csv::StringRecord;
use serde_json::{Map, Value};

use super::error::DataError;

/// The rows of a data file, all in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows(Vec<Row>);

#[derive(Debug, Clone, PartialEq)]
struct Row {
    /// Its first line in the file, from 1.
    line: u64,
    fields: Map<String, Value>,
    /// The row as it stands in the file, where it is a message by itself.
    whole: Option<Box<str>>,
}

impl Rows {
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
            let fields = serde_json::from_str(text).map_err(|error| DataError::Row {
                line,
                column: Some(error.column() as u64).filter(|column| *column > 0),
                what: json_words(&error),
            })?;
            rows.push(Row {
                line,
                fields,
                whole: Some(text.into()),
            });
        }
        Ok(Self(rows))
    }

    /// Reads comma-separated values (RFC 4180). The first line names the columns.
    ///
    /// # Errors
    /// A row with more or fewer values than there are columns, bytes that are no UTF-8, two columns
    /// with one name.
    pub fn from_csv(bytes: &[u8]) -> Result<Self, DataError> {
        let mut reader = csv::Reader::from_reader(bytes);
        let columns = reader.headers();
        let columns = columns.map_err(|error| csv_error(&error, None))?.clone();
        let mut known = BTreeSet::new();
        if let Some(twice) = columns.iter().find(|column| !known.insert(*column)) {
            return Err(DataError::Row {
                line: 1,
                column: None,
                what: format!("two columns have the name \"{twice}\""),
            });
        }
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| csv_error(&error, Some(&columns)))?;
            let values = record.iter().map(|value| Value::String(value.to_owned()));
            rows.push(Row {
                line: record.position().map_or(0, csv::Position::line),
                fields: columns.iter().map(str::to_owned).zip(values).collect(),
                whole: None,
            });
        }
        Ok(Self(rows))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// The names that the first row has.
    pub(super) fn columns(&self) -> Vec<&str> {
        let first = self.0.first().map(|row| row.fields.keys());
        first.into_iter().flatten().map(String::as_str).collect()
    }

    /// Makes sure that every row has `column`.
    pub(super) fn check_column(&self, column: &str) -> Result<(), DataError> {
        match self.0.iter().find(|row| !row.fields.contains_key(column)) {
            None => Ok(()),
            Some(row) => Err(DataError::Row {
                line: row.line,
                column: None,
                what: format!("the row has no \"{column}\", which the template asks for"),
            }),
        }
    }

    pub(super) fn line(&self, index: u64) -> u64 {
        self.0[index as usize].line
    }

    /// One value. A row without it was refused by [`Rows::check_column`].
    pub(super) fn value(&self, index: u64, column: &str) -> &Value {
        self.0[index as usize]
            .fields
            .get(column)
            .unwrap_or(&Value::Null)
    }

    /// Appends a whole row as a JSON object.
    pub(super) fn whole(&self, index: u64, out: &mut String) {
        let row = &self.0[index as usize];
        match &row.whole {
            Some(text) => out.push_str(text),
            None => out.push_str(&Value::Object(row.fields.clone()).to_string()),
        }
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
fn csv_error(error: &csv::Error, columns: Option<&StringRecord>) -> DataError {
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
