//! Reads rows from a file or from memory, in order or by number.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Cursor, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use csv::StringRecord;

use super::bounded::{Bounded, Bytes, TOO_LONG};
use super::error::DataError;
use super::index::{FilePlace, Index};
use super::row::Row;

/// The buffer size for reading a file.
const READ_BYTES: usize = 64 << 10;

/// The buffer size for reading from memory and for finding unclosed quotes.
const COPIED_BYTES: usize = 4 << 10;

/// The format of a data file's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFormat {
    /// One JSON object per line. Empty lines are skipped.
    JsonLines,
    /// Comma-separated values (RFC 4180). The first line names the columns.
    Csv,
}

/// Where rows are read from.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// Their text in memory. All rows have been read once and are valid.
    Memory(Arc<[u8]>),
    /// A file, from which rows are read on demand.
    File {
        path: PathBuf,
        /// The maximum size of one row in bytes.
        max_row_bytes: u64,
    },
}

/// Reads rows.
#[derive(Debug)]
pub(super) struct RowReader {
    input: Input,
    /// Where the first row begins.
    first: FilePlace,
    /// The number of the next row, from 0.
    number: u64,
    /// Where the last row begins, or the line end before it.
    begins: FilePlace,
    max_row_bytes: u64,
    /// Why reading cannot continue.
    broken: Option<DataError>,
}

#[derive(Debug)]
enum Input {
    JsonLines {
        lines: BufReader<Bounded>,
        /// Where the next line begins.
        at: FilePlace,
        /// The line being read; its memory is reused.
        line: Vec<u8>,
    },
    Csv {
        records: Box<csv::Reader<Bounded>>,
        columns: StringRecord,
        record: StringRecord,
    },
}

impl RowReader {
    pub(super) fn open(source: &Source, format: RowFormat) -> Result<Self, DataError> {
        let (inner, most, capacity) = match source {
            Source::Memory(bytes) => {
                let bytes = Cursor::new(Arc::clone(bytes));
                (Bytes::Memory(bytes), u64::MAX, COPIED_BYTES)
            }
            Source::File {
                path,
                max_row_bytes,
            } => {
                let file = File::open(path).map_err(DataError::unreadable)?;
                (Bytes::File(file), *max_row_bytes, READ_BYTES)
            }
        };
        let bounded = Bounded::new(inner, most);
        let (input, first) = match format {
            RowFormat::JsonLines => {
                let mut lines = BufReader::with_capacity(capacity, bounded);
                let begin = lines.fill_buf().map_err(DataError::unreadable)?;
                let mark = mark_len(begin);
                lines.consume(mark);
                let at = FilePlace {
                    byte: mark as u64,
                    line: 1,
                };
                let input = Input::JsonLines {
                    lines,
                    at,
                    line: Vec::new(),
                };
                (input, at)
            }
            RowFormat::Csv => {
                let mut records = csv::ReaderBuilder::new()
                    .buffer_capacity(capacity)
                    .from_reader(bounded);
                let columns = csv_columns(&mut records)?;
                let start = FilePlace { byte: 0, line: 1 };
                if let Some(line) = open_quote(records.get_ref(), start) {
                    return Err(unclosed(line));
                }
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
            number: 0,
            begins: first,
            max_row_bytes: most,
            broken: None,
        })
    }

    /// Returns the next row, wrapping around to the first after the last.
    pub(super) fn next_around(&mut self) -> Result<Row, DataError> {
        if let Some(row) = self.next()? {
            return Ok(row);
        }
        self.go_to(self.first)?;
        self.number = 0;
        self.next()?.ok_or(DataError::NoRows)
    }

    /// Returns a row by its number, from 0.
    pub(super) fn row(&mut self, index: &Index, number: u64) -> Result<Row, DataError> {
        if self.number != number {
            let (place, between) = index.find(number).ok_or(DataError::NoRows)?;
            self.go_to(place)?;
            self.number = number - between;
            for _ in 0..between {
                self.pass()?;
            }
        }
        // The row existed when the index was built.
        self.next()?
            .ok_or_else(|| DataError::unreadable("the file was truncated"))
    }

