//! Writes a dynamic message in the mapping.

use buffa::DecodeOptions;
use buffa_descriptor::{
    DescriptorPool, DynamicMessage, EnumIndex, FieldDescriptor, FieldKind, MapKey, ReflectMessage,
    ScalarType, SingularKind, Value,
};
use serde::ser::{Error, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::Names;
use super::key::WriteKey;
use super::leaf::Leaf;
use super::well_known::{self, WellKnown, any, value};
use crate::limits::MOST_DEPTH;

/// A message, to be written.
#[derive(Clone, Copy)]
pub(crate) struct WriteMessage<'a> {
    message: &'a DynamicMessage,
    style: Style,
}

/// What stays the same for everything inside of a message.
#[derive(Clone, Copy)]
struct Style {
    names: Names,
    /// Levels of messages that may still follow.
    depth: usize,
}

impl<'a> WriteMessage<'a> {
    pub(crate) fn new(message: &'a DynamicMessage, names: Names) -> Self {
        Self {
            message,
            style: Style {
                names,
                depth: MOST_DEPTH,
            },
        }
    }
}

impl Style {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        let depth = self
            .depth
            .checked_sub(1)
            .ok_or_else(|| E::custom(format_args!("it nests deeper than {MOST_DEPTH} levels")))?;
        Ok(Self { depth, ..self })
    }
}

impl Serialize for WriteMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = self.message;
        let style = self.style.deeper()?;
        match WellKnown::of(message.message_descriptor()) {
            None => {
                let fields = set_fields(message);
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                write_fields(&mut map, &fields, message, style)?;
                map.end()
            }
            Some(kind) => write_well_known(kind, message, style, serializer),
        }
    }
}

/// A field that is set: the keys of both kinds, and the field itself.
struct SetField<'a> {
    json: &'a str,
    proto: &'a str,
    field: &'a FieldDescriptor,
    value: &'a Value,
}

/// The fields that are set, in the order of the .proto file, then the extensions.
fn set_fields(message: &DynamicMessage) -> Vec<SetField<'_>> {
    let declared = message.message_descriptor().fields().iter();
    let declared = declared.map(|field| (field.json_name(), field.name(), field));
    let extensions = message.pool().extensions_of(message.message_index());
    let extensions = extensions.map(|ext| (ext.json_key(), ext.json_key(), ext.field()));
    declared
        .chain(extensions)
        .filter(|(_, _, field)| message.has(field))
        .filter_map(|(json, proto, field)| {
            let value = message.field_by_number(field.number())?;
            Some(SetField {
                json,
                proto,
                field,
                value,
            })
        })
        .collect()
}

fn write_fields<M: SerializeMap>(
    map: &mut M,
    fields: &[SetField<'_>],
    message: &DynamicMessage,
    style: Style,
) -> Result<(), M::Error> {
    for set in fields {
        let key = style.names.pick(set.json, set.proto);
        let kind = set.field.kind();
        map.serialize_entry(
            key,
            &WriteField {
                pool: message.pool(),
                kind,
                value: set.value,
                style,
            },
        )?;
    }
    Ok(())
}

/// A field's value of any cardinality.
struct WriteField<'a> {
    pool: &'a DescriptorPool,
    kind: FieldKind,
    value: &'a Value,
    style: Style,
}

impl Serialize for WriteField<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let singular = |kind, value| WriteSingular {
            pool: self.pool,
            kind,
            value,
            style: self.style,
        };
        match (self.kind, self.value) {
            (FieldKind::Singular(kind), value) => singular(kind, value).serialize(serializer),
            (FieldKind::List(kind), Value::List(items)) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    seq.serialize_element(&singular(kind, item))?;
                }
                seq.end()
            }
            (FieldKind::Map { value: kind, .. }, Value::Map(entries)) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries.iter() {
                    map.serialize_entry(&WriteMapKey(key), &singular(kind, value))?;
                }
                map.end()
            }
            _ => Err(wrong_shape()),
        }
    }
}

/// The pool's messages hold only values of their fields' kinds; this is not reached.
fn wrong_shape<E: Error>() -> E {
    E::custom("a field holds a value of another kind than its own")
}

struct WriteMapKey<'a>(&'a MapKey);

impl Serialize for WriteMapKey<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            MapKey::Bool(key) => WriteKey(key).serialize(serializer),
            MapKey::I32(key) => WriteKey(key).serialize(serializer),
            MapKey::I64(key) => WriteKey(key).serialize(serializer),
            MapKey::U32(key) => WriteKey(key).serialize(serializer),
            MapKey::U64(key) => WriteKey(key).serialize(serializer),
            MapKey::String(key) => WriteKey(key).serialize(serializer),
        }
    }
}

/// One value.
struct WriteSingular<'a> {
    pool: &'a DescriptorPool,
    kind: SingularKind,
    value: &'a Value,
    style: Style,
}

impl Serialize for WriteSingular<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.kind, self.value) {
            (SingularKind::Scalar(_), value) => write_scalar(value, serializer),
            (SingularKind::Enum(index), Value::EnumNumber(number)) => {
                write_enum(self.pool, index, *number, serializer)
            }
            (SingularKind::Message(_), Value::Message(message)) => WriteMessage {
                message,
                style: self.style,
            }
            .serialize(serializer),
            _ => Err(wrong_shape()),
        }
    }
}

