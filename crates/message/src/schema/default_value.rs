//! Default values of fields (proto2 and editions). Descriptors store each default as text, which some
//! generators copy verbatim into source code.

use buffa_descriptor::generated::descriptor::FieldDescriptorProto;
use buffa_descriptor::generated::descriptor::field_descriptor_proto::Type;

use super::names::is_identifier;

/// Whether a field's default value fits its type, in the notation of `descriptor.proto`. Strings and bytes may
/// have any default because generators escape it.
pub(super) fn fits(field: &FieldDescriptorProto) -> bool {
    let Some(value) = field.default_value.as_deref() else {
        return true;
    };
    match field.r#type {
        Some(Type::TYPE_STRING | Type::TYPE_BYTES) => true,
        Some(Type::TYPE_BOOL) => matches!(value, "true" | "false"),
        Some(Type::TYPE_INT32 | Type::TYPE_SINT32 | Type::TYPE_SFIXED32) => {
            value.parse::<i32>().is_ok()
        }
        Some(Type::TYPE_INT64 | Type::TYPE_SINT64 | Type::TYPE_SFIXED64) => {
            value.parse::<i64>().is_ok()
        }
        Some(Type::TYPE_UINT32 | Type::TYPE_FIXED32) => value.parse::<u32>().is_ok(),
        Some(Type::TYPE_UINT64 | Type::TYPE_FIXED64) => value.parse::<u64>().is_ok(),
        // This includes `inf`, `-inf` and `nan`.
        Some(Type::TYPE_FLOAT | Type::TYPE_DOUBLE) => value.parse::<f64>().is_ok(),
        // Messages have no default. A field with a type name but no `type` is a message or an enum.
        Some(Type::TYPE_ENUM) | None => is_identifier(value),
        Some(Type::TYPE_MESSAGE | Type::TYPE_GROUP) => false,
    }
}
