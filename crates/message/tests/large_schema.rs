//! A schema with many messages. This is the only test in its binary because it measures the process's peak
//! memory.

use std::fs;
use std::path::Path;

use rpcgauge_message::{Encoding, Schema};
use tempfile::TempDir;

const MESSAGES: u64 = 11_000;

/// The process's peak memory so far, in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.unwrap().trim().trim_end_matches(" kB");
    number.parse().unwrap()
}

fn compiled(folder: &Path) -> Schema {
    let fields = "string a = 1; int32 b = 2; bool c = 3; bytes d = 4; M0 e_f = 5;";
    let message = |number| format!("message M{number} {{ {fields} }}\n");
    let messages: String = (0..MESSAGES).map(message).collect();
    let file = folder.join("many.proto");
    fs::write(&file, format!("syntax = \"proto3\";\n{messages}")).unwrap();
    Schema::compile(&[file], &[]).unwrap()
}

#[test]
fn a_message_takes_a_few_kilobytes() {
    let dir = TempDir::new().unwrap();
    let before = peak();
    let schema = compiled(dir.path());
    let each = (peak() - before) / MESSAGES;
    assert!(each < 25, "{each} KiB for each message of five fields");
    // The set contains more descriptors than the decoder allows by default.
    let message = schema.message_type("M1").unwrap();
    let message = message.from_json(r#"{"eF":{"b":1}}"#).unwrap();
    let bytes = message.to_bytes(Encoding::JsonProtoNames).unwrap();
    assert_eq!(bytes, br#"{"e_f":{"b":1}}"#);
}
