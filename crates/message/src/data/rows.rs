//! Rows of a data file: JSON lines or CSV.
//!
//! Rows are kept as the text that they stand in, in memory or in their file, with an index of the
//! places where they begin; what a row holds is read from its text when a call wants it. Kept apart
//! in memory, short rows would take many times their text.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::DataError;
use super::reader::RowReader;

/// The most bytes of one row of a file that is not read into memory. A quote that is never closed
/// must not read the whole file into memory after all.
const MOST_ROW_BYTES: u64 = 64 << 20;

/// The most places that an index has, 16 bytes each.
const MOST_PLACES: usize = 1 << 20;

/// How the rows of a data file are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFormat {
    /// One JSON object a line. Empty lines are passed over.
    JsonLines,
    /// Comma-separated values (RFC 4180). The first line names the columns.
    Csv,
}

/// The rows of a data file.
#[derive(Debug, Clone)]
pub struct Rows {
    pub(super) source: Source,
    pub(super) format: RowFormat,
    /// The names that the first row has.
    columns: Vec<String>,
    /// Where its rows are: all that are in memory, and those of a file that are drawn at random.
    index: Option<Index>,
}

/// Where rows are.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// Their text is in memory, and every one of them was read and found good.
    Memory(Arc<[u8]>),
    /// In their file, which is read as they are wanted.
    File {
        path: PathBuf,
        /// The most bytes of one row.
        most_row_bytes: u64,
    },
}

impl Rows {
    /// Takes the rows from their file as they are wanted, for one that is too large for memory. Only
    /// the first row is read now; one that cannot be read fails when its turn comes.
    ///
    /// # Errors
    /// A file that cannot be read, or whose first row cannot.
    pub fn in_file(path: &Path, format: RowFormat) -> Result<Self, DataError> {
        Self::in_file_bounded(path, format, MOST_ROW_BYTES)
    }

    fn in_file_bounded(
        path: &Path,
        format: RowFormat,
        most_row_bytes: u64,
    ) -> Result<Self, DataError> {
        let mut rows = Self {
            source: Source::File {
                path: path.to_owned(),
                most_row_bytes,
            },
            format,
            columns: Vec::new(),
            index: None,
        };
        let first = rows.reader()?.next_around()?;
        rows.columns = first.columns().map(str::to_owned).collect();
        Ok(rows)
    }

    /// Reads all rows of a text.
    ///
    /// # Errors
    /// As [`Rows::from_json_lines`] and [`Rows::from_csv`].
    pub fn from_text(text: &str, format: RowFormat) -> Result<Self, DataError> {
        Self::in_memory(text.as_bytes(), format)
    }

    /// Reads one JSON object a line. Empty lines are passed over.
    ///
    /// # Errors
    /// A line that is no JSON object, with its line and column.
    pub fn from_json_lines(text: &str) -> Result<Self, DataError> {
        Self::in_memory(text.as_bytes(), RowFormat::JsonLines)
    }

    /// Reads comma-separated values (RFC 4180). The first line names the columns.
    ///
    /// # Errors
    /// A row with more or fewer values than there are columns, bytes that are no UTF-8, two columns
    /// with one name.
    pub fn from_csv(bytes: &[u8]) -> Result<Self, DataError> {
        Self::in_memory(bytes, RowFormat::Csv)
    }

    fn in_memory(bytes: &[u8], format: RowFormat) -> Result<Self, DataError> {
        let mut rows = Self {
            source: Source::Memory(bytes.into()),
            format,
            columns: Vec::new(),
            index: None,
        };
        let mut index = Index::default();
        let mut reader = rows.reader()?;
        while let Some(row) = reader.next()? {
            if index.rows == 0 {
                rows.columns = row.columns().map(str::to_owned).collect();
            }
            index.add(reader.begins(), MOST_PLACES);
        }
        rows.index = Some(index);
        Ok(rows)
    }

    /// The same with an index, for which a file is read once. What stands in its rows is not looked
    /// at.
    pub(super) fn indexed(self) -> Result<Self, DataError> {
        self.indexed_at(MOST_PLACES)
    }

    fn indexed_at(mut self, most_places: usize) -> Result<Self, DataError> {
        let mut index = Index::default();
        let mut reader = self.reader()?;
        while reader.pass()? {
            index.add(reader.begins(), most_places);
        }
        if index.rows == 0 {
            return Err(DataError::NoRows);
        }
        self.index = Some(index);
        Ok(self)
    }

    /// Reads them, from the first on.
    pub(super) fn reader(&self) -> Result<RowReader, DataError> {
        RowReader::open(self)
    }

    /// How many there are, where they are in memory.
    pub(super) fn in_memory_count(&self) -> Option<u64> {
        match self.source {
            Source::Memory(_) => Some(self.count()),
            Source::File { .. } => None,
        }
    }

    /// How many rows the index tells of.
    pub(super) fn count(&self) -> u64 {
        self.index.as_ref().map_or(0, |index| index.rows)
    }

    /// The place to go to for a row, and how many rows lie between.
    pub(super) fn find(&self, row: u64) -> Option<(FilePlace, u64)> {
        self.index.as_ref()?.find(row)
    }

    /// The names that the first row has.
    pub(super) fn columns(&self) -> Vec<&str> {
        self.columns.iter().map(String::as_str).collect()
    }

    /// Makes sure that every row has `columns`. Those in a file are looked at when their turn comes.
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

/// Where a row begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FilePlace {
    pub(super) byte: u64,
    /// From 1.
    pub(super) line: u64,
}

/// Where each row, or one row in so many, begins.
#[derive(Debug, Clone, PartialEq)]
struct Index {
    places: Vec<FilePlace>,
    /// One row in so many has its place here.
    every: u64,
    rows: u64,
}

impl Default for Index {
    fn default() -> Self {
        Index {
            places: Vec::new(),
            every: 1,
            rows: 0,
        }
    }
}

impl Index {
    /// Adds the next row. Where there are `most` places already, every other one is given up.
    fn add(&mut self, place: FilePlace, most: usize) {
        if self.rows.is_multiple_of(self.every) && self.places.len() == most {
            let mut keep = false;
            self.places.retain(|_| {
                keep = !keep;
                keep
            });
            self.every *= 2;
        }
        if self.rows.is_multiple_of(self.every) {
            self.places.push(place);
        }
        self.rows += 1;
    }

    /// The place to go to for a row, and how many rows lie between.
    fn find(&self, row: u64) -> Option<(FilePlace, u64)> {
        let place = self.places.get((row / self.every) as usize)?;
        Some((*place, row % self.every))
    }
}

#[cfg(test)]
mod tests;
