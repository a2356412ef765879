//! Servers that violate the protocol.

use bytes::Bytes;

use super::script::{Frame, Server};
use crate::{Head, Limits};

fn head() -> Head {
    Head::builder("GET", "/", "a").build().unwrap()
}

/// A server with call 1 on stream 1 and call 2 on stream 3 in flight.
pub(super) fn with_two_calls(limits: Limits) -> Server {
    let mut server = Server::ready_with(limits);
    for token in 1..=2 {
        server.start(&head(), &Bytes::new(), token);
    }
    server.frames();
    server
}

/// Asserts that `bytes` end the connection: both calls fail because of `rule`, and GOAWAY has
/// `code`.
pub(super) fn ends_connection(mut server: Server, bytes: &[u8], rule: &str, code: u8) {
    let lines = server.input(bytes);
    let failed: Vec<_> = lines.iter().filter(|l| l.contains("failed: ")).collect();
    assert_eq!(failed.len(), 2, "{lines:?}");
    assert!(failed.iter().all(|l| l.contains(rule)), "{lines:?}");
    assert!(lines.last().unwrap().starts_with("closing: "), "{lines:?}");
    assert!(server.played.client.is_closed());
    let frames = server.frames();
    let goaway = frames.last().unwrap();
    assert_eq!(
        (goaway.name(), goaway.payload[7]),
        ("GOAWAY", code),
        "{rule}"
    );
    assert_eq!(server.input(b"more"), Vec::<String>::new());
}

/// Asserts that `bytes` end only call 1, because of `rule` and with RST_STREAM of `code`.
pub(super) fn ends_call(mut server: Server, bytes: &[u8], rule: &str, code: u8) {
    let lines = server.input(bytes);
    let failed: Vec<_> = lines.iter().filter(|l| l.contains("failed: ")).collect();
    assert_eq!(failed.len(), 1, "{lines:?}");
    assert!(
        failed[0].starts_with("1 failed: ") && failed[0].contains(rule),
        "{lines:?}"
    );
    let frames = server.frames();
    let reset = frames.iter().find(|f| f.name() == "RST_STREAM").unwrap();
    assert_eq!((reset.stream, reset.payload[3]), (1, code), "{rule}");
    assert_eq!(server.played.client.in_flight(), 1);
    let block = server.block(&[(":status", "200")]);
    let lines = server.input(&Frame::headers(3, &block).end_stream().bytes());
    assert_eq!(lines.last().unwrap(), "2 complete");
}

#[test]
fn the_first_frame_shows_another_protocol() {
    let cases = [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            "speaks only HTTP/1.x",
        ),
        (b"SSH-2.0-OpenSSH\r\n", "not SETTINGS"),
        (b"\0\0\0\x04\x01\0\0\0\0", "not SETTINGS"),
        (b"\0\0\x08\x06\0\0\0\0\0", "not SETTINGS"),
    ];
    for (bytes, rule) in cases {
        let mut server = Server::silent(Limits::default());
        server.start(&head(), &Bytes::new(), 1);
        let lines = server.input(bytes);
        assert!(lines[0].contains(rule), "{lines:?}");
    }
}

