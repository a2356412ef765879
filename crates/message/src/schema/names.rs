//! The names in a descriptor set. A compiler of .proto files writes no others, but a server or a
//! tool may, and they would go into errors, into messages, and into look-ups by full name.

use std::collections::HashSet;
use std::sync::LazyLock;

use buffa::Message as _;
use buffa_descriptor::generated::descriptor::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    FileDescriptorSet,
};

use protox::file::GoogleFileResolver;

use crate::path::clip;

/// Says which name no .proto file could give, after the file that it is in.
pub(super) fn check(set: &FileDescriptorSet) -> Result<(), (Option<String>, String)> {
    let check = |file| check_file(file).map_err(|what| (file.name.clone(), what));
    set.file.iter().try_for_each(check)
}

fn check_file(file: &FileDescriptorProto) -> Result<(), String> {
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
    // `json_name` may be any text.
    match &field.json_name {
        Some(name) if name.chars().any(char::is_control) => Err(format!(
            "\"{}\", a field's name in JSON, has control characters",
            clip(name)
        )),
        _ => Ok(()),
    }
}

/// The files of the messages in `google.protobuf` that have forms of their own in JSON, and of `Empty`.
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

/// Whether a file is protobuf's own: the libraries of all languages have its code.
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

/// Whether a message may hold any other, in a `google.protobuf.Any`.
pub(super) fn has_any(set: &FileDescriptorSet) -> bool {
    well_known(set).any(|message| message.name.as_deref() == Some("Any"))
}

fn well_known(set: &FileDescriptorSet) -> impl Iterator<Item = &DescriptorProto> {
    let files = set.file.iter();
    files
        .filter(|file| file.package.as_deref() == Some("google.protobuf"))
        .flat_map(|file| &file.message_type)
}

/// Adds the well-known types that no file imports, which an `Any` may hold all the same.
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

