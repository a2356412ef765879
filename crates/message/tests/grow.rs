//! Messages grow by rows that differ as much as real rows do.

use std::collections::BTreeSet;

use rpcgauge_message::{Compression, Compressor, MessageType, Schema};
use serde_json::{Value, json};

const PROTO: &str = r#"syntax = "proto3";
package rows;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
enum Kind { NONE = 0; ONE = 1; TWO = 2; THREE = 3; }
message Row {
  int64 id = 1;
  uint32 most = 2;
  double price = 3;
  float ratio = 4;
  string name = 5;
  string link = 6;
  string hash = 7;
  bool open = 8;
  Kind kind = 9;
  bytes digest = 10;
  google.protobuf.Timestamp at = 11;
  google.protobuf.Duration took = 12;
  google.protobuf.Int64Value count = 13;
  google.protobuf.Struct more = 14;
  google.protobuf.Any held = 15;
  google.protobuf.FieldMask mask = 16;
  map<string, int32> by_name = 17;
  repeated string tags = 18;
  sint32 below = 19;
}
message Rows { Page page = 1; repeated Row rows = 2; string title = 3; }
message Page { repeated Kind kinds = 1; }
message Text { string text = 1; bytes blob = 2; google.protobuf.FieldMask mask = 3; int32 n = 4; }
message Empties { repeated Page pages = 1; string rule = 2; }
"#;

fn message_type(name: &str) -> MessageType {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.proto");
    std::fs::write(&file, PROTO).unwrap();
    let schema = Schema::compile(&[file], &[]).unwrap();
    schema.message_type(&format!("rows.{name}")).unwrap()
}

fn row() -> Value {
    json!({
        "id": "8812004417", "most": 4_294_967_295_u32, "price": 48.25, "ratio": 0.5,
        "name": "Mira Müller", "link": "https://example.org/item/4417", "hash": "9f3a77c1",
        "open": true, "kind": "TWO", "digest": "AQIDBAUG",
        "at": "2026-11-20T09:41:07.250Z", "took": "-1.500s", "count": "12",
        "more": {"a": 17.0, "b": "Wien"},
        "held": {"@type": "x/rows.Text", "text": "abcdef", "n": 40},
        "mask": "at,byName", "byName": {"x": 100}, "tags": ["red", "blue"], "below": -30,
    })
}

fn grown(name: &str, sample: &Value, factor: usize) -> Option<Value> {
    let message = message_type(name).from_json(&sample.to_string()).unwrap();
    let grown = message.grown(factor).unwrap();
    if let Some(grown) = &grown {
        let read = message_type(name).from_json(&grown.to_string());
        assert!(read.is_ok(), "{grown}: {read:?}");
        assert_eq!(
            message.grown(factor).unwrap().as_ref(),
            Some(grown),
            "the same each time"
        );
    }
    grown
}

#[test]
fn added_rows_differ_in_every_field_that_can() {
    let rows = grown("Rows", &json!({"rows": [row()], "title": "All rows"}), 200).unwrap();
    assert_eq!(rows["title"], "All rows", "only the list grows");
    let rows = rows["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 200);
    assert_eq!(rows[0], row());
    let distinct = |path: &str| {
        let values = rows
            .iter()
            .map(|row| row.pointer(path).unwrap_or(&Value::Null).to_string());
        values.collect::<BTreeSet<String>>().len()
    };
    for (path, least) in [
        ("/id", 200),
        ("/most", 200),
        ("/price", 200),
        ("/ratio", 9),
        ("/name", 200),
        ("/link", 190),
        ("/hash", 200),
        ("/open", 2),
        ("/kind", 3),
        ("/digest", 200),
        ("/at", 200),
        ("/took", 100),
        ("/count", 90),
        ("/more/a", 90),
        ("/more/b", 190),
        ("/held/text", 200),
        ("/held/n", 90),
        ("/byName/x", 200),
        ("/tags/1", 190),
        ("/below", 90),
    ] {
        assert!(
            distinct(path) >= least,
            "{path}: {} of 200 differ",
            distinct(path)
        );
    }
    assert_eq!(distinct("/mask"), 1, "the path must name existing fields");
    // Lengths do not change, and neither do the words in a URL.
    for row in rows {
        let length = |path: &str| row.pointer(path).and_then(Value::as_str).unwrap().len();
        for path in ["/id", "/name", "/link", "/hash", "/digest", "/at", "/took"] {
            assert_eq!(
                length(path),
                self::row().pointer(path).unwrap().as_str().unwrap().len()
            );
        }
        let link = row["link"].as_str().unwrap();
        assert!(link.starts_with("https://example.org/item/"), "{link}");
        assert!(
            row["hash"]
                .as_str()
                .unwrap()
                .bytes()
                .all(|b| b.is_ascii_hexdigit())
        );
        assert_eq!(row["held"]["@type"], "x/rows.Text");
    }
}

#[test]
fn a_compressor_finds_no_duplicate_row() {
    let gzip = |value: &Value| {
        let mut out = Vec::new();
        let mut compressor = Compressor::new(Compression::GZIP).unwrap();
        compressor
            .compress(value.to_string().as_bytes(), &mut out)
            .unwrap();
        out.len()
    };
    let one = json!({"rows": [row()]});
    let equal = json!({"rows": vec![row(); 20]});
    let rows = grown("Rows", &one, 20).unwrap();
    let (equal, differing) = (gzip(&equal), gzip(&rows));
    assert!(
        differing > 4 * equal,
        "{differing} bytes, {equal} of equal rows"
    );
    assert!(rows.to_string().len() < 21 * one.to_string().len());
}

#[test]
fn every_outermost_list_grows_and_zero_stays_zero() {
    let sample = json!({"page": {"kinds": ["NONE", "ONE"]}, "rows": [{}, {"id": "1"}]});
    let grown = grown("Rows", &sample, 3).unwrap();
    let kinds = grown["page"]["kinds"].as_array().unwrap();
    assert_eq!(kinds.len(), 6);
    assert!(
        kinds.iter().step_by(2).all(|kind| kind == "NONE"),
        "{kinds:?}"
    );
    let rows = grown["rows"].as_array().unwrap();
    let id = |row: &Value| row["id"].as_str().map(str::to_owned);
    let ids: Vec<Option<String>> = rows.iter().map(id).collect();
    let some = |id: &str| Some(id.to_owned());
    assert_eq!(ids, [None, some("1"), None, some("3"), None, some("5")]);
}

#[test]
fn without_lists_texts_and_bytes_grow() {
    let sample = json!({"text": "o-10000", "blob": "AQID", "n": 7});
    let grown = grown("Text", &sample, 3).unwrap();
    let text = grown["text"].as_str().unwrap();
    assert!(text.starts_with("o-10000o-") && text.len() == 21, "{text}");
    assert_ne!(&text[7..14], &text[14..], "{text}");
    assert_eq!(grown["blob"].as_str().unwrap().len(), 12);
    assert_eq!(grown["n"], 7);
}

#[test]
fn a_message_that_cannot_be_longer_does_not_grow() {
    for sample in [json!({}), json!({"n": 7}), json!({"mask": "text"})] {
        assert_eq!(grown("Text", &sample, 3), None, "{sample}");
    }
    // Nothing in this text can vary, so growing it would only repeat it.
    assert_eq!(grown("Empties", &json!({"rule": "-----"}), 3), None);
    let empties = grown("Empties", &json!({"pages": [{}]}), 3).unwrap();
    assert_eq!(empties["pages"].as_array().unwrap().len(), 3);
}
