//! Reading TOML values with their places: every error knows its line and column.

use std::ops::Range;

use rpcgauge_message::nearest::Nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Source, StudyError};
use crate::words::{Word, parse_time_ms};

type Value<'i> = Spanned<DeValue<'i>>;

/// A table of the file under reading.
#[derive(Clone)]
pub(crate) struct Table<'a> {
    pub(crate) source: &'a Source,
    /// What it is called in a sentence: `[workload]`.
    what: &'a str,
    entries: &'a DeTable<'a>,
    span: Range<usize>,
}

/// A file of TOML, its values with their places.
///
/// # Errors
/// It is no TOML.
pub(crate) fn document(source: &Source) -> Result<Spanned<DeTable<'_>>, StudyError> {
    DeTable::parse(&source.text).map_err(|error| {
        let place = error.span().unwrap_or(0..0);
        source.error(place, error.message().to_owned())
    })
}

/// One value of a table, with what is needed to say what is wrong with it.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) source: &'a Source,
    pub(crate) key: &'a str,
    value: &'a Value<'a>,
}

impl<'a> Table<'a> {
    /// A file's own table, called `what` in a sentence.
    pub(crate) fn root(
        source: &'a Source,
        what: &'a str,
        document: &'a Spanned<DeTable<'a>>,
    ) -> Self {
        Self {
            source,
            what,
            entries: document.get_ref(),
            span: document.span(),
        }
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> StudyError {
        self.source.error(self.span.clone(), message)
    }

    pub(crate) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Refuses the first key, in the file's order, that is not in `known`. `elsewhere` may say
    /// where a key belongs instead.
    pub(crate) fn known(
        &self,
        known: &[&str],
        elsewhere: impl Fn(&str) -> Option<String>,
    ) -> Result<(), StudyError> {
        let unknown = self
            .entries
            .iter()
            .filter(|(key, _)| !known.contains(&key.get_ref().as_ref()))
            .min_by_key(|(key, _)| key.span().start);
        let Some((key, _)) = unknown else {
            return Ok(());
        };
        let name = key.get_ref().as_ref();
        let hint = elsewhere(name).map_or_else(
            || Nearest::or_known(name, known.iter().copied()).to_string(),
            |place| format!("; {place}"),
        );
        Err(self.source.error(
            key.span(),
            format!("{} has no key \"{name}\"{hint}", self.what),
        ))
    }

    pub(crate) fn get(&self, key: &str) -> Option<Entry<'a>> {
        let (key, value) = self.entries.get_key_value(key)?;
        Some(Entry {
            source: self.source,
            key: key.get_ref().as_ref(),
            value,
        })
    }

    pub(crate) fn need(&self, key: &str, example: &str) -> Result<Entry<'a>, StudyError> {
        self.get(key).ok_or_else(|| {
            self.error(format!(
                "{} needs the key \"{key}\"; write {example}",
                self.what
            ))
        })
    }

    pub(crate) fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(Entry<'a>) -> Result<T, StudyError>,
    ) -> Result<Option<T>, StudyError> {
        self.get(key).map(read).transpose()
    }

    /// The tables of `[[what]]`; none where there is no such key.
    pub(crate) fn all<T>(
        &self,
        key: &str,
        what: &'a str,
        read: impl Fn(&Table<'a>) -> Result<T, StudyError>,
    ) -> Result<Vec<T>, StudyError> {
        let Some(entry) = self.get(key) else {
            return Ok(Vec::new());
        };
        entry.tables(what)?.iter().map(read).collect()
    }

    /// All entries in the file's order.
    pub(crate) fn entries(&self) -> Vec<(Spanned<&'a str>, Entry<'a>)> {
        let source = self.source;
        let mut all: Vec<_> = self
            .entries
            .iter()
            .map(|(key, value)| {
                let name: &'a str = key.get_ref().as_ref();
                (
                    Spanned::new(key.span(), name),
                    Entry {
                        source,
                        key: name,
                        value,
                    },
                )
            })
            .collect();
        all.sort_by_key(|(key, _)| key.span().start);
        all
    }
}

