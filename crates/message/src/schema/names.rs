//! Checks the names and default values in a descriptor set. A compiler of .proto files writes only valid ones,
//! but a server or another tool may not. They are used in errors, messages, lookups by full name, and generated
//! source code.

use std::collections::HashSet;
use std::sync::LazyLock;

use buffa::Message as _;
use buffa_descriptor::generated::descriptor::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    FileDescriptorSet, MessageOptions,
};

use protox::file::GoogleFileResolver;

use super::{default_value, file_name};
use crate::path::clip;

/// Checks that a .proto file could declare each name. The error contains the file's name, if that is valid, and
/// the rule.
pub(super) fn check(set: &FileDescriptorSet) -> Result<(), (Option<String>, String)> {
    set.file.iter().try_for_each(|file| {
        let name = file.name.as_deref().unwrap_or_default();
        file_name::check(name).map_err(|what| (None, what))?;
        check_file(file).map_err(|what| (Some(name.to_owned()), what))
    })
}

fn check_file(file: &FileDescriptorProto) -> Result<(), String> {
    let mut imports = file.dependency.iter().chain(&file.option_dependency);
    imports.try_for_each(|import| file_name::check(import))?;
    if let Some(package) = file.package.as_deref().filter(|name| !name.is_empty()) {
        for part in package.split('.') {
            check_name("a package", Some(part))?;
        }
    }
    file.message_type.iter().try_for_each(check_message)?;
    if file.package.as_deref() == Some("google.protobuf") {
        file.message_type.iter().try_for_each(check_well_known)?;
    }
    file.enum_type.iter().try_for_each(check_enum)?;
    file.extension.iter().try_for_each(check_field)?;
    for service in &file.service {
        check_name("a service", service.name.as_deref())?;
        for method in &service.method {
            check_name("a method", method.name.as_deref())?;
        }
    }
    Ok(())
}

fn check_message(message: &DescriptorProto) -> Result<(), String> {
    check_name("a message", message.name.as_deref())?;
    message.field.iter().try_for_each(check_field)?;
    message.extension.iter().try_for_each(check_field)?;
    for oneof in &message.oneof_decl {
        check_name("a oneof", oneof.name.as_deref())?;
    }
    message.enum_type.iter().try_for_each(check_enum)?;
    message.nested_type.iter().try_for_each(check_message)
}

fn check_enum(of: &EnumDescriptorProto) -> Result<(), String> {
    check_name("an enum", of.name.as_deref())?;
    for value in &of.value {
        check_name("an enum's value", value.name.as_deref())?;
    }
    Ok(())
}

fn check_field(field: &FieldDescriptorProto) -> Result<(), String> {
    check_name("a field", field.name.as_deref())?;
    if !default_value::fits(field) {
        return Err(format!(
            "the field \"{}\" has the default value \"{}\", which is not valid for its type",
            field.name.as_deref().unwrap_or_default(),
            clip(field.default_value.as_deref().unwrap_or_default())
        ));
    }
    // `json_name` may be any text without control characters.
    match &field.json_name {
        Some(name) if name.chars().any(char::is_control) => Err(format!(
            "\"{}\", a field's name in JSON, has control characters",
            clip(name)
        )),
        _ => Ok(()),
    }
}

/// The files that declare `Empty` and the messages of `google.protobuf` with a special JSON form.
static WELL_KNOWN: LazyLock<Vec<FileDescriptorProto>> = LazyLock::new(|| {
    let files = [
        "any",
        "duration",
        "empty",
        "field_mask",
        "struct",
        "timestamp",
        "wrappers",
    ];
    let mut compiler = protox::Compiler::with_file_resolver(GoogleFileResolver::new());
    compiler
        .open_files(files.map(|file| format!("google/protobuf/{file}.proto")))
        .expect("the compiler has these files");
    let set = FileDescriptorSet::decode_from_slice(&compiler.encode_file_descriptor_set())
        .expect("the compiler wrote them");
    set.file
});

/// Whether a file is one of protobuf's own, for which every language's protobuf library contains code.
pub(crate) fn is_well_known(file: &str) -> bool {
    const OTHERS: [&str; 5] = [
        "google/protobuf/api.proto",
        "google/protobuf/compiler/plugin.proto",
        "google/protobuf/descriptor.proto",
        "google/protobuf/source_context.proto",
        "google/protobuf/type.proto",
    ];
    let mut files = WELL_KNOWN.iter().filter_map(|file| file.name.as_deref());
    OTHERS.contains(&file) || files.any(|known| known == file)
}

/// Whether a message may contain arbitrary messages, in a `google.protobuf.Any`.
pub(super) fn has_any(set: &FileDescriptorSet) -> bool {
    well_known(set).any(|message| message.name.as_deref() == Some("Any"))
}

fn well_known(set: &FileDescriptorSet) -> impl Iterator<Item = &DescriptorProto> {
    let files = set.file.iter();
    files
        .filter(|file| file.package.as_deref() == Some("google.protobuf"))
        .flat_map(|file| &file.message_type)
}

