//! Reads TOML with serde. An error reports its position, its key and the nearest known name.

mod forms;
mod node;
mod refusal;

use std::ops::Range;

use rpcgauge_message::nearest::Nearest;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(crate) use self::forms::{
    Line, OneOrMore, PathText, Size, Time, filled, of, one_or_more, place, value,
};
use self::node::Node;
use self::refusal::{Refusal, Why};
use crate::error::{Source, StudyError};

/// A table that is being read. Each key is taken once; keys that are left over are refused.
pub(crate) struct Table<'a> {
    pub(crate) source: &'a Source,
    /// The keys that lead here, as in `groups.base`; empty for the file's top-level table.
    path: String,
    pub(crate) span: Range<usize>,
    entries: DeTable<'a>,
    /// The keys that callers have asked for.
    known: Vec<&'static str>,
    /// Returns a hint about where a key that is unknown here belongs.
    elsewhere: fn(&str) -> Option<&'static str>,
}

/// A key with its value.
pub(crate) type Entry<'a> = (Spanned<String>, Spanned<DeValue<'a>>);

/// A table without keys: deserializing it refuses any keys that are left.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl<'a> Table<'a> {
    /// A file's top-level table.
    pub(crate) fn root(source: &'a Source) -> Result<Self, StudyError> {
        let table = DeTable::parse(&source.text).map_err(|error| {
            let place = error.span().unwrap_or(0..0);
            source.error(place, error.message())
        })?;
        Ok(Self {
            source,
            path: String::new(),
            span: table.span(),
            entries: table.into_inner(),
            known: Vec::new(),
            elsewhere: |_| None,
        })
    }

    /// The same table, with hints about where unknown keys belong.
    pub(crate) fn hinting(self, elsewhere: fn(&str) -> Option<&'static str>) -> Self {
        Self { elsewhere, ..self }
    }

    /// An error at the table's own position, which names the table.
    pub(crate) fn error(&self, message: &str) -> StudyError {
        let message = format!("{} {message}", titled(&self.path));
        self.source.error(self.span.clone(), message)
    }

    /// The position of the value of a key that has not been taken yet.
    pub(crate) fn place(&self, key: &str) -> Option<Range<usize>> {
        self.entries.get(key).map(Spanned::span)
    }

    /// Takes the value of a key.
    pub(crate) fn take<T: Deserialize<'a>>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<T>, StudyError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let place = value.span();
        match T::deserialize(Node::from(value)) {
            Ok(read) => Ok(Some(read)),
            Err(refusal) => Err(self.refused(key, place, refusal)),
        }
    }

    /// Takes the value of a required key.
    pub(crate) fn need<T: Deserialize<'a>>(&mut self, key: &'static str) -> Result<T, StudyError> {
        match self.take(key)? {
            Some(value) => Ok(value),
            None => Err(self.error(&needs(&self.path, key))),
        }
    }

    fn value(&mut self, key: &'static str) -> Option<Spanned<DeValue<'a>>> {
        self.known.push(key);
        self.entries.remove(key)
    }

    /// The table under a key.
    pub(crate) fn table(&mut self, key: &'static str) -> Result<Option<Self>, StudyError> {
        let value = self.value(key);
        value.map(|value| self.inner(key, value)).transpose()
    }

    /// The table under a key. A value that is not a table is read as a table with that value under the key `alone`.
    pub(crate) fn table_or(
        &mut self,
        key: &'static str,
        alone: &'static str,
    ) -> Result<Option<Self>, StudyError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        if value.get_ref().is_table() {
            return self.inner(key, value).map(Some);
        }
        let mut table = DeTable::new();
        let span = value.span();
        table.insert(Spanned::new(span.clone(), alone.into()), value);
        let table = Spanned::new(span, DeValue::Table(table));
        self.inner(key, table).map(Some)
    }

    /// The tables of `[[key]]`; empty if the key is missing.
    pub(crate) fn tables(&mut self, key: &'static str) -> Result<Vec<Self>, StudyError> {
        let Some(value) = self.value(key) else {
            return Ok(Vec::new());
        };
        let place = value.span();
        let DeValue::Array(items) = value.into_inner() else {
            let message = format!("\"{key}\" must be tables, each under [[{key}]]");
            return Err(self.source.error(place, message));
        };
        let tables = items.into_iter().map(|item| self.inner(key, item));
        tables.collect()
    }

    fn inner(&self, key: &str, value: Spanned<DeValue<'a>>) -> Result<Self, StudyError> {
        Self::of(self.source, &joined(&[&self.path, key]), value)
    }

    /// The table in a value. `path` is the dotted key that leads to it.
    pub(crate) fn of(
        source: &'a Source,
        path: &str,
        value: Spanned<DeValue<'a>>,
    ) -> Result<Self, StudyError> {
        let span = value.span();
        let DeValue::Table(entries) = value.into_inner() else {
            let key = path.rsplit('.').next().unwrap_or_default();
            let message = format!("\"{key}\" must be a table");
            return Err(source.error(span, message));
        };
        Ok(Self {
            source,
            path: path.to_owned(),
            span,
            entries,
            known: Vec::new(),
            elsewhere: |_| None,
        })
    }

    /// Reads all keys that have not been taken yet, as one value.
    pub(crate) fn rest<T: Deserialize<'a>>(mut self) -> Result<T, StudyError> {
        let entries = std::mem::take(&mut self.entries);
        let table = Spanned::new(self.span.clone(), DeValue::Table(entries));
        T::deserialize(Node::from(table))
            .map_err(|refusal| self.refused("", self.span.clone(), refusal))
    }

    /// Refuses any keys that have not been taken.
    pub(crate) fn end(self) -> Result<(), StudyError> {
        self.rest::<Nothing>().map(|_| ())
    }

    /// Takes all remaining keys, in file order, and also returns the table without them.
    pub(crate) fn entries(mut self) -> (Self, Vec<Entry<'a>>) {
        let entries = std::mem::take(&mut self.entries).into_iter();
        let owned = |key: Spanned<_>| Spanned::new(key.span(), String::from(key.into_inner()));
        let mut entries: Vec<_> = entries.map(|(key, value)| (owned(key), value)).collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        (self, entries)
    }

    /// The error for a key that is neither known to this table nor one of `more`.
    pub(crate) fn unknown(&self, key: &Spanned<String>, more: &[&'static str]) -> StudyError {
        let known = [&self.known, more].concat();
        let message = self.no_key(&self.path, key.get_ref(), &known);
        self.source.error(key.span(), message)
    }

    fn no_key(&self, path: &str, name: &str, known: &[&str]) -> String {
        let elsewhere = (self.elsewhere)(name).filter(|_| path == self.path);
        let hint = match elsewhere {
            Some(place) => format!("; {place}"),
            None => Nearest::or_known(name, known.iter().copied()).to_string(),
        };
        format!("{} has no key \"{name}\"{hint}", titled(path))
    }

    /// Turns a refusal within the value of `key`, which is at `place`, into an error.
    fn refused(&self, key: &str, place: Range<usize>, refusal: Refusal) -> StudyError {
        let place = refusal.span.unwrap_or(place);
        let path = joined(&[&self.path, key, &refusal.path.join(".")]);
        let message = match refusal.why {
            Why::UnknownKey { name, known } => {
                let mut known = known.to_vec();
                if path == self.path {
                    known.extend(&self.known);
                }
                self.no_key(&path, &name, &known)
            }
            Why::UnknownWord { name, known } => {
                let hint = Nearest::or_known(&name, known.iter().copied());
                format!("unknown value \"{name}\"{hint}")
            }
            Why::MissingKey(name) => format!("{} {}", titled(&path), needs(&path, name)),
            Why::Kind { wanted, found } => {
                let key = path.rsplit('.').next().unwrap_or_default();
                let [wanted, found] = [&wanted, &found].map(|kind| kind.in_words("a table"));
                format!("\"{key}\" must be {wanted}, not {found}")
            }
            Why::Other(message) => message,
        };
        self.source.error(place, message)
    }
}

