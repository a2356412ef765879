//! Servers that tell of their services: well, badly and with malice.

use std::path::Path;

use rpcgauge_fuzz::reflection::{bit, option, outcome, setup, step};
use rpcgauge_fuzz::script::Script;
use rpcgauge_message::Schema;
use rpcgauge_message::reflection::{ReflectionRequest, ReflectionResponse, ReflectionServer};

use crate::{Seed, named};

/// The types of fields, as a field's first byte has them.
mod of {
    pub(super) const DOUBLE: u8 = 0;
    pub(super) const STRING: u8 = 8;
    pub(super) const GROUP: u8 = 9;
    pub(super) const MESSAGE: u8 = 10;
    pub(super) const BYTES: u8 = 11;
    pub(super) const ENUM: u8 = 13;
    pub(super) const SINT64: u8 = 17;
}

const PROTO2: u8 = 0;
const PROTO3: u8 = 1;
const EDITION: u8 = 2;

/// A client that asks for a service.
fn asks(bits: u8, service: &str) -> Script {
    Script::new(&[&[bits], service.as_bytes()].concat())
}

/// Begins a file.
fn file(script: Script, syntax: u8, name: &str) -> Script {
    script.step(step::FILE, &[&[syntax], name.as_bytes()].concat())
}

fn field(script: Script, of: u8, bits: u8, number: u32, texts: &str) -> Script {
    let number = number.to_be_bytes();
    let payload = [&[of, bits], &number[..], &[0], texts.as_bytes()].concat();
    script.step(step::FIELD, &payload)
}

/// A message without options and a field.
fn message(script: Script, name: &str) -> Script {
    script.step(step::MESSAGE, &[b"\0", name.as_bytes()].concat())
}

/// A service `a.S` whose methods take and answer a type; the second one streams.
fn service(script: Script, of: &str) -> Script {
    script
        .step(step::SERVICE, b"S")
        .step(step::METHOD, format!("\0M:{of}:{of}").as_bytes())
        .step(step::METHOD, format!("\x03Stream:{of}:{of}").as_bytes())
}

/// `a.proto` with the service `a.S`, whose message `a.M` has a field.
fn simple(script: Script) -> Script {
    let script = file(script, PROTO3, "a.proto").step(step::PACKAGE, b"a");
    let script = field(message(script, "M"), of::STRING, 0, 1, "name");
    service(script.step(step::END, b""), ".a.M")
}

/// Every kind of field, and messages of them.
fn every_kind() -> Script {
    let script = asks(0, "a.S").step(step::FILES, b"");
    let script = file(script, PROTO2, "a.proto").step(step::PACKAGE, b"a");
    let script = message(script, "M").step(step::RANGE, &[0, 0, 0, 100, 0, 0, 0, 200]);
    let script = (of::DOUBLE..=of::SINT64)
        .filter(|of| ![of::GROUP, of::MESSAGE, of::ENUM].contains(of))
        .fold(script, |script, of| {
            let number = u32::from(of) + 1;
            let script = field(script, of, 0, number, &format!("f{of}"));
            field(
                script,
                of,
                bit::REPEATED | bit::PACKED,
                number + 20,
                &format!("l{of}"),
            )
        });
    let script = script.step(step::ONEOF, b"one");
    let script = field(script, of::MESSAGE, bit::IN_ONEOF, 50, "child:.a.M");
    let script = field(script, of::ENUM, bit::IN_ONEOF, 51, "kind:.a.M.Kind");
    let script = field(script, of::GROUP, bit::REPEATED, 52, "group:.a.M.Group");
    let script = field(
        script,
        of::MESSAGE,
        bit::REPEATED,
        53,
        "map:.a.M.MapEntry:theMap",
    );
    let script = message(script, "Group");
    let script = field(script, of::BYTES, bit::REQUIRED, 1, "bytes").step(step::END, b"");
    let script = script.step(
        step::MESSAGE,
        &[&[option::MAP_ENTRY], &b"MapEntry"[..]].concat(),
    );
    let script = field(script, of::STRING, 0, 1, "key");
    let script = field(script, of::ENUM, 0, 2, "value:.a.M.Kind").step(step::END, b"");
    let script = script
        .step(step::ENUM, b"\x01Kind")
        .step(step::VALUE, b"\0\0\0\x02TWO")
        .step(step::VALUE, b"\0\0\0\x02ALSO_TWO")
        .step(step::END, b"");
    let script = field(script, of::STRING, 0, 100, "note:::.a.M");
    let payloads: [&[u8]; 4] = [
        b"\x4a\x02hi\x92\x03\x03\x4a\x01x",
        b"\xa3\x03\x0a\x01b\xa4\x03\xaa\x03\x05\x0a\x01k\x10\x02\x98\x03\x02",
        br#"{"f8": "hi", "theMap": {"k": "TWO"}, "[a.note]": "x"}"#,
        b"\x22\x03a.M",
    ];
    let add = |script: Script, payload: &&[u8]| script.step(step::PAYLOAD, payload);
    payloads.iter().fold(service(script, ".a.M"), add)
}

