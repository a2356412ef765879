//! Messages in every encoding, compressed data, and lines of JSON.

use std::fs;
use std::path::Path;

use hdrhistogram::Histogram;
use rpcgauge_contract::{Answer, Reply};
use rpcgauge_fuzz::decode::{SHALLOW, TYPES};
use rpcgauge_message::{Compression, Compressor, Encoding, Message, Workload, WorkloadSpec};
use rpcgauge_study::record::{self, Record};
use serde_json::json;

use crate::{Seed, named};

/// A message of each of the targets' types, in their order.
fn messages() -> Vec<Message> {
    let specs = [
        WorkloadSpec::Echo { n: 3 },
        WorkloadSpec::Hello {},
        WorkloadSpec::List { n: 2 },
        WorkloadSpec::Records { n: 2 },
        WorkloadSpec::Profile {},
        WorkloadSpec::Followers { n: 3 },
    ];
    let answer = |spec| Workload::new(&spec).expect("a workload").expected(0);
    let samples = ["order", "legacy"].map(|name| {
        let path = format!("../crates/message/tests/samples/{name}.json");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        fs::read_to_string(path).expect("the tests' own sample")
    });
    let own = TYPES[specs.len()..].iter().zip(&samples);
    let own = own.map(|(of, sample)| of.from_json(sample).expect("a sample of its type"));
    specs.iter().cloned().map(answer).chain(own).collect()
}

/// The second encoding of a target, as its first byte chooses it.
const SECOND: u8 = 0x08;

/// What a `decode_` target reads.
pub(crate) fn encoded(target: &str) -> Vec<Seed> {
    let encodings: &[(u8, Encoding)] = match target {
        "decode_protobuf" => &[(0, Encoding::Protobuf), (SECOND, Encoding::Hybrid)],
        "decode_json" => &[(0, Encoding::Json), (SECOND, Encoding::JsonProtoNames)],
        "decode_msgpack" => &[(0, Encoding::Msgpack)],
        "decode_cbor" => &[(0, Encoding::Cbor)],
        other => panic!("no seeds for {other}"),
    };
    let mut seeds = Vec::new();
    for (number, message) in (0..).zip(messages()) {
        for (choice, encoding) in encodings {
            let bytes = message.to_bytes(*encoding).expect("a form");
            let name = format!("{}-{encoding}", message.type_name());
            seeds.push((name, [&[number | choice], &bytes[..]].concat()));
        }
    }
    if target == "decode_protobuf" {
        seeds.push(wrong_wire_type_in_map(&seeds));
    }
    // The last type's sample nests deeper than is let in here.
    let last = seeds.iter().rfind(|(name, _)| name.starts_with("legacy"));
    let mut shallow = last.expect("a seed of it").1.clone();
    shallow[0] |= SHALLOW;
    seeds.push(("shallow".to_owned(), shallow));
    seeds
}

/// The list, with the value of a map's entry in another wire type than its own.
fn wrong_wire_type_in_map(seeds: &[Seed]) -> Seed {
    let list = seeds.iter().find(|(name, _)| name.starts_with("Example"));
    let mut bytes = list.expect("a list").1.clone();
    let key = b"key1";
    let at = bytes.windows(key.len()).position(|part| part == key);
    bytes[at.expect("an entry of a map") + key.len()] |= 1;
    ("wrong-wire-type-in-map".to_owned(), bytes)
}