impl<'a> Entry<'a> {
    pub(crate) fn span(&self) -> Range<usize> {
        self.value.span()
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> StudyError {
        self.source.error(self.span(), message)
    }

    fn wrong_type(&self, wanted: &str) -> StudyError {
        let found = match self.value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a number with a point",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.error(format!("\"{}\" must be {wanted}, not {found}", self.key))
    }

    fn at<T>(&self, value: T) -> Spanned<T> {
        Spanned::new(self.span(), value)
    }

    pub(crate) fn string(self) -> Result<Spanned<String>, StudyError> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(self.at(text.to_string())),
            _ => Err(self.wrong_type("a string")),
        }
    }

    /// A string that is not blank and holds no control characters, for one line of output.
    pub(crate) fn line(self) -> Result<Spanned<String>, StudyError> {
        let text = self.string()?;
        if text.get_ref().trim().is_empty() {
            return Err(self.error(format!("\"{}\" is empty", self.key)));
        }
        if text.get_ref().chars().any(char::is_control) {
            return Err(self.error(format!("\"{}\" must be one line without tabs", self.key)));
        }
        Ok(text)
    }

    pub(crate) fn boolean(self) -> Result<Spanned<bool>, StudyError> {
        match self.value.get_ref() {
            DeValue::Boolean(value) => Ok(self.at(*value)),
            _ => Err(self.wrong_type("true or false")),
        }
    }

    /// A whole number within the bounds, both included.
    pub(crate) fn integer(self, low: u64, high: u64) -> Result<Spanned<u64>, StudyError> {
        let DeValue::Integer(number) = self.value.get_ref() else {
            return Err(self.wrong_type("a whole number"));
        };
        let is_below = match u64::from_str_radix(number.as_str(), number.radix()) {
            Ok(value) if (low..=high).contains(&value) => return Ok(self.at(value)),
            Ok(value) => value < low,
            Err(_) => number.as_str().starts_with('-'),
        };
        // Of a count's bounds only the one that is broken is worth telling.
        let bounds = match low == 1 && high >= u64::from(u32::MAX) {
            true if is_below => "at least 1".to_owned(),
            true => format!("at most {high}"),
            false => format!("from {low} to {high}"),
        };
        Err(self.error(format!("\"{}\" must be {bounds}, not {number}", self.key)))
    }

    /// A count of at least one.
    pub(crate) fn count(self) -> Result<Spanned<u32>, StudyError> {
        let value = self.integer(1, u64::from(u32::MAX))?;
        Ok(Spanned::new(value.span(), *value.get_ref() as u32))
    }

    /// A finite number, written with or without a point.
    pub(crate) fn number(self) -> Result<Spanned<f64>, StudyError> {
        let value = match self.value.get_ref() {
            DeValue::Float(number) => number.as_str().parse().ok(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok(),
            _ => return Err(self.wrong_type("a number")),
        };
        match value {
            Some(value) if f64::is_finite(value) => Ok(self.at(value)),
            _ => Err(self.error(format!("\"{}\" must be a finite number", self.key))),
        }
    }

    pub(crate) fn positive(self) -> Result<Spanned<f64>, StudyError> {
        let number = self.number()?;
        if *number.get_ref() > 0.0 {
            Ok(number)
        } else {
            Err(self.error(format!("\"{}\" must be more than 0", self.key)))
        }
    }

    /// A time such as `150ms`, in milliseconds.
    pub(crate) fn time_ms(self) -> Result<Spanned<u64>, StudyError> {
        match self.value.get_ref() {
            DeValue::String(text) => parse_time_ms(text)
                .map(|ms| self.at(ms))
                .map_err(|problem| self.error(problem)),
            _ => Err(self.wrong_type("a time with its unit, such as \"150ms\"")),
        }
    }

    /// One word of a closed set.
    pub(crate) fn word<T: Word>(self) -> Result<Spanned<T>, StudyError> {
        let DeValue::String(word) = self.value.get_ref() else {
            let words: Vec<String> = T::WORDS
                .iter()
                .map(|(word, _)| format!("\"{word}\""))
                .collect();
            return Err(self.wrong_type(&format!("one of {}", words.join(", "))));
        };
        T::from_word(word)
            .map(|value| self.at(value))
            .ok_or_else(|| {
                let hint = Nearest::or_known(word, T::WORDS.iter().map(|(known, _)| *known));
                self.error(format!("unknown {} \"{word}\"{hint}", T::WHAT))
            })
    }

    /// The elements of a list that is not empty.
    pub(crate) fn list(self) -> Result<Vec<Self>, StudyError> {
        match self.value.get_ref() {
            DeValue::Array(items) if items.is_empty() => {
                Err(self.error(format!("\"{}\" is an empty list", self.key)))
            }
            DeValue::Array(items) => Ok(items.iter().map(|value| Self { value, ..self }).collect()),
            _ => Err(self.wrong_type("a list")),
        }
    }

    /// One value alone or a list that is not empty.
    pub(crate) fn one_or_more(self) -> Result<Vec<Self>, StudyError> {
        match self.value.get_ref() {
            DeValue::Array(_) => self.list(),
            _ => Ok(vec![self]),
        }
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Table(_))
    }

    pub(crate) fn table(self, what: &'a str) -> Result<Table<'a>, StudyError> {
        match self.value.get_ref() {
            DeValue::Table(entries) => Ok(Table {
                source: self.source,
                what,
                entries,
                span: self.span(),
            }),
            _ => Err(self.wrong_type("a table")),
        }
    }

    /// The tables of `[[what]]`.
    pub(crate) fn tables(self, what: &'a str) -> Result<Vec<Table<'a>>, StudyError> {
        match self.value.get_ref() {
            DeValue::Array(items) => items
                .iter()
                .map(|value| Self { value, ..self }.table(what))
                .collect(),
            _ => Err(self.wrong_type(&format!("tables, each under {what}"))),
        }
    }
}
