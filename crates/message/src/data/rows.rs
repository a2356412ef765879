//! Rows of a data file: JSON lines or CSV.
//!
//! Rows are kept as text, in memory or in their file, with an index of the places where they begin; a row is
//! parsed when a call needs it. Parsed rows in memory would take many times the space of short ones.

use std::path::Path;

use super::error::DataError;
use super::index::Index;
use super::reader::{RowFormat, RowReader, Source};
use super::row::Row;

/// The maximum size of one row of a file that is not read into memory. Without it, a quote that is never closed
/// would read the whole file into memory after all.
const MAX_ROW_BYTES: u64 = 64 << 20;

/// The maximum number of places in an index, 16 bytes each.
const MAX_PLACES: usize = 1 << 20;

/// The rows of a data file.
#[derive(Debug, Clone)]
pub struct Rows {
    source: Source,
    format: RowFormat,
    /// The names in the first row.
    columns: Vec<String>,
    /// Where rows begin: of those in memory, and of those of a file that are drawn at random.
    index: Option<Index>,
}

impl Rows {
    /// Reads rows from their file only when they are needed, for a file that is too large for memory. Only the
    /// first row is read now; an invalid row fails when it is used.
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

    /// Reads all rows of a text in UTF-8 into memory.
    ///
    /// # Errors
    /// If two columns have one name; or, with its line, a row that is not a JSON object, has more or fewer
    /// values than there are columns, or is not UTF-8.
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

    /// Adds an index, for which a file is read once. The rows are not parsed.
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

    /// A reader that starts with the first row.
    pub(super) fn reader(&self) -> Result<RowReader, DataError> {
        RowReader::open(&self.source, self.format)
    }

    /// Returns a row by its number, from 0. Needs an index.
    pub(super) fn row(&self, reader: &mut RowReader, number: u64) -> Result<Row, DataError> {
        let index = self.index.as_ref().ok_or(DataError::NoRows)?;
        reader.row(index, number)
    }

    /// The number of rows if they are in memory.
    pub(super) fn in_memory_count(&self) -> Option<u64> {
        match self.source {
            Source::Memory(_) => Some(self.count()),
            Source::File { .. } => None,
        }
    }

    /// The number of rows in the index.
    pub(super) fn count(&self) -> u64 {
        self.index.as_ref().map_or(0, Index::rows)
    }

    /// The names in the first row.
    pub(super) fn columns(&self) -> Vec<&str> {
        self.columns.iter().map(String::as_str).collect()
    }

    /// Checks that every row in memory has `columns`. Rows in a file are checked when they are used.
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