/// What an honest server answers to a question.
fn honest(reflected: &ReflectionServer, question: ReflectionRequest<'_>) -> Vec<u8> {
    reflected.respond(&question.to_bytes()).expect("a question")
}

/// A schema of the crates' tests, told by an honest server.
fn tests(path: &str, service: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/message/tests/proto");
    let schema = Schema::compile(&[folder.join(path)], &[folder]).expect("the tests' own schema");
    let reflected = ReflectionServer::new(&schema, [service.to_owned()]);
    let answer = honest(&reflected, ReflectionRequest::FileContaining(service));
    asks(0, service).step(step::ANSWER, &answer).bytes()
}

/// The files of a workload, one in each response.
fn one_by_one() -> Vec<u8> {
    let reflected = ReflectionServer::new(Schema::workloads(), ["hello.Hello".to_owned()]);
    let answer = honest(&reflected, ReflectionRequest::FileContaining("hello.Hello"));
    let Ok(ReflectionResponse::Files(files)) = ReflectionResponse::from_bytes(&answer) else {
        panic!("an honest server tells its files");
    };
    let add =
        |script: Script, file: &Vec<u8>| script.step(step::FILES, b"").step(step::ENCODED, file);
    files.iter().fold(asks(0, "hello.Hello"), add).bytes()
}

/// Files that import one another.
fn imports(names: &[(&str, &[&str])]) -> Script {
    names
        .iter()
        .fold(asks(0, "a.S"), |script, (name, imports)| {
            let script = file(script.step(step::FILES, b""), PROTO3, name);
            let add = |script: Script, import: &&str| script.step(step::IMPORT, import.as_bytes());
            imports.iter().fold(script, add)
        })
}

pub(crate) fn reflection() -> Vec<Seed> {
    let files = || asks(0, "a.S").step(step::FILES, b"");
    let told = named([
        ("every-kind", every_kind().bytes()),
        ("orders", tests("shop/orders.proto", "shop.Orders")),
        ("extension", tests("reflected.proto", "reflected.Open")),
        ("one-by-one", one_by_one()),
        (
            "doubled",
            simple(files())
                .step(step::AGAIN, b"")
                .step(step::AGAIN, b"")
                .bytes(),
        ),
        (
            "circle",
            imports(&[
                ("a.proto", &["b.proto"]),
                ("b.proto", &["c.proto", "b.proto"]),
                ("c.proto", &["a.proto"]),
            ])
            .bytes(),
        ),
        (
            "well-known-error",
            imports(&[(
                "a.proto",
                &[
                    "google/protobuf/timestamp.proto",
                    "google/protobuf/api.proto",
                ],
            )])
            .bytes(),
        ),
        ("edition", {
            let script = file(files(), EDITION, "a.proto").step(step::PACKAGE, b"a");
            let script = field(message(script, "M"), of::ENUM, 0, 1, "kind:.a.Kind");
            let script = script.step(step::END, b"").step(step::ENUM, b"\0Kind");
            let script = service(script.step(step::VALUE, b"\0\0\0\0NONE"), ".a.M");
            script.step(step::PAYLOAD, b"\x08\x07").bytes()
        }),
        ("clashing-names", {
            let script = file(files(), PROTO2, "a.proto").step(step::PACKAGE, b"a");
            let script = field(message(script, "M"), of::STRING, 0, 1, "a_b");
            let script = field(script, of::DOUBLE, 0, 2, "aB");
            let script = field(script, of::DOUBLE, 0, 3, "c::[a.b]");
            let script = service(script.step(step::END, b""), ".a.M");
            script
                .step(step::PAYLOAD, b"\x0a\x01x\x11\0\0\0\0\0\0\0\x01")
                .bytes()
        }),
        ("message-set", {
            let script = file(files(), PROTO2, "a.proto").step(step::PACKAGE, b"a");
            let script = script.step(step::MESSAGE, &[&[option::MESSAGE_SET], &b"M"[..]].concat());
            let script = script.step(step::RANGE, &[0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff]);
            let script = field(script, of::MESSAGE, bit::EXTENSION, 1000, "more:.a.M::.a.M");
            let script = service(script.step(step::END, b""), ".a.M");
            script
                .step(step::PAYLOAD, b"\x0b\x10\xe8\x07\x1a\0\x0c")
                .bytes()
        }),
    ]);
    for (name, seed) in &told {
        if let Err(error) = outcome(seed) {
            panic!("{name}: {error}");
        }
    }
    let error = error(files);
    for (name, seed, part) in &error {
        let error = outcome(seed).expect_err(name).to_string();
        assert!(error.contains(part), "{name}: {error}");
    }
    let error = error
        .into_iter()
        .map(|(name, seed, _)| (name.to_owned(), seed));
    told.into_iter().chain(error).collect()
}

