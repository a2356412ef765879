//! Reads the well-known types.

use std::fmt;
use std::sync::Arc;
use std::vec;

use buffa_descriptor::{
    DescriptorPool, DynamicMessage, FieldDescriptor, MessageIndex, ReflectMessageMut, Value,
};
use serde::Deserializer;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor};
use serde_json::value::RawValue;

use super::super::key::ReadKey;
use super::super::well_known::{self, ONLY_FIELD, WellKnown, any, value};
use super::{DeserializeSeed, ReadField, ReadMessage, Reader, Step, read_fields, read_scalar};

/// Reads a message of a well-known type; `None` is null.
pub(super) fn read<'de, D: Deserializer<'de>>(
    reader: Reader<'_>,
    index: MessageIndex,
    kind: WellKnown,
    deserializer: D,
) -> Result<Option<DynamicMessage>, D::Error> {
    let target = Target { reader, index };
    match kind {
        WellKnown::Timestamp | WellKnown::Duration | WellKnown::FieldMask => {
            deserializer.deserialize_any(ReadText { target, kind })
        }
        WellKnown::Wrapper(scalar) => match read_scalar(scalar, deserializer)? {
            None => Ok(None),
            Some(value) => target.with([(ONLY_FIELD, value)]).map(Some),
        },
        WellKnown::Struct | WellKnown::ListValue => {
            let field = target.field(ONLY_FIELD)?;
            match (ReadField { reader, field }).deserialize(deserializer)? {
                None => Ok(None),
                Some(value) => target.with([(ONLY_FIELD, value)]).map(Some),
            }
        }
        WellKnown::Value => deserializer.deserialize_any(ReadValue(target)).map(Some),
        WellKnown::Any => {
            let readable = deserializer.is_human_readable();
            deserializer.deserialize_any(ReadAny { target, readable })
        }
    }
}

/// The message that is to be made.
#[derive(Clone, Copy)]
struct Target<'a> {
    reader: Reader<'a>,
    index: MessageIndex,
}

impl<'a> Target<'a> {
    /// A field of a well-known type. A schema may bring its own file of that name without it.
    fn field<E: Error>(self, number: u32) -> Result<&'a FieldDescriptor, E> {
        let pool: &'a DescriptorPool = self.reader.pool;
        let descriptor = pool.message(self.index);
        descriptor.field(number).ok_or_else(|| {
            E::custom(format_args!(
                "the schema's {} is not the well-known one: it has no field {number}",
                descriptor.full_name()
            ))
        })
    }

    fn with<E: Error>(
        self,
        fields: impl IntoIterator<Item = (u32, Value)>,
    ) -> Result<DynamicMessage, E> {
        let mut message = DynamicMessage::new(Arc::clone(self.reader.pool), self.index);
        let mut fields = fields.into_iter().peekable();
        if fields.peek().is_some() {
            self.reader.trail.take_fields()?;
        }
        for (number, value) in fields {
            message
                .try_set(self.field(number)?, value)
                .map_err(E::custom)?;
        }
        Ok(message)
    }
}

/// A `Timestamp`, a `Duration` or a `FieldMask`.
struct ReadText<'a> {
    target: Target<'a>,
    kind: WellKnown,
}

impl Visitor<'_> for ReadText<'_> {
    type Value = Option<DynamicMessage>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(well_known::wanted_text(self.kind))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let fields = well_known::from_text(self.kind, text)
            .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))?;
        self.target.with(fields).map(Some)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// A `Value`: whatever is there, null included.
struct ReadValue<'a>(Target<'a>);

impl ReadValue<'_> {
    /// Reads what is left as the message type of a field, and sets it.
    fn message<'de, D: Deserializer<'de>>(
        self,
        number: u32,
        deserializer: D,
    ) -> Result<DynamicMessage, D::Error> {
        let field = self.0.field(number)?;
        match (ReadField {
            reader: self.0.reader,
            field,
        })
        .deserialize(deserializer)?
        {
            Some(value) => self.0.with([(number, value)]),
            None => self.0.with([]),
        }
    }
}

