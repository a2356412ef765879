//! Rows of a file that is too large for memory: read one after the other, or found by an index of
//! places.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use csv::StringRecord;

use super::error::DataError;
use super::rows::{Row, RowFormat, csv_columns, csv_error};

/// The most bytes of one row. A quote that is never closed must not read the whole file into memory.
const MOST_ROW_BYTES: u64 = 64 << 20;

/// Bytes read at once.
const READ_BYTES: usize = 64 << 10;

/// The most places that an index has, 16 bytes each.
const MOST_PLACES: usize = 1 << 20;

/// A file with rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RowFile {
    path: PathBuf,
    format: RowFormat,
    /// The names that the first row has.
    columns: Vec<String>,
    /// Where its rows are, for those that are drawn at random.
    index: Option<Index>,
    most_row_bytes: u64,
}

impl RowFile {
    pub(super) fn open(path: &Path, format: RowFormat) -> Result<Self, DataError> {
        Self::open_bounded(path, format, MOST_ROW_BYTES)
    }

    fn open_bounded(
        path: &Path,
        format: RowFormat,
        most_row_bytes: u64,
    ) -> Result<Self, DataError> {
        let mut file = Self {
            path: path.to_owned(),
            format,
            columns: Vec::new(),
            index: None,
            most_row_bytes,
        };
        let first = file.reader()?.next_around()?;
        file.columns = first.columns().map(str::to_owned).collect();
        Ok(file)
    }

    /// The same with an index, for which the file is read once. What stands in its rows is not looked
    /// at.
    pub(super) fn indexed(self) -> Result<Self, DataError> {
        self.indexed_at(MOST_PLACES)
    }

    fn indexed_at(mut self, most_places: usize) -> Result<Self, DataError> {
        let mut index = Index::default();
        let mut reader = self.reader()?;
        while let Some(place) = reader.pass()? {
            index.add(place, most_places);
        }
        self.index = Some(index);
        Ok(self)
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(String::as_str)
    }

    /// How many rows the index tells of.
    pub(super) fn count(&self) -> u64 {
        // Drawing one of none would panic; a file has a row, as `open` has seen.
        self.index.as_ref().map_or(1, |index| index.rows.max(1))
    }

    pub(super) fn reader(&self) -> Result<RowReader, DataError> {
        RowReader::open(self)
    }
}

/// Where a row begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FilePlace {
    byte: u64,
    /// From 1.
    line: u64,
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

/// Reads rows of a file.
#[derive(Debug)]
pub(super) struct RowReader {
    input: Input,
    /// Where the first row begins.
    first: FilePlace,
    most_row_bytes: u64,
    /// Why nothing more can be read.
    broken: Option<DataError>,
}

#[derive(Debug)]
enum Input {
    JsonLines {
        lines: BufReader<Bounded<File>>,
        /// Where the next line begins.
        at: FilePlace,
        /// The line being read, its memory used again and again.
        line: Vec<u8>,
    },
    Csv {
        records: Box<csv::Reader<Bounded<File>>>,
        columns: StringRecord,
        record: StringRecord,
    },
}

impl RowReader {
    fn open(file: &RowFile) -> Result<Self, DataError> {
        let bounded = Bounded {
            inner: File::open(&file.path).map_err(|error| unreadable(&error))?,
            left: file.most_row_bytes,
            most: file.most_row_bytes,
        };
        let (input, first) = match file.format {
            RowFormat::JsonLines => {
                let at = FilePlace { byte: 0, line: 1 };
                let input = Input::JsonLines {
                    lines: BufReader::with_capacity(READ_BYTES, bounded),
                    at,
                    line: Vec::new(),
                };
                (input, at)
            }
            RowFormat::Csv => {
                let mut records = csv::ReaderBuilder::new()
                    .buffer_capacity(READ_BYTES)
                    .from_reader(bounded);
                let columns = csv_columns(&mut records)?;
                let first = place_of(records.position());
                let input = Input::Csv {
                    records: Box::new(records),
                    columns,
                    record: StringRecord::new(),
                };
                (input, first)
            }
        };
        Ok(Self {
            input,
            first,
            most_row_bytes: file.most_row_bytes,
            broken: None,
        })
    }

    /// The next row, and after the last one the first.
    pub(super) fn next_around(&mut self) -> Result<Row, DataError> {
        if let Some(row) = self.next()? {
            return Ok(row);
        }
        self.go_to(self.first)?;
        self.next()?.ok_or(DataError::NoRows)
    }

    /// A row by its number, from 0.
    pub(super) fn row(&mut self, file: &RowFile, row: u64) -> Result<Row, DataError> {
        let found = file.index.as_ref().and_then(|index| index.find(row));
        let (place, between) = found.ok_or(DataError::NoRows)?;
        self.go_to(place)?;
        for _ in 0..between {
            self.pass()?;
        }
        // It was there when the index was made.
        self.next()?.ok_or_else(|| DataError::Unreadable {
            what: "the file has become shorter".to_owned(),
        })
    }

