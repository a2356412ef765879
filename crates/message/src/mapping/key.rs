//! The forms of a map field's keys: text in JSON, whose objects have no other keys, and their own
//! types elsewhere.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, DeserializeSeed, Unexpected, Visitor};
use serde::{Deserializer, Serialize, Serializer};

use super::leaf::Leaf;

/// A type that a map field's keys can have.
pub(crate) trait Key: Leaf + fmt::Display {
    /// The key's text in JSON. Exact: `1.0` is no key of a map of integers.
    fn from_key_text(text: &str) -> Option<Self>;
}

macro_rules! parsed_key {
    ($($type:ty),*) => {$(
        impl Key for $type {
            fn from_key_text(text: &str) -> Option<Self> {
                text.parse().ok().filter(|_| !text.starts_with('+'))
            }
        }
    )*};
}

parsed_key!(i32, i64, u32, u64, bool);

impl Key for String {
    fn from_key_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

/// A key, to be written.
pub(crate) struct WriteKey<'a, K>(pub(crate) &'a K);

impl<K: Key> Serialize for WriteKey<'_, K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self.0)
        } else {
            self.0.write(serializer)
        }
    }
}

/// A key, to be read.
pub(crate) struct ReadKey<K>(PhantomData<K>);

impl<K> ReadKey<K> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'de, K: Key> DeserializeSeed<'de> for ReadKey<K> {
    type Value = K;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<K, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(TextKey(PhantomData))
        } else {
            super::leaf::read(deserializer)?
                .ok_or_else(|| de::Error::invalid_type(Unexpected::Option, &K::WANTED))
        }
    }
}

struct TextKey<K>(PhantomData<K>);

impl<K: Key> Visitor<'_> for TextKey<K> {
    type Value = K;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a key that is {}", K::WANTED)
    }

    fn visit_str<E: de::Error>(self, v: &str) -> Result<K, E> {
        K::from_key_text(v).ok_or_else(|| E::invalid_value(Unexpected::Str(v), &self))
    }
}
