//! Rows of a data file: JSON lines or CSV.
//!
//! Rows are kept as the text that they are in, in memory or in their file, with an index of the
//! places where they begin; what a row holds is read from its text when a call wants it. Kept apart
//! in memory, short rows would take many times their text.

use std::path::Path;

use super::error::DataError;
use super::index::Index;
use super::reader::{RowFormat, RowReader, Source};
use super::row::Row;

/// The most bytes of one row of a file that is not read into memory. A quote that is never closed
/// must not read the whole file into memory after all.
const MAX_ROW_BYTES: u64 = 64 << 20;

/// The most places that an index has, 16 bytes each.
const MAX_PLACES: usize = 1 << 20;

/// The rows of a data file.
#[derive(Debug, Clone)]
pub struct Rows {
    source: Source,
    format: RowFormat,
    /// The names that the first row has.
    columns: Vec<String>,
    /// Where its rows are: all that are in memory, and those of a file that are drawn at random.
    index: Option<Index>,
}

impl Rows {
    /// Takes the rows from their file as they are wanted, for one that is too large for memory. Only
    /// the first row is read now; one that cannot be read fails when its turn comes.
    ///
    /// # Errors
    /// A file that cannot be read, or whose first row cannot.
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

    /// Reads all rows of a text in UTF-8.
    ///
    /// # Errors
    /// A row that is not a JSON object, that has more or fewer values than there are columns, or that
    /// is not UTF-8, with its line; two columns with one name.
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

    /// The same with an index, for which a file is read once. What is in its rows is not looked
    /// at.
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

    /// Reads them, from the first on.
    pub(super) fn reader(&self) -> Result<RowReader, DataError> {
        RowReader::open(&self.source, self.format)
    }

    /// A row by its number, from 0, of rows that have an index.
    pub(super) fn row(&self, reader: &mut RowReader, number: u64) -> Result<Row, DataError> {
        let index = self.index.as_ref().ok_or(DataError::NoRows)?;
        reader.row(index, number)
    }

    /// How many there are, where they are in memory.
    pub(super) fn in_memory_count(&self) -> Option<u64> {
        match self.source {
            Source::Memory(_) => Some(self.count()),
            Source::File { .. } => None,
        }
    }

    /// How many rows the index has.
    pub(super) fn count(&self) -> u64 {
        self.index.as_ref().map_or(0, Index::rows)
    }

    /// The names that the first row has.
    pub(super) fn columns(&self) -> Vec<&str> {
        self.columns.iter().map(String::as_str).collect()
    }

    /// Ensures that every row has `columns`. Those in a file are checked when their turn comes.
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
