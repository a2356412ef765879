//! Lists and maps.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserializer, Serializer};

use super::{Budget, Element, ReadElement, Slot, WriteElement};
use crate::mapping::Names;
use crate::mapping::key::{Key, ReadKey, WriteKey};

impl<T: Element> Slot for Vec<T> {
    fn is_set(&self) -> bool {
        !self.is_empty()
    }

    fn write<S: Serializer>(&self, names: Names, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.len()))?;
        for item in self {
            seq.serialize_element(&WriteElement(item, names))?;
        }
        seq.end()
    }

    fn read<'de, D: Deserializer<'de>>(
        &mut self,
        budget: Budget<'_>,
        d: D,
    ) -> Result<(), D::Error> {
        d.deserialize_any(ReadList { budget, into: self })
    }
}

struct ReadList<'a, T> {
    budget: Budget<'a>,
    into: &'a mut Vec<T>,
}

/// Room that is taken for a list on its sender's word alone, in elements.
const TRUSTED_LENGTH: usize = 1024;

impl<'de, T: Element> Visitor<'de> for ReadList<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.into
            .reserve(seq.size_hint().unwrap_or(0).min(TRUSTED_LENGTH));
        while let Some(item) = seq.next_element_seed(ReadElement::new(self.budget))? {
            self.budget.memory.take(size_of::<T>())?;
            self.into
                .push(item.ok_or_else(|| A::Error::custom("a list holds no null"))?);
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }
}

impl<K: Key + Ord, V: Element> Slot for BTreeMap<K, V> {
    fn is_set(&self) -> bool {
        !self.is_empty()
    }

    fn write<S: Serializer>(&self, names: Names, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self {
            map.serialize_entry(&WriteKey(key), &WriteElement(value, names))?;
        }
        map.end()
    }

    fn read<'de, D: Deserializer<'de>>(
        &mut self,
        budget: Budget<'_>,
        d: D,
    ) -> Result<(), D::Error> {
        d.deserialize_any(ReadMap { budget, into: self })
    }
}

struct ReadMap<'a, K, V> {
    budget: Budget<'a>,
    into: &'a mut BTreeMap<K, V>,
}

impl<'de, K: Key + Ord, V: Element> Visitor<'de> for ReadMap<'_, K, V> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object that maps keys to values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(ReadKey::<K>::new())? {
            let value = map.next_value_seed(ReadElement::new(self.budget))?;
            let before = self.into.len();
            self.budget.memory.take_entry::<(K, V), _>(before)?;
            let value = value.ok_or_else(|| A::Error::custom("a map holds no null"))?;
            if self.into.insert(key, value).is_some() {
                return Err(A::Error::custom("a key is there twice"));
            }
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }
}
