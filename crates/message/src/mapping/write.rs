//! Writes a dynamic message as JSON, MessagePack or CBOR, as an application without protobuf would. The mapping is
//! proto3 JSON's, except that 64-bit integers are numbers. In MessagePack and CBOR, bytes are bytes, NaN and the
//! infinities are floats, and map keys keep their own types.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use buffa::DecodeOptions;
use buffa_descriptor::{
    DescriptorPool, DynamicMessage, EnumIndex, FieldDescriptor, FieldKind, MapKey, ReflectMessage,
    ScalarType, SingularKind, Value,
};
use serde::ser::{Error, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::well_known::{self, WellKnown, any};
use crate::limits::MAX_DEPTH;
use crate::path::all_fields;

/// Serializes a message.
#[derive(Clone, Copy)]
pub(crate) struct WriteMessage<'a> {
    message: &'a DynamicMessage,
    /// How many more levels of messages may follow.
    depth: usize,
}

impl<'a> WriteMessage<'a> {
    pub(crate) fn new(message: &'a DynamicMessage) -> Self {
        Self {
            message,
            depth: MAX_DEPTH,
        }
    }
}

fn deeper<E: Error>(depth: usize) -> Result<usize, E> {
    depth.checked_sub(1).ok_or_else(|| {
        E::custom(format_args!(
            "the message nests deeper than {MAX_DEPTH} levels"
        ))
    })
}

impl Serialize for WriteMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match WellKnown::of(self.message.message_descriptor()) {
            None => write_fields(self.message, None, self.depth, serializer),
            Some(kind) => write_well_known(kind, self.message, deeper(self.depth)?, serializer),
        }
    }
}

/// Returns the fields that are set.
fn set_fields(message: &DynamicMessage) -> Vec<(&str, &FieldDescriptor, &Value)> {
    all_fields(message.pool(), message.message_index())
        .filter(|(_, field)| message.has(field))
        .filter_map(|(key, field)| Some((key, field, message.field_by_number(field.number())?)))
        .collect()
}

/// Writes a message as a map of its fields. For an `Any`, the type URL comes first.
fn write_fields<S: Serializer>(
    message: &DynamicMessage,
    type_url: Option<&str>,
    depth: usize,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let (pool, depth) = (message.pool(), deeper(depth)?);
    let fields = set_fields(message);
    let entries = usize::from(type_url.is_some()) + fields.len();
    let mut map = serializer.serialize_map(Some(entries))?;
    if let Some(type_url) = type_url {
        map.serialize_entry(any::TYPE_KEY, type_url)?;
    }
    for (key, field, value) in fields {
        let kind = field.kind();
        map.serialize_entry(
            key,
            &WriteValue {
                pool,
                kind,
                value,
                depth,
            },
        )?;
    }
    map.end()
}

/// Serializes a field's value, or one element or entry of it.
#[derive(Clone, Copy)]
struct WriteValue<'a> {
    pool: &'a DescriptorPool,
    kind: FieldKind,
    value: &'a Value,
    depth: usize,
}

impl Serialize for WriteValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (pool, depth) = (self.pool, self.depth);
        let one_of = |kind, value| WriteValue {
            kind: FieldKind::Singular(kind),
            value,
            ..*self
        };
        match (self.kind, self.value) {
            (FieldKind::Singular(SingularKind::Scalar(_)), value) => {
                write_scalar(value, serializer)
            }
            (FieldKind::Singular(SingularKind::Enum(index)), Value::EnumNumber(number)) => {
                write_enum(pool, index, *number, serializer)
            }
            (FieldKind::Singular(SingularKind::Message(_)), Value::Message(message)) => {
                WriteMessage { message, depth }.serialize(serializer)
            }
            (FieldKind::List(kind), Value::List(items)) => {
                serializer.collect_seq(items.iter().map(|item| one_of(kind, item)))
            }
            (FieldKind::Map { value: kind, .. }, Value::Map(entries)) => {
                let entries = entries.iter();
                serializer.collect_map(entries.map(|(k, v)| (WriteMapKey(k), one_of(kind, v))))
            }
            _ => Err(wrong_shape()),
        }
    }
}

/// Unreachable: the pool's messages hold only values of their fields' kinds.
fn wrong_shape<E: Error>() -> E {
    E::custom("a field holds a value of the wrong kind")
}

struct WriteMapKey<'a>(&'a MapKey);

impl Serialize for WriteMapKey<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            MapKey::Bool(key) => key.serialize(serializer),
            MapKey::I32(key) => key.serialize(serializer),
            MapKey::I64(key) => key.serialize(serializer),
            MapKey::U32(key) => key.serialize(serializer),
            MapKey::U64(key) => key.serialize(serializer),
            MapKey::String(key) => key.serialize(serializer),
        }
    }
}