/// Adds the well-known types that no file imports, because an `Any` may contain them anyway.
pub(super) fn add_well_known(set: &mut FileDescriptorSet) {
    let there: HashSet<String> = well_known(set)
        .filter_map(|message| message.name.clone())
        .collect();
    let is_there = |message: &DescriptorProto| {
        message
            .name
            .as_ref()
            .is_some_and(|name| there.contains(name))
    };
    let missing = WELL_KNOWN
        .iter()
        .filter(|file| !file.message_type.iter().any(is_there));
    let missing: Vec<_> = missing.cloned().collect();
    set.file.extend(missing);
}

/// Checks a message of `google.protobuf`, because the protobuf library recognizes well-known types by name
/// alone.
fn check_well_known(message: &DescriptorProto) -> Result<(), String> {
    let mut known = WELL_KNOWN.iter().flat_map(|file| &file.message_type);
    let known = known.find(|known| known.name == message.name);
    if known.is_none_or(|known| has_all_of(message, known)) {
        return Ok(());
    }
    Err(format!(
        "its google.protobuf.{} lacks fields of the well-known type",
        message.name.as_deref().unwrap_or_default()
    ))
}

fn has_all_of(message: &DescriptorProto, known: &DescriptorProto) -> bool {
    let shape = |field: &FieldDescriptorProto| {
        (
            field.number,
            field.r#type,
            field.label,
            field.type_name.clone(),
        )
    };
    let has_field = |known| {
        message
            .field
            .iter()
            .any(|field| shape(field) == shape(known))
    };
    let has_nested = |known: &DescriptorProto| {
        let mut nested = message.nested_type.iter();
        nested.any(|nested| nested.name == known.name && has_all_of(nested, known))
    };
    known.field.iter().all(has_field) && known.nested_type.iter().all(has_nested)
}

/// Applies a change to every field of a file, including extensions.
pub(crate) fn change_fields(
    file: &mut FileDescriptorProto,
    change: &dyn Fn(&mut FieldDescriptorProto),
) {
    fn in_message(message: &mut DescriptorProto, change: &dyn Fn(&mut FieldDescriptorProto)) {
        let fields = message.field.iter_mut();
        fields.chain(&mut message.extension).for_each(change);
        let nested = message.nested_type.iter_mut();
        nested.for_each(|message| in_message(message, change));
    }
    file.extension.iter_mut().for_each(change);
    let messages = file.message_type.iter_mut();
    messages.for_each(|message| in_message(message, change));
}

/// Whether a message uses the MessageSet wire format, which the protobuf library does not support. It would
/// write an ordinary extension instead of a group with the extension's number and message.
pub(crate) fn is_message_set(options: Option<&MessageOptions>) -> bool {
    options.is_some_and(|options| options.message_set_wire_format == Some(true))
}

/// The error for a non-empty MessageSet.
pub(crate) const MESSAGE_SET: &str =
    "the wire format of MessageSet is not supported; leave it empty";

/// Removes the extensions of all MessageSets, so that every MessageSet is empty. Otherwise, the library would
/// refuse extensions whose numbers only a MessageSet allows.
pub(super) fn leave_out_message_set_extensions(set: &mut FileDescriptorSet) {
    fn find(scope: &str, messages: &[DescriptorProto], found: &mut HashSet<String>) {
        for message in messages {
            let name = format!("{scope}.{}", message.name.as_deref().unwrap_or_default());
            find(&name, &message.nested_type, found);
            if is_message_set(message.options.as_option()) {
                found.insert(name);
            }
        }
    }
    fn leave_out(
        extensions: &mut Vec<FieldDescriptorProto>,
        messages: &mut [DescriptorProto],
        message_sets: &HashSet<String>,
    ) {
        extensions.retain(|field| {
            let of = field.extendee.as_deref().unwrap_or_default();
            !message_sets.contains(&format!(".{}", of.trim_start_matches('.')))
        });
        for message in messages {
            leave_out(
                &mut message.extension,
                &mut message.nested_type,
                message_sets,
            );
        }
    }
    let mut message_sets = HashSet::new();
    for file in &set.file {
        let scope = match file.package.as_deref() {
            Some(package) if !package.is_empty() => format!(".{package}"),
            _ => String::new(),
        };
        find(&scope, &file.message_type, &mut message_sets);
    }
    if message_sets.is_empty() {
        return;
    }
    for file in &mut set.file {
        leave_out(&mut file.extension, &mut file.message_type, &message_sets);
    }
}

/// Checks that a name, or one part of a package name, is an identifier. A missing name is treated as empty.
fn check_name(of: &str, name: Option<&str>) -> Result<(), String> {
    let name = name.unwrap_or_default();
    if is_identifier(name) {
        return Ok(());
    }
    Err(format!(
        "\"{}\" is not a valid name of {of}: it must consist of ASCII letters, digits and \"_\", and must not begin with a digit",
        clip(name)
    ))
}

/// Whether a string is an identifier in the protobuf language.
pub(super) fn is_identifier(text: &str) -> bool {
    !text.starts_with(|first: char| first.is_ascii_digit())
        && !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests;
