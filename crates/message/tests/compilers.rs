//! Files that the compiler inside refuses and protoc does not, and what only seems to be wrong in
//! files. These tests need a protoc on the PATH, as `make test` installs one.

use std::fs;

use rpcgauge_message::{Encoding, MessageType, Schema};
use tempfile::TempDir;

/// Compiles `a.proto` of files in a folder of their own.
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

#[test]
fn a_copy_of_a_well_known_file_in_an_include_path_is_not_read() {
    let file = "syntax = \"proto3\";
        import \"google/protobuf/descriptor.proto\";
        import \"google/protobuf/timestamp.proto\";
        extend google.protobuf.FieldOptions { string unit = 50000; }
        message A { google.protobuf.Timestamp at = 1 [(unit) = \"s\"]; }";
    // Neither compiler could read it.
    let unreadable = "edition = \"2999\"; message FileOptions { extensions 1 [new = NEW]; }";
    let schema = compiled(&[
        ("a.proto", file),
        ("google/protobuf/descriptor.proto", unreadable),
        ("google/protobuf/timestamp.proto", unreadable),
    ]);
    schema.unwrap().message_type("A").unwrap();
}

#[test]
fn what_the_compiler_inside_refuses_by_mistake_is_compiled_by_protoc() {
    let options = "syntax = \"proto2\"; import \"google/protobuf/descriptor.proto\";
        extend google.protobuf.MessageOptions { optional double limit = 50001; optional A set = 50002; }\n";
    for rest in [
        "message A { extensions 100 [verification = UNVERIFIED]; }",
        "message A { option (limit) = -inf; }",
        "message A { option (limit) = -nan; }",
        "message A { extensions 100; extend A { optional int32 x = 100; }
           message B { option (set) = { [A.x]: 1 }; } }",
        "message A { option (google.protobuf.MessageOptions.deprecated) = true; }",
        "message A { reserved \"\\x66oo\"; }",
        "message A { option message_set_wire_format = true; extensions 4 to max; }
         message B { extend A { optional B b = 2147483646; } }",
    ] {
        let schema = compiled(&[("a.proto", &format!("{options}{rest}"))]);
        let schema = schema.unwrap_or_else(|error| panic!("{error}\n{rest}"));
        schema.message_type("A").unwrap();
    }
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

#[test]
fn options_may_hold_bytes_that_are_no_text() {
    message(
        "syntax = \"proto2\"; import \"google/protobuf/descriptor.proto\";
         extend google.protobuf.MessageOptions { optional bytes mark = 50001; }
         message A { option (mark) = \"\\xff\\x00\"; }",
        "A",
    );
}

#[test]
fn where_both_compilers_refuse_a_file_both_are_quoted() {
    let error = compiled(&[(
        "a.proto",
        "syntax = \"proto3\";\nmessage A { Nope n = 1; }\n",
    )]);
    assert_eq!(
        error.unwrap_err(),
        "DIR/a.proto:2:13: name 'Nope' is not defined; protoc refuses it too: DIR/a.proto:2:13: \
         \"Nope\" is not defined."
    );
}

#[test]
fn fields_that_share_a_name_in_json_have_a_name_each() {
    let source = "syntax = \"proto2\";
        message A {
          optional int32 event_type = 1; optional int32 eventType = 2;
          optional int32 a_b = 3; optional int32 a__b = 4;
        }";
    let json = r#"{"event_type":1,"eventType":2,"aB":3,"a__b":4}"#;
    let compiled = message(source, "A");
    let read = compiled.from_json(json).unwrap();
    assert_eq!(
        read.to_bytes(Encoding::Protobuf).unwrap(),
        [0x08, 1, 0x10, 2, 0x18, 3, 0x20, 4]
    );
    assert_eq!(read.to_bytes(Encoding::Json).unwrap(), json.as_bytes());

    // protoc writes a set in which both have one name.
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.proto"), source).unwrap();
    let status = std::process::Command::new("protoc")
        .args(["-I.", "--descriptor_set_out=set", "a.proto"])
        .current_dir(folder.path())
        .status()
        .unwrap();
    assert!(status.success());
    let set = fs::read(folder.path().join("set")).unwrap();
    let schema = Schema::from_descriptor_set(&set).unwrap();
    let read = schema.message_type("A").unwrap().from_json(json).unwrap();
    assert_eq!(read.to_bytes(Encoding::Json).unwrap(), json.as_bytes());
    // Subjects get the same names.
    let again = Schema::from_descriptor_set(schema.descriptor_set()).unwrap();
    assert_eq!(again.descriptor_set(), schema.descriptor_set());
    assert_ne!(schema.descriptor_set(), set);
}

#[test]
fn a_message_set_may_be_there_and_must_be_empty() {
    let message = message(
        "syntax = \"proto2\";
         message Set { option message_set_wire_format = true; extensions 4 to 536870911; }
         message Item { extend Set { optional Item item = 1000; } optional int32 n = 1; }
         message A { optional Set set = 1; repeated Set sets = 2; optional int32 n = 3; }",
        "A",
    );
    assert!(message.from_json(r#"{"n":1,"set":{}}"#).is_ok());
    for (json, path) in [
        (r#"{"set":{"[Item.item]":{"n":1}}}"#, "$.set"),
        (r#"{"sets":[{},{"[Item.item]":{}}]}"#, "$.sets"),
    ] {
        assert_eq!(
            message.from_json(json).unwrap_err().to_string(),
            format!("{path}: the wire format of MessageSet is not supported; leave it empty")
        );
    }
}
