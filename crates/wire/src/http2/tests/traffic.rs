//! Every byte that crosses the connection is counted once, by purpose.

use bytes::Bytes;

use super::script::{Frame, Server, grpc_response};
use super::{body, head};
use crate::Limits;

#[test]
fn padding_and_priority_are_overhead() {
    let mut server = Server::ready();
    let before = server.played.client.traffic().received;
    server.start(&head(), &body(), 7);
    let block = server.block(&[(":status", "200")]);
    let mut padded_head = Frame::headers(1, &[&[2, 0, 0, 0, 0, 9][..], &block, &[0, 0]].concat());
    padded_head.flags |= 0x8 | 0x20;
    let mut padded_data = Frame::data(1, b"\x03abc\0\0\0").end_stream();
    padded_data.flags |= 0x8;
    let lines = server.input(&[padded_head.bytes(), padded_data.bytes()].concat());
    assert_eq!(
        lines,
        ["7 first byte", "7 head 200", "7 body abc", "7 complete"]
    );
    let received = server.played.client.traffic().received.since(&before);
    assert_eq!((received.header, received.body), (block.len() as u64, 3));
    assert_eq!(received.overhead, 9 + 8 + 9 + 4);
}

#[test]
fn every_byte_is_counted_once() {
    let mut server = Server::ready();
    for token in 0..5u32 {
        server.start(&head(), &body(), u64::from(token));
        let response = grpc_response(&mut server, token * 2 + 1, b"\0\0\0\0\x03abc");
        server.input(&response);
    }
    server.input(&Frame::new(6, 0, 0, b"12345678").bytes());
    server.input(&Frame::new(0x42, 0, 9, b"unknown").bytes());
    server.frames();
    let traffic = *server.played.client.traffic();
    assert_eq!(traffic.received.total(), server.played.given);
    assert_eq!(traffic.sent.total(), server.played.taken);
    assert_eq!((traffic.sent.body, traffic.received.body), (25, 40));
    server.played.client.count_received_prefix(25);
    assert_eq!(server.played.client.traffic().received.body, 15);
}

#[test]
fn what_came_of_a_frame_counts_although_the_rest_never_comes() {
    let mut server = Server::ready();
    server.start(&head(), &body(), 7);
    let block = server.block(&[(":status", "200"), ("x-y", "some value")]);
    let before = server.played.client.traffic().received;
    let mut padded_head = Frame::headers(1, &[&[2][..], &block[..5], &[0, 0]].concat());
    // PADDED without END_HEADERS.
    padded_head.flags = 0x8;
    let rest = Frame::new(9, 0x4, 1, &block[5..]);
    let data = Frame::data(1, b"\x03abc\0\0\0");
    let frames = [padded_head.bytes(), rest.bytes(), data.bytes()].concat();
    for byte in frames {
        server.input(&[byte]);
        let received = server.played.client.traffic().received;
        assert_eq!(received.total(), server.played.given);
    }
    let received = server.played.client.traffic().received.since(&before);
    assert_eq!((received.header, received.body), (block.len() as u64, 7));
}

/// A connection with its preface, a call, and a second call whose body is longer than the window.
fn with_calls() -> Server {
    let mut server = Server::silent(Limits::default());
    server.start(&head(), &body(), 1);
    server.settings(&[]);
    server.start(&head(), &Bytes::from(vec![0; 70_000]), 2);
    server
}

#[test]
fn what_is_never_written_is_not_counted_as_sent() {
    let mut whole = with_calls();
    let (mut length, mut sent_at) = (0, vec![whole.played.client.traffic().sent]);
    assert_eq!(sent_at[0].total(), 0, "queued is not sent");
    while !whole.played.client.output().is_empty() {
        whole.played.client.consume_output(1);
        length += 1;
        sent_at.push(whole.played.client.traffic().sent);
    }
    let whole = sent_at[length];
    assert_eq!(whole.total(), length as u64);
    assert_eq!(whole.body, 65_535 - 10, "the window, less two prefixes");
    for written in [0, 1, 24, 60, 75, 80, 130, 150, 170, 16_500, 40_000, length] {
        let mut server = with_calls();
        let mut left = written;
        while left > 0 {
            let n = left.min(server.played.client.output().len());
            server.played.client.consume_output(n);
            left -= n;
        }
        server.played.end(false);
        assert!(server.played.client.output().is_empty());
        let sent = server.played.client.traffic().sent;
        assert_eq!(sent, sent_at[written], "{written}");
    }
}
