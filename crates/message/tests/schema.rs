//! Schemas from .proto files and descriptor sets, and the errors for invalid ones.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rpcgauge_message::{Encoding, Limits, Schema, SchemaError};
use tempfile::TempDir;

fn proto(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/proto")
        .join(path)
}

fn shop() -> Schema {
    Schema::compile(&[proto("shop/orders.proto")], &[proto("")]).unwrap()
}

/// Compiles the first file, with all files in a temporary folder. Errors show the folder's path as `DIR`.
fn compiled(files: &[(&str, &str)]) -> Result<Schema, String> {
    let dir = TempDir::new().unwrap();
    for (name, source) in files {
        fs::write(dir.path().join(name), source).unwrap();
    }
    Schema::compile(&[dir.path().join(files[0].0)], &[]).map_err(|error| {
        let error = error.to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
        error.replace(&dir.path().display().to_string(), "DIR")
    })
}

/// Returns the built-in compiler's error for files that protoc refuses too.
fn refused(files: &[(&str, &str)]) -> String {
    let error = compiled(files).unwrap_err();
    let inside = error.split("; protoc also rejects it:  ").next();
    inside.unwrap_or_default().to_owned()
}

#[test]
fn methods_are_found_by_every_spelling_of_their_name() {
    let shop = shop();
    assert_eq!(
        shop.method_names(),
        [
            "shop.Orders/Get",
            "shop.Orders/List",
            "shop.Orders/Put",
            "shop.Orders/Sync"
        ]
    );
    for name in ["shop.Orders/Get", "/shop.Orders/Get", "shop.Orders.Get"] {
        let method = shop.method(name).unwrap();
        assert_eq!(method.name, "shop.Orders/Get");
        assert_eq!(method.request.full_name(), "shop.GetRequest");
        assert_eq!(method.response.full_name(), "shop.Order");
    }
}

#[test]
fn unknown_methods_come_with_the_nearest() {
    let error = shop().method("shop.Order/Get").unwrap_err().to_string();
    assert!(
        error.starts_with("no method \"shop.Order/Get\"; did you mean \"shop.Orders/Get\""),
        "{error}"
    );
    let error = shop().method("x").unwrap_err().to_string();
    assert_eq!(
        error,
        "no method \"x\"; use shop.Orders/Get, shop.Orders/List, shop.Orders/Put or \
         shop.Orders/Sync"
    );
    let error = shop().message_type("shop.Ordr").unwrap_err().to_string();
    assert!(
        error.starts_with("no message type \"shop.Ordr\"; did you mean \"shop.Order\""),
        "{error}"
    );
}

#[test]
fn a_method_says_which_side_streams() {
    for (name, kind) in [
        ("Get", None),
        ("List", Some("server")),
        ("Put", Some("client")),
        ("Sync", Some("bidirectional")),
    ] {
        let method = shop().method(&format!("shop.Orders/{name}")).unwrap();
        assert_eq!(method.kind.streams(), kind, "{name}");
    }
}

#[test]
fn files_may_be_named_in_any_way() {
    let (root, from_root) = (proto(""), proto("../proto/./shop/orders.proto"));
    for file in [
        proto("shop/orders.proto"),
        from_root,
        PathBuf::from("shop/orders.proto"),
    ] {
        for include in [root.clone(), proto("../proto"), proto("./shop/..")] {
            let schema = Schema::compile(std::slice::from_ref(&file), &[include]);
            assert_eq!(
                schema.unwrap().method_names(),
                shop().method_names(),
                "{file:?}"
            );
        }
    }
}

#[test]
fn a_descriptor_set_is_complete() {
    let again = Schema::from_descriptor_set(shop().descriptor_set()).unwrap();
    assert_eq!(again.method_names(), shop().method_names());
    assert!(again.message_type("google.protobuf.Timestamp").is_ok());
}

#[test]
fn a_file_that_does_not_parse_is_refused_with_its_place() {
    assert_eq!(
        refused(&[(
            "a.proto",
            "syntax = \"proto3\";\n\nmessage A {\n  int32 id == 1;\n}\n"
        )]),
        "DIR/a.proto:4:13: expected an integer, but found '='"
    );
    assert_eq!(
        refused(&[(
            "a.proto",
            "syntax = \"proto3\";\nmessage A {\n  Nope id = 1;\n}\n"
        )]),
        "DIR/a.proto:3:3: name 'Nope' is not defined"
    );
    let unfinished = refused(&[("a.proto", "syntax = \"proto3\";\nmessage A {")]);
    assert!(unfinished.starts_with("DIR/a.proto:2:12: "), "{unfinished}");
    assert!(refused(&[("a.proto", "syntax = \"proto4\";")]).starts_with("DIR/a.proto:1:10: "));
}

