//! Rows of a data file: JSON lines or CSV.
//!
//! Rows are stored as text, in memory or in their file, with an index of where they begin. A row is parsed when
//! a call needs it, because short rows would take many times the memory if stored parsed.

use std::path::Path;

use super::error::DataError;
use super::index::Index;
use super::reader::{RowFormat, RowReader, Source};
use super::row::Row;

/// The maximum size of one row in a file that is not read into memory. Without a maximum, an unclosed quote
/// would pull the whole file into memory after all.
const MAX_ROW_BYTES: u64 = 64 << 20;

/// The maximum number of places in an index, at 16 bytes each.
const MAX_PLACES: usize = 1 << 20;

/// The rows of a data file.
#[derive(Debug, Clone)]
pub struct Rows {
    source: Source,
    format: RowFormat,
    /// The column names in the first row.
    columns: Vec<String>,
    /// Where rows begin. `None` for rows that are read from a file in turn.
    index: Option<Index>,
}

impl Rows {
    /// Reads rows from their file on demand, for a file that is too large for memory. Only the first row is
    /// read now; an invalid row fails when it is used.
    ///
    /// # Errors
    /// If the file or its first row cannot be read.
    pub fn in_file(path: &Path, format: RowFormat) -> Result<Self, DataError> {
        Self::in_file_bounded(path, format, MAX_ROW_BYTES)
    }

    fn in_file_bounded(
        path: &Path,
        format: RowFormat,
        max_row_bytes: u64,
    ) -> Result<Self, DataError> {
        let mut rows = Self {
            source: Source::File {
                path: path.to_owned(),
                max_row_bytes,
            },
            format,
            columns: Vec::new(),
            index: None,
        };
        let first = rows.reader()?.next_around()?;
        rows.columns = first.columns().map(str::to_owned).collect();
        Ok(rows)
    }

    /// Reads all rows of UTF-8 text into memory.
    ///
    /// # Errors
    /// If two columns have the same name, or if a row is not a JSON object, is not UTF-8, or does not have one
    /// value per column. Errors include the line.
    pub fn in_memory(bytes: &[u8], format: RowFormat) -> Result<Self, DataError> {
        let mut rows = Self {
            source: Source::Memory(bytes.into()),
            format,
            columns: Vec::new(),
            index: None,
        };
        let mut index = Index::default();
        let mut reader = rows.reader()?;
        while let Some(row) = reader.next()? {
            if index.rows() == 0 {
                rows.columns = row.columns().map(str::to_owned).collect();
            }
            index.add(reader.begins(), MAX_PLACES);
        }
        rows.index = Some(index);
        Ok(rows)
    }

    /// Adds an index, which takes one pass over the file. The rows are not parsed.
    pub(super) fn indexed(self) -> Result<Self, DataError> {
        self.indexed_at(MAX_PLACES)
    }

    fn indexed_at(mut self, max_places: usize) -> Result<Self, DataError> {
        let mut index = Index::default();
        let mut reader = self.reader()?;
        while reader.pass()? {
            index.add(reader.begins(), max_places);
        }
        if index.rows() == 0 {
            return Err(DataError::NoRows);
        }
        self.index = Some(index);
        Ok(self)
    }

    /// Returns a reader that starts at the first row.
    pub(super) fn reader(&self) -> Result<RowReader, DataError> {
        RowReader::open(&self.source, self.format)
    }

    /// Returns a row by its number, from 0. Requires an index.
    pub(super) fn row(&self, reader: &mut RowReader, number: u64) -> Result<Row, DataError> {
        let index = self.index.as_ref().ok_or(DataError::NoRows)?;
        reader.row(index, number)
    }

    /// The number of rows if they are in memory; `None` for a file.
    pub(super) fn in_memory_count(&self) -> Option<u64> {
        match self.source {
            Source::Memory(_) => Some(self.count()),
            Source::File { .. } => None,
        }
    }

    /// The number of rows in the index; 0 without one.
    pub(super) fn count(&self) -> u64 {
        self.index.as_ref().map_or(0, Index::rows)
    }

    /// The column names in the first row.
    pub(super) fn columns(&self) -> Vec<&str> {
        self.columns.iter().map(String::as_str).collect()
    }

    /// Checks that every row in memory has `columns`. Rows in a file are checked on use.
    pub(super) fn check_columns(&self, columns: &[&str]) -> Result<(), DataError> {
        let can_differ = self.format == RowFormat::JsonLines;
        if columns.is_empty() || !can_differ || self.in_memory_count().is_none() {
            return Ok(());
        }
        let mut reader = self.reader()?;
        while let Some(row) = reader.next()? {
            reader.check(&row, columns.iter().copied())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