fn write_scalar<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Value::Bool(v) => v.write(serializer),
        Value::I32(v) => v.write(serializer),
        Value::I64(v) => v.write(serializer),
        Value::U32(v) => v.write(serializer),
        Value::U64(v) => v.write(serializer),
        Value::F32(v) => v.write(serializer),
        Value::F64(v) => v.write(serializer),
        Value::String(v) => v.write(serializer),
        Value::Bytes(v) => v.write(serializer),
        _ => Err(wrong_shape()),
    }
}

/// A scalar that is not set, in a wrapper.
fn write_zero<S: Serializer>(scalar: ScalarType, serializer: S) -> Result<S::Ok, S::Error> {
    use ScalarType as T;
    match scalar {
        T::Double => 0f64.write(serializer),
        T::Float => 0f32.write(serializer),
        T::Int64 | T::Sint64 | T::Sfixed64 => 0i64.write(serializer),
        T::Uint64 | T::Fixed64 => 0u64.write(serializer),
        T::Int32 | T::Sint32 | T::Sfixed32 => 0i32.write(serializer),
        T::Uint32 | T::Fixed32 => 0u32.write(serializer),
        T::Bool => false.write(serializer),
        T::String => String::new().write(serializer),
        T::Bytes => Vec::<u8>::new().write(serializer),
    }
}

/// An enum's value by its name, or by its number where that has no name here.
fn write_enum<S: Serializer>(
    pool: &DescriptorPool,
    index: EnumIndex,
    number: i32,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let descriptor = pool.enumeration(index);
    if descriptor.full_name() == well_known::NULL_VALUE {
        return serializer.serialize_none();
    }
    match descriptor.value(number) {
        Some(value) => serializer.serialize_str(value.name()),
        None => serializer.serialize_i32(number),
    }
}

fn write_well_known<S: Serializer>(
    kind: WellKnown,
    message: &DynamicMessage,
    style: Style,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match kind {
        WellKnown::Timestamp | WellKnown::Duration | WellKnown::FieldMask => {
            serializer.serialize_str(&well_known::to_text(kind, message).map_err(S::Error::custom)?)
        }
        WellKnown::Wrapper(scalar) => match message.field_by_number(well_known::ONLY_FIELD) {
            Some(value) => write_scalar(value, serializer),
            None => write_zero(scalar, serializer),
        },
        WellKnown::Struct | WellKnown::ListValue => {
            write_only_field(kind, message, style, serializer)
        }
        WellKnown::Value => write_value(message, style, serializer),
        WellKnown::Any => write_any(message, style, serializer),
    }
}

/// A `Struct` as a map, a `ListValue` as a list.
fn write_only_field<S: Serializer>(
    kind: WellKnown,
    message: &DynamicMessage,
    style: Style,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let field = message.message_descriptor().field(well_known::ONLY_FIELD);
    match (field, message.field_by_number(well_known::ONLY_FIELD), kind) {
        (Some(field), Some(value), _) => WriteField {
            pool: message.pool(),
            kind: field.kind(),
            value,
            style,
        }
        .serialize(serializer),
        (_, _, WellKnown::Struct) => serializer.serialize_map(Some(0))?.end(),
        _ => serializer.serialize_seq(Some(0))?.end(),
    }
}

/// A `Value` as what it holds, and as null where it holds nothing.
fn write_value<S: Serializer>(
    message: &DynamicMessage,
    style: Style,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let held = [
        value::NUMBER,
        value::STRING,
        value::BOOL,
        value::STRUCT,
        value::LIST,
    ]
    .into_iter()
    .find_map(|number| message.field_by_number(number));
    match held {
        None => serializer.serialize_none(),
        Some(Value::F64(number)) if !number.is_finite() => Err(S::Error::custom(
            "a google.protobuf.Value holds no NaN and no infinity",
        )),
        Some(Value::Message(message)) => WriteMessage { message, style }.serialize(serializer),
        Some(scalar) => write_scalar(scalar, serializer),
    }
}

/// An `Any` as its payload with the type's name put before it.
fn write_any<S: Serializer>(
    message: &DynamicMessage,
    style: Style,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let Some(Value::String(type_url)) = message.field_by_number(any::TYPE_URL) else {
        return serializer.serialize_map(Some(0))?.end();
    };
    let bytes: &[u8] = match message.field_by_number(any::VALUE) {
        Some(Value::Bytes(bytes)) => bytes,
        _ => &[],
    };
    let pool = message.pool();
    let index = well_known::payload_type(pool, type_url).ok_or_else(|| {
        S::Error::custom(format_args!(
            "a google.protobuf.Any holds a \"{type_url}\", which the .proto files do not have"
        ))
    })?;
    let levels = DecodeOptions::new().with_recursion_limit(style.depth as u32);
    let payload = DynamicMessage::decode_with_options(pool.clone(), index, bytes, &levels)
        .map_err(|e| {
            S::Error::custom(format_args!(
                "a google.protobuf.Any holds no valid \"{type_url}\": {e}"
            ))
        })?;
    if WellKnown::of(payload.message_descriptor()).is_some() {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(any::TYPE_KEY, type_url)?;
        map.serialize_entry(
            any::VALUE_KEY,
            &WriteMessage {
                message: &payload,
                style,
            },
        )?;
        return map.end();
    }
    let fields = set_fields(&payload);
    let mut map = serializer.serialize_map(Some(1 + fields.len()))?;
    map.serialize_entry(any::TYPE_KEY, type_url)?;
    write_fields(&mut map, &fields, &payload, style.deeper()?)?;
    map.end()
}
