//! The texts of many calls: a template, rows of a file, or both.
//!
//! A call's text is a message in JSON or a body as it is sent. What it holds follows from the
//! call's number and the seed alone, so that a run can be repeated, and so that texts can be made
//! in any order and on any thread.

mod error;
mod rows;
mod template;

#[cfg(test)]
mod tests;

pub use error::DataError;
pub use rows::Rows;

use self::template::{Place, Template};

/// What a text is, which decides how values are put into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// JSON: a value inside a string is escaped, a value outside of one stands as it is.
    Json,
    /// Anything else: every value stands as it is.
    Plain,
}

/// In which order calls take the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// From the first to the last, then from the first again.
    InTurn,
    /// Each call any row, all as likely.
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
    /// Puts a template and rows together. Without a template each row is a text: a line of JSON as
    /// it stands, a line of CSV as an object with a string for each column.
    ///
    /// # Errors
    /// A placeholder that is not closed or not known, a column that a row lacks, or neither a
    /// template nor a row.
    pub fn new(
        template: Option<&str>,
        rows: Option<Rows>,
        form: Form,
        order: Order,
        seed: u64,
    ) -> Result<Self, DataError> {
        if rows.as_ref().is_some_and(Rows::is_empty) {
            return Err(DataError::NoRows);
        }
        let columns = rows.as_ref().map(Rows::columns).unwrap_or_default();
        let template = match template {
            Some(text) => Some(Template::parse(text, form, &columns)?),
            None if rows.is_none() => return Err(DataError::NoRows),
            None => None,
        };
        if let (Some(template), Some(rows)) = (&template, &rows) {
            for column in template.columns() {
                rows.check_column(column)?;
            }
        }
        Ok(Self {
            template,
            rows,
            order,
            seed,
        })
    }

    /// How many texts there are before they come again; `None` where every call may have a text of
    /// its own.
    pub fn distinct(&self) -> Option<u64> {
        let differs = self.template.as_ref().is_some_and(Template::differs);
        let rows = match (&self.rows, &self.template) {
            (Some(rows), None) => rows.len(),
            (Some(rows), Some(template)) if template.columns().next().is_some() => rows.len(),
            _ => 1,
        };
        let drawn = rows > 1 && self.order == Order::Random;
        (!differs && !drawn).then_some(rows)
    }

    /// Appends the text of the `call`-th call, from 0, to `out`.
    pub fn text(&self, call: u64, out: &mut String) {
        let mut random = self.random(call);
        let row = self.rows.as_ref().map(|rows| {
            let index = match self.order {
                Order::InTurn => call % rows.len(),
                Order::Random => random.u64(..rows.len()),
            };
            (rows, index)
        });
        match (&self.template, row) {
            (Some(template), row) => template.fill(&mut Place { call, row, random }, out),
            (None, Some((rows, index))) => rows.whole(index, out),
            (None, None) => {}
        }
    }

    /// Where the `call`-th call's row stands in its file, for messages: `, line 7`. Empty where there
    /// are no rows.
    pub fn place(&self, call: u64) -> String {
        let Some(rows) = &self.rows else {
            return String::new();
        };
        let index = match self.order {
            Order::InTurn => call % rows.len(),
            Order::Random => self.random(call).u64(..rows.len()),
        };
        format!(", line {}", rows.line(index))
    }

    /// What is drawn for one call. Neighbouring calls are far apart in the seed's space.
    fn random(&self, call: u64) -> fastrand::Rng {
        /// 2^64 over the golden ratio, odd: multiples of it never come near each other.
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        fastrand::Rng::with_seed(self.seed ^ call.wrapping_add(1).wrapping_mul(STEP))
    }
}
