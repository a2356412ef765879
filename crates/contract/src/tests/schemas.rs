//! The schemas in `contract/` are generated from the types.

use std::path::Path;
use std::{env, fs};

use rpcgauge_message::limits::{MAX_DEPTH, MAX_MESSAGE_BYTES};
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, json};

use super::*;

/// The schemas by file name.
fn schemas() -> [(&'static str, Value); 3] {
    [
        ("settings.schema.json", settings()),
        ("reply.schema.json", reply()),
        ("slice.schema.json", slice()),
    ]
}

fn settings() -> Value {
    let mut types = types();
    let lines = [
        line::<ServerSettings>(&mut types, json!({"role": "server"})),
        line::<ClientSettings>(&mut types, json!({"role": "client"})),
        line::<CodecSettings>(&mut types, json!({"role": "codec"})),
        line::<FloorSettings>(&mut types, json!({"role": "floor"})),
        line::<Several<ServerSettings>>(&mut types, json!({"role": "servers"})),
        line::<Several<ClientSettings>>(&mut types, json!({"role": "clients"})),
    ];
    let about = "What a subject reads from its standard input, once. See README.md.";
    document("the settings line", about, lines, types)
}

fn reply() -> Value {
    let mut types = types();
    let mut ready = line::<Ready>(&mut types, json!({"ready": true}));
    ready["not"] = json!({"required": ["error"]});
    let lines = [ready, failed(&mut types)];
    let about = "A ready or error line, once. What a client or codec writes after it is in \
                 slice.schema.json. See README.md.";
    document("what a subject writes", about, lines, types)
}

fn slice() -> Value {
    let mut types = types();
    let mut ask: Value = types.subschema_for::<SliceAsk>().into();
    ask["oneOf"] = json!([{"required": ["calls"]}, {"required": ["time_us"]}]);
    let mut verify = holder("verify", json!({"const": true}));
    let mut slice = holder("slice", ask);
    for asked in [&mut verify, &mut slice] {
        asked["properties"]["part"] = json!({
            "description": "The part that the line is for, numbered from 0.",
            "type": "integer",
            "minimum": 0,
            "maximum": MAX_PARTS - 1,
            "default": 0,
        });
        asked["additionalProperties"] = false.into();
    }
    // A verified line has exactly one of the forms, and unknown keys are ignored. schemars cannot
    // express that for an enum.
    let mut verified: Value = Verified::json_schema(&mut types).into();
    let mut properties = Map::new();
    for form in verified["oneOf"].as_array_mut().expect("its forms") {
        let form = form.as_object_mut().expect("an object");
        form.remove("additionalProperties");
        if let Some(Value::Object(own)) = form.remove("properties") {
            properties.extend(own);
        }
    }
    verified["properties"] = properties.into();
    let lines = [
        verify,
        slice,
        holder("verified", verified),
        holder("slice", types.subschema_for::<SliceDone>().into()),
        failed(&mut types),
    ];
    let about = "The lines after a client's or codec's ready line: it reads a \"verify\" or a \
                 \"slice\", and answers each with one line. See README.md.";
    document("a client's and a codec's conversation", about, lines, types)
}

fn types() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

fn failed(types: &mut SchemaGenerator) -> Value {
    line::<Failed>(types, json!({}))
}

/// The schema of a type's line, with the keys that `line.rs` adds to those of the type.
fn line<T: JsonSchema>(types: &mut SchemaGenerator, added: Value) -> Value {
    let mut schema: Value = T::json_schema(types).into();
    let constants = added.as_object().expect("keys").iter();
    let constants = constants.map(|(key, value)| (key.as_str(), json!({"const": value})));
    let version = ("contract", json!({"enum": [FIRST_VERSION, VERSION]}));
    for (key, value) in [version].into_iter().chain(constants) {
        schema["properties"][key] = value;
        match &mut schema["required"] {
            Value::Array(required) => required.push(json!(key)),
            absent => *absent = json!([key]),
        }
    }
    schema
}

/// The schema of an object with the required key `key`.
fn holder(key: &str, value: Value) -> Value {
    json!({"type": "object", "properties": {key: value}, "required": [key]})
}

/// A document that accepts any of the lines, with the types that they use.
fn document(
    title: &str,
    about: &str,
    lines: impl Into<Vec<Value>>,
    mut types: SchemaGenerator,
) -> Value {
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("rpcgauge subject contract, versions {FIRST_VERSION} and {VERSION}: {title}"),
        "description": about,
        "oneOf": lines.into(),
        "$defs": types.take_definitions(true),
    });
    complete(&mut schema);
    schema
}

/// Adds what the types do not express: bounds, patterns and defaults. Absent values are left out,
/// never null.
fn complete(schema: &mut Value) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(complete),
        Value::Object(keywords) => {
            without_null(keywords);
            if keywords.get("format") == Some(&json!("uint32")) {
                keywords.insert("maximum".to_owned(), u32::MAX.into());
            }
            for (of, said) in [
                ("properties", of_key as fn(&str) -> Value),
                ("$defs", of_type),
            ] {
                let named = keywords.get_mut(of).and_then(Value::as_object_mut);
                for (name, schema) in named.into_iter().flatten() {
                    if let (Value::Object(schema), Value::Object(said)) = (schema, said(name)) {
                        schema.extend(said);
                    }
                }
            }
            keywords.values_mut().for_each(complete);
        }
        Value::String(text) => *text = text.replace("\n\n", "\n").replace('\n', " "),
        _ => {}
    }
}

