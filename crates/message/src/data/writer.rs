//! Writes the texts of calls.

use std::sync::Arc;

use super::error::DataError;
use super::reader::RowReader;
use super::template::{Place, Template};
use super::{Data, Order};

/// Writes texts. Holds what reading rows needs.
#[derive(Debug)]
pub struct Writer {
    data: Arc<Data>,
    /// Where there are rows.
    reader: Option<RowReader>,
}

impl Writer {
    pub(super) fn new(data: &Arc<Data>) -> Result<Self, DataError> {
        let reader = data.rows.as_ref().map(|rows| rows.reader()).transpose()?;
        Ok(Self {
            data: Arc::clone(data),
            reader,
        })
    }

    /// Appends the text of the `call`-th call, from 0, to `out`.
    ///
    /// # Errors
    /// A row of a file that cannot be read, with its line. The next text takes another row.
    pub fn text(&mut self, call: u64, out: &mut String) -> Result<(), DataError> {
        let data = &*self.data;
        let mut random = data.random(call);
        let mut row = None;
        if let (Some(rows), Some(reader)) = (&data.rows, &mut self.reader) {
            let taken = match (data.order, rows.in_memory_count()) {
                (Order::InTurn, Some(count)) => rows.row(reader, call % count)?,
                (Order::InTurn, None) => reader.next_around()?,
                (Order::Random, _) => rows.row(reader, random.u64(..rows.count()))?,
            };
            reader.check(&taken, data.template.iter().flat_map(Template::columns))?;
            row = Some(taken);
        }
        let row = row.as_ref();
        match (&data.template, row) {
            (Some(template), row) => template.fill(&mut Place { call, row, random }, out),
            (None, Some(row)) => row.append_whole(out),
            (None, None) => {}
        }
        Ok(())
    }

    /// Where the row of the last text stands in its file, for messages: `, line 7`. Empty where there
    /// are no rows.
    pub fn place(&self) -> String {
        self.reader
            .as_ref()
            .map_or_else(String::new, |reader| format!(", line {}", reader.line()))
    }
}
