//! `size`, and with it the schemas and samples that are refused.

use crate::common::{Finished, Place, json, orders, put_old_protoc};

#[test]
fn sizes_are_printed_for_every_encoding_and_compression() {
    let place = Place::new();
    let args = [
        "size",
        "--proto",
        &orders("orders.proto"),
        "--method",
        "shop.Orders/Get",
        "--response",
        "--sample",
        &orders("response.json"),
    ];
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

/// Runs `size` on a sample of the order service and expects a refusal that holds `parts`.
#[track_caller]
fn sample_refused(sample: &str, parts: &[&str]) {
    size(&Place::new(), &orders("orders.proto"), "shop.Order", sample).refused(parts);
}

/// Runs `size` on a .proto file and expects a refusal that holds `parts`.
#[track_caller]
fn proto_refused(proto: &str, parts: &[&str]) {
    let place = Place::new();
    place.file("bad.proto", proto);
    size(&place, "bad.proto", "a.M", "{}").refused(parts);
}

#[test]
fn a_proto_that_does_not_parse_is_named_by_line_and_column() {
    proto_refused(
        "syntax = \"proto3\";\npackage a;\nmessage M {\n  int32 x == 1;\n}\n",
        &["bad.proto:4:", "expected"],
    );
}

#[test]
fn a_missing_import_is_named_with_who_asks_for_it() {
    proto_refused(
        "syntax = \"proto3\";\npackage a;\nimport \"money/amount.proto\";\nmessage M {}\n",
        &["bad.proto:3", "money/amount.proto", "--include"],
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
    let output = place
        .command(&[
            "size",
            "--proto",
            "new.proto",
            "--message",
            "a.M",
            "--sample",
            "sample.json",
        ])
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
    let advice = "if the file is valid, put protoc (27 or newer) or buf on the PATH, where protoc is missing and buf is missing";
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
fn a_missing_proto_file_is_named() {
    size(&Place::new(), "none.proto", "a.M", "{}").refused(&["none.proto"]);
}

/// A set of one file with one message, `M`. Lengths are bytes below 128, which are text.
fn set_of_file(name: &str) -> String {
    let length = |text: &str| char::from(u8::try_from(text.len()).expect("a short text"));
    let file = format!("\n{}{name}\"\u{3}\n\u{1}M", length(name));
    format!("\n{}{file}", length(&file))
}

#[test]
fn a_descriptor_set_that_is_damaged_or_an_attack_is_refused() {
    let place = Place::new();
    place.file("sample.json", "{}");
    let size = |set: &str| {
        place.file("set.binpb", set);
        let of = ["--descriptor-set", "set.binpb", "--message", "M"];
        place.run(&[&["size", "--sample", "sample.json"], &of[..]].concat())
    };
    size(&set_of_file("a.proto")).well();
    for (set, parts) in [
        ("this is not a descriptor set", ["descriptor set", ""]),
        (
            &set_of_file("a\nprocess.exit()//"),
            ["\"a\\nprocess.exit()//\" ", "valid name"],
        ),
        (
            &set_of_file("../a.proto"),
            ["\"../a.proto\" ", "valid name"],
        ),
    ] {
        size(set).refused(&[&["set.binpb"], &parts[..]].concat());
    }
}

#[test]
fn an_unknown_message_comes_with_the_nearest_names() {
    size(&Place::new(), &orders("orders.proto"), "shop.Ordre", "{}")
        .refused(&["shop.Ordre", "shop.Order"]);
}

#[test]
fn an_unknown_field_of_a_sample_is_named_by_its_path() {
    sample_refused(
        r#"{"lines": [{"sku": "a"}, {"skuu": "b"}]}"#,
        &["$.lines[1].skuu", "sku"],
    );
}

#[test]
fn a_wrong_type_in_a_sample_is_named_by_its_path() {
    sample_refused(
        r#"{"lines": [{"quantity": "many"}]}"#,
        &["$.lines[0].quantity"],
    );
    sample_refused(r#"{"customer": 7}"#, &["$.customer"]);
}

#[test]
fn a_number_out_of_range_in_a_sample_is_named_by_its_path() {
    sample_refused(
        r#"{"lines": [{"quantity": 4294967296}]}"#,
        &["$.lines[0].quantity", "4294967296"],
    );
    sample_refused(r#"{"customer": {"id": -1}}"#, &["$.customer.id"]);
}

#[test]
fn other_faults_of_a_sample_are_named_by_their_path() {
    sample_refused(r#"{"status": "PAYED"}"#, &["$.status", "PAYED"]);
    sample_refused(r#"{"placedAt": "yesterday"}"#, &["$.placedAt"]);
    sample_refused(
        r#"{"transfer": {"reference": "no base64!"}}"#,
        &["$.transfer.reference"],
    );
    sample_refused(r#"{"card": {}, "transfer": {}}"#, &["payment"]);
    sample_refused(r#"{"id": "a""#, &["sample.json"]);
    sample_refused("[]", &["sample.json"]);
}
