//! Writes the texts of calls.

use std::sync::Arc;

use super::error::DataError;
use super::file::RowReader;
use super::rows::{Kept, Row, Rows};
use super::template::{Place, Template};
use super::{Data, Order};

/// Writes texts. Holds what reading the rows of a file needs.
#[derive(Debug)]
pub struct Writer {
    data: Arc<Data>,
    /// Where rows are read from their file.
    reader: Option<RowReader>,
    /// The line of the row that was last used.
    line: Option<u64>,
}

impl Writer {
    pub(super) fn new(data: &Arc<Data>) -> Result<Self, DataError> {
        let reader = match &data.rows {
            Some(Rows(Kept::File(file))) => Some(file.reader()?),
            Some(Rows(Kept::Memory(_))) | None => None,
        };
        Ok(Self {
            data: Arc::clone(data),
            reader,
            line: None,
        })
    }

    /// Appends the text of the `call`-th call, from 0, to `out`.
    ///
    /// # Errors
    /// A row of a file that cannot be read, with its line. The next text takes another row.
    pub fn text(&mut self, call: u64, out: &mut String) -> Result<(), DataError> {
        let data = &*self.data;
        let mut random = data.random(call);
        let read: Row;
        let row = match (&data.rows, &mut self.reader) {
            (None, _) => None,
            (Some(Rows(Kept::Memory(rows))), _) => {
                let count = rows.len() as u64;
                let index = match data.order {
                    Order::InTurn => call % count,
                    Order::Random => random.u64(..count),
                };
                Some(&rows[index as usize])
            }
            (Some(Rows(Kept::File(file))), Some(reader)) => {
                read = match data.order {
                    Order::InTurn => reader.next_around()?,
                    Order::Random => reader.row(file, random.u64(..file.count()))?,
                };
                let asked = data.template.iter().flat_map(Template::columns);
                for column in asked {
                    read.check_column(column)?;
                }
                Some(&read)
            }
            (Some(Rows(Kept::File(_))), None) => None,
        };
        self.line = row.map(|row| row.line);
        match (&data.template, row) {
            (Some(template), row) => template.fill(&mut Place { call, row, random }, out),
            (None, Some(row)) => row.whole(out),
            (None, None) => {}
        }
        Ok(())
    }

    /// Where the row of the last text stands in its file, for messages: `, line 7`. Empty where there
    /// are no rows.
    pub fn place(&self) -> String {
        self.line
            .map_or_else(String::new, |line| format!(", line {line}"))
    }
}
