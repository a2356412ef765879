//! The encoded messages of the built-in workloads in `contract/golden/`, which servers and codecs in other
//! languages must reproduce. `RPCGAUGE_UPDATE_GOLDEN=1` rewrites the files; changing them changes the contract.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use rpcgauge_message::{
    CodeKind, Encoding, Limits, Message, MessageType, Schema, Workload, WorkloadSpec,
    first_difference,
};
use serde::{Deserialize, Serialize};

/// One file: a workload and the bytes of its first request and response.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Golden {
    workload: WorkloadSpec,
    method: String,
    request: Bytes,
    response: Bytes,
}

/// The bytes by encoding: JSON as text, everything else in hexadecimal.
type Bytes = BTreeMap<Encoding, String>;

fn specs() -> [(&'static str, WorkloadSpec); 7] {
    [
        ("echo", WorkloadSpec::Echo { n: 3 }),
        ("hello", WorkloadSpec::Hello {}),
        ("list", WorkloadSpec::List { n: 2 }),
        ("items", WorkloadSpec::Items {}),
        ("records", WorkloadSpec::Records { n: 8 }),
        ("profile", WorkloadSpec::Profile {}),
        ("followers", WorkloadSpec::Followers { n: 3 }),
    ]
}

fn path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/golden");
    folder.join(format!("{name}.json"))
}

fn bytes(message: &Message) -> Bytes {
    let shown = |encoding: Encoding| {
        let bytes = message.to_bytes(encoding).unwrap();
        match encoding {
            _ if encoding.is_json() => String::from_utf8(bytes).unwrap(),
            _ => bytes.iter().map(|b| format!("{b:02x}")).collect(),
        }
    };
    Encoding::ALL
        .into_iter()
        .map(|encoding| (encoding, shown(encoding)))
        .collect()
}

fn parse(encoding: Encoding, text: &str) -> Vec<u8> {
    match encoding {
        _ if encoding.is_json() => text.as_bytes().to_vec(),
        _ => (0..text.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap())
            .collect(),
    }
}

#[test]
fn generated_code_writes_the_golden_bytes() {
    for (name, spec) in specs() {
        let workload = Workload::new(&spec).unwrap();
        let ours = Golden {
            method: workload.method_path().to_owned(),
            request: bytes(&workload.request(0)),
            response: bytes(&workload.expected(0)),
            workload: spec,
        };
        if env::var_os("RPCGAUGE_UPDATE_GOLDEN").is_some() {
            fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            fs::write(
                path(name),
                serde_json::to_string_pretty(&ours).unwrap() + "\n",
            )
            .unwrap();
        }
        let golden: Golden =
            serde_json::from_str(&fs::read_to_string(path(name)).unwrap()).unwrap();
        assert_eq!(ours, golden, "{name}");
    }
}

#[test]
fn both_kinds_of_code_read_the_golden_bytes_and_dynamic_code_writes_binary_ones() {
    let check = |message_type: &MessageType, expected: &Message, golden: &Bytes| {
        for (encoding, text) in golden {
            let bytes = parse(*encoding, text);
            let dynamic = Schema::workloads().message_type(message_type.full_name());
            for message_type in [message_type.clone(), dynamic.unwrap()] {
                let read = message_type
                    .decode(&bytes, *encoding, &Limits::DEFAULT)
                    .unwrap();
                assert_eq!(read.code(), message_type.code());
                assert_eq!(first_difference(expected, &read), None, "{encoding}");
                // Dynamic code writes protobuf's own JSON, with 64-bit integers as strings.
                let is_json = encoding.is_json() || *encoding == Encoding::Hybrid;
                let own_json = read.code() == CodeKind::Dynamic && is_json;
                if !own_json {
                    assert_eq!(read.to_bytes(*encoding).unwrap(), bytes, "{encoding}");
                }
            }
        }
    };
    for (name, spec) in specs() {
        let golden: Golden =
            serde_json::from_str(&fs::read_to_string(path(name)).unwrap()).unwrap();
        let workload = Workload::new(&spec).unwrap();
        check(
            workload.request_type(),
            &workload.request(0),
            &golden.request,
        );
        check(
            workload.response_type(),
            &workload.expected(0),
            &golden.response,
        );
    }
}
