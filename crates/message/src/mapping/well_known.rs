//! The well-known types: messages of `google.protobuf` whose JSON form is not an object of their fields.

use std::ops::RangeInclusive;

use buffa_descriptor::{DescriptorPool, MessageDescriptor, MessageIndex, ScalarType};

/// The only field of `Struct`, of `ListValue`, and of each wrapper.
pub(crate) const ONLY_FIELD: u32 = 1;

/// Fields of `Value`.
pub(crate) mod value {
    use super::RangeInclusive;

    pub(crate) const NUMBER: u32 = 2;
    pub(crate) const STRUCT: u32 = 5;
    pub(crate) const LIST: u32 = 6;
    /// The fields that hold a value: number, string, bool, struct and list, but not null.
    pub(crate) const HELD: RangeInclusive<u32> = NUMBER..=LIST;
}

/// Fields of `Any`.
pub(crate) mod any {
    pub(crate) const TYPE_URL: u32 = 1;
    pub(crate) const VALUE: u32 = 2;
    /// The key of the type URL in the JSON mapping; always first.
    pub(crate) const TYPE_KEY: &str = "@type";
    /// The key of a payload that itself has a special JSON form.
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
    /// A message that wraps a scalar.
    Wrapper(ScalarType),
}

impl WellKnown {
    /// Returns the well-known type of a message descriptor, if it is one.
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

/// Finds the type that a type URL names: `type.googleapis.com/package.Message`.
pub(crate) fn payload_type(pool: &DescriptorPool, type_url: &str) -> Option<MessageIndex> {
    pool.message_index(type_url.rsplit('/').next()?)
}