#[test]
fn frames_with_wrong_shapes_end_the_connection() {
    let cases: Vec<(Frame, &str, u8)> = vec![
        (
            Frame::new(6, 0, 0, b"1234567"),
            "PING frame has a wrong length",
            6,
        ),
        (
            Frame::new(6, 0, 1, b"12345678"),
            "PING frame is on a stream",
            1,
        ),
        (
            Frame::new(4, 0, 0, b"12345"),
            "SETTINGS frame has a wrong length",
            6,
        ),
        (
            Frame::new(4, 1, 0, b"123456"),
            "SETTINGS frame has a wrong length",
            6,
        ),
        (Frame::new(4, 0, 1, b""), "SETTINGS frame is on a stream", 1),
        (Frame::settings(&[(2, 1)]), "a setting has a value", 1),
        (Frame::settings(&[(4, 1 << 31)]), "beyond 2^31-1", 3),
        (Frame::settings(&[(5, 16_383)]), "a setting has a value", 1),
        (Frame::settings(&[(5, 1 << 24)]), "a setting has a value", 1),
        (
            Frame::new(7, 0, 0, b"1234567"),
            "GOAWAY frame has a wrong length",
            6,
        ),
        (
            Frame::new(7, 0, 1, b"12345678"),
            "GOAWAY frame is on a stream",
            1,
        ),
        (
            Frame::new(8, 0, 0, b"123"),
            "WINDOW_UPDATE frame has a wrong length",
            6,
        ),
        (Frame::window_update(0, 0), "increased by 0", 1),
        (Frame::window_update(0, (1 << 31) - 1), "beyond 2^31-1", 3),
        (Frame::window_update(5, 1), "not opened", 1),
        (
            Frame::new(3, 0, 1, b"123"),
            "RST_STREAM frame has a wrong length",
            6,
        ),
        (
            Frame::new(3, 0, 0, b"1234"),
            "RST_STREAM frame is on a stream",
            1,
        ),
        (Frame::new(3, 0, 5, b"1234"), "not opened", 1),
        (
            Frame::new(2, 0, 0, b"12345"),
            "PRIORITY frame is on a stream",
            1,
        ),
        (Frame::new(5, 4, 1, b"\0\0\0\x02"), "push is disabled", 1),
        (Frame::new(9, 4, 1, b""), "continues nothing", 1),
        (Frame::headers(0, b""), "HEADERS frame is on a stream", 1),
        (Frame::headers(2, b""), "not opened", 1),
        (Frame::headers(5, b""), "not opened", 1),
        (Frame::headers(1, b"\x80"), "does not exist", 9),
        (Frame::new(1, 0xc, 1, b"\x05abc"), "padding is longer", 1),
        (Frame::data(0, b"x"), "DATA frame is on a stream", 1),
        (Frame::data(5, b"x"), "not opened", 1),
        (
            Frame::new(0, 0x8, 1, b""),
            "DATA frame has a wrong length",
            6,
        ),
        (Frame::data(1, &[0; 16_385]), "longer than allowed", 6),
    ];
    for (frame, rule, code) in cases {
        ends_connection(
            with_two_calls(Limits::default()),
            &frame.bytes(),
            rule,
            code,
        );
    }
}

#[test]
fn padding_of_data_must_fit_its_frame() {
    let mut server = with_two_calls(Limits::default());
    let block = server.block(&[(":status", "200")]);
    server.input(&Frame::headers(1, &block).bytes());
    let padded = Frame::new(0, 0x8, 1, b"\x02a").bytes();
    ends_connection(server, &padded, "padding is longer", 1);
}

#[test]
fn a_field_block_must_not_be_interrupted() {
    let open = Frame::new(1, 0, 1, b"\x88");
    for between in [
        Frame::data(1, b"x"),
        Frame::new(0x42, 0, 1, b""),
        Frame::new(9, 4, 3, b""),
        Frame::new(6, 0, 0, b"12345678"),
    ] {
        let bytes = [open.bytes(), between.bytes()].concat();
        ends_connection(with_two_calls(Limits::default()), &bytes, "interrupted", 1);
    }
    let mut server = with_two_calls(Limits::default());
    let whole = [
        open.bytes(),
        Frame::new(9, 0, 1, b"").bytes(),
        Frame::new(9, 4, 1, b"").bytes(),
    ];
    assert_eq!(
        server.input(&whole.concat()),
        ["1 first byte", "1 head 200"]
    );
}

#[test]
fn malformed_responses_end_their_call_only() {
    const OK: (&str, &str) = (":status", "200");
    let cases: Vec<(&[(&str, &str)], &str)> = vec![
        (&[], ":status"),
        (&[("a", "b")], ":status"),
        (&[("a", "b"), OK], ":status"),
        (&[OK, OK], ":status"),
        (&[OK, ("a", "b"), (":path", "/")], ":status"),
        (&[(":method", "GET")], ":status"),
        (&[(":status", "20")], "three digits"),
        (&[(":status", "2000")], "three digits"),
        (&[(":status", "099")], "three digits"),
        (&[(":status", "+20")], "three digits"),
        (&[(":status", "101")], "interim"),
        (&[OK, ("Upper", "x")], "lower case"),
        (&[OK, ("a b", "x")], "lower case"),
        (&[OK, ("", "x")], "lower case"),
        (&[OK, ("a", "b\r\nc: d")], "value is malformed"),
        (&[OK, ("a", "b\0")], "value is malformed"),
        (&[OK, ("a", " b")], "value is malformed"),
        (&[OK, ("a", "b\t")], "value is malformed"),
        (&[OK, ("connection", "close")], "connection-specific"),
        (
            &[OK, ("transfer-encoding", "chunked")],
            "connection-specific",
        ),
        (&[OK, ("te", "gzip")], "connection-specific"),
        (
            &[OK, ("content-length", "x")],
            "content-length is malformed",
        ),
        (
            &[OK, ("content-length", "1"), ("content-length", "2")],
            "content-length is malformed",
        ),
    ];
    for (fields, rule) in cases {
        let mut server = with_two_calls(Limits::default());
        let block = server.block(fields);
        ends_call(server, &Frame::headers(1, &block).bytes(), rule, 1);
    }
}

