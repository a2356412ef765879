//! Tests that docs/report.schema.json, which is generated from the types of the findings, is current.

use std::borrow::Cow;
use std::{env, fs};

use rpcgauge_study::plan::Metric;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::*;
use crate::fixture::{capacity, linked, live, ramp, stacks, versus_ramp};
use crate::json::render;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/report.schema.json");

/// The types to which `json.rs` adds a sentence, each with the name of its list in a report.
const WITH_SENTENCE: [(&str, &str); 3] = [
    ("Comparison", "comparisons"),
    ("ClaimFindings", "claims"),
    ("Crossing", "crossings"),
];

/// Written as an object with a field for each metric that a trial has.
impl JsonSchema for trial::RowFigures {
    fn schema_name() -> Cow<'static, str> {
        "RowFigures".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let metrics = Metric::all().map(|metric| (trial::field(metric), json!({"type": "number"})));
        json_schema!({
            "description": "The figures of one trial that can be compared, as far as they were measured.",
            "type": "object",
            "properties": metrics.collect::<Map<String, Value>>(),
        })
    }
}

/// The schema of the output of `json::render`.
fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<Findings>();
    let mut schema = schema.to_value();
    without_nulls(&mut schema);
    schema["title"] = format!("rpcgauge findings (report.json), schema {SCHEMA}").into();
    schema["description"] =
        "The findings of a run. Times are in nanoseconds, sizes in bytes, and shares from 0 to 1, unless a name \
         indicates otherwise. A figure that could not be measured is absent. See report-schema.md."
            .into();
    for (name, _) in WITH_SENTENCE {
        let object = &mut schema["$defs"][name];
        object["properties"]["sentence"] = json!({
            "description": "The outcome, in a sentence.",
            "type": "string",
        });
        let required = object["required"].as_array_mut();
        required.expect("a list").push("sentence".into());
    }
    schema
}

/// Declares optional properties as absent instead of null, and joins the lines of each description.
fn without_nulls(schema: &mut Value) {
    match schema {
        Value::Array(all) => all.iter_mut().for_each(without_nulls),
        Value::Object(keywords) => {
            if let Some(Value::String(text)) = keywords.get_mut("description") {
                *text = text.replace("\n\n", "\n").replace('\n', " ");
            }
            keywords.values_mut().for_each(without_nulls);
            let Some(Value::Object(properties)) = keywords.get_mut("properties") else {
                return;
            };
            let mut absent = Vec::new();
            for (name, property) in properties {
                if take_null(property) {
                    absent.push(name.clone());
                }
            }
            if let Some(Value::Array(required)) = keywords.get_mut("required") {
                required.retain(|name| !absent.iter().any(|absent| name == absent));
            }
        }
        _ => {}
    }
}

/// Removes null from the types of a property. Returns whether null was one of them.
fn take_null(property: &mut Value) -> bool {
    let null = json!("null");
    for keyword in ["type", "anyOf"] {
        let Some(Value::Array(kinds)) = property.get(keyword) else {
            continue;
        };
        let is_null = |kind: &&Value| **kind == null || kind["type"] == null;
        let others: Vec<Value> = kinds
            .iter()
            .filter(|kind| !is_null(kind))
            .cloned()
            .collect();
        let [only] = &others[..] else {
            panic!("{property} is not an Option");
        };
        match (property, only) {
            (Value::Object(keywords), Value::Object(only)) => {
                keywords.remove(keyword);
                keywords.extend(only.clone());
            }
            (property, only) => property[keyword] = only.clone(),
        }
        return true;
    }
    false
}

#[test]
fn the_schema_is_that_of_the_types() {
    let schema = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if env::var_os("RPCGAUGE_UPDATE_GOLDEN").is_some() {
        fs::write(PATH, &schema).unwrap();
    }
    assert!(
        fs::read_to_string(PATH).unwrap() == schema,
        "docs/report.schema.json does not match the types: run RPCGAUGE_UPDATE_GOLDEN=1 cargo test -p \
         rpcgauge-report schema, and review the diff"
    );
    assert!(
        !schema.contains("[`"),
        "a description has a link for rustdoc"
    );
}

/// Calls `visit` for a value and for each value within it, with the name of each.
fn each(value: &Value, name: &str, visit: &mut dyn FnMut(&str, &Value)) {
    visit(name, value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| each(item, name, visit)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, field)| each(field, name, visit)),
        _ => {}
    }
}

/// Checks what the types do not ensure: unknown values are absent, and the parts with their own serialization
/// (`json.rs`, `RowFigures`) match the schema.
#[test]
fn what_serde_does_not_derive_is_as_the_schema_says() {
    let schema = schema();
    let metrics = &schema["$defs"]["RowFigures"]["properties"];
    let unmeasured = two(2.0).build();
    let unmeasured = Findings::new(&unmeasured.plan, None, &[], &[]).unwrap();
    let samples = [
        live(),
        ramp(),
        versus_ramp(),
        capacity(),
        versus(1.01, 0.2),
        linked(3),
        stacks(),
    ];
    let samples = samples.iter().map(findings);
    for run in samples.chain([quickstart::findings().clone(), unmeasured]) {
        let report: Value = serde_json::from_str(&render(&run).unwrap()).unwrap();
        each(&report, "", &mut |name, value| {
            assert!(!value.is_null(), "{name} is null");
            let has_sentence = WITH_SENTENCE.iter().any(|(_, list)| *list == name);
            if has_sentence && value.is_object() {
                assert!(value["sentence"].is_string(), "{name}: {value}");
            }
        });
        for row in report["trials"].as_array().unwrap() {
            let figures = row["figures"].as_object().unwrap();
            let is_known = |(name, figure): (&String, &Value)| {
                metrics.get(name).is_some() && figure.is_number()
            };
            assert!(figures.iter().all(is_known), "{figures:?}");
        }
    }
}