fn of_key(key: &str) -> Value {
    let version = json!({"pattern": format!("^[ -~]{{0,{MAX_VERSION_CHARS}}}$")});
    match key {
        "threads" | "channels" | "in_flight" => json!({"minimum": 1, "default": 1}),
        "deadline_ms" | "calls" | "batch" | "max_inflation" => json!({"minimum": 1}),
        "max_message_bytes" => json!({"minimum": 1, "maximum": MAX_MESSAGE_BYTES}),
        "max_depth" => json!({"minimum": 1, "maximum": MAX_DEPTH}),
        "pid" => json!({"minimum": 2}),
        "marks" | "tls" => json!({"default": false}),
        "host" => json!({"default": LOOPBACK}),
        "path" => json!({"minLength": 1}),
        "method" => json!({"pattern": "^[^/]+/[^/]+$"}),
        "requests" => json!({"minItems": 1}),
        "parts" => json!({"minItems": 2, "maxItems": MAX_PARTS}),
        "protobuf_samples" => {
            json!({"minItems": 1, "items": {"type": "string", "contentEncoding": "base64"}})
        }
        "descriptor_set" | "protobuf" | "bytes" => json!({"contentEncoding": "base64"}),
        "versions" => json!({
            "maxProperties": MAX_VERSIONS,
            "propertyNames": version,
            "additionalProperties": {"type": "string", "pattern": version["pattern"]},
        }),
        _ => Value::Null,
    }
}

fn of_type(name: &str) -> Value {
    match name {
        "Address" => json!({"pattern": "^(unix:.+|.+:[0-9]+)$"}),
        "Compression" => json!({
            "pattern": "^(none|gzip(:[1-9])?|zstd(:([1-9]|1[0-9]))?)$",
            "default": Compression::default(),
        }),
        "ConnectionUse" => json!({"default": ConnectionUse::default()}),
        "Encoding" => json!({"enum": Encoding::ALL}),
        _ => Value::Null,
    }
}

/// Removes null from the types that a value may have.
fn without_null(keywords: &mut Map<String, Value>) {
    for of in ["type", "anyOf"] {
        let Some(Value::Array(kinds)) = keywords.get_mut(of) else {
            continue;
        };
        kinds.retain(|kind| *kind != "null" && kind["type"] != "null");
        let [only] = &kinds[..] else {
            continue;
        };
        match only.clone() {
            Value::Object(only) => {
                keywords.remove(of);
                keywords.extend(only);
            }
            only => {
                keywords.insert(of.to_owned(), only);
            }
        }
    }
}

#[test]
fn the_schemas_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract");
    for (name, schema) in schemas() {
        let schema = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let path = folder.join(name);
        if env::var_os("RPCGAUGE_UPDATE_GOLDEN").is_some() {
            fs::write(&path, &schema).unwrap();
        }
        assert!(
            fs::read_to_string(&path).unwrap() == schema,
            "contract/{name} does not match the types: run RPCGAUGE_UPDATE_GOLDEN=1 cargo test -p \
             rpcgauge-contract schemas, and read its diff"
        );
        assert!(
            !schema.contains("[`"),
            "a description in {name} has a rustdoc link"
        );
    }
}

/// Checks that each full line has exactly the keys of its schema, and is rejected without a key
/// exactly if the schema requires it.
fn check<'a>(
    forms: impl IntoIterator<Item = &'a Value>,
    lines: impl IntoIterator<Item = String>,
    is_read: fn(&str) -> bool,
) {
    for (form, line) in forms.into_iter().zip(lines) {
        let line: Map<String, Value> = serde_json::from_str(&line).unwrap();
        let properties = form["properties"].as_object().unwrap();
        assert!(line.keys().eq(properties.keys()), "{line:?}\n{form}");
        for (key, value) in &line {
            let wanted = properties[key].get("const");
            assert!(
                wanted.is_none_or(|wanted| wanted == value),
                "{key}: {value}"
            );
            let mut without = line.clone();
            without.remove(key);
            let required = form["required"].as_array().unwrap();
            assert_eq!(
                is_read(&Value::from(without).to_string()),
                !required.contains(&json!(key)),
                "without {key}: {line:?}"
            );
        }
    }
}

#[test]
fn the_lines_are_as_the_schemas_say() {
    let [(_, settings), (_, reply), (_, slice)] = schemas();
    let forms = |schema: &Value| schema["oneOf"].as_array().unwrap().clone();
    check(
        &forms(&settings),
        full_settings().map(|settings| settings.to_line()),
        |line| SettingsLine::parse(line).is_ok(),
    );
    check(
        &forms(&reply),
        full_replies().map(|reply| reply.to_line()),
        |line| Reply::parse(line).is_ok(),
    );
    let ask = SliceAsk {
        skip: 0,
        until: Until::Calls(1),
        batch: None,
    };
    let [message, protobuf, bytes, stream, done, failed] =
        full_answers().map(|answer| answer.to_line());
    let forms = forms(&slice);
    let [verify, slice, verified, rest @ ..] = &forms[..] else {
        panic!("too few forms");
    };
    check(
        [verify, slice],
        [Asked::Verify, Asked::Slice(ask)].map(|asked| Ask { part: 1, asked }.to_line()),
        |line| Ask::parse(line).is_ok(),
    );
    check(
        [verified, verified, verified, verified]
            .into_iter()
            .chain(rest),
        [message, protobuf, bytes, stream, done, failed],
        |line| Answer::parse(line).is_ok(),
    );
}