    /// The next row; `None` at the end.
    fn next(&mut self) -> Result<Option<Row>, DataError> {
        if self.advance()?.is_none() {
            return Ok(None);
        }
        match &mut self.input {
            Input::JsonLines { line, at, .. } => {
                let number = at.line - 1;
                let text = std::str::from_utf8(line).map_err(|error| DataError::Row {
                    line: number,
                    column: Some(error.valid_up_to() as u64 + 1),
                    what: "not UTF-8".to_owned(),
                })?;
                Row::from_json(number, text).map(Some)
            }
            Input::Csv {
                columns, record, ..
            } => Ok(Some(Row::from_csv(columns, record))),
        }
    }

    /// Passes over the next row, whatever stands in it. Where it begins; `None` at the end.
    fn pass(&mut self) -> Result<Option<FilePlace>, DataError> {
        let before = self.place();
        match self.advance() {
            Ok(found) => Ok(found),
            Err(DataError::Row { .. }) if self.broken.is_none() => Ok(Some(before)),
            Err(error) => Err(error),
        }
    }

    /// Takes the next row in, and tells where it begins.
    fn advance(&mut self) -> Result<Option<FilePlace>, DataError> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        let begins = self.place();
        let result = match &mut self.input {
            Input::JsonLines { lines, at, line } => next_line(lines, at, line),
            Input::Csv {
                records,
                columns,
                record,
            } => {
                records.get_mut().begin();
                match records.read_record(record) {
                    Ok(found) => Ok(found.then_some(begins)),
                    Err(error) => match error.kind() {
                        csv::ErrorKind::Io(error) => Err(Broken(error.to_string())),
                        _ => return Err(csv_error(&error, Some(columns))),
                    },
                }
            }
        };
        result.map_err(|Broken(what)| {
            let error = match what == TOO_LONG {
                true => DataError::Row {
                    line: begins.line,
                    column: None,
                    what: format!(
                        "a row of more than {} bytes; is a quote or a line not ended?",
                        self.most_row_bytes
                    ),
                },
                false => DataError::Unreadable { what },
            };
            self.broken = Some(error.clone());
            error
        })
    }

    /// Where the next row, or an empty line before it, begins.
    fn place(&self) -> FilePlace {
        match &self.input {
            Input::JsonLines { at, .. } => *at,
            Input::Csv { records, .. } => place_of(records.position()),
        }
    }

    fn go_to(&mut self, place: FilePlace) -> Result<(), DataError> {
        match &mut self.input {
            Input::JsonLines { lines, at, .. } => {
                lines
                    .seek(SeekFrom::Start(place.byte))
                    .map_err(|error| unreadable(&error))?;
                *at = place;
                Ok(())
            }
            Input::Csv { records, .. } => {
                let mut position = csv::Position::new();
                position.set_byte(place.byte).set_line(place.line);
                records
                    .seek(position)
                    .map_err(|error| DataError::Unreadable {
                        what: error.to_string(),
                    })
            }
        }
    }
}

/// What a row that is over its bound fails with.
const TOO_LONG: &str = "row too long";

/// Nothing more can be read: what the system said.
struct Broken(String);

/// Reads the next line that is not empty, without its end.
fn next_line(
    lines: &mut BufReader<Bounded<File>>,
    at: &mut FilePlace,
    line: &mut Vec<u8>,
) -> Result<Option<FilePlace>, Broken> {
    loop {
        let begins = *at;
        line.clear();
        lines.get_mut().begin();
        let read = lines.read_until(b'\n', line);
        let read = read.map_err(|error| Broken(error.to_string()))?;
        if read == 0 {
            return Ok(None);
        }
        at.byte += read as u64;
        at.line += 1;
        for end in [b'\n', b'\r'] {
            if line.last() == Some(&end) {
                line.pop();
            }
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(begins));
        }
    }
}

fn place_of(position: &csv::Position) -> FilePlace {
    FilePlace {
        byte: position.byte(),
        line: position.line(),
    }
}

fn unreadable(error: &io::Error) -> DataError {
    DataError::Unreadable {
        what: error.to_string(),
    }
}

/// A reader that fails where one row takes more than so many bytes. What is read ahead of a row
/// counts for the one before.
#[derive(Debug)]
struct Bounded<R> {
    inner: R,
    left: u64,
    most: u64,
}

impl<R> Bounded<R> {
    /// Another row begins.
    fn begin(&mut self) {
        self.left = self.most;
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return Err(io::Error::other(TOO_LONG)),
        }
        Ok(read)
    }
}

impl<R: Seek> Seek for Bounded<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

#[cfg(test)]
mod tests;