    /// Returns the next row; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Row>, DataError> {
        if !self.advance()? {
            return Ok(None);
        }
        match &self.input {
            Input::JsonLines { line, .. } => {
                let number = self.begins.line;
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

    /// Skips the next row without parsing it. Returns false at the end.
    pub(super) fn pass(&mut self) -> Result<bool, DataError> {
        match self.advance() {
            Err(DataError::Row { .. }) if self.broken.is_none() => Ok(true),
            other => other,
        }
    }

    /// Where the last row begins, or the line end before it.
    pub(super) fn begins(&self) -> FilePlace {
        self.begins
    }

    /// The line on which the last row begins, from 1.
    pub(super) fn line(&self) -> u64 {
        let Input::Csv { records, .. } = &self.input else {
            return self.begins.line;
        };
        // The parser leaves empty lines, and the `
        // ` of a `\r
        // `, to the next record.
        let FilePlace { mut byte, mut line } = self.begins;
        while let Some(end @ (b'\r' | b'\n')) = records.get_ref().byte_at(byte) {
            byte += 1;
            line += u64::from(end == b'\n');
        }
        line
    }

    /// Checks that the last row, `row`, has these columns.
    pub(super) fn check<'c>(
        &self,
        row: &Row,
        columns: impl IntoIterator<Item = &'c str>,
    ) -> Result<(), DataError> {
        match columns.into_iter().find(|column| !row.has(column)) {
            None => Ok(()),
            Some(column) => Err(DataError::row(
                self.line(),
                format!("the row has no \"{column}\", which the template uses"),
            )),
        }
    }

    /// Reads the next row. Returns false at the end.
    fn advance(&mut self) -> Result<bool, DataError> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        self.number += 1;
        let taken = match &mut self.input {
            Input::JsonLines { lines, at, line } => {
                self.begins = *at;
                next_line(lines, at, line).map(|found| {
                    self.begins = found.unwrap_or(self.begins);
                    found.is_some()
                })
            }
            Input::Csv {
                records,
                columns,
                record,
            } => {
                self.begins = place_of(records.position());
                records.get_mut().begin();
                let taken = records.read_record(record);
                match open_quote(records.get_ref(), self.begins) {
                    Some(line) => return Err(unclosed(line)),
                    None => taken.map_err(|error| Wrong::of_csv(&error, columns)),
                }
            }
        };
        taken.map_err(|wrong| self.failed(wrong))
    }

    /// Converts the last row's error. After an I/O error, every later read fails too.
    fn failed(&mut self, wrong: Wrong) -> DataError {
        let error = match wrong {
            Wrong::Row(what) => return DataError::row(self.line(), what),
            Wrong::Reading(error) if error == TOO_LONG => {
                let most = self.max_row_bytes;
                let what = format!(
                    "a row of more than {most} bytes; is a quote unclosed or a line break missing?"
                );
                DataError::row(self.line(), what)
            }
            Wrong::Reading(error) => DataError::Unreadable(error),
        };
        self.broken = Some(error.clone());
        error
    }

    fn go_to(&mut self, place: FilePlace) -> Result<(), DataError> {
        match &mut self.input {
            Input::JsonLines { lines, at, .. } => {
                lines
                    .seek(SeekFrom::Start(place.byte))
                    .map_err(DataError::unreadable)?;
                *at = place;
                Ok(())
            }
            Input::Csv { records, .. } => {
                let mut position = csv::Position::new();
                position.set_byte(place.byte).set_line(place.line);
                records.seek(position).map_err(DataError::unreadable)
            }
        }
    }
}

/// Why a row could not be read.
enum Wrong {
    /// The row itself is invalid. The next one can be read.
    Row(String),
    /// Reading cannot continue. Contains the system's message.
    Reading(String),
}

