//! .proto files that protoc accepts but the built-in compiler or the protobuf library does not. These tests
//! need protoc on the PATH; `make test` installs it.

use std::fs;
use std::process::Command;

use rpcgauge_message::{Encoding, Limits, MessageType, Schema};
use tempfile::TempDir;

/// Compiles `a.proto` together with other files in a temporary folder.
fn compiled(files: &[(&str, &str)]) -> Result<Schema, String> {
    let folder = TempDir::new().unwrap();
    for (name, source) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, source).unwrap();
    }
    let schema = Schema::compile(&[folder.path().join("a.proto")], &[]);
    schema.map_err(|error| {
        error
            .to_string()
            .replace(&folder.path().display().to_string(), "DIR")
    })
}

fn message(source: &str, name: &str) -> MessageType {
    let schema =
        compiled(&[("a.proto", source)]).unwrap_or_else(|error| panic!("{error}\n{source}"));
    schema.message_type(name).unwrap()
}

/// Returns the descriptor set that protoc writes for a file, if it accepts the file.
fn protoc(source: &str) -> Option<Vec<u8>> {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.proto"), source).unwrap();
    let ended = Command::new("protoc")
        .args([
            "-I.",
            "--include_imports",
            "--descriptor_set_out=set",
            "a.proto",
        ])
        .current_dir(folder.path())
        .output()
        .expect("protoc; make test installs it");
    let set = ended.status.success().then(|| folder.path().join("set"));
    set.map(|set| fs::read(set).unwrap())
}

