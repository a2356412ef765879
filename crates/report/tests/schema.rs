//! Holds real findings against docs/report.schema.json, so that the documented schema is the true
//! one. Only the keywords that this schema uses are understood; any other fails the test.

mod common;

use std::fs;
use std::path::Path;

use rpcgauge_report::{Findings, json};
use rpcgauge_study::record::FailureKind;
use serde_json::Value;

fn schema() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/report.schema.json");
    serde_json::from_str(&fs::read_to_string(path).expect("the schema is there"))
        .expect("it is JSON")
}

/// What is wrong with a value, with its place; nothing where it is valid.
fn problems(root: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (keyword, rule) in schema.as_object().expect("a schema is an object") {
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" => {}
            "$ref" => {
                let name = rule
                    .as_str()
                    .and_then(|r| r.strip_prefix("#/$defs/"))
                    .expect("a $ref");
                found.extend(problems(root, &root["$defs"][name], value, place));
            }
            "type" => {
                let types = rule
                    .as_array()
                    .cloned()
                    .unwrap_or_else(|| vec![rule.clone()]);
                if !types
                    .iter()
                    .any(|t| is_type(t.as_str().expect("a type"), value))
                {
                    found.push(format!("{place}: {value} is not a {rule}"));
                }
            }
            "const" if rule != value => found.push(format!("{place}: {value} is not {rule}")),
            "enum" if !rule.as_array().expect("a list").contains(value) => {
                found.push(format!("{place}: {value} is not one of {rule}"));
            }
            "const" | "enum" => {}
            "required" => {
                for name in rule
                    .as_array()
                    .expect("a list")
                    .iter()
                    .filter_map(Value::as_str)
                {
                    if value.get(name).is_none() {
                        found.push(format!("{place}: {name} is missing"));
                    }
                }
            }
            "properties" => {
                let object = value.as_object().into_iter().flatten();
                for (name, value) in object.filter(|(name, _)| rule.get(name).is_some()) {
                    found.extend(problems(
                        root,
                        &rule[name],
                        value,
                        &format!("{place}/{name}"),
                    ));
                }
            }
            "additionalProperties" => {
                let known = &schema["properties"];
                let object = value.as_object().into_iter().flatten();
                for (name, value) in object.filter(|(name, _)| known.get(name).is_none()) {
                    let place = format!("{place}/{name}");
                    match rule {
                        Value::Bool(false) => found.push(format!("{place} is not in the schema")),
                        rule => found.extend(problems(root, rule, value, &place)),
                    }
                }
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    found.extend(problems(root, rule, item, &format!("{place}/{index}")));
                }
            }
            "oneOf" => {
                let rules = rule.as_array().expect("a list");
                let fit = rules
                    .iter()
                    .filter(|r| problems(root, r, value, place).is_empty());
                if fit.count() != 1 {
                    found.push(format!(
                        "{place}: {value} is not exactly one of the alternatives"
                    ));
                }
            }
            other => panic!("this test does not know the keyword {other}"),
        }
    }
    found
}

fn is_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("no such type: {other}"),
    }
}

fn check(findings: &Findings) {
    let schema = schema();
    let value =
        serde_json::from_str(&json::render(findings).expect("it can be written")).expect("JSON");
    let found = problems(&schema, &schema, &value, "");
    assert!(found.is_empty(), "{}", found.join("\n"));
    let nulls = nulls(&value, "");
    assert!(nulls.is_empty(), "what is not known is absent: {nulls:?}");
}

/// The places of all nulls in a value.
fn nulls(value: &Value, place: &str) -> Vec<String> {
    match value {
        Value::Null => vec![place.to_owned()],
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items
                .flat_map(|(n, item)| nulls(item, &format!("{place}/{n}")))
                .collect()
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .flat_map(|(name, field)| nulls(field, &format!("{place}/{name}")))
                .collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn a_load_of_a_live_service_fits_the_schema() {
    check(&common::findings(&common::live()));
    check(&common::findings(&common::ramp()));
    check(&common::findings(&common::capacity()));
    check(&common::findings(&common::versus(1.01, 0.2)));
}

#[test]
fn a_run_with_everything_in_it_fits_the_schema() {
    check(common::quickstart::findings());
}

#[test]
fn a_run_over_a_link_fits_the_schema() {
    check(&common::findings(&common::linked(3)));
    check(&common::findings(&common::linked(12)));
}

#[test]
fn stacks_beside_each_other_fit_the_schema() {
    check(&common::findings(&common::stacks()));
}

#[test]
fn a_run_of_which_a_part_was_measured_fits_the_schema() {
    let mut builder = common::two(2.0);
    builder.specs[0].failing = Some((FailureKind::ConnectionReset, "connection reset by peer", 20));
    builder.specs[1].code = rpcgauge_study::record::Code::Dynamic;
    let mut sample = builder.build();
    sample.trials.truncate(10);
    check(&common::findings(&sample));
    check(&Findings::new(&sample.plan, None, &[], &[]).expect("an empty run is one"));
}

#[test]
fn the_check_finds_what_is_wrong() {
    let schema = schema();
    let findings = common::findings(&common::two(2.0).build());
    let good: Value =
        serde_json::from_str(&json::render(&findings).expect("it can be written")).expect("JSON");
    for (place, value) in [
        ("/schema", Value::from(2)),
        ("/study/margin", Value::from("3%")),
        ("/comparisons/0/metric", Value::from("speed")),
        (
            "/comparisons/0/placements/0/outcome",
            serde_json::json!({"verdict": "perhaps"}),
        ),
        ("/progress", serde_json::json!({"planned": 1})),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(place).expect("it is there") = value;
        assert!(!problems(&schema, &schema, &bad, "").is_empty(), "{place}");
    }
}
