//! Finds fields that arrived with another wire type than their own.

use buffa::unknown_fields::{UnknownField, UnknownFieldData};
use buffa_descriptor::{
    DynamicMessage, FieldDescriptor, FieldKind, ReflectMessage, ScalarType, SingularKind,
};

use crate::path::find_field;

/// What is wrong, with its path, when an unknown field has the number of a known one.
pub(super) fn mismatch(message: &DynamicMessage) -> Option<String> {
    let (path, what) = find_field(message, &|message| {
        let descriptor = message.message_descriptor();
        message.unknown_fields().iter().find_map(|unknown| {
            let field = descriptor.field(unknown.number)?;
            (!may_be(field, unknown)).then_some((field, shown(unknown)))
        })
    })?;
    Some(format!("{path}: wrong wire type: {what}"))
}

/// Whether a field may be unknown with this wire type: a closed enum's value without a name is.
fn may_be(field: &FieldDescriptor, unknown: &UnknownField) -> bool {
    let is_length_delimited = matches!(unknown.data, UnknownFieldData::LengthDelimited(_));
    match field.kind() {
        FieldKind::Map { .. } => is_length_delimited,
        FieldKind::Singular(kind) => has_wire_type(kind, unknown),
        FieldKind::List(kind) => {
            has_wire_type(kind, unknown) || is_packable(kind) && is_length_delimited
        }
    }
}

fn has_wire_type(kind: SingularKind, unknown: &UnknownField) -> bool {
    use {ScalarType as T, UnknownFieldData as D};
    let data = &unknown.data;
    match kind {
        SingularKind::Message(_) => matches!(data, D::LengthDelimited(_) | D::Group(_)),
        SingularKind::Scalar(T::String | T::Bytes) => matches!(data, D::LengthDelimited(_)),
        SingularKind::Scalar(T::Double | T::Fixed64 | T::Sfixed64) => matches!(data, D::Fixed64(_)),
        SingularKind::Scalar(T::Float | T::Fixed32 | T::Sfixed32) => matches!(data, D::Fixed32(_)),
        SingularKind::Scalar(_) | SingularKind::Enum(_) => matches!(data, D::Varint(_)),
    }
}

const fn is_packable(kind: SingularKind) -> bool {
    !matches!(
        kind,
        SingularKind::Message(_) | SingularKind::Scalar(ScalarType::String | ScalarType::Bytes)
    )
}

const fn shown(unknown: &UnknownField) -> &'static str {
    match unknown.data {
        UnknownFieldData::Varint(_) => "a varint",
        UnknownFieldData::Fixed64(_) => "64 fixed bits",
        UnknownFieldData::Fixed32(_) => "32 fixed bits",
        UnknownFieldData::LengthDelimited(_) => "length-delimited bytes",
        UnknownFieldData::Group(_) => "a group",
    }
}
