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
    /// Further texts of each call, such as values of header fields.
    fields: Vec<Template>,
    rows: Option<Rows>,
    order: Order,
    seed: u64,
}

impl Data {
    /// Calls without a text of their own; [`Data::with_field`] adds further texts.
    pub fn without_text(seed: u64) -> Self {
        Self {
            template: None,
            fields: Vec::new(),
            rows: None,
            order: Order::InTurn,
            seed,
        }
    }

    /// Adds a further text for each call, from a template and the call's row.
    ///
    /// # Errors
    /// See [`Data::new`].
    pub fn with_field(mut self, template: &str) -> Result<Self, DataError> {
        let columns = self.rows.as_ref().map(Rows::columns).unwrap_or_default();
        let template = Template::parse(template, Form::Plain, &columns)?;
        if let Some(rows) = &self.rows {
            rows.check_columns(&template.columns().collect::<Vec<_>>())?;
        }
        self.fields.push(template);
        Ok(self)
    }

    /// Whether calls have a text, besides those of [`Data::with_field`].
    pub fn has_text(&self) -> bool {
        self.template.is_some() || self.rows.is_some()
    }

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
            fields: Vec::new(),
            rows,
            order,
            seed,
        })
    }

    /// The number of distinct texts; `None` if every call may have its own text, or if the rows come from a
    /// file that is too large for memory.
    pub fn distinct(&self) -> Option<u64> {
        let differs = self.templates().any(Template::differs);
        let of_rows =
            self.template.is_none() || self.templates().any(|one| one.columns().next().is_some());
        let rows = match &self.rows {
            Some(rows) if of_rows => rows.in_memory_count()?,
            _ => 1,
        };
        let drawn = rows > 1 && self.order == Order::Random;
        (!differs && !drawn).then_some(rows)
    }

    /// The number of rows; `None` without rows, if they are drawn at random, or if they come from a file that is too large
    /// for memory.
    pub fn rows(&self) -> Option<u64> {
        let rows = self.rows.as_ref().filter(|_| self.order == Order::InTurn);
        rows?.in_memory_count()
    }

    fn templates(&self) -> impl Iterator<Item = &Template> {
        self.template.iter().chain(&self.fields)
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
            fields: vec![String::new(); self.fields.len()],
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
    /// The further texts of the last call.
    fields: Vec<String>,
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
            reader.check(&taken, data.templates().flat_map(Template::columns))?;
            row = Some(taken);
        }
        let row = row.as_ref();
        let mut place = Place { call, row, random };
        match (&data.template, row) {
            (Some(template), _) => template.fill(&mut place, out),
            (None, Some(row)) => row.append_whole(out),
            (None, None) => {}
        }
        for (template, text) in data.fields.iter().zip(&mut self.fields) {
            text.clear();
            template.fill(&mut place, text);
        }
        Ok(())
    }

    /// The further texts of the last call, in the order of [`Data::with_field`].
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// The place of the last text's row in its file, for messages: `, line 7`. Empty if there are no rows.
    pub fn place(&self) -> String {
        self.reader
            .as_ref()
            .map_or_else(String::new, |reader| format!(", line {}", reader.line()))
    }
}
