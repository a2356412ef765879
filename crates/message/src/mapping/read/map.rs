//! Reads a map field.

use std::collections::BTreeMap;
use std::fmt;

use buffa_descriptor::{MapKey, MapValue, ScalarType, Value};
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};

use super::super::key::ReadKey;
use super::{ReadSingular, Step};

/// A map field, to be read; `None` is null.
pub(super) struct ReadMap<'a> {
    pub(super) key: ScalarType,
    pub(super) value: ReadSingular<'a>,
}

impl<'de> Visitor<'de> for ReadMap<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object that maps keys to values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let trail = self.value.reader.trail;
        // A tree until it is whole, and a list from then on.
        let mut entries = BTreeMap::new();
        let mut nodes = 0;
        while let Some(key) = map.next_key_seed(ReadMapKey(self.key))? {
            let here = |error| trail.at(Step::Name(&key_text(&key)), error);
            let value = map.next_value_seed(self.value).map_err(here)?;
            let value = value.ok_or_else(|| here(A::Error::custom("a map holds no null")))?;
            if entries.contains_key(&key) {
                return Err(here(A::Error::custom("the key is there twice")));
            }
            nodes += trail
                .memory()
                .take_entry::<(MapKey, Value), _>(entries.len())?;
            trail.take(size_of::<(MapKey, Value)>())?;
            entries.insert(key, value);
        }
        let entries = MapValue::from_entries(entries.into_iter().collect());
        trail.memory().give_back(nodes);
        Ok(Some(Value::Map(entries)))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// A key as JSON shows it.
pub(crate) fn key_text(key: &MapKey) -> String {
    match key {
        MapKey::Bool(key) => key.to_string(),
        MapKey::I32(key) => key.to_string(),
        MapKey::I64(key) => key.to_string(),
        MapKey::U32(key) => key.to_string(),
        MapKey::U64(key) => key.to_string(),
        MapKey::String(key) => key.clone(),
    }
}

struct ReadMapKey(ScalarType);

impl<'de> DeserializeSeed<'de> for ReadMapKey {
    type Value = MapKey;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<MapKey, D::Error> {
        use ScalarType as T;
        match self.0 {
            T::Bool => ReadKey::new().deserialize(d).map(MapKey::Bool),
            T::Int32 | T::Sint32 | T::Sfixed32 => ReadKey::new().deserialize(d).map(MapKey::I32),
            T::Int64 | T::Sint64 | T::Sfixed64 => ReadKey::new().deserialize(d).map(MapKey::I64),
            T::Uint32 | T::Fixed32 => ReadKey::new().deserialize(d).map(MapKey::U32),
            T::Uint64 | T::Fixed64 => ReadKey::new().deserialize(d).map(MapKey::U64),
            T::String => ReadKey::new().deserialize(d).map(MapKey::String),
            // The schema has no such maps.
            T::Double | T::Float | T::Bytes => Err(D::Error::custom("a map has no such keys")),
        }
    }
}
