//! Reads a dynamic message in the mapping, and knows where an error is.

mod map;
mod well_known;

use std::fmt;
use std::sync::Arc;

use buffa::editions::EnumType;
use buffa_descriptor::{
    DescriptorPool, DynamicMessage, EnumIndex, FieldDescriptor, FieldKind, MessageDescriptor,
    MessageIndex, ReflectMessageMut, ScalarType, SingularKind, Value,
};
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Unexpected, Visitor};

use self::map::ReadMap;
pub(crate) use self::map::key_text;
use super::key::ReadKey;
use super::leaf::{self, Leaf};
use super::trail::{Step, Trail};
use super::well_known::{NULL_VALUE, WellKnown};
use crate::nearest::Nearest;

/// What every reader of one message needs.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub(crate) pool: &'a Arc<DescriptorPool>,
    pub(crate) trail: &'a Trail,
}

/// A message, to be read; `None` is null.
pub(crate) struct ReadMessage<'a> {
    pub(crate) reader: Reader<'a>,
    pub(crate) index: MessageIndex,
}

impl<'de> DeserializeSeed<'de> for ReadMessage<'_> {
    type Value = Option<DynamicMessage>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let Reader { pool, trail } = self.reader;
        trail.deeper(|| match WellKnown::of(pool.message(self.index)) {
            None => deserializer.deserialize_any(self),
            Some(kind) => well_known::read(self.reader, self.index, kind, deserializer),
        })
    }
}

impl<'de> Visitor<'de> for ReadMessage<'_> {
    type Value = Option<DynamicMessage>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "an object of {}",
            self.reader.pool.message(self.index).full_name()
        )
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        read_fields(self.reader, self.index, map).map(Some)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Reads an object's keys as fields.
fn read_fields<'de, A: MapAccess<'de>>(
    reader: Reader<'_>,
    index: MessageIndex,
    mut map: A,
) -> Result<DynamicMessage, A::Error> {
    let descriptor = reader.pool.message(index);
    let mut message = DynamicMessage::new(Arc::clone(reader.pool), index);
    let mut seen = Seen::default();
    let mut is_empty = true;
    while let Some(key) = map.next_key_seed(ReadKey::<String>::new())? {
        let here = |error| reader.trail.at(Step::Name(&key), error);
        let field = find_field(reader.pool, index, &key).ok_or_else(|| {
            here(A::Error::custom(NoSuchField {
                key: &key,
                descriptor,
            }))
        })?;
        seen.key(field).map_err(|e| here(A::Error::custom(e)))?;
        let value = map
            .next_value_seed(ReadField { reader, field })
            .map_err(here)?;
        // Null leaves the field unset, and takes no place in its oneof.
        if let Some(value) = value {
            seen.value(field, descriptor)
                .map_err(|e| here(A::Error::custom(e)))?;
            if is_empty {
                reader.trail.take_fields()?;
                is_empty = false;
            }
            message
                .try_set(field, value)
                .map_err(|e| here(A::Error::custom(e)))?;
        }
    }
    Ok(message)
}

/// A field by either of its names, or an extension by its full name in brackets.
fn find_field<'a>(
    pool: &'a DescriptorPool,
    index: MessageIndex,
    key: &str,
) -> Option<&'a FieldDescriptor> {
    let extension = key.strip_prefix('[').and_then(|key| key.strip_suffix(']'));
    match extension {
        None => pool.message(index).field_by_name(key),
        Some(name) => pool
            .extension_by_name(name)
            .filter(|extension| extension.extendee() == index)
            .map(|extension| extension.field()),
    }
}

/// Says that a message has no such field, and which was probably meant.
struct NoSuchField<'a> {
    key: &'a str,
    descriptor: &'a MessageDescriptor,
}

impl fmt::Display for NoSuchField<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self
            .descriptor
            .fields()
            .iter()
            .map(FieldDescriptor::json_name);
        let nearest = Nearest::or_known(self.key, names);
        write!(
            f,
            "{} has no field \"{}\"{nearest}",
            self.descriptor.full_name(),
            self.key
        )
    }
}

/// What an object has had so far.
#[derive(Default)]
struct Seen<'a> {
    numbers: Vec<u32>,
    oneofs: Vec<(u16, &'a str)>,
}

impl<'a> Seen<'a> {
    fn key(&mut self, field: &FieldDescriptor) -> Result<(), String> {
        if self.numbers.contains(&field.number()) {
            return Err(format!("the field \"{}\" is there twice", field.name()));
        }
        self.numbers.push(field.number());
        Ok(())
    }

    fn value(
        &mut self,
        field: &'a FieldDescriptor,
        descriptor: &MessageDescriptor,
    ) -> Result<(), String> {
        let Some(oneof) = field.oneof_index() else {
            return Ok(());
        };
        if let Some((_, other)) = self.oneofs.iter().find(|(seen, _)| *seen == oneof) {
            let name = descriptor
                .oneofs()
                .get(usize::from(oneof))
                .map_or("", |o| o.name());
            return Err(format!(
                "\"{other}\" and \"{}\" are both there, but of the oneof \"{name}\" only one can be set",
                field.name()
            ));
        }
        self.oneofs.push((oneof, field.name()));
        Ok(())
    }
}

