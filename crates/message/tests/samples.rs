//! JSON samples of user-defined messages in every encoding, and the errors for samples that do not fit.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rpcgauge_message::{
    CodeKind, Encoding, Limits, MessageType, SampleError, Schema, first_difference,
};

fn proto(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/proto")
        .join(path)
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::compile(
        &[proto("shop/orders.proto"), proto("legacy.proto")],
        &[proto("")],
    )
    .unwrap()
});

fn order() -> MessageType {
    SCHEMA.message_type("shop.Order").unwrap()
}

fn legacy() -> MessageType {
    SCHEMA.message_type("legacy.Request").unwrap()
}

/// A sample, written exactly as it would be encoded in the proto3 JSON mapping.
const ORDER: &str = include_str!("samples/order.json");

#[test]
fn a_sample_with_everything_goes_through_every_encoding() {
    let message = order().from_json(ORDER).unwrap();
    assert_eq!(message.code(), CodeKind::Dynamic);
    let json = |encoding| String::from_utf8(message.to_bytes(encoding).unwrap()).unwrap();
    assert_eq!(json(Encoding::ProtoJson), ORDER);
    let numbers = ["1250", "-9223372036854775808", "0"];
    let numbered = numbers.iter().fold(ORDER.to_owned(), |json, number| {
        json.replace(&format!(":\"{number}\""), &format!(":{number}"))
    });
    assert_eq!(json(Encoding::Json), numbered);
    for encoding in Encoding::ALL {
        let bytes = message.to_bytes(encoding).unwrap();
        let back = order().decode(&bytes, encoding, &Limits::DEFAULT).unwrap();
        assert_eq!(first_difference(&message, &back), None, "{encoding}");
        assert_eq!(back.to_bytes(encoding).unwrap(), bytes, "{encoding}");
    }
    let names = message.to_bytes(Encoding::JsonProtoNames).unwrap();
    let names = String::from_utf8(names).unwrap();
    assert!(names.starts_with(r#"{"order_id":"o-1","#), "{names}");
    assert!(
        names.contains(r#""placed_at":"#) && names.contains(r#""by_shelf":{"-7":"#),
        "{names}"
    );
}

#[test]
fn proto2_goes_through_every_encoding() {
    let sample = include_str!("samples/legacy.json");
    let message = legacy().from_json(sample).unwrap();
    assert_eq!(
        String::from_utf8(message.to_bytes(Encoding::Json).unwrap()).unwrap(),
        sample
    );
    for encoding in Encoding::ALL {
        let bytes = message.to_bytes(encoding).unwrap();
        let back = legacy().decode(&bytes, encoding, &Limits::DEFAULT).unwrap();
        assert_eq!(first_difference(&message, &back), None, "{encoding}");
        assert_eq!(back.to_bytes(encoding).unwrap(), bytes, "{encoding}");
    }
}

#[test]
fn readers_accept_other_forms() {
    let same = [
        (
            r#"{"order_id":"a","placed_at":"2026-11-20T13:00:00+01:00"}"#,
            r#"{"orderId":"a","placedAt":"2026-11-20T12:00:00Z"}"#,
        ),
        (
            r#"{"state":2,"priority":"5","visits":12,"thumbnail":"_-8"}"#,
            r#"{"state":"STATE_SHIPPED","visits":"12","thumbnail":"/+8=","priority":5}"#,
        ),
        (
            r#"{"card":null,"free":true,"items":null,"ttl":"3s"}"#,
            r#"{"free":true,"ttl":"3s"}"#,
        ),
        (
            r#"{"attachment":{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"}}"#,
            r#"{"attachment":{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"}}"#,
        ),
        (
            r#"{"attachment":{"value":"1s","@type":"x/google.protobuf.Duration"}}"#,
            r#"{"attachment":{"@type":"x/google.protobuf.Duration","value":"1s"}}"#,
        ),
        (
            r#"{"attachment":{"attachment":{"currency":"USD","@type":"x/shop.Money"},"@type":"x/shop.Order","orderId":"a"}}"#,
            r#"{"attachment":{"@type":"x/shop.Order","orderId":"a","attachment":{"@type":"x/shop.Money","currency":"USD"}}}"#,
        ),
        (
            r#"{"attachment":{}, "extra":[[]]}"#,
            r#"{"extra":[[]],"attachment":{}}"#,
        ),
        (
            r#"{"priority":1e2,"items":[{"quantity":4294967295}]}"#,
            r#"{"items":[{"quantity":4294967295}],"priority":100}"#,
        ),
    ];
    for (given, written) in same {
        let message = order()
            .from_json(given)
            .unwrap_or_else(|e| panic!("{given}: {e}"));
        assert_eq!(
            String::from_utf8(message.to_bytes(Encoding::ProtoJson).unwrap()).unwrap(),
            written
        );
    }
}

#[test]
fn a_sample_that_does_not_fit_is_refused_with_its_path() {
    let refused = [
        (
            r#"{"items":[{},{},{"prise":1}]}"#,
            "$.items[2].prise: shop.Order.Item has no field \"prise\"; did you mean \"price\"?",
        ),
        (
            r#"{"items":[{"quantity":-1}]}"#,
            "$.items[0].quantity: invalid value: integer `-1`, expected an integer from 0 to 4294967295",
        ),
        (
            r#"{"items":[{"quantity":4294967296}]}"#,
            "$.items[0].quantity: invalid value: integer `4294967296`, expected an integer from 0 to 4294967295",
        ),
        (
            r#"{"items":[{"quantity":"many"}]}"#,
            "$.items[0].quantity: invalid value: string \"many\", expected an integer from 0 to 4294967295",
        ),
        (
            r#"{"items":[{"quantity":1.5}]}"#,
            "$.items[0].quantity: invalid value: floating point `1.5`, expected an integer from 0 to 4294967295",
        ),
        (
            r#"{"items":{}}"#,
            "$.items: invalid type: map, expected a JSON array or null",
        ),
        (
            r#"{"items":[null]}"#,
            "$.items: null element in repeated field",
        ),
        (
            r#"{"items":["x"]}"#,
            "$.items[0]: invalid type: string \"x\", expected a JSON object for message shop.Order.Item",
        ),
        (
            r#"{"order_id":7}"#,
            "$.order_id: invalid value: integer `7`, expected a string",
        ),
        (
            r#"{"gift":"yes"}"#,
            "$.gift: invalid value: string \"yes\", expected true or false",
        ),
        (
            r#"{"state":"STATE_SHIPED"}"#,
            "$.state: unknown enum value \"STATE_SHIPED\"; did you mean \"STATE_SHIPPED\"?",
        ),
        (
            r#"{"placedAt":"yesterday"}"#,
            "$.placedAt: missing or malformed timezone, expected a time such as \"2026-11-20T12:00:00.5Z\" (RFC 3339)",
        ),
        (
            r#"{"ttl":"5"}"#,
            "$.ttl: missing 's' suffix, expected a duration in seconds such as \"1.5s\"",
        ),
        (
            r#"{"changed":"order_id"}"#,
            "$.changed: FieldMask JSON path is not canonical lowerCamelCase, expected field paths such as \"user.displayName,photo\"",
        ),
        (
            r#"{"thumbnail":"%"}"#,
            "$.thumbnail: invalid value: string \"%\", expected bytes (base64 in JSON)",
        ),
        (r#"{"byShelf":{"top":{}}}"#, "$.byShelf: invalid int64 key"),
        (
            r#"{"byShelf":{"1":{"sku":[]}}}"#,
            "$.byShelf.1.sku: invalid type: sequence, expected a string",
        ),
        (
            r#"{"labels":{"a b":1}}"#,
            "$.labels[\"a b\"]: invalid value: integer `1`, expected a string",
        ),
        (
            r#"{"orderId":"a","order_id":"b"}"#,
            "$: duplicate field \"order_id\" on message shop.Order",
        ),
        (
            r#"{"card":"x","free":true}"#,
            "$: more than one member of oneof set (\"free\"): only one field of \"payment\" can be set",
        ),
        (
            r#"{"attachment":{"currency":"USD"}}"#,
            "$.attachment: Any object missing string \"@type\"",
        ),
        (
            r#"{"attachment":{"currncy":"USD","@type":"x/shop.Money"}}"#,
            "$.attachment: Any inner deserialize failed: unknown field \"currncy\" on message shop.Money",
        ),
        (
            r#"{"attachment":{"items":[{},{"quantity":"many"}],"@type":"x/shop.Order"}}"#,
            "$.attachment: Any inner deserialize failed: invalid value: string \"many\", expected a u32 as integer, string, float, or null",
        ),
        (
            r#"{"attachment":{"value":"1s","more":1,"@type":"x/google.protobuf.Duration"}}"#,
            "$.attachment: unknown field \"more\" in Any wrapper for \"x/google.protobuf.Duration\"",
        ),
        (
            r#"{"attachment":{"@type":"x/shop.Nope"}}"#,
            "$.attachment: Any type_url \"x/shop.Nope\" not registered in the descriptor pool",
        ),
        (
            r#"{"details":{"a":{"b":1e400}}}"#,
            "number out of range at line 1 column 26",
        ),
        (
            "[]",
            "$: invalid type: sequence, expected a JSON object for message shop.Order",
        ),
        (
            "null",
            "$: invalid type: null, expected a JSON object for message shop.Order",
        ),
        (
            "{\n  \"orderId\": \"a\",\n}",
            "trailing comma at line 3 column 1",
        ),
        (
            " ",
            "the text is empty; {} is a message without fields at line 1 column 1",
        ),
        (
            "{\"orderId\":\n",
            "the JSON is incomplete; was it cut off? at line 2 column 1",
        ),
        ("{} x", "trailing characters at line 1 column 4"),
    ];
    for (sample, error) in refused {
        assert_eq!(
            order().from_json(sample).unwrap_err().to_string(),
            error,
            "{sample}"
        );
    }
}

#[test]
fn a_sample_in_a_file_is_refused_by_its_place() {
    let refused = |sample: &str| order().from_json(sample).unwrap_err().in_file("a.json");
    assert_eq!(
        refused("{\n  \"orderId\": \"a\",\n}"),
        "a.json:3:1: trailing comma"
    );
    assert_eq!(
        refused("{\"orderId\":\n"),
        "a.json:2:1: the JSON is incomplete; was it cut off?"
    );
    assert_eq!(
        refused("null"),
        "a.json: $: invalid type: null, expected a JSON object for message shop.Order"
    );
}

#[test]
fn required_fields_and_closed_enums_of_proto2_are_checked() {
    let refused = [
        ("{}", "$.id: a required field is missing"),
        (
            r#"{"id":1,"entry":[{"key":"a"},{}]}"#,
            "$.entry[1].key: a required field is missing",
        ),
        (
            r#"{"id":1,"size":2}"#,
            "$.size: unknown closed enum value; expected one of SMALL, LARGE",
        ),
        (
            r#"{"id":1,"[legacy.tracee]":""}"#,
            "$[\"[legacy.tracee]\"]: legacy.Request has no field \"[legacy.tracee]\"; expected one of id, name, size, entry, sizes, packed, byName",
        ),
    ];
    for (sample, error) in refused {
        assert_eq!(
            legacy().from_json(sample).unwrap_err().to_string(),
            error,
            "{sample}"
        );
    }
    let error = legacy()
        .decode(b"", Encoding::Protobuf, &Limits::DEFAULT)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "not a legacy.Request in protobuf: $.id: a required field is missing"
    );
}

#[test]
fn unknown_values_of_a_closed_enum_stay_unknown_fields() {
    // Field 1 is the id, field 2 is a size without a name, and field 50 is unknown.
    let bytes = [0x08, 1, 0x18, 2, 0x90, 0x03, 5];
    let message = legacy()
        .decode(&bytes, Encoding::Protobuf, &Limits::DEFAULT)
        .unwrap();
    assert_eq!(message.to_bytes(Encoding::Protobuf).unwrap(), bytes);
    assert_eq!(message.to_bytes(Encoding::Json).unwrap(), br#"{"id":1}"#);
    let plain = legacy().from_json(r#"{"id":1}"#).unwrap();
    assert_eq!(
        first_difference(&plain, &message).unwrap().to_string(),
        "$: expected no unknown fields, got unknown fields (3, 50)"
    );
}

#[test]
fn values_that_json_cannot_represent_are_refused_when_written() {
    // A time in the year 10000, which protobuf can represent but JSON cannot.
    let bytes = [0x4a, 0x07, 0x08, 0x80, 0xdc, 0xce, 0xfe, 0xe6, 0x07];
    let message = order()
        .decode(&bytes, Encoding::Protobuf, &Limits::DEFAULT)
        .unwrap();
    let mut out = b"kept".to_vec();
    let error = message
        .encode(Encoding::Json, &mut out)
        .unwrap_err()
        .to_string();
    assert_eq!(out, b"kept");
    assert!(
        error.starts_with("a shop.Order cannot be represented in json: "),
        "{error}"
    );
    assert!(error.contains("Timestamp seconds out of range"), "{error}");
}

#[test]
fn a_damaged_any_is_refused_when_written() {
    let sample = r#"{"attachment":{"@type":"type.googleapis.com/shop.Money","currency":"USD"}}"#;
    let bytes = order()
        .from_json(sample)
        .unwrap()
        .to_bytes(Encoding::Protobuf)
        .unwrap();
    let damaged = [&bytes[..bytes.len() - 3], b"\xff\xff\xff"].concat();
    let message = order()
        .decode(&damaged, Encoding::Protobuf, &Limits::DEFAULT)
        .unwrap();
    let error = message.to_bytes(Encoding::Msgpack).unwrap_err().to_string();
    assert!(
        error.contains("contains an invalid \"type.googleapis.com/shop.Money\""),
        "{error}"
    );
}

#[test]
fn deep_samples_are_refused_by_the_limit() {
    let deep = format!("{{\"extra\":{}{}}}", "[".repeat(2000), "]".repeat(2000));
    let error = order().from_json(&deep).unwrap_err();
    assert!(matches!(error, SampleError::Limit(_)), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("deeper than 100 levels, the maximum"),
        "{error}"
    );
}

#[test]
fn differences_are_found_where_they_are() {
    let base = order().from_json(ORDER).unwrap();
    let changed = [
        (
            r#""quantity":2"#,
            r#""quantity":3"#,
            "$.items[0].quantity: expected 2, got 3",
        ),
        (
            r#""sku":"a1""#,
            r#""quantity":1"#,
            "$.items[0].parts[0].sku: expected \"a1\", got nothing",
        ),
        (
            r#""b":"""#,
            r#""c":"""#,
            "$.labels.b: expected \"\", got nothing",
        ),
        (
            r#""priority":0,"#,
            "",
            "$.priority: expected 0, got nothing",
        ),
        (
            r#""rating":"NaN""#,
            r#""rating":-0.0"#,
            "$.rating.value: expected NaN, got -0.0",
        ),
        (
            r#"STATE_SHIPPED"#,
            "STATE_OPEN",
            "$.state: expected enum value 2, got enum value 1",
        ),
        (
            r#","values":[null,1.0,{}]"#,
            r#","values":[null]"#,
            "$.values: expected 3 items, got 1 items",
        ),
    ];
    for (from, to, difference) in changed {
        assert!(ORDER.contains(from), "{from}");
        let other = order().from_json(&ORDER.replace(from, to)).unwrap();
        assert_eq!(
            first_difference(&base, &other).unwrap().to_string(),
            difference
        );
    }
    let other = legacy().from_json(r#"{"id":1}"#).unwrap();
    assert_eq!(
        first_difference(&base, &other).unwrap().to_string(),
        "$: expected a shop.Order, got a legacy.Request"
    );
}

#[test]
fn payloads_of_an_any_are_compared_as_messages() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.proto");
    let source = "syntax = \"proto3\"; import \"google/protobuf/any.proto\";
        message A { google.protobuf.Any any = 1; int32 n = 2; int32 m = 3; }";
    std::fs::write(&file, source).unwrap();
    let schema = Schema::compile(&[file], &[]).unwrap();
    let message = schema.message_type("A").unwrap();
    let with = |payload: &[u8]| {
        let bytes = [b"\x0a\x0b\x0a\x03x/A\x12\x04", payload].concat();
        let message = message.decode(&bytes, Encoding::Protobuf, &Limits::DEFAULT);
        message.unwrap()
    };
    let expected = with(b"\x10\x01\x18\x02");
    // Each library writes fields in its own order.
    let other_order = with(b"\x18\x02\x10\x01");
    assert_eq!(first_difference(&expected, &other_order), None);
    let wrong = first_difference(&expected, &with(b"\x18\x03\x10\x01")).unwrap();
    assert_eq!(wrong.to_string(), "$.any.m: expected 2, got 3");
    let damaged = first_difference(&expected, &with(b"\x10\x01\x18\xff"));
    assert!(damaged.unwrap().to_string().starts_with("$.any.value: "));
}

#[test]
fn an_any_holds_well_known_types_that_no_file_imports() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.proto");
    let source = "syntax = \"proto3\"; import \"google/protobuf/any.proto\";
        message A { google.protobuf.Any any = 1; }";
    std::fs::write(&file, source).unwrap();
    let schema = Schema::compile(&[file], &[]).unwrap();
    let message = schema.message_type("A").unwrap();
    for payload in [
        r#"Duration","value":"1.500s"}"#,
        r#"Int64Value","value":"7"}"#,
        r#"Struct","value":{"a":[1.0,null]}}"#,
        r#"Empty"}"#,
    ] {
        let json = format!(r#"{{"any":{{"@type":"type.googleapis.com/google.protobuf.{payload}}}"#);
        let read = message
            .from_json(&json)
            .unwrap_or_else(|error| panic!("{json}: {error}"));
        let back = read.to_bytes(Encoding::ProtoJson).unwrap();
        assert_eq!(String::from_utf8(back).unwrap(), json);
    }
}

#[test]
fn a_value_keeps_a_number_that_a_float_rounds() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.proto");
    let source = "syntax = \"proto3\"; import \"google/protobuf/struct.proto\";
        import \"google/protobuf/wrappers.proto\";
        message A { google.protobuf.Struct values = 1; google.protobuf.DoubleValue double = 2; }";
    std::fs::write(&file, source).unwrap();
    let schema = Schema::compile(&[file], &[]).unwrap();
    let message = schema.message_type("A").unwrap();
    let json =
        r#"{"values":{"a":3.4028235e+38,"b":[{"c":-3.4028235e+38},"nan"]},"double":3.4028235e+38}"#;
    let back = message.from_json(json).unwrap().to_bytes(Encoding::Json);
    assert_eq!(String::from_utf8(back.unwrap()).unwrap(), json);
}
