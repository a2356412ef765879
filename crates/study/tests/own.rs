//! A user's own method, from files on disk to a plan: a .proto with imports, maps, oneofs and
//! timestamps, in a study file and in a comparison, and with a longer response.

use std::collections::BTreeSet;
use std::fs;

use rpcgauge_message::Limits;
use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_study::features::embedded_only;
use rpcgauge_study::file::StudyFile;
use rpcgauge_study::plan::Plan;
use rpcgauge_study::resolve::loader::{FileLoader, OwnSource, SchemaSource};
use rpcgauge_study::resolve::{Overrides, ResolveContext};
use rpcgauge_study::scale::{self, ScaleError};
use serde_json::{Value, json};
use tempfile::TempDir;

const ORDERS: &str = r#"syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "common/money.proto";
message GetRequest { string id = 1; }
message Order {
  string id = 1;
  google.protobuf.Timestamp placed = 2;
  map<string, int64> counts = 3;
  oneof payment { string card = 4; bytes token = 5; }
  repeated Line lines = 6;
  Status status = 7;
  int64 customer = 8;
}
message Line { string article = 1; common.Money price = 2; repeated string notes = 3; }
enum Status { UNKNOWN = 0; PAID = 1; }
service Orders {
  rpc Get(GetRequest) returns (Order);
  rpc Watch(GetRequest) returns (stream Order);
}
"#;

const MONEY: &str = r#"syntax = "proto3";
package common;
message Money { string currency = 1; int64 cents = 2; }
"#;

const STUDY: &str = r#"question = "Is it fast?"
[workload]
proto = "orders.proto"
include = ["."]
method = "shop.Orders/Get"
request = "req.json"
response = "resp.json"
[base]
protocol = "grpc"
[factors]
scale = [1, 3]
"#;

struct Shop(TempDir);

impl Shop {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("common")).unwrap();
        fs::write(at("orders.proto"), ORDERS).unwrap();
        fs::write(at("common/money.proto"), MONEY).unwrap();
        fs::write(at("req.json"), r#"{"id": "o-1"}"#).unwrap();
        fs::write(at("resp.json"), with_lines().to_string()).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn own(&self) -> OwnWorkload {
        let at = |name: &str| self.0.path().join(name);
        let source = OwnSource {
            schema: SchemaSource {
                proto: vec![at("orders.proto")],
                include: vec![at(".")],
                descriptor_set: None,
            },
            method: "shop.Orders/Get".into(),
            request: at("req.json"),
            response: at("resp.json"),
        };
        source.load().unwrap()
    }

    fn own_with(&self, response: &Value) -> OwnWorkload {
        self.write("resp.json", &response.to_string());
        self.own()
    }

    fn resolve(&self, study: &str) -> Result<Plan, String> {
        let path = self.0.path().join("my.toml");
        let file = StudyFile::parse(study, "my.toml").map_err(|e| e.to_string())?;
        let context = ResolveContext {
            subjects: &embedded_only(),
            loader: &FileLoader::beside(&path),
            cores: 2,
            overrides: &Overrides::default(),
        };
        file.resolve(&context).map_err(|e| e.to_string())
    }

    /// The error, without the temporary folder's name.
    fn refused(&self, study: &str) -> String {
        let folder = format!("{}/", self.0.path().display());
        self.resolve(study)
            .expect_err("it should be refused")
            .replace(&folder, "")
    }
}

fn with_lines() -> Value {
    json!({
        "id": "o-1",
        "placed": "2026-11-20T10:15:00Z",
        "counts": {"a": "1", "b": "2"},
        "token": "AQID",
        "lines": [
            {"article": "pen", "price": {"currency": "EUR", "cents": "120"}, "notes": ["blue", "fine"]},
            {"article": "ink", "price": {"currency": "EUR", "cents": "800"}},
        ],
        "status": "PAID",
        "customer": "12",
    })
}

#[test]
fn a_study_file_with_a_method_of_its_own_resolves() {
    let plan = Shop::new().resolve(STUDY).unwrap();
    let names: Vec<&str> = plan.variants.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["scale=1", "scale=3", "scale=1-again"]);
    let target = &plan.variants[1].settings.target;
    let Some(rpcgauge_message::WorkloadSpec::Own(own)) = target.workload() else {
        panic!("{target:?}")
    };
    assert_eq!(own.method, "shop.Orders/Get");
    assert_eq!(own.response["lines"].as_array().unwrap().len(), 6);
}

#[test]
fn the_descriptor_set_of_a_plan_needs_no_file() {
    use base64::Engine as _;
    let shop = Shop::new();
    let set = base64::engine::general_purpose::STANDARD
        .decode(shop.own().descriptor_set)
        .unwrap();
    fs::write(shop.0.path().join("shop.binpb"), set).unwrap();
    for gone in ["orders.proto", "common/money.proto"] {
        fs::remove_file(shop.0.path().join(gone)).unwrap();
    }
    let study = STUDY
        .replace(
            "proto = \"orders.proto\"",
            "descriptor-set = \"shop.binpb\"",
        )
        .replace("include = [\".\"]\n", "");
    assert_eq!(shop.resolve(&study).unwrap().variants.len(), 3);
}

