//! A guard between a format and the protobuf library's reader, which enforces no limits and reports errors
//! without paths. The guard forwards everything, reports it to a [`Watch`], and converts map keys and bytes to
//! the forms that the library accepts.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use buffa_descriptor::Value;
use serde::de::value::CowStrDeserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};

use super::watch::{Content, Watch};
use crate::path::Step;

impl Watch {
    /// Wraps `seed` so that the watch observes what it reads.
    pub(crate) fn over<S>(&self, seed: S) -> Watched<'_, S> {
        Watched {
            inner: seed,
            watch: self,
            in_list: false,
        }
    }
}

/// A serde seed, deserializer or visitor that a [`Watch`] observes.
#[derive(Clone, Copy)]
pub(crate) struct Watched<'w, T> {
    inner: T,
    watch: &'w Watch,
    /// Whether this is an element of a list. A list within a list counts as a level, just as an object does.
    in_list: bool,
}

impl<'w, T> Watched<'w, T> {
    fn with<U>(&self, inner: U) -> Watched<'w, U> {
        Watched {
            inner,
            watch: self.watch,
            in_list: self.in_list,
        }
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Watched<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.deserialize(deserializer)
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Watched<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_option(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.with(visitor);
        self.inner.deserialize_map(visitor)
    }

    // All three formats are self-describing.
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct struct enum identifier ignored_any
    }
}

/// Scalars: forwards each one, and records it if it is refused.
macro_rules! visit {
    ($($visit:ident($value:ty) as $unexpected:ident,)*) => {$(
        fn $visit<E: Error>(self, v: $value) -> Result<V::Value, E> {
            self.watch.judged(self.inner.$visit(v), Unexpected::$unexpected(v))
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Watched<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit! {
        visit_bool(bool) as Bool,
        visit_i64(i64) as Signed,
        visit_u64(u64) as Unsigned,
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<V::Value, E> {
        self.watch.doubt(v)?;
        self.watch
            .judged(self.inner.visit_str(v), Unexpected::Str(v))
    }

    fn visit_borrowed_str<E: Error>(self, v: &'de str) -> Result<V::Value, E> {
        self.watch.doubt(v)?;
        self.watch
            .judged(self.inner.visit_borrowed_str(v), Unexpected::Str(v))
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<V::Value, E> {
        let read = match v {
            _ if rounds_to_max_float(v) && !self.watch.bytes_as_text => {
                self.watch.set_aside(Content::Number(v))?;
                self.inner.visit_f64(f64::from(v as f32))
            }
            // The library converts an `Any`'s payload to JSON before reading it, and JSON cannot represent
            // these numbers.
            _ if v.is_finite() || !self.watch.bytes_as_text => self.inner.visit_f64(v),
            f64::INFINITY => self.inner.visit_str("Infinity"),
            f64::NEG_INFINITY => self.inner.visit_str("-Infinity"),
            _ => self.inner.visit_str("NaN"),
        };
        self.watch.judged(read, Unexpected::Float(v))
    }

    fn visit_bytes<E: Error>(self, v: &[u8]) -> Result<V::Value, E> {
        if self.watch.bytes_as_text {
            return self.inner.visit_string(STANDARD.encode(v));
        }
        self.watch.set_aside(Content::Bytes(v.to_vec()))?;
        self.inner.visit_str("")
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.visit_some(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        let watch = self.watch;
        let items = Items {
            inner: seq,
            watch,
            next: 0,
        };
        if !self.in_list {
            return self.inner.visit_seq(items);
        }
        watch.enter()?;
        let result = self.inner.visit_seq(items);
        watch.leave();
        result
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        let watch = self.watch;
        let entries = Entries {
            inner: map,
            watch,
            read: 0,
            key: Cow::Borrowed(""),
        };
        watch.enter()?;
        let result = self.inner.visit_map(entries);
        watch.leave();
        result
    }
}

/// Whether a number is beyond the largest float but rounds to it, like `3.4028235e38`, the shortest decimal
/// form of the largest float.
fn rounds_to_max_float(number: f64) -> bool {
    number.abs() > f64::from(f32::MAX) && (number as f32).abs() == f32::MAX
}

/// The elements of a list.
struct Items<'w, A> {
    inner: A,
    watch: &'w Watch,
    next: usize,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Items<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let index = self.next;
        self.next += 1;
        let seed = Watched {
            in_list: true,
            ..self.watch.over(seed)
        };
        let kept = self.watch.kept();
        let result = self.inner.next_element_seed(seed);
        self.watch
            .passed(kept, result.as_ref().err(), || Step::Index(index));
        if let Ok(Some(_)) = &result {
            self.watch.take(size_of::<Value>())?;
        }
        result
    }
}

/// The entries of an object: a message's fields or a map's entries.
struct Entries<'w, 'de, A> {
    inner: A,
    watch: &'w Watch,
    read: usize,
    key: Cow<'de, str>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let Some(key) = self.inner.next_key_seed(AnyKey)? else {
            return Ok(None);
        };
        // A message's fields are a tree of such entries. A map is a list, which needs less memory.
        self.watch.take_entry::<(u32, Value), A::Error>(self.read)?;
        self.read += 1;
        self.key = key.clone();
        seed.deserialize(CowStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.watch.over(seed);
        let kept = self.watch.kept();
        let result = self.inner.next_value_seed(seed);
        self.watch.passed(kept, result.as_ref().err(), || {
            Step::Name(Cow::Owned(self.key.to_string()))
        });
        result
    }
}

/// Reads a key of any type as the string that it would be in JSON.
struct AnyKey;

impl<'de> DeserializeSeed<'de> for AnyKey {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyKey {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, integer or boolean as the key")
    }

    fn visit_bool<E: Error>(self, v: bool) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(if v { "true" } else { "false" }))
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v.to_string()))
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v.to_string()))
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v.to_owned()))
    }

    fn visit_borrowed_str<E: Error>(self, v: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(v))
    }

    fn visit_string<E: Error>(self, v: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v))
    }
}
