//! Responses of gRPC, and texts of its headers.

use rpcgauge_fuzz::grpc::step;
use rpcgauge_fuzz::script::Script;

use crate::{Seed, named};

/// Numbers of names, as the target has them.
const CONTENT_TYPE: u8 = 0;
const STATUS: u8 = 1;
const MESSAGE: u8 = 2;
const ENCODING: u8 = 3;

fn field(number: u8, value: &str) -> Vec<u8> {
    [&[number], value.as_bytes()].concat()
}

pub(crate) fn responses() -> Vec<Seed> {
    let head =
        || Script::new(&[0, 0, 3]).step(step::HEAD, &field(CONTENT_TYPE, "application/grpc"));
    let ok = |script: Script| script.step(step::TRAILER, &field(STATUS, "0"));
    let one = ok(head().step(step::MESSAGE, b"\0hello"));
    let packed = head().step(step::HEAD, &field(ENCODING, "gzip"));
    let packed = ok(packed.step(step::MESSAGE, b"\x01packed"));
    let two = ok(head()
        .step(step::MESSAGE, b"\0a")
        .step(step::MESSAGE, b"\0b"));
    let only = head()
        .step(step::HEAD, &field(STATUS, "12"))
        .step(step::HEAD, &field(MESSAGE, "no%20such%zz"));
    let large = ok(head().step(step::BODY, b"\0\0\0\x03\xe9x"));
    let cut_off = ok(head().step(step::BODY, b"\0\0\0\0\x05ab"));
    let page = Script::new(&[203, 0, 0])
        .step(step::HEAD, &field(CONTENT_TYPE, "text/html"))
        .step(step::BODY, b"<html>");
    let subtype = Script::new(&[0, 2, 1])
        .step(
            step::HEAD,
            &field(CONTENT_TYPE, "application/grpc+JSON; a=b"),
        )
        .step(step::MESSAGE, b"\0{}");
    named([
        ("one", one.bytes()),
        ("compressed", packed.bytes()),
        ("two", two.bytes()),
        ("trailers-only", only.bytes()),
        ("too-large", large.bytes()),
        ("cut-off", cut_off.bytes()),
        ("web-page", page.bytes()),
        ("subtype", ok(subtype).bytes()),
    ])
}

pub(crate) fn texts() -> Vec<Seed> {
    named([
        ("status", b"16".to_vec()),
        ("status-too-large", b"4294967296".to_vec()),
        ("escapes", "a%20b%C3%a4 100% %4 %zz%ff".into()),
        ("timeout", vec![0, 0, 0x0e, 0x10, 0, 0x3b, 0x9a, 0xc9, 0xff]),
        ("timeout-longest", vec![0xff; 9]),
    ])
}
