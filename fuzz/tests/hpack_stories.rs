//! Checks HPACK against the stories of http2jp/hpack-test-case: headers of real sites, compressed by several
//! encoders. The `httlib-hpack` package contains the stories, and the lock file has its checksum. The stories
//! are read from where cargo unpacks the package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rpcgauge_wire::http2::hpack::{DecodedFields, Decoder, Encoder, FieldList};
use serde_json::Value;

fn stories() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "cargo metadata fails");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let package = packages
        .iter()
        .find(|package| package["name"] == "httlib-hpack")
        .expect("the package with the stories");
    let manifest = package["manifest_path"].as_str().expect("a path");
    PathBuf::from(manifest).with_file_name("fixtures")
}

type Fields = Vec<(String, String)>;

/// A block of a story.
struct Block {
    /// The table size that the decoder allows from this block on.
    table: usize,
    wire: Vec<u8>,
    /// The decoded fields.
    fields: Fields,
}

/// Reads a story: the blocks of one connection.
fn read_story(path: &Path) -> Vec<Block> {
    let text = fs::read(path).expect("a story");
    let story: Value = serde_json::from_slice(&text).expect("a story is JSON");
    let cases = story["cases"].as_array().expect("cases");
    cases.iter().map(read_case).collect()
}

fn read_case(case: &Value) -> Block {
    let wire = case["wire"].as_str().expect("wire");
    let digits = |at| u8::from_str_radix(&wire[at..at + 2], 16).expect("hexadecimal");
    let fields = case["headers"].as_array().expect("headers").iter();
    let fields = fields.flat_map(|field| field.as_object().expect("a field"));
    let text = |value: &Value| value.as_str().expect("a value").to_owned();
    let fields = fields.map(|(name, value)| (name.clone(), text(value)));
    Block {
        table: case["header_table_size"].as_u64().unwrap_or(4096) as usize,
        wire: (0..wire.len()).step_by(2).map(digits).collect(),
        fields: fields.collect(),
    }
}

fn decoded(decoder: &mut Decoder, block: &[u8]) -> Fields {
    let mut fields = DecodedFields::new(u32::MAX);
    decoder.decode(block, &mut fields).expect("a block");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let fields = fields.fields().iter();
    fields.map(|(n, v)| (text(n), text(v))).collect()
}

#[test]
fn every_story_is_read_and_written_again() {
    let mut blocks = 0;
    let folders = fs::read_dir(stories()).expect("the stories");
    let folders = folders.map(|entry| entry.expect("an entry").path());
    for folder in folders.filter(|path| path.is_dir()) {
        for story in fs::read_dir(&folder).expect("a folder of stories") {
            let path = story.expect("an entry").path();
            let (mut decoder, mut second) = (Decoder::new(), Decoder::new());
            let mut encoder = Encoder::new(4096);
            let mut table = 4096;
            for Block {
                table: size,
                wire,
                fields,
            } in read_story(&path)
            {
                if std::mem::replace(&mut table, size) != size {
                    decoder.set_allowed_size(size as u32);
                }
                let shown = path.display();
                assert_eq!(decoded(&mut decoder, &wire), fields, "{shown}");
                let mut list = FieldList::default();
                for (name, value) in &fields {
                    list.push(name.as_bytes(), value.as_bytes());
                }
                let mut own = Vec::new();
                encoder.encode(list.iter(), &mut own);
                assert_eq!(decoded(&mut second, &own), fields, "{shown}");
                blocks += 1;
            }
        }
    }
    println!("{blocks} blocks");
    assert!(blocks > 10_000, "only {blocks} blocks");
}
