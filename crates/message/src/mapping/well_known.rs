//! The well-known types: messages of `google.protobuf` whose forms are not those of their fields.

use buffa::json_helpers::wkt;
use buffa_descriptor::{DynamicMessage, MessageDescriptor, MessageIndex, ScalarType, Value};

/// Field of `Struct` and of `ListValue`, and of each wrapper.
pub(crate) const ONLY_FIELD: u32 = 1;

/// Fields of `Value`.
pub(crate) mod value {
    pub(crate) const NULL: u32 = 1;
    pub(crate) const NUMBER: u32 = 2;
    pub(crate) const STRING: u32 = 3;
    pub(crate) const BOOL: u32 = 4;
    pub(crate) const STRUCT: u32 = 5;
    pub(crate) const LIST: u32 = 6;
}

/// Fields of `Any`.
pub(crate) mod any {
    pub(crate) const TYPE_URL: u32 = 1;
    pub(crate) const VALUE: u32 = 2;
    /// The key of the type in the mapping, always the first.
    pub(crate) const TYPE_KEY: &str = "@type";
    /// The key of a payload that is no object of fields itself.
    pub(crate) const VALUE_KEY: &str = "value";
}

/// The enum whose only value is written as null.
pub(crate) const NULL_VALUE: &str = "google.protobuf.NullValue";

/// A well-known type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WellKnown {
    Timestamp,
    Duration,
    FieldMask,
    Struct,
    Value,
    ListValue,
    Any,
    /// A scalar in a message of its own.
    Wrapper(ScalarType),
}

impl WellKnown {
    /// Which of them a message type is.
    pub(crate) fn of(descriptor: &MessageDescriptor) -> Option<Self> {
        Some(
            match descriptor.full_name().strip_prefix("google.protobuf.")? {
                "Timestamp" => Self::Timestamp,
                "Duration" => Self::Duration,
                "FieldMask" => Self::FieldMask,
                "Struct" => Self::Struct,
                "Value" => Self::Value,
                "ListValue" => Self::ListValue,
                "Any" => Self::Any,
                "DoubleValue" => Self::Wrapper(ScalarType::Double),
                "FloatValue" => Self::Wrapper(ScalarType::Float),
                "Int64Value" => Self::Wrapper(ScalarType::Int64),
                "UInt64Value" => Self::Wrapper(ScalarType::Uint64),
                "Int32Value" => Self::Wrapper(ScalarType::Int32),
                "UInt32Value" => Self::Wrapper(ScalarType::Uint32),
                "BoolValue" => Self::Wrapper(ScalarType::Bool),
                "StringValue" => Self::Wrapper(ScalarType::String),
                "BytesValue" => Self::Wrapper(ScalarType::Bytes),
                _ => return None,
            },
        )
    }
}

/// The type that a `type.googleapis.com/package.Message` names.
pub(crate) fn payload_type(
    pool: &buffa_descriptor::DescriptorPool,
    type_url: &str,
) -> Option<MessageIndex> {
    pool.message_index(type_url.rsplit('/').next()?)
}

/// Seconds and nanoseconds of a `Timestamp` or a `Duration`.
fn seconds_and_nanos(message: &DynamicMessage) -> (i64, i32) {
    let seconds = match message.field_by_number(1) {
        Some(Value::I64(seconds)) => *seconds,
        _ => 0,
    };
    let nanos = match message.field_by_number(2) {
        Some(Value::I32(nanos)) => *nanos,
        _ => 0,
    };
    (seconds, nanos)
}

/// The text of a `Timestamp`, a `Duration` or a `FieldMask`.
pub(crate) fn to_text(kind: WellKnown, message: &DynamicMessage) -> Result<String, String> {
    let (seconds, nanos) = seconds_and_nanos(message);
    match kind {
        WellKnown::Timestamp => wkt::fmt_timestamp(seconds, nanos)
            .map_err(|_| format!("{seconds} s and {nanos} ns is no time in the years 1 to 9999")),
        WellKnown::Duration => wkt::fmt_duration(seconds, nanos)
            .map_err(|_| format!("{seconds} s and {nanos} ns is no duration within 10,000 years")),
        _ => mask_to_text(message),
    }
}

fn mask_to_text(message: &DynamicMessage) -> Result<String, String> {
    let Some(Value::List(paths)) = message.field_by_number(ONLY_FIELD) else {
        return Ok(String::new());
    };
    let mut text = String::new();
    for path in paths {
        let Value::String(path) = path else { continue };
        if !wkt::field_mask_path_round_trips(path) {
            return Err(format!("the path \"{path}\" has no lowerCamelCase form"));
        }
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&wkt::snake_to_camel(path));
    }
    Ok(text)
}

/// What text to expect of a `Timestamp`, a `Duration` or a `FieldMask`.
pub(crate) const fn wanted_text(kind: WellKnown) -> &'static str {
    match kind {
        WellKnown::Timestamp => "a time as in \"2026-11-20T12:00:00.5Z\" (RFC 3339)",
        WellKnown::Duration => "a duration in seconds as in \"1.5s\"",
        _ => "field paths as in \"user.displayName,photo\"",
    }
}

/// The fields' values, by number, of a `Timestamp`, a `Duration` or a `FieldMask` from its text.
/// `None` when it is not one.
pub(crate) fn from_text(kind: WellKnown, text: &str) -> Option<Vec<(u32, Value)>> {
    let (seconds, nanos) = match kind {
        WellKnown::Timestamp => wkt::parse_timestamp(text).ok()?,
        WellKnown::Duration => wkt::parse_duration(text).ok()?,
        _ => return mask_from_text(text),
    };
    let mut fields = Vec::new();
    if seconds != 0 {
        fields.push((1, Value::I64(seconds)));
    }
    if nanos != 0 {
        fields.push((2, Value::I32(nanos)));
    }
    Some(fields)
}

fn mask_from_text(text: &str) -> Option<Vec<(u32, Value)>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let mut paths = Vec::new();
    for camel in text.split(',') {
        let path = wkt::camel_to_snake(camel);
        if !wkt::field_mask_path_round_trips(&path) || wkt::snake_to_camel(&path) != camel {
            return None;
        }
        paths.push(Value::String(path));
    }
    Some(vec![(ONLY_FIELD, Value::List(paths))])
}
