//! Holds the contract's prose and schemas (`contract/`) against its types.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rpcgauge_message::contract::{
    Address, Batch, Code, CodecSettings, Failed, Fault, FloorSettings, HttpVersion, Limits, Listen,
    Operation, Protocol, Ready, Reply, Sample, ServerSettings, Settings,
};
use rpcgauge_message::{Compression, Encoding, WorkloadSpec};
use serde_json::Value;

fn document(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract");
    fs::read_to_string(folder.join(name)).expect("a document of the contract")
}

fn schema(name: &str) -> Value {
    serde_json::from_str(&document(name)).expect("a schema is JSON")
}

fn object(line: &str) -> Value {
    serde_json::from_str(line).expect("a line is JSON")
}

fn keys(object: &Value) -> BTreeSet<&str> {
    object
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}

fn strings(list: &Value) -> BTreeSet<&str> {
    list.as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect()
}

/// A line with every key set, and one with none that can be left out, hold exactly the keys that
/// the schema allows and requires.
fn assert_described(definition: &Value, full: &str, least: &str) {
    assert_eq!(
        keys(&definition["properties"]),
        keys(&object(full)),
        "{full}"
    );
    assert_eq!(
        strings(&definition["required"]),
        keys(&object(least)),
        "{least}"
    );
}

fn limits() -> Limits {
    Limits {
        max_message_bytes: Some(1),
        max_depth: Some(1),
        max_inflation: Some(1),
    }
}

fn server() -> ServerSettings {
    ServerSettings {
        stack: None,
        workload: WorkloadSpec::Hello {},
        protocol: Protocol::Grpc,
        http: HttpVersion::Http2,
        encoding: Encoding::Protobuf,
        listen: Listen::Tcp {
            host: "127.0.0.1".into(),
        },
        response_compression: Compression::None,
        threads: 1,
        marks: false,
        limits: Limits::default(),
    }
}

fn codec() -> CodecSettings {
    CodecSettings {
        stack: None,
        workload: WorkloadSpec::Hello {},
        sample: Sample::Request,
        encoding: Encoding::Json,
        compression: Compression::None,
        operation: Operation::Encode,
        batches: 1,
        batch_size: 1,
        limits: Limits::default(),
    }
}

#[test]
fn the_settings_schema_has_the_keys_of_the_types() {
    let schema = schema("settings.schema.json");
    let full = ServerSettings {
        stack: Some("a".into()),
        response_compression: Compression::GZIP,
        threads: 2,
        marks: true,
        limits: limits(),
        ..server()
    };
    assert_described(
        &schema["$defs"]["server"],
        &Settings::Server(Box::new(full)).to_line(),
        &Settings::Server(Box::new(server())).to_line(),
    );
    let full = CodecSettings {
        stack: Some("a".into()),
        compression: Compression::ZSTD,
        limits: limits(),
        ..codec()
    };
    assert_described(
        &schema["$defs"]["codec"],
        &Settings::Codec(Box::new(full)).to_line(),
        &Settings::Codec(Box::new(codec())).to_line(),
    );
    let floor = Settings::Floor(FloorSettings {
        listen: server().listen,
    })
    .to_line();
    assert_described(&schema["$defs"]["floor"], &floor, &floor);
    let limits = serde_json::to_value(limits()).expect("limits");
    assert_eq!(
        keys(&schema["$defs"]["limits"]["properties"]),
        keys(&limits)
    );
}

#[test]
fn the_settings_schema_names_every_encoding() {
    let schema = schema("settings.schema.json");
    let named = strings(&schema["$defs"]["encoding"]["enum"]);
    assert_eq!(
        named,
        Encoding::ALL
            .iter()
            .map(|encoding| encoding.name())
            .collect()
    );
}

#[test]
fn the_reply_schema_has_the_keys_of_the_types() {
    let schema = schema("reply.schema.json");
    let least = Ready {
        address: None,
        pid: None,
        versions: [].into(),
        code: None,
        sample: None,
    };
    let full = Ready {
        address: Some(Address::Unix("/a".into())),
        pid: Some(1),
        versions: [("a".to_owned(), "1".to_owned())].into(),
        code: Some(Code::Dynamic),
        sample: Some("AA==".into()),
    };
    assert_described(
        &schema["$defs"]["ready"],
        &Reply::Ready(full).to_line(),
        &Reply::Ready(least).to_line(),
    );
    let faults = strings(&schema["$defs"]["error"]["properties"]["fault"]["enum"]);
    for fault in [
        Fault::User,
        Fault::Instrument,
        Fault::Subject,
        Fault::Machine,
    ] {
        let line = Reply::Failed(Failed {
            error: "e".into(),
            fault,
        })
        .to_line();
        assert_described(&schema["$defs"]["error"], &line, &line);
        assert!(faults.contains(object(&line)["fault"].as_str().expect("text")));
    }
    let batch = Batch {
        batch: 0,
        operations: 1,
        elapsed_ns: 1,
    }
    .to_line();
    assert_described(&schema["$defs"]["batch"], &batch, &batch);
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
                Settings::parse(&line).expect("settings");
            } else if example.get("batch").is_some() {
                Batch::parse(&line).expect("a batch");
            } else {
                Reply::parse(&line).expect("a reply");
            }
            read += 1;
        }
    }
    assert_eq!(read, 6, "an example of each line");
}