/// The protobuf library reads and writes these by their name alone.
fn check_well_known(message: &DescriptorProto) -> Result<(), String> {
    let mut known = WELL_KNOWN.iter().flat_map(|file| &file.message_type);
    let known = known.find(|known| known.name == message.name);
    if known.is_none_or(|known| has_all_of(message, known)) {
        return Ok(());
    }
    Err(format!(
        "its google.protobuf.{} has other fields than the well-known type",
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

/// Changes every field of a file, and every extension in it.
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

/// Leaves out extensions that only a MessageSet can have, by their number: the linker refuses them, and a
/// MessageSet must be empty in any case (`Types::message_set`).
pub(super) fn leave_out_message_set_extensions(file: &mut FileDescriptorProto) {
    /// The highest number of any other field.
    const MAX_NUMBER: i32 = (1 << 29) - 1;
    fn leave_out(extensions: &mut Vec<FieldDescriptorProto>, nested: &mut [DescriptorProto]) {
        extensions.retain(|field| field.number.is_none_or(|number| number <= MAX_NUMBER));
        for message in nested {
            leave_out(&mut message.extension, &mut message.nested_type);
        }
    }
    leave_out(&mut file.extension, &mut file.message_type);
}

/// Gives fields of one message that share a name in JSON a name each, and says whether there were any. Proto2
/// allows `eventType` beside `event_type`, which both are `eventType` in JSON. The field that is called so,
/// or else the first one, keeps that name; any other one goes by its own name.
pub(super) fn disambiguate_in_json(file: &mut FileDescriptorProto) -> bool {
    fn in_message(message: &mut DescriptorProto, file_allows: bool) -> bool {
        let options = message.options.as_option();
        let allows = file_allows
            || options.is_some_and(|options| {
                options.deprecated_legacy_json_field_conflicts == Some(true)
            });
        let mut changed = false;
        if allows {
            let mut taken: HashSet<String> = message
                .field
                .iter()
                .filter_map(|field| field.name.clone())
                .collect();
            for field in &mut message.field {
                let name = field.name.clone().unwrap_or_default();
                let in_json = field.json_name.clone().unwrap_or_else(|| json_name(&name));
                if in_json != name && !taken.insert(in_json) {
                    field.json_name = Some(name);
                    changed = true;
                }
            }
        }
        for nested in &mut message.nested_type {
            changed |= in_message(nested, file_allows);
        }
        changed
    }
    let is_proto3 = file.syntax.as_deref() == Some("proto3");
    let mut changed = false;
    for message in &mut file.message_type {
        changed |= in_message(message, !is_proto3);
    }
    changed
}

/// The name in JSON of a field that gives none: lowerCamelCase, as protoc makes it.
pub(crate) fn json_name(name: &str) -> String {
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

/// Holds a name, or one part of a package's, to what compilers allow. An absent name is empty.
fn check_name(of: &str, name: Option<&str>) -> Result<(), String> {
    let name = name.unwrap_or_default();
    if !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        return Ok(());
    }
    Err(format!(
        "\"{}\", the name of {of}, has to be letters, digits and \"_\"",
        clip(name)
    ))
}

#[cfg(test)]
mod tests {
    use buffa::Message as _;
    use buffa_descriptor::generated::descriptor::{
        EnumValueDescriptorProto, MethodDescriptorProto, OneofDescriptorProto,
        ServiceDescriptorProto,
    };

    use super::*;
    use crate::Schema;

    /// A sound file to which one thing is done.
    fn refusal(change: impl FnOnce(&mut FileDescriptorProto)) -> String {
        let name = |name: &str| Some(name.to_owned());
        let mut file = FileDescriptorProto {
            name: name("a.proto"),
            message_type: vec![DescriptorProto {
                name: name("M"),
                nested_type: vec![DescriptorProto::default()],
                field: vec![FieldDescriptorProto {
                    name: name("f"),
                    number: Some(1),
                    ..Default::default()
                }],
                ..Default::default()
            }],
            enum_type: vec![EnumDescriptorProto {
                name: name("E"),
                value: vec![EnumValueDescriptorProto {
                    name: name("V"),
                    ..Default::default()
                }],
                ..Default::default()
            }],
            ..Default::default()
        };
        file.message_type[0].nested_type[0].name = name("N");
        change(&mut file);
        let set = FileDescriptorSet {
            file: vec![file],
            ..Default::default()
        };
        match Schema::from_descriptor_set(&set.encode_to_vec()) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_name_that_no_proto_file_could_give_is_refused() {
        type Change = fn(&mut FileDescriptorProto, Option<String>);
        let changes: [(&str, Change); 9] = [
            ("a message", |file, name| file.message_type[0].name = name),
            ("a message", |file, name| {
                file.message_type[0].nested_type[0].name = name;
            }),
            ("a field", |file, name| {
                file.message_type[0].field[0].name = name;
            }),
            ("a oneof", |file, name| {
                file.message_type[0].oneof_decl.push(OneofDescriptorProto {
                    name,
                    ..Default::default()
                });
            }),
            ("an enum", |file, name| file.enum_type[0].name = name),
            ("an enum's value", |file, name| {
                file.enum_type[0].value[0].name = name;
            }),
            ("a service", |file, name| {
                file.service.push(ServiceDescriptorProto {
                    name,
                    ..Default::default()
                });
            }),
            ("a method", |file, name| {
                file.service.push(ServiceDescriptorProto {
                    name: Some("S".to_owned()),
                    method: vec![MethodDescriptorProto {
                        name,
                        input_type: Some(".M".to_owned()),
                        output_type: Some(".M".to_owned()),
                        ..Default::default()
                    }],
                    ..Default::default()
                });
            }),
            ("a field", |file, name| {
                file.extension.push(FieldDescriptorProto {
                    name,
                    number: Some(1),
                    extendee: Some(".M".to_owned()),
                    ..Default::default()
                });
            }),
        ];
        // The linker panics at an enum whose full name begins with a dot.
        for name in [
            None,
            Some(""),
            Some(".E"),
            Some("a.b"),
            Some("a\nb"),
            Some("\u{e4}"),
        ] {
            for (of, change) in changes {
                let error = refusal(|file| change(file, name.map(str::to_owned)));
                assert!(
                    error.contains(&format!("the name of {of}, ")),
                    "{name:?}: {error}"
                );
                assert!(!error.contains('\n'), "{error}");
            }
        }
        assert_eq!(refusal(|_| {}), "");
    }

    #[test]
    fn packages_are_names_between_dots() {
        let of = |package: &str| refusal(|file| file.package = Some(package.to_owned()));
        for sound in ["", "a", "a.b2._c"] {
            assert_eq!(of(sound), "", "{sound}");
        }
        for wrong in [".", ".a", "a.", "a..b", "a/b"] {
            assert!(of(wrong).contains("the name of a package, "), "{wrong}");
        }
    }

    /// The protobuf library would put a time's seconds into a field that holds something else.
    #[test]
    fn a_well_known_type_has_its_fields() {
        let named = |name: &'static str| {
            refusal(|file| {
                file.package = Some("google.protobuf".to_owned());
                file.message_type[0].name = Some(name.to_owned());
            })
        };
        assert!(named("Timestamp").contains("its google.protobuf.Timestamp has other fields"));
        assert_eq!(named("Another"), "");
    }

    #[test]
    fn names_in_json_are_any_text_of_one_line() {
        let of = |name: &str| {
            refusal(|file| file.message_type[0].field[0].json_name = Some(name.to_owned()))
        };
        assert_eq!(of("@a b/\u{e4}"), "");
        assert!(of("a\u{1b}[31m").contains("control characters"));
    }
}
