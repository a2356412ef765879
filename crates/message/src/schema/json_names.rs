//! The JSON names of fields.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use buffa_descriptor::generated::descriptor::{
    DescriptorProto, FileDescriptorProto, MessageOptions,
};

use crate::path::clip;

/// The default JSON name of a field: lowerCamelCase, as derived by protoc.
pub(crate) fn derived(name: &str) -> String {
    let mut is_after_underscore = false;
    let mut json = String::with_capacity(name.len());
    for c in name.chars() {
        if c == '_' {
            is_after_underscore = true;
        } else if std::mem::take(&mut is_after_underscore) {
            json.push(c.to_ascii_uppercase());
        } else {
            json.push(c);
        }
    }
    json
}

/// Renames fields of a message whose derived JSON names collide. Returns whether any field was renamed. proto2
/// allows both `event_type` and `eventType`, but both would be `eventType` in JSON. The field declared with
/// that name keeps it, or else the first field does; the other one becomes `event_type` in JSON too.
///
/// # Errors
/// If fields share a name in any other way. Readers accept both names of a field, so they could not tell the
/// fields apart.
pub(super) fn make_unique(file: &mut FileDescriptorProto) -> Result<bool, String> {
    let allows_shared = file.syntax.as_deref() != Some("proto3");
    let mut messages = file.message_type.iter_mut();
    messages.try_fold(false, |changed, message| {
        Ok(in_message(message, allows_shared)? | changed)
    })
}

fn in_message(message: &mut DescriptorProto, file_allows_shared: bool) -> Result<bool, String> {
    /// The field that has a name.
    struct Holder {
        name: String,
        /// Whether the field would have this JSON name without a `json_name`.
        is_derived: bool,
    }
    let allows_shared =
        file_allows_shared || message.options.as_option().is_some_and(allows_shared);
    let json_name =
        |name: &str, given: &Option<String>| given.clone().unwrap_or_else(|| derived(name));
    let mut taken: HashMap<String, Holder> = HashMap::with_capacity(2 * message.field.len());
    for field in &message.field {
        let name = field.name.clone().unwrap_or_default();
        let is_derived = json_name(&name, &field.json_name) == name;
        taken.insert(name.clone(), Holder { name, is_derived });
    }
    let mut changed = false;
    for field in &mut message.field {
        let name = field.name.clone().unwrap_or_default();
        let in_json = json_name(&name, &field.json_name);
        if in_json == name {
            continue;
        }
        let is_derived = in_json == derived(&name);
        match taken.entry(in_json) {
            Entry::Vacant(entry) => {
                entry.insert(Holder { name, is_derived });
            }
            Entry::Occupied(holder) if allows_shared && is_derived && holder.get().is_derived => {
                field.json_name = Some(name);
                changed = true;
            }
            Entry::Occupied(holder) => {
                return Err(format!(
                    "the fields \"{}\" and \"{}\" of {} share the name \"{}\" in JSON; give one of them another \
                     json_name",
                    clip(&holder.get().name),
                    clip(&name),
                    clip(message.name.as_deref().unwrap_or_default()),
                    clip(holder.key())
                ));
            }
        }
    }
    for nested in &mut message.nested_type {
        changed |= in_message(nested, file_allows_shared)?;
    }
    Ok(changed)
}

/// Whether the fields of a message may share derived names even in proto3. In a file that was only parsed,
/// options are still uninterpreted.
fn allows_shared(options: &MessageOptions) -> bool {
    let mut uninterpreted = options.uninterpreted_option.iter();
    options.deprecated_legacy_json_field_conflicts == Some(true)
        || uninterpreted.any(|option| {
            matches!(&option.name[..], [part] if part.name_part == "deprecated_legacy_json_field_conflicts")
                && option.identifier_value.as_deref() == Some("true")
        })
}
