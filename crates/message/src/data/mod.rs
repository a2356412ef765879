//! The text of each call: a template, rows of a file, or both.
//!
//! A call's text is a message in JSON or a body that is sent unchanged. It depends only on the call's number
//! and the seed, so a run can be repeated, and texts can be generated in any order on any thread. There is one
//! exception: with [`Order::InTurn`] and a file too large for memory, rows are used in the order in which texts
//! are generated, whatever the call numbers.

mod bounded;
mod error;
mod index;
mod reader;
mod row;
mod rows;
mod template;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use error::DataError;
pub use reader::RowFormat;
pub use rows::Rows;

use self::reader::RowReader;
use self::template::{Place, Template};

/// The format of a text, which decides how values are inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// JSON: values are escaped inside a string, and inserted unchanged elsewhere.
    Json,
    /// Any other format: values are inserted unchanged.
    Plain,
}

/// The order in which calls use the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// From first to last, then from the first again.
    InTurn,
    /// Each call uses a random row; all rows are equally likely.
    Random,
}

/// The texts of all calls.
#[derive(Debug, Clone)]
pub struct Data {
    template: Option<Template>,
    rows: Option<Rows>,
    order: Order,
    seed: u64,
}

impl Data {
    /// Combines a template and rows. Without a template, each row is a text: a JSON line is used unchanged, and
    /// a CSV line becomes an object with a string for each column.
    ///
    /// # Errors
    /// If a placeholder is unclosed or unknown, a row lacks a column, there is neither a template nor a row, or
    /// a file whose rows are drawn at random cannot be read to its end.
    pub fn new(
        template: Option<&str>,
        rows: Option<Rows>,
        form: Form,
        order: Order,
        seed: u64,
    ) -> Result<Self, DataError> {
        match &rows {
            Some(rows) if rows.in_memory_count() == Some(0) => return Err(DataError::NoRows),
            None if template.is_none() => return Err(DataError::NoRows),
            _ => {}
        }
        let columns = rows.as_ref().map(Rows::columns).unwrap_or_default();
        let template = template.map(|text| Template::parse(text, form, &columns));
        let template = template.transpose()?;
        if let (Some(template), Some(rows)) = (&template, &rows) {
            rows.check_columns(&template.columns().collect::<Vec<_>>())?;
        }
        let rows = match rows {
            Some(rows) if order == Order::Random && rows.in_memory_count().is_none() => {
                Some(rows.indexed()?)
            }
            rows => rows,
        };
        Ok(Self {
            template,
            rows,
            order,
            seed,
        })
    }

    /// The number of distinct texts; `None` if every call may have its own text, or if the rows come from a
    /// file that is too large for memory.
    pub fn distinct(&self) -> Option<u64> {
        let differs = self.template.as_ref().is_some_and(Template::differs);
        let of_rows = match &self.template {
            Some(template) => template.columns().next().is_some(),
            None => true,
        };
        let rows = match &self.rows {
            Some(rows) if of_rows => rows.in_memory_count()?,
            _ => 1,
        };
        let drawn = rows > 1 && self.order == Order::Random;
        (!differs && !drawn).then_some(rows)
    }

    /// A hint to append to the error for a text that is not a valid message: names a placeholder that lacks
    /// quotes. Empty if every placeholder has quotes.
    pub fn unquoted(&self) -> String {
        let template = self.template.as_ref();
        match template.map_or(&[][..], |template| &template.unquoted) {
            [] => String::new(),
            [first, ..] => {
                format!("; {first} has no quotes around it: for text write \"{first}\"")
            }
        }
    }

    /// Returns a writer of texts. For rows in a file, it starts at the first row.
    pub fn writer(self: &Arc<Self>) -> Result<Writer, DataError> {
        Ok(Writer {
            data: Arc::clone(self),
            reader: self.rows.as_ref().map(Rows::reader).transpose()?,
        })
    }

    /// The random generator for one call. Its seed is far from the seeds of neighboring calls.
    fn random(&self, call: u64) -> fastrand::Rng {
        /// 2^64 divided by the golden ratio, made odd: its multiples stay far apart.
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        fastrand::Rng::with_seed(self.seed ^ call.wrapping_add(1).wrapping_mul(STEP))
    }
}

/// Writes texts. Contains the state for reading rows.
#[derive(Debug)]
pub struct Writer {
    data: Arc<Data>,
    /// `None` if there are no rows.
    reader: Option<RowReader>,
}

impl Writer {
    /// Appends the text of call number `call`, from 0, to `out`.
    ///
    /// # Errors
    /// If a row of a file cannot be read; the error includes its line. The next text uses another row.
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

    /// The place of the last text's row in its file, for messages: `, line 7`. Empty if there are no rows.
    pub fn place(&self) -> String {
        self.reader
            .as_ref()
            .map_or_else(String::new, |reader| format!(", line {}", reader.line()))
    }
}