#[test]
fn an_error_in_an_imported_file_names_that_file() {
    let error = refused(&[
        ("a.proto", "syntax = \"proto3\";\nimport \"b.proto\";\n"),
        ("b.proto", "syntax = \"proto3\";\nmessage {}\n"),
    ]);
    assert!(error.starts_with("DIR/b.proto:2:9: "), "{error}");
}

/// The compiler searches all locations for each error, which would take minutes if there were many of both.
#[test]
fn an_error_in_very_large_files_is_named_without_its_place() {
    let wrong = |values: usize| {
        let values: String = (0..values).map(|n| format!("V{n} = {n};\n")).collect();
        let text = format!(
            "syntax = \"proto3\";\nenum E {{\n{values}}}\nmessage M {{\n  Nope x = 1;\n}}\n"
        );
        refused(&[("a.proto", &text)])
    };
    assert_eq!(wrong(10), "DIR/a.proto:15:3: name 'Nope' is not defined");
    assert_eq!(wrong(40_000), "DIR/a.proto: name 'Nope' is not defined");
}

#[test]
fn a_missing_import_is_named_with_its_importer_and_the_paths() {
    assert_eq!(
        refused(&[(
            "a.proto",
            "syntax = \"proto3\";\n\nimport \"shop/b.proto\";\n"
        )]),
        "DIR/a.proto:3:1: import \"shop/b.proto\" was not found in DIR; specify its folder \
         with --include"
    );
}

#[test]
fn missing_files_and_those_outside_the_include_paths_are_refused() {
    let dir = TempDir::new().unwrap();
    let missing = dir.path().join("missing.proto");
    let error = Schema::compile(std::slice::from_ref(&missing), &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}: no such file", missing.display())
    );
    let error = Schema::compile(&[dir.path().to_owned()], &[])
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("is a folder; specify the .proto files in it"),
        "{error}"
    );
    let error = Schema::compile(&[proto("legacy.proto")], &[proto("shop")]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("is in none of the include paths"),
        "{error}"
    );
}

/// A compiler that recursed through all of them would overflow its stack and crash the program.
#[test]
fn what_is_nested_or_chained_too_deeply_is_refused() {
    let nested = |depth: usize| {
        let value = format!("{}{}", "a:{".repeat(depth), "}".repeat(depth));
        format!(
            "syntax = \"proto3\";\nimport \"google/protobuf/descriptor.proto\";\nmessage A {{ A a = \
             1; }}\nextend google.protobuf.FileOptions {{ A x = 50000; }}\noption (x) = {{{value}}};\n"
        )
    };
    assert_eq!(
        refused(&[("a.proto", &nested(5_000))]),
        "DIR/a.proto:5:206: brackets are nested more than 64 deep"
    );
    // The compiler can handle the accepted maximum, even on a thread with a small stack.
    compiled(&[("a.proto", &nested(63))]).unwrap();

    let chain = |length: usize| -> Vec<(String, String)> {
        let import = |next| format!("syntax = \"proto3\";\nimport \"f{next}.proto\";\n");
        let files = (1..length).map(|n| (format!("f{}.proto", n - 1), import(n)));
        let last = (
            format!("f{}.proto", length - 1),
            "syntax = \"proto3\";".to_owned(),
        );
        files.chain([last]).collect()
    };
    let compile = |files: &[(String, String)]| {
        let files = files.iter().map(|(name, text)| (&**name, &**text));
        compiled(&files.collect::<Vec<_>>())
    };
    assert_eq!(
        compile(&chain(8_000)).unwrap_err(),
        "DIR/f200.proto: is at the end of a chain of more than 200 files that import each other; \
         provide a compiled descriptor set with --descriptor-set"
    );
    compile(&chain(200)).unwrap();
}

/// If two files import the same file, the longer chain determines its depth.
#[test]
fn a_file_with_many_importers_is_not_in_a_longer_chain() {
    let names: Vec<String> = (0..300).map(|n| format!("f{n}.proto")).collect();
    let imports: String = names
        .iter()
        .map(|name| format!("import \"{name}\";\n"))
        .collect();
    let all = format!("syntax = \"proto3\";\n{imports}");
    let one = "syntax = \"proto3\";\nimport \"f299.proto\";\n";
    let mut files = vec![("a.proto", &*all)];
    files.extend(names[..299].iter().map(|name| (&**name, one)));
    files.push((&names[299], "syntax = \"proto3\";\n"));
    compiled(&files).unwrap();
}

#[test]
fn endless_files_are_refused() {
    let dir = TempDir::new().unwrap();
    let link = dir.path().join("a.proto");
    symlink("/dev/zero", &link).unwrap();
    let importing = dir.path().join("b.proto");
    fs::write(&importing, "syntax = \"proto3\"; import \"a.proto\";").unwrap();
    for file in [&link, &importing] {
        let error = Schema::compile(std::slice::from_ref(file), &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "{}: the .proto files exceed 16 MiB in total; provide a compiled descriptor \
                 set with --descriptor-set",
                link.display()
            )
        );
    }
}

