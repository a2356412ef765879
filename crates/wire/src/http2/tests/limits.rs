//! Servers that try to exhaust the client's memory.

use super::hostile::{ends_call, ends_connection, with_two_calls};
use super::script::Frame;
use crate::Limits;

#[test]
fn continuation_floods_are_bounded_in_count_and_size() {
    let flood = |frame: Frame, n| {
        [
            Frame::new(1, 0, 1, b"\x88").bytes(),
            frame.bytes().repeat(n),
        ]
        .concat()
    };
    let many = flood(Frame::new(9, 0, 1, b""), 33);
    ends_connection(
        with_two_calls(Limits::default()),
        &many,
        "max_continuations",
        0xb,
    );
    let large = flood(Frame::new(9, 0, 1, &[0; 16_000]), 5);
    ends_connection(
        with_two_calls(Limits::default()),
        &large,
        "max_head_bytes",
        0xb,
    );
}

#[test]
fn large_responses_fail_by_the_limit_that_they_exceed() {
    let limits = Limits {
        max_header_list_bytes: 200,
        max_fields: 4,
        max_body_bytes: 10,
        max_interim_responses: 2,
        ..Limits::default()
    };
    let calls = || with_two_calls(limits.clone());
    let mut server = calls();
    let long = "x".repeat(200);
    let block = server.block(&[(":status", "200"), ("a", &long)]);
    ends_call(
        server,
        &Frame::headers(1, &block).bytes(),
        "max_header_list_bytes",
        0xb,
    );
    let mut server = calls();
    let block = server.block(&[
        (":status", "200"),
        ("a", ""),
        ("b", ""),
        ("c", ""),
        ("d", ""),
    ]);
    ends_call(
        server,
        &Frame::headers(1, &block).bytes(),
        "max_fields",
        0xb,
    );
    let mut server = calls();
    let block = server.block(&[(":status", "200")]);
    let bytes = [
        Frame::headers(1, &block).bytes(),
        Frame::data(1, &[0; 11]).bytes(),
    ]
    .concat();
    ends_call(server, &bytes, "max_body_bytes", 0xb);
    // Fails immediately, without waiting for the body.
    let mut server = calls();
    let stated = ("content-length", "18446744073709551615");
    let block = server.block(&[(":status", "200"), stated]);
    let head = Frame::headers(1, &block).bytes();
    ends_call(server, &head, "max_body_bytes", 0xb);
    let mut server = calls();
    let interim: Vec<u8> = (0..3)
        .flat_map(|_| {
            let block = server.block(&[(":status", "100")]);
            Frame::headers(1, &block).bytes()
        })
        .collect();
    ends_call(server, &interim, "max_interim_responses", 0xb);
}

#[test]
fn unread_replies_are_bounded() {
    let limits = Limits {
        max_queued_replies: 1000,
        ..Limits::default()
    };
    let ping = Frame::new(6, 0, 0, b"12345678").bytes();
    ends_connection(
        with_two_calls(limits.clone()),
        &ping.repeat(60),
        "max_queued_replies",
        0xb,
    );
    let settings = Frame::settings(&[]).bytes();
    ends_connection(
        with_two_calls(limits.clone()),
        &settings.repeat(120),
        "max_queued_replies",
        0xb,
    );
    // A server that reads the replies may send any number of pings.
    let mut server = with_two_calls(limits);
    for _ in 0..500 {
        server.input(&ping);
        assert_eq!(server.frames().len(), 1);
    }
}