pub(crate) fn compressed() -> Vec<Seed> {
    let of = |choice: u8, compression, message: &[u8]| {
        let mut out = vec![choice];
        Compressor::new(compression)
            .and_then(|mut compressor| compressor.compress(message, &mut out))
            .expect("anything can be compressed");
        out
    };
    let text = b"a message that is not too short, that is not too long";
    let gzip = |choice, message: &[u8]| of(choice, Compression::GZIP, message);
    let zstd = |choice, message: &[u8]| of(choice, Compression::ZSTD, message);
    let two = |seed: Vec<u8>| [&seed[..], &seed[1..]].concat();
    // Every optional part of the header: extra, name, comment, checksum.
    let mut all_parts = gzip(0, text);
    all_parts[4] = 0b0001_1110;
    all_parts.splice(11..11, *b"\x02\0xxname\0comment\0");
    let end = 11 + 2 + 2 + 5 + 8;
    let mut of_header = flate2::Crc::new();
    of_header.update(&all_parts[1..end]);
    all_parts.splice(end..end, of_header.sum().to_le_bytes()[..2].to_vec());
    named([
        ("gzip", gzip(0, text)),
        ("gzip-empty", gzip(0, b"")),
        ("gzip-two-members", two(gzip(0, text))),
        ("gzip-all-parts", all_parts),
        ("gzip-bomb", gzip(2, &[0; 95_000])),
        ("zstd", zstd(1, text)),
        ("zstd-empty", zstd(1, b"")),
        ("zstd-two-frames", two(zstd(1, text))),
        ("zstd-bomb", zstd(3, &[0; 95_000])),
        (
            "zstd-skippable",
            b"\x01\x50\x2a\x4d\x18\x02\0\0\0ab".to_vec(),
        ),
    ])
}

pub(crate) fn records() -> Vec<Seed> {
    let mut latency = Histogram::<u64>::new(3).expect("three digits");
    latency.record(7_000).expect("in range");
    let floor = json!({
        "record": "floor",
        "invocation": 0,
        "placement": "one-core",
        "idle": "held",
        "transport": "tcp",
        "request_bytes": 200,
        "response_bytes": 150,
        "latency": record::Histogram::from(latency),
        "client_cpu_ns": 3500.0,
        "variants": ["tcp"],
    });
    let failed = json!({
        "record": "trial",
        "trial": {"index": 0, "invocation": 0, "block": 0, "variant": 0, "placement": "one-core"},
        "variant": "tcp",
        "timing": "stages",
        "idle": "held",
        "started_at_ms": 1_795_170_900_000_u64,
        "outcome": {"outcome": "failed", "reason": "port 1 is in use", "fault": "machine"},
    });
    for record in [&floor, &failed] {
        let read = serde_json::from_value::<Record>(record.clone());
        read.unwrap_or_else(|error| panic!("{record}: {error}"));
    }
    let ready = r#"{"contract":1,"ready":true,"address":"127.0.0.1:41234","code":"generated"}"#;
    let error = r#"{"contract":1,"error":"no such workload","fault":"machine"}"#;
    for reply in [ready, error] {
        Reply::parse(reply).unwrap_or_else(|error| panic!("{reply}: {error}"));
    }
    let slice = r#"{"slice":{"records":200,"cpu_ns":1234567,"error":"refused","reopened":1}}"#;
    let verified = r#"{"verified":{"message":{"message":"Hello, name_0."}}}"#;
    for answer in [slice, verified] {
        Answer::parse(answer).unwrap_or_else(|error| panic!("{answer}: {error}"));
    }
    named([
        ("floor", floor.to_string().into()),
        ("failed", failed.to_string().into()),
        ("ready", ready.into()),
        ("error", error.into()),
        ("slice", slice.into()),
        ("verified", verified.into()),
        ("calls", golden_calls()),
    ])
}

/// The records of calls of the contract's golden file.
fn golden_calls() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../contract/golden/calls.json");
    let golden = fs::read_to_string(path).expect("the golden file");
    let golden: serde_json::Value = serde_json::from_str(&golden).expect("JSON");
    let records = golden["records"].as_array().expect("records").iter();
    let digits: String = records
        .filter_map(|record| record["hex"].as_str())
        .collect();
    let bytes = (0..digits.len() / 2).map(|at| u8::from_str_radix(&digits[2 * at..][..2], 16));
    bytes.collect::<Result<_, _>>().expect("hexadecimal digits")
}