#[test]
fn responses_in_the_wrong_order_end_their_call_only() {
    let server = || {
        let mut server = with_two_calls(Limits::default());
        let ok = server.block(&[(":status", "200")]);
        let interim = server.block(&[(":status", "100")]);
        let trailers = server.block(&[("a", "b")]);
        let pseudo = server.block(&[(":status", "200")]);
        (server, ok, interim, trailers, pseudo)
    };
    let (s, ..) = server();
    ends_call(
        s,
        &Frame::data(1, b"x").bytes(),
        "before the response's head",
        1,
    );
    let (s, _, interim, ..) = server();
    ends_call(
        s,
        &Frame::headers(1, &interim).end_stream().bytes(),
        "interim",
        1,
    );
    let (s, ok, _, trailers, _) = server();
    let bytes = [
        Frame::headers(1, &ok).bytes(),
        Frame::headers(1, &trailers).bytes(),
    ]
    .concat();
    ends_call(s, &bytes, "do not have END_STREAM", 1);
    let (s, ok, _, _, pseudo) = server();
    let end = Frame::headers(1, &pseudo).end_stream().bytes();
    ends_call(
        s,
        &[Frame::headers(1, &ok).bytes(), end].concat(),
        ":status",
        1,
    );
}

#[test]
fn a_body_of_another_length_than_stated_ends_its_call() {
    for (stated, body) in [("3", "ab"), ("1", "ab"), ("1", "")] {
        let mut server = with_two_calls(Limits::default());
        let block = server.block(&[(":status", "200"), ("content-length", stated)]);
        let data = Frame::data(1, body.as_bytes()).end_stream().bytes();
        ends_call(
            server,
            &[Frame::headers(1, &block).bytes(), data].concat(),
            "does not match its content-length",
            1,
        );
    }
    let mut server = with_two_calls(Limits::default());
    let block = server.block(&[(":status", "200"), ("content-length", "3")]);
    let bytes = Frame::headers(1, &block).end_stream().bytes();
    ends_call(server, &bytes, "does not match its content-length", 1);
    let mut server = with_two_calls(Limits::default());
    let block = server.block(&[(":status", "304"), ("content-length", "3")]);
    let lines = server.input(&Frame::headers(1, &block).end_stream().bytes());
    assert_eq!(
        lines.last().unwrap(),
        "1 complete",
        "a 304 may have a content-length although it has no body"
    );
}

#[test]
fn wrong_window_updates_of_a_stream_end_its_call() {
    for (increment, rule, code) in [
        (0, "increased by 0", 1),
        ((1 << 31) - 1, "beyond 2^31-1", 3),
    ] {
        let bytes = Frame::window_update(1, increment).bytes();
        ends_call(with_two_calls(Limits::default()), &bytes, rule, code);
    }
    let bytes = Frame::new(2, 0, 1, b"1234").bytes();
    ends_call(
        with_two_calls(Limits::default()),
        &bytes,
        "PRIORITY frame has a wrong length",
        6,
    );
}

#[test]
fn frames_after_the_end_of_a_stream_end_the_connection() {
    let mut server = with_two_calls(Limits::default());
    server.start(&head(), &Bytes::new(), 3);
    let block = server.block(&[(":status", "200")]);
    server.input(&Frame::headers(5, &block).end_stream().bytes());
    // Frames of these two types are still allowed.
    server.input(&Frame::new(3, 0, 5, b"\0\0\0\0").bytes());
    server.input(&Frame::window_update(5, 1).bytes());
    server.frames();
    ends_connection(
        server,
        &Frame::data(5, b"x").bytes(),
        "after its stream's end",
        5,
    );
}

#[test]
fn frames_on_reset_streams_are_forgiven_only_when_there_were_resets() {
    let mut server = Server::ready();
    for token in 0..400 {
        server.start(&head(), &Bytes::new(), token);
        server.played.client.cancel(token);
    }
    server.frames();
    let block = server.block(&[(":status", "200")]);
    // The oldest resets are forgotten by now, but a frame on such a stream is still not an error.
    let bytes = [
        Frame::headers(1, &block).bytes(),
        Frame::data(799, b"x").bytes(),
    ]
    .concat();
    assert_eq!(server.input(&bytes), Vec::<String>::new());
    assert!(!server.played.client.is_closed());
}
