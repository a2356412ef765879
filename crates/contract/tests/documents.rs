//! Checks the contract's prose and golden files (`contract/`) against its types.

use std::fs;
use std::path::Path;

use rpcgauge_contract::{Answer, Ask, Record, Reply, RuntimeEvent, SettingsLine};
use serde_json::Value;

fn document(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract");
    fs::read_to_string(folder.join(name)).expect("a document of the contract")
}

fn hex_bytes(case: &Value) -> Vec<u8> {
    let hex = case["hex"].as_str().expect("hexadecimal digits");
    (0..hex.len() / 2)
        .map(|at| u8::from_str_radix(&hex[2 * at..][..2], 16).expect("two digits"))
        .collect()
}

#[test]
fn the_golden_records_are_what_they_mean() {
    let golden: Value = serde_json::from_str(&document("golden/calls.json")).expect("JSON");
    let mut bytes = Vec::new();
    let mut count = 0;
    for case in golden["records"].as_array().expect("records") {
        let record = hex_bytes(case);
        let [read] = Record::read_all(&record).expect("a record")[..] else {
            panic!("one record: {case}")
        };
        let means = |key: &str| case["means"].get(key).and_then(Value::as_u64);
        let small = |key| means(key).map(|value| u32::try_from(value).expect("32 bits"));
        assert_eq!(
            read,
            Record {
                begin: means("begin").expect("always there"),
                encoded: means("encoded"),
                sent: means("sent"),
                first_byte: means("first byte"),
                received: means("received"),
                end: means("end").expect("always there"),
                handler_start: means("handler start"),
                handler_end: means("handler end"),
                request_bytes: small("request bytes"),
                response_bytes: small("response bytes"),
                failed: means("status") == Some(1),
                operations: small("operations").expect("always there"),
            },
            "{}",
            case["what"]
        );
        assert_eq!(read.to_bytes()[..], record);
        bytes.extend(record);
        count += 1;
    }
    assert!(count >= 3);
    assert_eq!(Record::read_all(&bytes).expect("a file").len(), count);
    for case in golden["refused"].as_array().expect("what is refused") {
        let error = Record::read_all(&hex_bytes(case)).expect_err("must be refused");
        assert_eq!(error.to_string(), case["why"].as_str().expect("a reason"));
    }
}

#[test]
fn a_long_detail_of_an_event_is_cut_and_says_so() {
    let line = |detail: &str| {
        serde_json::json!({"kind": "gc-pause", "begin_ns": 1, "end_ns": 2, "detail": detail})
            .to_string()
    };
    let whole = "ä".repeat(120);
    for (detail, kept) in [
        (whole.clone(), &whole),
        (format!("{whole}b"), &format!("{whole}…")),
    ] {
        let event = RuntimeEvent::parse(&line(&detail)).expect("an event");
        assert_eq!(&event.detail, kept);
    }
}

#[test]
fn the_examples_of_the_prose_are_right() {
    let prose = document("README.md");
    let mut read = 0;
    for block in prose.split("```json\n").skip(1) {
        let block = block.split("```").next().expect("a block's text");
        for example in serde_json::Deserializer::from_str(block).into_iter::<Value>() {
            let example = example.expect("an example is JSON");
            let line = example.to_string();
            if example.get("role").is_some() {
                SettingsLine::parse(&line).expect("settings");
            } else if Ask::parse(&line).is_ok() || Answer::parse(&line).is_ok() {
                // A slice and its answer, told apart by their shape.
            } else if example.get("kind").is_some() {
                RuntimeEvent::parse(&line).expect("an event");
            } else {
                Reply::parse(&line).expect("a reply");
            }
            read += 1;
        }
    }
    assert_eq!(read, 14, "an example of each line");
}