impl<'de> Visitor<'de> for ReadValue<'_> {
    type Value = DynamicMessage;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value but bytes")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        self.0.with([(value::NULL, Value::EnumNumber(0))])
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        self.visit_unit()
    }

    fn visit_bool<E: Error>(self, v: bool) -> Result<Self::Value, E> {
        self.0.with([(value::BOOL, Value::Bool(v))])
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<Self::Value, E> {
        if !v.is_finite() {
            return Err(E::invalid_value(Unexpected::Float(v), &"a finite number"));
        }
        self.0.with([(value::NUMBER, Value::F64(v))])
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<Self::Value, E> {
        self.visit_f64(v as f64)
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<Self::Value, E> {
        self.visit_f64(v as f64)
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<Self::Value, E> {
        self.0.with([(value::STRING, Value::String(v.to_owned()))])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        self.message(value::LIST, SeqAccessDeserializer::new(seq))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        self.message(value::STRUCT, MapAccessDeserializer::new(map))
    }
}

/// An `Any`: `@type` with the payload's fields, or with its `value`.
struct ReadAny<'a> {
    target: Target<'a>,
    /// Whether it is JSON, where `@type` may stand anywhere.
    readable: bool,
}

impl<'de> Visitor<'de> for ReadAny<'_> {
    type Value = Option<DynamicMessage>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the key \"@type\"")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let trail = self.target.reader.trail;
        let Some(key) = map.next_key_seed(ReadKey::<String>::new())? else {
            return self.target.with([]).map(Some);
        };
        let here = |error| trail.at(Step::Name(&key), error);
        if key == any::TYPE_KEY {
            let type_url = map.next_value().map_err(here)?;
            return self.payload(type_url, map).map(Some);
        }
        if !self.readable {
            return Err(here(A::Error::custom(
                "the first key of a google.protobuf.Any has to be `@type`",
            )));
        }
        let (type_url, kept) = Kept::read(key, map)?;
        let type_url = type_url
            .ok_or_else(|| A::Error::custom("a google.protobuf.Any needs the key `@type`"))?;
        self.payload(type_url, kept)
            .map(Some)
            .map_err(A::Error::custom)
    }
}

impl ReadAny<'_> {
    /// Reads the payload, and puts it under its type.
    fn payload<'de, A: MapAccess<'de>>(
        self,
        type_url: String,
        map: A,
    ) -> Result<DynamicMessage, A::Error> {
        let Reader { pool, trail } = self.target.reader;
        let index = well_known::payload_type(pool, &type_url).ok_or_else(|| {
            let error = A::Error::custom(format_args!(
                "the .proto files have no type \"{type_url}\"; import the file that has it"
            ));
            trail.at(Step::Name(any::TYPE_KEY), error)
        })?;
        let payload = match WellKnown::of(pool.message(index)) {
            None => read_fields(self.target.reader, index, map)?,
            Some(_) => read_value_key(self.target.reader, index, map)?,
        };
        let bytes = payload.try_encode_to_vec().map_err(A::Error::custom)?;
        self.target.with([
            (any::TYPE_URL, Value::String(type_url)),
            (any::VALUE, Value::Bytes(bytes)),
        ])
    }
}

/// The entries of an `Any` in JSON as they were written, kept until its type is known.
struct Kept<'de> {
    entries: vec::IntoIter<(String, &'de RawValue)>,
    value: Option<&'de RawValue>,
}

impl<'de> Kept<'de> {
    /// Reads what follows the first key, and takes the type out of it, if it is there.
    fn read<A: MapAccess<'de>>(
        first: String,
        mut map: A,
    ) -> Result<(Option<String>, Self), A::Error> {
        let mut type_url = None;
        let mut entries = vec![(first, map.next_value()?)];
        while let Some(key) = map.next_key_seed(ReadKey::<String>::new())? {
            if key == any::TYPE_KEY && type_url.is_none() {
                type_url = Some(map.next_value()?);
            } else {
                entries.push((key, map.next_value()?));
            }
        }
        let kept = Self {
            entries: entries.into_iter(),
            value: None,
        };
        Ok((type_url, kept))
    }
}

impl<'de> MapAccess<'de> for Kept<'de> {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Self::Error> {
        let Some((key, value)) = self.entries.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        seed.deserialize(key.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Self::Error> {
        let value = self
            .value
            .take()
            .ok_or_else(|| Self::Error::custom("a value comes after its key"))?;
        let mut deserializer = serde_json::Deserializer::from_str(value.get());
        // The readers count levels themselves.
        deserializer.disable_recursion_limit();
        seed.deserialize(&mut deserializer)
    }
}

/// The payload of an `Any` that stands under the key `value`.
fn read_value_key<'de, A: MapAccess<'de>>(
    reader: Reader<'_>,
    index: MessageIndex,
    mut map: A,
) -> Result<DynamicMessage, A::Error> {
    let trail = reader.trail;
    let unexpected = |key: &str| {
        let error = "beside `@type` this google.protobuf.Any has the key `value` and no other";
        trail.at(Step::Name(key), A::Error::custom(error))
    };
    let payload = match map.next_key_seed(ReadKey::<String>::new())? {
        None => None,
        Some(key) if key == any::VALUE_KEY => {
            let seed = ReadMessage { reader, index };
            map.next_value_seed(seed)
                .map_err(|e| trail.at(Step::Name(any::VALUE_KEY), e))?
        }
        Some(key) => return Err(unexpected(&key)),
    };
    if let Some(key) = map.next_key_seed(ReadKey::<String>::new())? {
        return Err(unexpected(&key));
    }
    payload.ok_or_else(|| A::Error::missing_field(any::VALUE_KEY))
}
