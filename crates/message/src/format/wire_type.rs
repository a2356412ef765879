//! Finds fields that arrived with the wrong wire type, and fields of a MessageSet.

use buffa::unknown_fields::{UnknownField, UnknownFieldData};
use buffa_descriptor::{
    DynamicMessage, FieldDescriptor, FieldKind, ReflectMessage, ScalarType, SingularKind,
};

use crate::path::find_in;
use crate::schema::names::{MESSAGE_SET, is_message_set};

/// Returns the path and the error if an unknown field has a known field's number or is in a MessageSet.
pub(super) fn mismatch(message: &DynamicMessage) -> Option<String> {
    let (path, what) = find_in(message, &|message| {
        let descriptor = message.message_descriptor();
        let mut unknown = message.unknown_fields().iter();
        if is_message_set(descriptor.options()) {
            return unknown.next().map(|_| (None, MESSAGE_SET.to_owned()));
        }
        unknown.find_map(|unknown| {
            let extension = || {
                let pool = message.pool();
                let found = pool.extension_for(message.message_index(), unknown.number)?;
                Some((found.json_key(), found.field()))
            };
            let declared = descriptor.field(unknown.number);
            let (key, field) = declared.map(|f| (f.json_name(), f)).or_else(extension)?;
            let what = || format!("wrong wire type: {}", shown(unknown));
            (!may_be(field, unknown)).then(|| (Some(key), what()))
        })
    })?;
    Some(format!("{path}: {what}"))
}

/// Whether a field with this wire type may be among the unknown fields. Unnamed values of a closed enum are.
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
        UnknownFieldData::Fixed64(_) => "a fixed 64-bit value",
        UnknownFieldData::Fixed32(_) => "a fixed 32-bit value",
        UnknownFieldData::LengthDelimited(_) => "length-delimited bytes",
        UnknownFieldData::Group(_) => "a group",
    }
}
