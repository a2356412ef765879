//! Settings as written in a study, in the form that `[base]`, `[factors]`, `[[variants]]` and `[[exclude]]` share, and
//! layers of settings.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use crate::error::{Source, StudyError};
use crate::link;
use crate::read::Table;
use crate::setting::{Key, SETTINGS, Setting, Value};

/// The settings in one table, each with its position.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Layer(pub(crate) BTreeMap<Key, Spanned<Value>>);

/// Several values for each setting.
pub(crate) type Values = BTreeMap<Key, Vec<Spanned<Value>>>;

/// Combinations to leave out. A combination matches if it has one of the listed values for every key.
pub(crate) type Exclude = Spanned<Values>;

/// Reads the remaining entries of a table, which must all be settings.
fn settings<'a>(
    table: Table<'a>,
) -> Result<Vec<(&'static Setting, Spanned<DeValue<'a>>)>, StudyError> {
    let (table, entries) = table.entries();
    let words = SETTINGS.each_ref().map(|row| row.name);
    let known = |(name, value): (Spanned<String>, _)| match Key::from_name(name.get_ref()) {
        Some(key) => Ok((key.row(), value)),
        None => Err(table.unknown(&name, &words)),
    };
    entries.into_iter().map(known).collect()
}

fn read(
    source: &Source,
    setting: &Setting,
    value: &Spanned<DeValue<'_>>,
) -> Result<Spanned<Value>, StudyError> {
    if setting.key == Key::Link && value.get_ref().is_table() {
        let link = link::from_table(source, value)?;
        return Ok(Spanned::new(value.span(), Value::Link(Some(link))));
    }
    match setting.read(value.get_ref()) {
        Ok(read) => Ok(Spanned::new(value.span(), read)),
        Err(message) => Err(source.error(value.span(), message)),
    }
}

/// Reads a non-empty list. With `alone`, also accepts a single value that is not in a list.
fn read_several(
    source: &Source,
    setting: &Setting,
    value: &Spanned<DeValue<'_>>,
    alone: bool,
) -> Result<Vec<Spanned<Value>>, StudyError> {
    let wrong = |what| {
        let message = format!("\"{}\" {what}", setting.name);
        Err(source.error(value.span(), message))
    };
    match value.get_ref() {
        DeValue::Array(items) if items.is_empty() => wrong("is an empty list"),
        DeValue::Array(items) => items
            .iter()
            .map(|item| read(source, setting, item))
            .collect(),
        _ if alone => read(source, setting, value).map(|value| vec![value]),
        _ => wrong("must be a list"),
    }
}

/// Refuses settings that conflict with each other; the error points at the later one.
fn refuse_contradictions(
    source: &Source,
    place: impl Fn(Key) -> Option<Range<usize>>,
) -> Result<(), StudyError> {
    for row in &SETTINGS {
        for (other, why) in row.conflicts_with {
            if let (Some(one), Some(other)) = (place(row.key), place(*other)) {
                let later = if one.start > other.start { one } else { other };
                return Err(source.error(later, *why));
            }
        }
    }
    Ok(())
}

pub(super) fn factors(table: Table<'_>) -> Result<Values, StudyError> {
    let source = table.source;
    let mut factors = Values::new();
    for (setting, value) in settings(table)? {
        let values = read_several(source, setting, &value, false)?;
        let twice = (1..values.len()).find(|at| values[..*at].contains(&values[*at]));
        if let Some(value) = twice.map(|at| &values[at]) {
            let message = format!("duplicate value {} in this list", value.get_ref());
            return Err(source.error(value.span(), message));
        }
        factors.insert(setting.key, values);
    }
    refuse_contradictions(source, |key| Some(factors.get(&key)?.first()?.span()))?;
    Ok(factors)
}

pub(super) fn exclude(table: Table<'_>) -> Result<Exclude, StudyError> {
    let (source, span) = (table.source, table.span.clone());
    let mut values = Values::new();
    for (setting, value) in settings(table)? {
        values.insert(setting.key, read_several(source, setting, &value, true)?);
    }
    if values.is_empty() {
        let message = "this [[exclude]] has no setting, so it would exclude everything";
        return Err(source.error(span, message));
    }
    Ok(Spanned::new(span, values))
}

impl Layer {
    /// Reads the settings of a table whose other keys have already been taken.
    pub(super) fn read(table: Table<'_>) -> Result<Self, StudyError> {
        let source = table.source;
        let mut layer = BTreeMap::new();
        for (setting, value) in settings(table)? {
            layer.insert(setting.key, read(source, setting, &value)?);
        }
        refuse_contradictions(source, |key| layer.get(&key).map(Spanned::span))?;
        Ok(Self(layer))
    }

    /// Lays `over` on top of this layer. Each setting of `over` also removes the settings here that it overrides.
    pub(crate) fn overlay(&mut self, over: &Self) {
        for key in over.0.keys() {
            let out = key.row().overrides;
            self.0.retain(|other, _| !out.contains(other));
        }
        let directions = [Key::RequestCompression, Key::ResponseCompression];
        if directions.iter().any(|key| over.0.contains_key(key))
            && let Some(both) = self.0.remove(&Key::Compression)
        {
            self.0.extend(directions.map(|key| (key, both.clone())));
        }
        let over = over.0.iter().map(|(key, value)| (*key, value.clone()));
        self.0.extend(over);
    }

    pub(crate) fn get(&self, key: Key) -> Option<&Value> {
        self.0.get(&key).map(Spanned::get_ref)
    }

    pub(crate) fn span(&self, key: Key) -> Option<Range<usize>> {
        self.0.get(&key).map(Spanned::span)
    }

    /// A size or another count, with its position.
    pub(crate) fn count(&self, key: Key) -> Option<Spanned<u32>> {
        let value = self.0.get(&key)?;
        match value.get_ref() {
            Value::Whole(number) => Some(Spanned::new(value.span(), u32::try_from(*number).ok()?)),
            _ => None,
        }
    }
}