/// Returns why JSON is not a valid `T`; `None` if it is one.
pub(crate) fn refusal_of_json<T: DeserializeOwned>(value: serde_json::Value) -> Option<Refusal> {
    T::deserialize(Node::from(value)).err()
}

fn joined(keys: &[&str]) -> String {
    let keys: Vec<&str> = keys.iter().copied().filter(|key| !key.is_empty()).collect();
    keys.join(".")
}

/// What a table is called in a sentence.
fn titled(path: &str) -> String {
    match path {
        "" => "the file".to_owned(),
        path => format!("[{path}]"),
    }
}

/// What to write for a missing key, by the end of its path.
const EXAMPLES: [(&str, &str); 24] = [
    ("settings.values", "values = [\"rest\", \"grpc\"]"),
    ("entry.service", "service = \"gateway\", a service's name"),
    (
        "entry.port",
        "port = \"http\", the name of one of that service's ports",
    ),
    (".locustfile", "locustfile = \"locustfile.py\""),
    ("checks.path", "path = \"/health\""),
    ("metrics.service", "service = \"gateway\", a service's name"),
    (
        "metrics.metric",
        "metric = \"http_server_requests_seconds\", without _sum and _count",
    ),
    ("variants.name", "name = \"grpc-gzip\""),
    ("groups.name", "name = \"small-messages\""),
    ("published.of", "of = 1.5"),
    ("published.against", "against = 3.0"),
    (".unit", "unit = \"ms\""),
    (".of", "of = \"grpc\", a variant's name"),
    (".against", "against = \"rest-json\", a variant's name"),
    (".source", "source = \"title, year\""),
    (".says", "says = \"what was published\""),
    (".metric", "metric = \"latency-mean\""),
    (
        ".published",
        "published = { of = 1.5, against = 3.0, unit = \"ms\" }",
    ),
    (".method", "method = \"package.Service/Method\""),
    (".request", "request = \"request.json\""),
    (".response", "response = \"response.json\""),
    (".language", "language = \"Python\""),
    (".run", "run = [\"python3\", \"main.py\"]"),
    (".install", "install = \"apt install python3\""),
];

fn needs(path: &str, key: &str) -> String {
    let whole = format!("{path}.{key}");
    let example = EXAMPLES.iter().find(|(end, _)| whole.ends_with(end));
    let example = example.map_or(String::new(), |(_, text)| format!("; write {text}"));
    format!("needs the key \"{key}\"{example}")
}
