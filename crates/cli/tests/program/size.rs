//! `size`, and schemas and samples that are rejected.

use crate::common::{Finished, Place, json, orders, put_old_protoc};

#[test]
fn sizes_are_printed_for_every_encoding_and_compression() {
    let place = Place::new();
    let (proto, sample) = (orders("orders.proto"), orders("response.json"));
    let of = ["--method", "shop.Orders/Get", "--response"];
    let args = [
        &["size", "--proto", &proto],
        &of[..],
        &["--sample", &sample],
    ]
    .concat();
    let table = place.run(&args).well();
    let sizes = json(&place.run(&[&args[..], &["--json"]].concat()).well());
    assert_eq!(sizes["message"], "shop.Order");
    let sizes = sizes["sizes"].as_array().expect("sizes");
    for encoding in [
        "protobuf",
        "json",
        "json-proto-names",
        "protojson",
        "msgpack",
        "cbor",
        "hybrid",
    ] {
        assert!(table.contains(encoding), "{table}");
        for compression in ["none", "gzip", "zstd"] {
            let row = sizes
                .iter()
                .find(|row| row["encoding"] == encoding && row["compression"] == compression);
            let bytes = row
                .and_then(|row| row["bytes"].as_u64())
                .unwrap_or_default();
            assert!(bytes > 100, "{encoding} {compression}: {bytes} bytes");
        }
    }
}

/// Runs `size` on a sample of a message.
fn size(place: &Place, proto: &str, message: &str, sample: &str) -> Finished {
    place.file("sample.json", sample);
    let schema = ["size", "--proto", proto, "--message", message];
    place.run(&[&schema[..], &["--sample", "sample.json"]].concat())
}

#[test]
fn a_schema_or_a_sample_that_does_not_fit_is_refused_in_one_line() {
    let refused = |proto: &str, message: &str, sample: &str, parts: &[&str]| {
        let place = Place::new();
        place.file(
            "bad.proto",
            "syntax = \"proto3\";\nmessage M {\n  int32 x == 1;\n}\n",
        );
        size(&place, proto, message, sample).refused(parts);
    };
    let orders = orders("orders.proto");
    refused("none.proto", "M", "{}", &["none.proto"]);
    refused("bad.proto", "M", "{}", &["bad.proto:3:", "expected"]);
    refused(
        &orders,
        "shop.Ordre",
        "{}",
        &["shop.Ordre", "did you mean \"shop.Order\"?"],
    );
    refused(&orders, "shop.Order", r#"{"id": "a""#, &["sample.json:1:"]);
    let path = r#"{"lines": [{"sku": "a"}, {"skuu": "b"}]}"#;
    refused(
        &orders,
        "shop.Order",
        path,
        &["$.lines[1].skuu", "did you mean \"sku\"?"],
    );
}

#[test]
fn a_protoc_too_old_for_editions_is_said() {
    let place = Place::new();
    place.file(
        "new.proto",
        "edition = \"2023\";\npackage a;\nmessage M { int32 n = 1; }\n",
    );
    place.file("sample.json", "{}");
    put_old_protoc(&place);
    let of = ["--message", "a.M", "--sample", "sample.json"];
    let output = place
        .command(&[&["size", "--proto", "new.proto"], &of[..]].concat())
        .env("PATH", place.path().join("bin"))
        .output()
        .expect("the program starts");
    Finished::from(output).refused(&["new.proto", "protoc is too old", "27 or newer"]);
}

#[test]
fn without_a_compiler_to_try_a_refused_proto_with_the_error_says_so() {
    let place = Place::new();
    place.file(
        "a.proto",
        "syntax = \"proto2\";\nmessage M { extensions 100 [verification = UNVERIFIED]; }\n",
    );
    place.file("sample.json", "{}");
    let of = [
        "--proto",
        "a.proto",
        "--message",
        "M",
        "--sample",
        "sample.json",
    ];
    let output = place
        .command(&[&["size"], &of[..]].concat())
        .env("PATH", "")
        .output()
        .expect("the program starts");
    let advice = "if the file is valid, put protoc (27 or newer) or buf on the PATH, but protoc is missing and buf is missing";
    Finished::from(output).refused(&["a.proto:2:28: expected", advice]);
    let output = place
        .command(&[&["size"], &of[..]].concat())
        .env("TMPDIR", place.path().join("nowhere"))
        .output()
        .expect("the program starts");
    Finished::from(output).refused(&[
        "neither was tried: cannot write a temporary file",
        "set TMPDIR",
    ]);
    place.run(&[&["size"], &of[..]].concat()).well();
}

#[test]
fn a_descriptor_set_is_taken_in_place_of_files_unless_it_is_damaged() {
    let place = Place::new();
    place.file("sample.json", "{}");
    let size = |set: &str| {
        place.file("set.binpb", set);
        place.line("size --descriptor-set set.binpb --message M --sample sample.json")
    };
    // A file with one message, and a file whose name points outside its folder.
    size("\n\u{e}\n\u{7}a.proto\"\u{3}\n\u{1}M").well();
    let outside = size("\n\u{11}\n\u{a}../a.proto\"\u{3}\n\u{1}M");
    outside.refused(&["set.binpb", "\"../a.proto\" ", "valid name"]);
    size("this is not a descriptor set").refused(&["set.binpb", "descriptor set"]);
}