impl Wrong {
    /// Converts a row's error, naming the column at fault if the columns are known.
    fn of_csv(error: &csv::Error, columns: &StringRecord) -> Self {
        Self::Row(match error.kind() {
            csv::ErrorKind::Io(error) => return Self::Reading(error.to_string()),
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => match columns.get(*len as usize) {
                Some(name) => {
                    format!("{len} of {expected_len} values; no value for the column \"{name}\"")
                }
                None => format!("{len} values, but the first line names {expected_len} columns"),
            },
            csv::ErrorKind::Utf8 { err, .. } => match columns.get(err.field()) {
                Some(name) => format!("the value of \"{name}\" is not UTF-8"),
                None => format!("value {} is not UTF-8", err.field() + 1),
            },
            _ => error.to_string(),
        })
    }
}

/// Reads the header line, which names the columns.
fn csv_columns(records: &mut csv::Reader<Bounded>) -> Result<StringRecord, DataError> {
    let unknown = StringRecord::new();
    let columns = records.headers();
    let columns = columns.map_err(|error| match Wrong::of_csv(&error, &unknown) {
        Wrong::Row(what) => DataError::row(1, what),
        Wrong::Reading(what) if what == TOO_LONG => {
            DataError::row(1, "the line with the column names is too long")
        }
        Wrong::Reading(what) => DataError::Unreadable(what),
    })?;
    let mut known = BTreeSet::new();
    match columns.iter().find(|column| !known.insert(*column)) {
        None => Ok(columns.clone()),
        Some(twice) => Err(DataError::row(
            1,
            format!("duplicate column name \"{twice}\""),
        )),
    }
}

/// Returns the line of a quote that is never closed in the last row read, which begins at `begins`. The parser
/// reports no error: it reads the rest of the file as the value, so only a row that reaches the end of the file
/// is checked.
fn open_quote(bytes: &Bounded, begins: FilePlace) -> Option<u64> {
    /// Where a byte is in its row (RFC 4180, and like the parser for files that deviate from it).
    enum At {
        ValueBegins,
        Value,
        /// Inside quotes, with the line of the opening quote.
        Quoted(u64),
        /// After a quote inside quotes. It is the closing quote unless another quote follows and makes it a
        /// literal one.
        Quote(u64),
    }
    if !bytes.has_ended() {
        return None;
    }
    let FilePlace { mut byte, mut line } = begins;
    let mut buffer = [0; COPIED_BYTES];
    if byte == 0 {
        let count = bytes.read_at(0, &mut buffer);
        byte += mark_len(&buffer[..count]) as u64;
    }
    let mut at = At::ValueBegins;
    loop {
        let count = bytes.read_at(byte, &mut buffer);
        if count == 0 {
            return match at {
                At::Quoted(line) => Some(line),
                _ => None,
            };
        }
        byte += count as u64;
        for found in &buffer[..count] {
            at = match (at, found) {
                (At::ValueBegins, b'"') => At::Quoted(line),
                (At::Quoted(opened), b'"') => At::Quote(opened),
                (At::Quote(opened), b'"') => At::Quoted(opened),
                (At::Quoted(opened), _) => At::Quoted(opened),
                (_, b',' | b'\r' | b'\n') => At::ValueBegins,
                _ => At::Value,
            };
            line += u64::from(*found == b'\n');
        }
    }
}

fn unclosed(line: u64) -> DataError {
    DataError::row(line, "this line opens a quote that is never closed")
}

/// The length of the byte order mark that some editors put before UTF-8 text. The CSV reader skips it too.
fn mark_len(text: &[u8]) -> usize {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    if text.starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len()
    } else {
        0
    }
}

/// Reads the next non-empty line, without its line end. Returns where it begins; `None` at the end.
fn next_line(
    lines: &mut BufReader<Bounded>,
    at: &mut FilePlace,
    line: &mut Vec<u8>,
) -> Result<Option<FilePlace>, Wrong> {
    loop {
        let begins = *at;
        line.clear();
        lines.get_mut().begin();
        let read = lines.read_until(b'\n', line);
        let read = read.map_err(|error| Wrong::Reading(error.to_string()))?;
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
