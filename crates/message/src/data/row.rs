//! One row: named values.

use std::collections::BTreeMap;

use csv::StringRecord;
use serde_json::Value;
use serde_json::value::RawValue;

use super::error::DataError;
use crate::path::without_position;

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    /// The text of each value: a CSV value, the content of a JSON string, or any other JSON value as written,
    /// so numbers keep digits that a float would lose.
    fields: BTreeMap<String, String>,
    /// The row's text, if the row itself can be a message.
    whole: Option<Box<str>>,
}

impl Row {
    /// Reads a row from a line of JSON; `line` is its number in the file.
    pub(super) fn from_json(line: u64, text: &str) -> Result<Self, DataError> {
        let wrong = |error: &serde_json::Error, column: usize| DataError::Row {
            line,
            column: Some(column as u64).filter(|column| *column > 0),
            what: json_words(error),
        };
        let raw: BTreeMap<String, &RawValue> =
            serde_json::from_str(text).map_err(|error| wrong(&error, error.column()))?;
        let mut fields = BTreeMap::new();
        for (name, value) in raw {
            let value = value.get();
            let text = if value.starts_with('"') {
                // The column is unknown: `RawValue` does not check escapes, so this error's column counts from
                // the start of the value.
                serde_json::from_str(value).map_err(|error| wrong(&error, 0))?
            } else {
                value.to_owned()
            };
            fields.insert(name, text);
        }
        Ok(Self {
            fields,
            whole: Some(text.into()),
        })
    }

    /// Combines the column names with the values of a record.
    pub(super) fn from_csv(columns: &StringRecord, record: &StringRecord) -> Self {
        let fields = columns.iter().zip(record);
        Self {
            fields: fields
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            whole: None,
        }
    }

    /// The names of the values.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// Whether the row has a value with this name.
    pub(super) fn has(&self, column: &str) -> bool {
        self.fields.contains_key(column)
    }

    /// Appends a column's value, escaped if it is `quoted`, that is, inside a JSON string.
    pub(super) fn append(&self, column: &str, quoted: bool, out: &mut String) {
        let text = self.fields.get(column).map_or("", String::as_str);
        if quoted {
            let escaped = Value::from(text).to_string();
            out.push_str(&escaped[1..escaped.len() - 1]);
        } else {
            out.push_str(text);
        }
    }

    /// Appends the whole row as a JSON object.
    pub(super) fn append_whole(&self, out: &mut String) {
        if let Some(text) = &self.whole {
            out.push_str(text);
            return;
        }
        let fields = self.fields.iter();
        let fields = fields.map(|(name, text)| (name.clone(), Value::from(text.as_str())));
        out.push_str(&Value::Object(fields.collect()).to_string());
    }
}

/// The error without its position. Each row is parsed alone, so its line is always 1.
fn json_words(error: &serde_json::Error) -> String {
    let what = without_position(error);
    match error.classify() {
        serde_json::error::Category::Data => format!("not a JSON object: {what}"),
        _ => format!("not JSON: {what}"),
    }
}