/// Servers that tell no schema, with a part of what is said of each.
fn error(files: impl Fn() -> Script) -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let unknown = asks(0, "a.S").step(step::ERROR, b"\x05no\nsuch symbol");
    let endless = |bits| asks(bits | setup::ENDLESS, "a.S");
    let first = |script: Script| {
        file(script.step(step::FILES, b""), PROTO3, "a.proto").step(step::IMPORT, b"b.proto")
    };
    let pool = [0x0a, 7, b'a', b'.', b'p', b'r', b'o', b't', b'o'];
    let empty_messages = [&pool[..], &[0x22, 0].repeat(1500)].concat();
    vec![
        ("nothing", asks(0, "a.S").bytes(), "status 5 (no more)"),
        (
            "damage",
            asks(0, "a.S").step(step::ANSWER, &[0xff]).bytes(),
            "damage",
        ),
        (
            "damaged-file",
            files().step(step::ENCODED, &[0x0a, 9, b'a']).bytes(),
            "damaged",
        ),
        (
            "nameless",
            files().step(step::ENCODED, b"\x12\x01a").bytes(),
            "no name",
        ),
        (
            "missing",
            imports(&[("a.proto", &["b.proto"])]).bytes(),
            "\"b.proto\"",
        ),
        ("endless", first(endless(0)).bytes(), "more than 60 files"),
        (
            "endless-and-small",
            first(endless(setup::SMALL)).bytes(),
            "more than 5 files",
        ),
        (
            "refused",
            asks(0, "a.S")
                .step(step::ERROR, b"\x07only\x1b[31m for admins")
                .bytes(),
            "status 7",
        ),
        (
            "unknown",
            unknown.clone().step(step::SERVICES, b"a.T:b\n.U").bytes(),
            "did you mean",
        ),
        (
            "listed-only",
            unknown.step(step::SERVICES, b"a.S").bytes(),
            "does not tell of it",
        ),
        (
            "unlinked",
            service(simple(files()), ".a.Missing\x07").bytes(),
            "do not fit together",
        ),
        (
            "empty-messages",
            files().step(step::ENCODED, &empty_messages).bytes(),
            "the name of",
        ),
        (
            "dot-before-enum",
            file(files(), PROTO3, "a.proto")
                .step(step::ENUM, b"\0.E")
                .bytes(),
            "the name of an enum",
        ),
        (
            "control-characters",
            message(file(files(), PROTO3, "a\n.proto"), "M\x1b[31m\n").bytes(),
            "the name of a message",
        ),
        (
            "false-well-known",
            {
                let file = file(files(), PROTO3, "a.proto");
                let file = message(file.step(step::PACKAGE, b"google.protobuf"), "Timestamp");
                service(
                    field(file, of::STRING, 0, 1, "seconds").step(step::END, b""),
                    ".google.protobuf.Timestamp",
                )
                .bytes()
            },
            "other fields than the well-known type",
        ),
        (
            "two-files-of-one-type",
            message(
                file(message(file(files(), PROTO3, "a"), "M"), PROTO3, "b"),
                "M",
            )
            .bytes(),
            "duplicate",
        ),
    ]
}