#[test]
fn a_copy_of_a_well_known_file_in_an_include_path_is_not_read() {
    let file = "syntax = \"proto3\";
        import \"google/protobuf/descriptor.proto\";
        import \"google/protobuf/timestamp.proto\";
        extend google.protobuf.FieldOptions { string unit = 50000; }
        message A { google.protobuf.Timestamp at = 1 [(unit) = \"s\"]; }";
    // Neither compiler accepts this.
    let unreadable = "edition = \"2999\"; message FileOptions { extensions 1 [new = NEW]; }";
    let schema = compiled(&[
        ("a.proto", file),
        ("google/protobuf/descriptor.proto", unreadable),
        ("google/protobuf/timestamp.proto", unreadable),
    ]);
    schema.unwrap().message_type("A").unwrap();
}

#[test]
fn a_public_import_reaches_through_two_files() {
    let schema = compiled(&[
        (
            "a.proto",
            "syntax = \"proto3\"; import \"b.proto\"; message A { D d = 1; }",
        ),
        ("b.proto", "syntax = \"proto3\"; import public \"c.proto\";"),
        ("c.proto", "syntax = \"proto3\"; import public \"d.proto\";"),
        ("d.proto", "syntax = \"proto3\"; message D {}"),
    ]);
    schema.unwrap().message_type("D").unwrap();
}

/// protoc finds this file in its own include folder.
#[test]
fn a_file_that_only_protoc_includes_may_be_imported() {
    let source =
        "syntax = \"proto3\"; import \"google/protobuf/java_features.proto\"; message A {}";
    compiled(&[("a.proto", source)]).unwrap();
}

#[test]
fn the_error_quotes_both_compilers_if_both_refuse_a_file() {
    let error = compiled(&[(
        "a.proto",
        "syntax = \"proto3\";\nmessage A { Nope n = 1; }\n",
    )]);
    assert_eq!(
        error.unwrap_err(),
        "DIR/a.proto:2:13: name 'Nope' is not defined; protoc also rejects it:  DIR/a.proto:2:13: \
         \"Nope\" is not defined."
    );
}

#[test]
fn fields_that_share_a_derived_name_in_json_get_a_name_each() {
    let source = "syntax = \"proto2\";
        import \"google/protobuf/descriptor.proto\";
        extend google.protobuf.MessageOptions { optional string mark = 50001; }
        message A {
          option (mark) = \"a mark\";
          optional int32 event_type = 1; optional int32 eventType = 2;
          optional int32 a_b = 3; optional int32 a__b = 4;
        }";
    let json = r#"{"event_type":1,"eventType":2,"aB":3,"a__b":4}"#;
    let check = |schema: &Schema| {
        let read = schema.message_type("A").unwrap().from_json(json).unwrap();
        assert_eq!(
            read.to_bytes(Encoding::Protobuf).unwrap(),
            [0x08, 1, 0x10, 2, 0x18, 3, 0x20, 4]
        );
        assert_eq!(read.to_bytes(Encoding::Json).unwrap(), json.as_bytes());
        let set = schema.descriptor_set();
        assert!(set.windows(6).any(|part| part == b"a mark"));
    };
    check(&compiled(&[("a.proto", source)]).unwrap());
    // In the set that protoc writes, both fields have the same JSON name.
    let set = protoc(source).unwrap();
    let schema = Schema::from_descriptor_set(&set).unwrap();
    check(&schema);
    // Subjects receive the same names from the set.
    let again = Schema::from_descriptor_set(schema.descriptor_set()).unwrap();
    assert_eq!(again.descriptor_set(), schema.descriptor_set());
    assert_ne!(schema.descriptor_set(), set);

    let allowed = "syntax = \"proto3\"; message A {
        option deprecated_legacy_json_field_conflicts = true; int32 a_b = 1; int32 aB = 2; }";
    let read = message(allowed, "A").from_json(r#"{"aB":1}"#).unwrap();
    assert_eq!(read.to_bytes(Encoding::Protobuf).unwrap(), [0x10, 1]);
}

/// A reader could take `b` for either field: it is the JSON name of one, and the declared name of the other.
#[test]
fn fields_that_share_a_given_name_in_json_are_refused() {
    for (fields, shared) in [
        (
            r#"int32 a = 1 [json_name = "b"]; optional int32 b = 2 [json_name = "a"]"#,
            ["b", "a", "b"],
        ),
        (
            r#"int32 a = 1 [json_name = "b"]; optional int32 b = 2 [json_name = "c"]"#,
            ["b", "a", "b"],
        ),
        (
            r#"int32 a = 1 [json_name = "b"]; optional int32 b = 2"#,
            ["b", "a", "b"],
        ),
        (
            r#"int32 a = 1 [json_name = "c"]; optional int32 b = 2 [json_name = "c"]"#,
            ["a", "b", "c"],
        ),
        (
            r#"int32 a_b = 1; optional int32 aB = 2 [json_name = "c"]"#,
            ["aB", "a_b", "aB"],
        ),
    ] {
        let [one, other, name] = shared;
        let what = format!(
            "a.proto: the fields \"{one}\" and \"{other}\" of A share the name \"{name}\" in JSON; give one of them \
             another json_name"
        );
        for syntax in ["proto2", "proto3"] {
            let source = format!(
                "syntax = \"{syntax}\"; message M {{ message A {{ optional {fields}; }} }}"
            );
            let error = compiled(&[("a.proto", &source)]).unwrap_err();
            assert_eq!(error, format!("DIR/{what}"), "{source}");
            // protoc accepts most of these.
            if let Some(set) = protoc(&source) {
                let error = Schema::from_descriptor_set(&set).unwrap_err().to_string();
                assert!(error.contains(&what), "{source}: {error}");
            }
        }
    }
}

#[test]
fn a_message_set_may_be_declared_and_must_be_empty() {
    const WHAT: &str = "the wire format of MessageSet is not supported; leave it empty";
    let message = message(
        "syntax = \"proto2\"; package p; import \"google/protobuf/any.proto\";
         message Set { option message_set_wire_format = true; extensions 4 to max; }
         message Item { extend Set { optional Item item = 1000; } optional int32 n = 1; }
         extend Set { optional Item large = 2147483646; }
         message A {
           optional Set set = 1; repeated Set sets = 2; map<string, Set> by_name = 3; optional int32 n = 4;
           optional google.protobuf.Any any = 5; extensions 100 to 200;
         }
         extend A { optional Set more = 100; optional A a = 101; }",
        "p.A",
    );
    assert!(
        message
            .from_json(r#"{"n":1,"set":{},"[p.more]":{}}"#)
            .is_ok()
    );
    for (json, path) in [
        (r#"{"set":{"[p.Item.item]":{"n":1}}}"#, "$.set"),
        (r#"{"set":{"[p.large]":{"n":1}}}"#, "$.set"),
        (r#"{"sets":[{},{"[p.Item.item]":{}}]}"#, "$.sets[1]"),
        (r#"{"byName":{"a":{"[p.Item.item]":{}}}}"#, "$.byName.a"),
        (r#"{"[p.more]":{"[p.Item.item]":{}}}"#, r#"$["[p.more]"]"#),
        (
            r#"{"[p.a]":{"set":{"[p.Item.item]":{}}}}"#,
            r#"$["[p.a]"].set"#,
        ),
    ] {
        let error = message.from_json(json).unwrap_err().to_string();
        assert_eq!(error, format!("{path}: {WHAT}"));
        let error = message.decode(json.as_bytes(), Encoding::Json, &Limits::DEFAULT);
        assert_eq!(
            error.unwrap_err().to_string(),
            format!("not a p.A in json: {path}: {WHAT}")
        );
    }
    let in_any = r#"{"any":{"@type":"type.googleapis.com/p.Set","[p.Item.item]":{"n":1}}}"#;
    let error = message.from_json(in_any).unwrap_err().to_string();
    assert!(
        error.contains("unknown field \"[p.Item.item]\" on message p.Set"),
        "{error}"
    );

    let group = [0x0b, 0x10, 0xe8, 7, 0x1a, 2, 8, 1, 0x0c];
    let entry = [&[0x0a, 1, b'a', 0x12, 9], &group[..]].concat();
    for (bytes, path) in [
        ([&[0x0a, 9], &group[..]].concat(), "$.set"),
        ([&[0x12, 0, 0x12, 9], &group[..]].concat(), "$.sets[1]"),
        ([&[0x1a, 14], &entry[..]].concat(), "$.byName.a"),
        ([&[0xa2, 6, 9], &group[..]].concat(), r#"$["[p.more]"]"#),
        (
            [&[0xaa, 6, 11, 0x0a, 9], &group[..]].concat(),
            r#"$["[p.a]"].set"#,
        ),
    ] {
        let error = message.decode(&bytes, Encoding::Protobuf, &Limits::DEFAULT);
        assert_eq!(
            error.unwrap_err().to_string(),
            format!("not a p.A in protobuf: {path}: {WHAT}")
        );
    }
}

/// The searches for damage in messages also cover messages in extensions.
#[test]
fn damage_in_extensions_is_found() {
    let message = message(
        "syntax = \"proto2\";
         message A { extensions 100 to 200; }
         message Needy { required int32 n = 1; }
         extend A { optional Needy needy = 100; optional int32 number = 101; }",
        "A",
    );
    let error = message.from_json(r#"{"[needy]":{}}"#).unwrap_err();
    assert_eq!(
        error.to_string(),
        "$[\"[needy]\"].n: a required field is missing"
    );
    for (bytes, what) in [
        (
            &[0xa2, 6, 0][..],
            "$[\"[needy]\"].n: a required field is missing",
        ),
        (
            &[0xa2, 6, 2, 0x0a, 0],
            "$[\"[needy]\"].n: wrong wire type: length-delimited bytes",
        ),
        (
            &[0xaa, 6, 0],
            "$[\"[number]\"]: wrong wire type: length-delimited bytes",
        ),
    ] {
        let error = message.decode(bytes, Encoding::Protobuf, &Limits::DEFAULT);
        assert_eq!(
            error.unwrap_err().to_string(),
            format!("not a A in protobuf: {what}")
        );
    }
}