fn write_scalar<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable()
        && let Some(text) = in_text(value)
    {
        return serializer.serialize_str(&text);
    }
    match value {
        Value::Bool(v) => v.serialize(serializer),
        Value::I32(v) => v.serialize(serializer),
        Value::I64(v) => v.serialize(serializer),
        Value::U32(v) => v.serialize(serializer),
        Value::U64(v) => v.serialize(serializer),
        Value::F32(v) => v.serialize(serializer),
        Value::F64(v) => v.serialize(serializer),
        Value::String(v) => v.serialize(serializer),
        Value::Bytes(v) => serializer.serialize_bytes(v),
        _ => Err(wrong_shape()),
    }
}

/// The text of a value that JSON has no type for: bytes, NaN and the infinities.
fn in_text(value: &Value) -> Option<Cow<'static, str>> {
    let number = match value {
        Value::Bytes(bytes) => return Some(STANDARD.encode(bytes).into()),
        Value::F32(number) => f64::from(*number),
        Value::F64(number) => *number,
        _ => return None,
    };
    if number.is_nan() {
        Some("NaN".into())
    } else if number.is_infinite() {
        let text = if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        };
        Some(text.into())
    } else {
        None
    }
}

/// Writes the default value of a wrapper whose scalar is not set.
fn write_zero<S: Serializer>(scalar: ScalarType, serializer: S) -> Result<S::Ok, S::Error> {
    use ScalarType as T;
    match scalar {
        T::Double => serializer.serialize_f64(0.0),
        T::Float => serializer.serialize_f32(0.0),
        T::Bool => serializer.serialize_bool(false),
        T::String => serializer.serialize_str(""),
        T::Bytes => write_scalar(&Value::Bytes(Vec::new()), serializer),
        // Integers are written in as few bytes as possible, so their width does not matter.
        _ => serializer.serialize_u32(0),
    }
}

/// Writes an enum value as its name, or as its number if it has no name.
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
    depth: usize,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match kind {
        // The library writes these as strings in every format.
        WellKnown::Timestamp | WellKnown::Duration | WellKnown::FieldMask => {
            message.serialize(serializer)
        }
        WellKnown::Wrapper(scalar) => match message.field_by_number(well_known::ONLY_FIELD) {
            Some(value) => write_scalar(value, serializer),
            None => write_zero(scalar, serializer),
        },
        WellKnown::Struct | WellKnown::ListValue => {
            write_only_field(kind, message, depth, serializer)
        }
        WellKnown::Value => write_value(message, depth, serializer),
        WellKnown::Any => write_any(message, depth, serializer),
    }
}

/// Writes a `Struct` as a map, and a `ListValue` as a list.
fn write_only_field<S: Serializer>(
    kind: WellKnown,
    message: &DynamicMessage,
    depth: usize,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let field = message.message_descriptor().field(well_known::ONLY_FIELD);
    match (field, message.field_by_number(well_known::ONLY_FIELD), kind) {
        (Some(field), Some(value), _) => WriteValue {
            pool: message.pool(),
            kind: field.kind(),
            value,
            depth,
        }
        .serialize(serializer),
        (_, _, WellKnown::Struct) => serializer.serialize_map(Some(0))?.end(),
        _ => serializer.serialize_seq(Some(0))?.end(),
    }
}

/// Writes the value that a `Value` holds, or null if it holds none.
fn write_value<S: Serializer>(
    message: &DynamicMessage,
    depth: usize,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut fields = well_known::value::HELD;
    let held = fields.find_map(|number| message.field_by_number(number));
    match held {
        None => serializer.serialize_none(),
        Some(Value::F64(number)) if !number.is_finite() => Err(S::Error::custom(
            "a google.protobuf.Value cannot hold NaN or infinity",
        )),
        Some(Value::Message(message)) => WriteMessage { message, depth }.serialize(serializer),
        Some(scalar) => write_scalar(scalar, serializer),
    }
}

/// Writes an `Any` as its payload, preceded by the type URL.
fn write_any<S: Serializer>(
    message: &DynamicMessage,
    depth: usize,
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
            "a google.protobuf.Any holds a \"{type_url}\", which the .proto files do not define"
        ))
    })?;
    let levels = DecodeOptions::new().with_recursion_limit(depth as u32);
    let payload = DynamicMessage::decode_with_options(pool.clone(), index, bytes, &levels)
        .map_err(|e| {
            S::Error::custom(format_args!(
                "a google.protobuf.Any contains an invalid \"{type_url}\": {e}"
            ))
        })?;
    if WellKnown::of(payload.message_descriptor()).is_some() {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(any::TYPE_KEY, type_url)?;
        map.serialize_entry(
            any::VALUE_KEY,
            &WriteMessage {
                message: &payload,
                depth,
            },
        )?;
        return map.end();
    }
    write_fields(&payload, Some(type_url), depth, serializer)
}