/// A field's value, to be read; `None` is null.
struct ReadField<'a> {
    reader: Reader<'a>,
    field: &'a FieldDescriptor,
}

impl<'de> DeserializeSeed<'de> for ReadField<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let Self { reader, field } = self;
        let singular = |kind| ReadSingular {
            reader,
            kind,
            enum_type: field.enum_type(),
        };
        match field.kind() {
            FieldKind::Singular(kind) => singular(kind).deserialize(deserializer),
            FieldKind::List(kind) => Ok(deserializer
                .deserialize_any(ReadList(singular(kind)))?
                .map(Value::List)),
            FieldKind::Map { key, value } => deserializer.deserialize_any(ReadMap {
                key,
                value: singular(value),
            }),
        }
    }
}

/// A list of values, to be read.
struct ReadList<'a>(ReadSingular<'a>);

/// Room that is taken for a list on its sender's word alone.
const TRUSTED_LENGTH: usize = 1024;

impl<'de> Visitor<'de> for ReadList<'_> {
    type Value = Option<Vec<Value>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let trail = self.0.reader.trail;
        let mut items = Vec::with_capacity(seq.size_hint().unwrap_or(0).min(TRUSTED_LENGTH));
        loop {
            let step = || Step::Index(items.len());
            match seq
                .next_element_seed(self.0)
                .map_err(|e| trail.at(step(), e))?
            {
                None => return Ok(Some(items)),
                Some(Some(value)) => {
                    trail.take(size_of::<Value>())?;
                    items.push(value);
                }
                Some(None) => {
                    return Err(trail.at(step(), A::Error::custom("a list holds no null")));
                }
            }
        }
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// One value, to be read; `None` is null.
#[derive(Clone, Copy)]
struct ReadSingular<'a> {
    reader: Reader<'a>,
    kind: SingularKind,
    enum_type: Option<EnumType>,
}

impl ReadSingular<'_> {
    /// Whether an enum's values are only those that have a name.
    fn is_closed(&self, index: EnumIndex) -> bool {
        let of_enum = || self.reader.pool.enumeration(index).enum_type();
        self.enum_type.unwrap_or_else(of_enum) == EnumType::Closed
    }
}

impl<'de> DeserializeSeed<'de> for ReadSingular<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        match self.kind {
            SingularKind::Scalar(scalar) => read_scalar(scalar, deserializer),
            SingularKind::Enum(index) => deserializer.deserialize_any(ReadEnum {
                pool: self.reader.pool,
                index,
                closed: self.is_closed(index),
            }),
            SingularKind::Message(index) => {
                let seed = ReadMessage {
                    reader: self.reader,
                    index,
                };
                Ok(seed.deserialize(deserializer)?.map(Value::Message))
            }
        }
    }
}

fn read_scalar<'de, D: Deserializer<'de>>(
    scalar: ScalarType,
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    fn read<'de, L: Leaf, D: Deserializer<'de>>(
        deserializer: D,
        value: fn(L) -> Value,
    ) -> Result<Option<Value>, D::Error> {
        Ok(leaf::read(deserializer)?.map(value))
    }
    use ScalarType as T;
    match scalar {
        T::Double => read(deserializer, Value::F64),
        T::Float => read(deserializer, Value::F32),
        T::Int64 | T::Sint64 | T::Sfixed64 => read(deserializer, Value::I64),
        T::Uint64 | T::Fixed64 => read(deserializer, Value::U64),
        T::Int32 | T::Sint32 | T::Sfixed32 => read(deserializer, Value::I32),
        T::Uint32 | T::Fixed32 => read(deserializer, Value::U32),
        T::Bool => read(deserializer, Value::Bool),
        T::String => read(deserializer, Value::String),
        T::Bytes => read(deserializer, Value::Bytes),
    }
}

/// An enum's value, to be read by name or number.
struct ReadEnum<'a> {
    pool: &'a DescriptorPool,
    index: EnumIndex,
    /// Whether numbers without a name are refused.
    closed: bool,
}

impl ReadEnum<'_> {
    fn null(&self) -> Option<Value> {
        let is_null_value = self.pool.enumeration(self.index).full_name() == NULL_VALUE;
        is_null_value.then_some(Value::EnumNumber(0))
    }
}

impl Visitor<'_> for ReadEnum<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a name or number of {}",
            self.pool.enumeration(self.index).full_name()
        )
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        let descriptor = self.pool.enumeration(self.index);
        match descriptor.value_by_name(name) {
            Some(value) => Ok(Some(Value::EnumNumber(value.number()))),
            None => {
                let names = descriptor.values().iter().map(|value| value.name());
                Err(E::custom(format_args!(
                    "{} has no value \"{name}\"{}",
                    descriptor.full_name(),
                    Nearest::or_known(name, names)
                )))
            }
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        let known = |n: &i32| self.pool.enumeration(self.index).value(*n).is_some();
        i32::try_from(number)
            .ok()
            .filter(|n| !self.closed || known(n))
            .map(|n| Some(Value::EnumNumber(n)))
            .ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        match i64::try_from(number) {
            Ok(number) => self.visit_i64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
        }
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(self.null())
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(self.null())
    }
}
