//! A tree of TOML or JSON values that serde deserializes types from, with [`Refusal`] as its error.

use std::borrow::Cow;
use std::ops::Range;
use std::vec;

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_spanned::de::{SpannedDeserializer, is_spanned};
use toml::Spanned;
use toml::de::DeValue;

use super::refusal::Refusal;

/// A value and its position.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    span: Range<usize>,
    value: Value<'a>,
}

#[derive(Debug)]
enum Value<'a> {
    /// JSON's null.
    Null,
    Bool(bool),
    Whole(i128),
    Number(f64),
    Text(Cow<'a, str>),
    List(Vec<Node<'a>>),
    Table(Vec<Entry<'a>>),
    /// A value that no type accepts, described for an error message.
    Other(&'static str),
}

const TOO_LARGE: Value<'static> = Value::Other("a number that is too large");

/// A key and its value.
type Entry<'a> = (Spanned<Cow<'a, str>>, Node<'a>);

impl<'a> From<Spanned<DeValue<'a>>> for Node<'a> {
    fn from(value: Spanned<DeValue<'a>>) -> Self {
        let span = value.span();
        let value = match value.into_inner() {
            DeValue::String(text) => Value::Text(text),
            DeValue::Integer(number) => {
                let number = i128::from_str_radix(number.as_str(), number.radix());
                number.map_or(TOO_LARGE, Value::Whole)
            }
            DeValue::Float(number) => {
                let text = number.as_str();
                let is_in_bounds = |number: &f64| !number.is_infinite() || text.contains("inf");
                let number = text.parse().ok().filter(is_in_bounds);
                number.map_or(TOO_LARGE, Value::Number)
            }
            DeValue::Boolean(value) => Value::Bool(value),
            DeValue::Datetime(_) => Value::Other("a date"),
            DeValue::Array(items) => Value::List(items.into_iter().map(Self::from).collect()),
            DeValue::Table(entries) => {
                let entries = entries.into_iter();
                Value::Table(entries.map(|(key, value)| (key, value.into())).collect())
            }
        };
        Self { span, value }
    }
}

impl From<serde_json::Value> for Node<'_> {
    fn from(value: serde_json::Value) -> Self {
        use serde_json::Value as Json;
        let value = match value {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(value),
            Json::Number(number) => match number.as_i128() {
                Some(number) => Value::Whole(number),
                None => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Value::Text(text.into()),
            Json::Array(items) => Value::List(items.into_iter().map(Self::from).collect()),
            Json::Object(entries) => {
                let entries = entries.into_iter();
                let spanned = |key: String| Spanned::new(0..0, Cow::Owned(key));
                Value::Table(
                    entries
                        .map(|(key, value)| (spanned(key), value.into()))
                        .collect(),
                )
            }
        };
        Self { span: 0..0, value }
    }
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Whole(number) => match (i64::try_from(number), u64::try_from(number)) {
                (Ok(number), _) => visitor.visit_i64(number),
                (_, Ok(number)) => visitor.visit_u64(number),
                // No type in use is wider than 64 bits.
                _ => {
                    let found = number.to_string();
                    Err(Refusal::invalid_type(Unexpected::Other(&found), &visitor))
                }
            },
            Value::Number(number) => visitor.visit_f64(number),
            Value::Text(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
            Value::Text(Cow::Owned(text)) => visitor.visit_string(text),
            Value::List(items) => visitor.visit_seq(Items(items.into_iter())),
            Value::Table(entries) => visitor.visit_map(Entries::of(entries)),
            Value::Other(found) => Err(Refusal::invalid_type(Unexpected::Other(found), &visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        if !is_spanned(name) {
            return self.deserialize_any(visitor);
        }
        let span = self.span.clone();
        visitor.visit_map(SpannedDeserializer::new(self, span))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        match self.value {
            Value::Text(text) => visitor.visit_enum(text.into_deserializer()),
            Value::Table(entries) if entries.len() == 1 => {
                visitor.visit_enum(MapAccessDeserializer::new(Entries::of(entries)))
            }
            value => Self { value, ..self }.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Refusal> for Node<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

struct Items<'a>(vec::IntoIter<Node<'a>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Refusal;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Refusal> {
        let Some(item) = self.0.next() else {
            return Ok(None);
        };
        let span = item.span.clone();
        let read = seed.deserialize(item);
        read.map(Some).map_err(|refusal| refusal.at(span))
    }
}

struct Entries<'a> {
    left: vec::IntoIter<Entry<'a>>,
    /// The key that was read last, and its value until that is read too.
    value: Option<(String, Node<'a>)>,
}

impl<'a> Entries<'a> {
    fn of(entries: Vec<Entry<'a>>) -> Self {
        Self {
            left: entries.into_iter(),
            value: None,
        }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Refusal;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Refusal> {
        let Some((key, value)) = self.left.next() else {
            return Ok(None);
        };
        let (span, key) = (key.span(), key.into_inner());
        self.value = Some((key.clone().into_owned(), value));
        let key = Node {
            span: span.clone(),
            value: Value::Text(key),
        };
        let read = seed.deserialize(key);
        read.map(Some).map_err(|refusal| refusal.at(span))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Refusal> {
        let Some((key, value)) = self.value.take() else {
            return Err(Refusal::custom("a value was read before its key"));
        };
        let span = value.span.clone();
        let read = seed.deserialize(value);
        read.map_err(|refusal| refusal.at(span).below(key))
    }
}
