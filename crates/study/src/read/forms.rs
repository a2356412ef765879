//! The forms of values: texts, times, sizes and lists, each with its own checks.

use std::ops::Range;

use serde::Deserialize;
use serde::de::{
    Deserializer, Error as _, IntoDeserializer, Visitor, value::SeqAccessDeserializer,
};
use toml::Spanned;

use crate::words::{parse_size, parse_time_ms};

/// A text that is not blank. With `OF_ONE_LINE`, it contains no control characters.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Text<const OF_ONE_LINE: bool>(pub(crate) String);

pub(crate) type Line = Text<true>;
pub(crate) type PathText = Text<false>;

impl<const OF_ONE_LINE: bool> TryFrom<String> for Text<OF_ONE_LINE> {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.trim().is_empty() {
            return Err("this is empty");
        }
        if OF_ONE_LINE && text.contains(char::is_control) {
            Err("this must be one line without tabs")
        } else {
            Ok(Self(text))
        }
    }
}

impl<const OF_ONE_LINE: bool> std::ops::Deref for Text<OF_ONE_LINE> {
    type Target = String;

    fn deref(&self) -> &String {
        &self.0
    }
}

/// A time such as `150ms`, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Time(pub(crate) u64);

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        parse_time_ms(&text).map(Self)
    }
}

/// A size such as `256MiB`, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Size(pub(crate) u64);

impl TryFrom<String> for Size {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        parse_size(&text).map(Self)
    }
}

impl From<Size> for Option<u64> {
    fn from(Size(bytes): Size) -> Self {
        Some(bytes)
    }
}

impl From<Line> for String {
    fn from(line: Line) -> Self {
        line.0
    }
}

impl From<Time> for u64 {
    fn from(Time(ms): Time) -> Self {
        ms
    }
}

/// The position of a written value.
pub(crate) fn place<T>(written: &Option<Spanned<T>>) -> Option<Range<usize>> {
    written.as_ref().map(Spanned::span)
}

/// A written value without its position.
pub(crate) fn value<T: Clone>(written: &Option<Spanned<T>>) -> Option<T> {
    written.as_ref().map(|value| value.get_ref().clone())
}

/// Reads a value as a `T`, and converts it.
pub(crate) fn of<'de, D, T, U>(deserializer: D) -> Result<U, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Into<U>,
{
    T::deserialize(deserializer).map(Into::into)
}

/// Reads a non-empty list.
pub(crate) fn filled<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let list = Vec::deserialize(deserializer)?;
    if list.is_empty() {
        Err(D::Error::custom("this list is empty"))
    } else {
        Ok(list)
    }
}

/// Reads one string or a non-empty list.
pub(crate) fn one_or_more<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Values<T>(std::marker::PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Values<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a string, or a list of them")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vec<T>, E> {
            T::deserialize(text.into_deserializer()).map(|one| vec![one])
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, items: A) -> Result<Vec<T>, A::Error> {
            filled(SeqAccessDeserializer::new(items))
        }
    }
    deserializer.deserialize_any(Values(std::marker::PhantomData))
}

/// A type that deserializes with [`one_or_more`].
#[derive(Debug, Clone)]
pub(crate) struct OneOrMore<T>(pub(crate) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMore<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        one_or_more(deserializer).map(Self)
    }
}
