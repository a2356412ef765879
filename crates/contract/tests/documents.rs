//! Holds the contract's prose and schemas (`contract/`) against its types.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rpcgauge_contract::{
    Address, Answer, Ask, ClientSettings, CodecSettings, ConnectionUse, Failed, Fault,
    FloorSettings, HttpVersion, JsonText, Limits, Listen, Operation, Protocol, Ready, Record,
    Reply, RuntimeEvent, ServerSettings, SettingsLine, SliceAsk, SliceDone, Style, Until, Verified,
};
use rpcgauge_message::{CodeKind, Compression, Encoding, Sample, WorkloadSpec};
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
        tls: false,
        protobuf_samples: Vec::new(),
        limits: Limits::default(),
    }
}

fn nothing() -> JsonText {
    JsonText::new("null".to_owned()).expect("JSON")
}

fn codec() -> CodecSettings {
    CodecSettings {
        stack: None,
        workload: WorkloadSpec::Hello {},
        sample: Sample::Request,
        encoding: Encoding::Json,
        compression: Compression::None,
        message: nothing(),
        operation: Operation::Encode,
        records: "/a".into(),
        protobuf_samples: Vec::new(),
        limits: Limits::default(),
    }
}

fn client() -> ClientSettings {
    ClientSettings {
        stack: None,
        workload: WorkloadSpec::Hello {},
        protocol: Protocol::Grpc,
        http: HttpVersion::Http2,
        encoding: Encoding::Protobuf,
        address: Address::Unix("/a".into()),
        certificate: None,
        requests: Vec::new(),
        request_compression: Compression::None,
        response_compression: Compression::None,
        connection: ConnectionUse::Reuse,
        channels: 1,
        style: None,
        in_flight: 1,
        deadline_ms: 1,
        marks: false,
        records: "/a".into(),
        protobuf_samples: Vec::new(),
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
        tls: true,
        protobuf_samples: vec!["AA==".into()],
        limits: limits(),
        ..server()
    };
    assert_described(
        &schema["$defs"]["server"],
        &SettingsLine::Server(Box::new(full)).to_line(),
        &SettingsLine::Server(Box::new(server())).to_line(),
    );
    let full = CodecSettings {
        stack: Some("a".into()),
        compression: Compression::ZSTD,
        protobuf_samples: vec!["AA==".into()],
        limits: limits(),
        ..codec()
    };
    assert_described(
        &schema["$defs"]["codec"],
        &SettingsLine::Codec(Box::new(full)).to_line(),
        &SettingsLine::Codec(Box::new(codec())).to_line(),
    );
    let full = ClientSettings {
        stack: Some("a".into()),
        certificate: Some("a".into()),
        request_compression: Compression::GZIP,
        response_compression: Compression::GZIP,
        connection: ConnectionUse::PerCall,
        channels: 2,
        style: Some(Style::Async),
        in_flight: 2,
        marks: true,
        protobuf_samples: vec!["AA==".into()],
        limits: limits(),
        ..client()
    };
    assert_described(
        &schema["$defs"]["client"],
        &SettingsLine::Client(Box::new(full)).to_line(),
        &SettingsLine::Client(Box::new(client())).to_line(),
    );
    let floor = SettingsLine::Floor(FloorSettings {
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
    let least = Ready::default();
    let full = Ready {
        address: Some(Address::Unix("/a".into())),
        certificate: Some("a".into()),
        pid: Some(2),
        versions: [("a".to_owned(), "1".to_owned())].into(),
        code: Some(CodeKind::Dynamic),
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
}

#[test]
fn the_slice_schema_has_the_keys_of_the_types() {
    let schema = schema("slice.schema.json");
    let ask = |until, batch| {
        Ask::Slice(SliceAsk {
            skip: 1,
            until,
            batch,
        })
        .to_line()
    };
    let definition = &schema["$defs"]["slice"]["properties"]["slice"];
    let mut all = BTreeSet::new();
    for line in [
        ask(Until::Calls(1), None),
        ask(Until::Time(Duration::from_micros(1)), Some(2)),
    ] {
        all.extend(keys(&object(&line)["slice"]).into_iter().map(str::to_owned));
    }
    assert_eq!(
        keys(&definition["properties"]),
        all.iter().map(String::as_str).collect()
    );
    assert_eq!(
        keys(&schema["$defs"]["verify"]["properties"]),
        keys(&object(&Ask::Verify.to_line()))
    );
    let full = SliceDone {
        records: 1,
        cpu_ns: Some(1),
        error: Some("e".into()),
        reopened: 1,
    };
    let inner = |done: SliceDone| object(&Answer::Slice(done).to_line())["slice"].to_string();
    assert_described(
        &schema["$defs"]["done"]["properties"]["slice"],
        &inner(full),
        &inner(SliceDone::default()),
    );
    let verified = [
        Verified::Message(nothing()),
        Verified::Protobuf(String::new()),
        Verified::Bytes(String::new()),
    ]
    .map(|verified| object(&Answer::Verified(verified).to_line())["verified"].clone());
    assert_eq!(
        keys(&schema["$defs"]["verified"]["properties"]["verified"]["properties"]),
        verified.iter().flat_map(keys).collect()
    );
}

fn hex_bytes(case: &Value) -> Vec<u8> {
    let hex = case["hex"].as_str().expect("hexadecimal digits");
    (0..hex.len() / 2)
        .map(|at| u8::from_str_radix(&hex[2 * at..][..2], 16).expect("two digits"))
        .collect()
}

#[test]
fn the_golden_records_are_what_they_mean() {
    let golden = schema("golden/calls.json");
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
                // A slice and its response, told apart by their shape.
            } else if example.get("kind").is_some() {
                RuntimeEvent::parse(&line).expect("an event");
            } else {
                Reply::parse(&line).expect("a reply");
            }
            read += 1;
        }
    }
    assert_eq!(read, 11, "an example of each line");
}