#[test]
fn what_is_wrong_with_the_files_is_told_at_the_key_that_named_them() {
    let shop = Shop::new();
    let told = |study: &str, parts: &[&str]| {
        let message = shop.refused(study);
        for part in parts {
            assert!(message.contains(part), "{part:?} in {message:?}");
        }
        assert!(!message.contains('\n'), "{message:?}");
    };
    told(
        &STUDY.replace("orders.proto", "order.proto"),
        &["my.toml:3:9: ", "order.proto"],
    );
    told(
        &STUDY.replace("Orders/Get", "Orders/Gte"),
        &["my.toml:5:10: ", "shop.Orders/Get"],
    );
    told(
        &STUDY.replace("Orders/Get", "Orders/Watch"),
        &["my.toml:5:10: ", "stream"],
    );
    told(
        &STUDY.replace("req.json", "rq.json"),
        &["my.toml:6:11: cannot read rq.json"],
    );
    shop.write("req.json", r#"{"idd": "o-1"}"#);
    told(STUDY, &["my.toml:6:11: req.json: ", "idd"]);
    shop.write("req.json", r#"{"id": 7}"#);
    told(STUDY, &["my.toml:6:11: req.json: $.id"]);
    shop.write("req.json", "{");
    told(STUDY, &["my.toml:6:11: req.json:1:1: "]);
    shop.write("orders.proto", "syntax = \"proto3\";\nmesage A {}\n");
    told(STUDY, &["my.toml:3:9: ", "orders.proto:2:1"]);
}

#[test]
fn lists_are_repeated_outermost_only() {
    let shop = Shop::new();
    let longer = scale::response(&shop.own(), 3, Limits::DEFAULT).unwrap();
    let lines = longer.response["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 6);
    assert_eq!(
        lines[..2],
        *shop.own().response["lines"].as_array().unwrap()
    );
    // Added rows vary like real ones.
    let texts: BTreeSet<String> = lines.iter().map(Value::to_string).collect();
    assert_eq!(texts.len(), 6);
    assert_eq!(lines[2]["price"]["cents"], "122");
    assert_eq!(lines[2]["article"].as_str().unwrap().len(), 3);
    assert_eq!(lines[2]["notes"].as_array().unwrap().len(), 2);
    assert_eq!(longer.request, shop.own().request);
    assert_eq!(
        scale::response(&shop.own(), 1, Limits::DEFAULT).unwrap(),
        shop.own()
    );
}

#[test]
fn without_lists_texts_and_bytes_are_repeated_and_nothing_else() {
    let shop = Shop::new();
    let mut answer = with_lines();
    answer.as_object_mut().unwrap().remove("lines");
    let longer = scale::response(&shop.own_with(&answer), 2, Limits::DEFAULT)
        .unwrap()
        .response;
    let id = longer["id"].as_str().unwrap();
    assert!(id.starts_with("o-1o-") && id.len() == 6, "{id}");
    assert!(longer["token"].as_str().unwrap().starts_with("AQID"));
    assert_eq!(longer["token"].as_str().unwrap().len(), 8);
    for same in ["placed", "status", "customer", "counts"] {
        assert_eq!(longer[same], answer[same], "{same}");
    }
}

#[test]
fn an_answer_with_nothing_to_repeat_has_one_size() {
    let shop = Shop::new();
    let own = shop.own_with(&json!({"status": "PAID", "customer": "12", "lines": []}));
    assert_eq!(
        scale::response(&own, 2, Limits::DEFAULT),
        Err(ScaleError::NothingToRepeat("shop.Orders/Get".to_owned()))
    );
    let error = shop.refused(STUDY);
    assert!(
        error.starts_with("my.toml:11:13: the response of shop.Orders/Get has no"),
        "{error}"
    );
}

/// Rows that cannot differ compress to next to nothing.
#[test]
fn nothing_is_said_of_compression_where_rows_are_alike() {
    let shop = Shop::new();
    shop.own_with(&json!({"lines": [{}, {}]}));
    let compressed = STUDY.replace("[base]\n", "[base]\ncompression = \"gzip\"\n");
    let error = shop.refused(&compressed);
    assert!(
        error.starts_with("my.toml:12:13: variant \"scale=3\" compresses, but"),
        "{error}"
    );
    assert!(shop.resolve(STUDY).is_ok());
}

#[test]
fn an_answer_does_not_grow_beyond_what_is_decoded() {
    let error = scale::response(&Shop::new().own(), u32::MAX, Limits::DEFAULT).unwrap_err();
    assert!(matches!(error, ScaleError::TooLarge { .. }), "{error}");
}