/// The compiler records the source location of each definition, and there can be many.
#[test]
fn a_schema_is_without_the_places_in_its_source() {
    let sized = |lines: &str| {
        let source = format!("syntax = \"proto3\";{lines}// A comment.{lines}message A {{}}");
        let schema = compiled(&[("a.proto", &source)]).unwrap();
        schema.descriptor_set().len()
    };
    assert_eq!(sized("\n"), sized("\n\n\n\n"));
    assert!(sized("\n") < 40);
}

#[test]
fn a_symbolic_link_is_a_file_of_the_folder_it_is_in() {
    let (dir, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (include, outside) = (dir.path().to_owned(), elsewhere.path().to_owned());
    let file = outside.join("a.proto");
    fs::write(&file, "syntax = \"proto3\"; message A {}").unwrap();
    let (link, folder) = (include.join("link.proto"), include.join("folder"));
    symlink(&file, &link).unwrap();
    symlink(&outside, &folder).unwrap();
    fs::create_dir(include.join("sub")).unwrap();
    for (file, includes) in [
        (&link, vec![]),
        (&link, vec![include.clone()]),
        (&include.join("sub/../link.proto"), vec![include.clone()]),
        (&folder.join("a.proto"), vec![include.clone()]),
        (&folder.join("a.proto"), vec![outside.clone()]),
        (&file, vec![folder.clone()]),
        (&link, vec![outside]),
    ] {
        let schema = Schema::compile(std::slice::from_ref(file), &includes);
        let schema = schema.unwrap_or_else(|error| panic!("{file:?} in {includes:?}: {error}"));
        assert!(schema.message_type("A").is_ok());
    }
}

#[test]
fn an_import_outside_of_the_include_paths_says_what_helps() {
    for import in ["../b.proto", "./b.proto", "x//b.proto"] {
        let source = format!("syntax = \"proto3\";\nimport '{import}';\n");
        assert_eq!(
            refused(&[("a.proto", &source)]),
            "DIR/a.proto:2:8: an import must be a path relative to an include path, without \"..\", \".\", \
             \"//\" or \"\\\"; specify the folder that it starts from with --include"
        );
    }
    let group = "syntax = \"proto2\";\nmessage A {\n  optional group a = 1 {}\n}\n";
    assert_eq!(
        refused(&[("a.proto", group)]),
        "DIR/a.proto:3:18: invalid group name"
    );
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_file() {
    let source = "\u{feff}syntax = \"proto3\";\nimport \"b.proto\";\nmessage A { B b = 1; }\n";
    let imported = "\u{feff}syntax = \"proto3\";\nmessage B {}\n";
    let files = [("a.proto", source), ("b.proto", imported)];
    let message = compiled(&files).unwrap().message_type("A").unwrap();
    message.from_json("\u{feff}{\"b\":{}}").unwrap();
    assert_eq!(
        refused(&[("a.proto", "\u{feff}syntax == \"proto3\";")]),
        "DIR/a.proto:1:9: expected a string, but found '='"
    );
}

#[test]
fn a_name_that_cannot_be_shown_is_refused_with_its_file() {
    let source = "syntax = \"proto3\";\nimport \"b.proto\";\nmessage A { B b = 1; }\n";
    let imported = "syntax = \"proto3\";\nmessage B { int32 x = 1 [json_name = \"a\\x1b\"]; }\n";
    assert_eq!(
        refused(&[("a.proto", source), ("b.proto", imported)]),
        "DIR/b.proto: \"a\\u{1b}\", a field's name in JSON, has control characters"
    );
}

#[test]
fn a_file_name_that_generators_would_not_accept_is_refused() {
    let sound = "syntax = \"proto3\";\n";
    let rule = "is not a valid name of a .proto file: it must be a relative path of at most 512 bytes; \
                its parts must consist of ASCII letters, digits and _ - . + @, must not be \".\" or \"..\", \
                and must not begin with - or @";
    for name in ["a b.proto", "-a.proto", "\u{e4}.proto"] {
        let expected = format!("DIR/{name}: \"{name}\" {rule}");
        assert_eq!(refused(&[(name, sound)]), expected);
    }
    let importer = format!("{sound}import \"a b.proto\";\n");
    let expected = format!("DIR/a.proto: \"a b.proto\" {rule}");
    assert_eq!(
        refused(&[("a.proto", &importer), ("a b.proto", sound)]),
        expected
    );
}

#[test]
fn bytes_that_are_no_descriptor_set_are_refused() {
    let error = Schema::from_descriptor_set(b"\xff\xff").unwrap_err();
    assert!(
        matches!(error, SchemaError::DescriptorSet { .. }),
        "{error}"
    );
    // A set that lacks the files' imports.
    let dir = TempDir::new().unwrap();
    let set = dir.path().join("set.binpb");
    let status = std::process::Command::new("protoc")
        .arg(format!("--descriptor_set_out={}", set.display()))
        .arg(format!("-I{}", proto("").display()))
        .arg(proto("shop/orders.proto"))
        .status()
        .expect("protoc; make test installs it");
    assert!(status.success());
    let error = Schema::from_descriptor_set(&fs::read(&set).unwrap()).unwrap_err();
    assert!(error.to_string().contains("--include_imports"), "{error}");
}

#[test]
fn editions_are_compiled_by_protoc() {
    let schema = Schema::compile(&[proto("edition.proto")], &[])
        .unwrap_or_else(|e| panic!("{e} (make test installs a protoc for this test)"));
    let request = schema.method("modern.Modern/Call").unwrap().request;
    let message = request
        .from_json(r#"{"name":"","id":1,"child":{"id":2,"numbers":[1,2]}}"#)
        .unwrap();
    let bytes = message.to_bytes(Encoding::Protobuf).unwrap();
    // An explicitly empty name, the id, and the child between group tags with its numbers unpacked.
    assert_eq!(
        bytes,
        [0x0a, 0, 0x18, 1, 0x23, 0x18, 2, 0x28, 1, 0x28, 2, 0x24]
    );
    let back = request
        .decode(&bytes, Encoding::Protobuf, &Limits::DEFAULT)
        .unwrap();
    assert_eq!(
        back.to_bytes(Encoding::Json).unwrap(),
        br#"{"name":"","id":1,"child":{"id":2,"numbers":[1,2]}}"#
    );
    let error = request.from_json("{}").unwrap_err().to_string();
    assert_eq!(error, "$.id: a required field is missing");
}

#[test]
fn without_a_compiler_for_editions_the_error_says_what_helps() {
    let error = SchemaError::NoEditionsCompiler {
        file: "a.proto".to_owned(),
        found: "protoc is too old and buf is missing".to_owned(),
    };
    assert_eq!(
        error.to_string(),
        "a.proto: files with `edition` need protoc (27 or newer) or buf on the PATH, but protoc is \
         too old and buf is missing; or provide a compiled descriptor set with --descriptor-set"
    );
}

#[test]
fn only_fields_without_presence_have_a_default() {
    let schema = compiled(&[(
        "pair.proto",
        "syntax = \"proto3\"; enum Kind { NONE = 0; ONE = 1; } message Pair { int64 id = 1; string name = 2; \
         bool is_last = 3; Kind kind = 4; optional int64 maybe = 5; oneof one { int64 member = 6; string other = 7; } \
         Pair inner = 8; repeated int64 ids = 9; }",
    )]);
    let pair = schema.unwrap().message_type("Pair").unwrap();
    for (pointer, default) in [
        ("/id", Some("0")),
        ("/inner/id", Some("0")),
        ("/name", Some("")),
        ("/isLast", Some("false")),
        ("/kind", Some("NONE")),
        ("/maybe", None),
        ("/member", None),
        ("/inner", None),
        ("/ids", None),
        ("/ids/0", None),
    ] {
        assert_eq!(pair.default_at(pointer), default, "{pointer}");
    }
}

#[test]
fn a_path_that_no_message_can_have_names_the_unknown_field() {
    let schema = compiled(&[(
        "tree.proto",
        "syntax = \"proto3\"; import \"google/protobuf/struct.proto\"; message Node { \
         string full_name = 1; repeated Node children = 2; map<string, Node> by_key = 3; \
         google.protobuf.Struct any = 4; }",
    )]);
    let node = schema.unwrap().message_type("Node").unwrap();
    for known in [
        "",
        "/fullName",
        "/children/0/fullName",
        "/byKey/a~1b/children",
        "/any/x/y",
    ] {
        assert_eq!(node.check_pointer(known), Ok(()), "{known}");
    }
    for (unknown, says) in [
        (
            "/full_name",
            "Node has no field \"full_name\" in JSON; did you mean \"fullName\"?",
        ),
        (
            "/children/0/x",
            "Node has no field \"x\" in JSON; expected one of fullName, children, byKey, any",
        ),
        (
            "/byKey/a/childs",
            "Node has no field \"childs\" in JSON; did you mean \"children\"?",
        ),
        (
            "/children/fullName",
            "\"children\" is a list; write an index, as in children[0].fullName",
        ),
        (
            "/fullName/x",
            "\"fullName\" has no field \"x\", because it is a single value",
        ),
    ] {
        assert_eq!(node.check_pointer(unknown).unwrap_err(), says);
    }
}
