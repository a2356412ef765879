use buffa::Message as _;
use buffa_descriptor::generated::descriptor::field_descriptor_proto::Type;
use buffa_descriptor::generated::descriptor::{
    EnumValueDescriptorProto, MethodDescriptorProto, OneofDescriptorProto, ServiceDescriptorProto,
};

use super::*;
use crate::Schema;

/// Returns the error for a file that is valid except for one change.
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
    // The linker would panic on an enum whose full name begins with a dot.
    for name in [
        None,
        Some(""),
        Some(".E"),
        Some("a.b"),
        Some("a\nb"),
        Some("2a"),
        Some("\u{e4}"),
    ] {
        for (of, change) in changes {
            let error = refusal(|file| change(file, name.map(str::to_owned)));
            assert!(
                error.contains(&format!("is not a valid name of {of}: ")),
                "{name:?}: {error}"
            );
            assert!(!error.contains('\n'), "{error}");
        }
    }
    assert_eq!(refusal(|_| {}), "");
}

#[test]
fn files_and_imports_have_valid_names() {
    for wrong in ["../a.proto", "a\nb.proto", "-a", ""] {
        let own = refusal(|file| file.name = Some(wrong.to_owned()));
        let import = refusal(|file| file.dependency.push(wrong.to_owned()));
        let option_import = refusal(|file| file.option_dependency.push(wrong.to_owned()));
        for (error, of) in [
            (own, ""),
            (import, "a.proto: "),
            (option_import, "a.proto: "),
        ] {
            let rule = format!("set: {of}\"{}\" is not a valid name", clip(wrong));
            assert!(error.contains(&rule), "{wrong:?}: {error}");
        }
    }
    let none = refusal(|file| file.name = None);
    assert!(none.contains("\"\" is not a valid name"), "{none}");
}

#[test]
fn a_default_value_is_valid_for_its_field_s_type() {
    let of = |kind: Option<Type>, value: &str| {
        refusal(|file| {
            let field = &mut file.message_type[0].field[0];
            field.r#type = kind;
            field.type_name = match kind {
                Some(Type::TYPE_ENUM) | None => Some(".E".to_owned()),
                _ => None,
            };
            field.default_value = Some(value.to_owned());
        })
    };
    let integers = |most: &str| [most.to_owned(), "0".to_owned()];
    let floats = || {
        ["-1.5e+30", "inf", "-inf", "nan"]
            .map(str::to_owned)
            .to_vec()
    };
    for (kind, values) in [
        (Some(Type::TYPE_INT32), integers("-2147483648").to_vec()),
        (
            Some(Type::TYPE_SINT64),
            integers("-9223372036854775808").to_vec(),
        ),
        (Some(Type::TYPE_FIXED32), integers("4294967295").to_vec()),
        (
            Some(Type::TYPE_UINT64),
            integers("18446744073709551615").to_vec(),
        ),
        (Some(Type::TYPE_FLOAT), floats()),
        (Some(Type::TYPE_DOUBLE), floats()),
        (Some(Type::TYPE_BOOL), vec!["true".to_owned()]),
        (Some(Type::TYPE_ENUM), vec!["V".to_owned()]),
        (None, vec!["V".to_owned()]),
    ] {
        for value in values {
            assert_eq!(of(kind, &value), "", "{kind:?} {value}");
        }
        let wrong = of(kind, "(process.exit(1),0)");
        assert!(
            wrong.contains("which is not valid for its type"),
            "{kind:?}: {wrong}"
        );
    }
    for any in ["", "a\n\"`${b}", "\\n"] {
        assert_eq!(of(Some(Type::TYPE_STRING), any), "", "{any}");
        assert_eq!(of(Some(Type::TYPE_BYTES), any), "", "{any}");
    }
}

#[test]
fn packages_are_names_between_dots() {
    let of = |package: &str| refusal(|file| file.package = Some(package.to_owned()));
    for sound in ["", "a", "a.b2._c"] {
        assert_eq!(of(sound), "", "{sound}");
    }
    for wrong in [".", ".a", "a.", "a..b", "a/b", "a.2b"] {
        assert!(
            of(wrong).contains("is not a valid name of a package: "),
            "{wrong}"
        );
    }
}

/// The protobuf library would store a timestamp's seconds in a field with a different meaning.
#[test]
fn a_well_known_type_has_its_fields() {
    let named = |name: &'static str| {
        refusal(|file| {
            file.package = Some("google.protobuf".to_owned());
            file.message_type[0].name = Some(name.to_owned());
        })
    };
    assert!(named("Timestamp").contains("its google.protobuf.Timestamp lacks fields"));
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
