//! Exchanges of messages, by chunks.

use bytes::Bytes;
use proptest::prelude::*;

use super::{get, post};
use crate::testing::Played;
use crate::{Closing, Exchange, Limits, Protocol, SendError};

/// An exchange of token 1 with `limits`, and its request's head.
fn opened(limits: Limits) -> (Played, Exchange) {
    let mut played = Played::new(Protocol::Http1, limits);
    let exchange = played.client.open(&post(), &Bytes::new(), false, 1);
    (played, exchange.unwrap())
}

fn bytes(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

#[test]
fn each_message_is_a_chunk_and_each_byte_is_counted() {
    let mut played = Played::new(Protocol::Http1, Limits::default());
    let head = crate::grpc::head("/a/b", "x", None).build().unwrap();
    let client = &mut played.client;
    let exchange = client.open(&head, &bytes("12345first"), false, 1).unwrap();
    let mut send = |message, last| client.send(exchange, &bytes(message), last);
    assert_eq!(send("", false), Ok(()));
    assert_eq!(send("12345second, longer", false), Ok(()));
    assert_eq!(send("12345", true), Ok(()));
    assert_eq!(send("", true), Err(SendError::AfterLast));
    let mut counted = Vec::new();
    let mut all = Vec::new();
    while let Some(&byte) = played.client.output().first() {
        let before = played.client.traffic().sent;
        played.client.consume_output(1);
        let new = played.client.traffic().sent.since(&before);
        counted.push(match (new.header, new.overhead, new.body) {
            (1, 0, 0) => 'h',
            (0, 1, 0) => 'o',
            (0, 0, 1) => 'b',
            other => panic!("{other:?} for a byte"),
        });
        all.push(byte);
    }
    let text = String::from_utf8(all).unwrap();
    let (heading, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(
        heading.ends_with("\r\ntransfer-encoding: chunked"),
        "{heading}"
    );
    assert_eq!(
        body,
        "a\r\n12345first\r\n13\r\n12345second, longer\r\n5\r\n12345\r\n0\r\n\r\n"
    );
    let runs: Vec<(char, usize)> = counted
        .chunk_by(|a, b| a == b)
        .map(|run| (run[0], run.len()))
        .collect();
    // The framing around each chunk includes the five bytes of its message's prefix.
    let expected = [
        ('h', heading.len() + 4),
        ('o', 3 + 5),
        ('b', 5),
        ('o', 2 + 4 + 5),
        ('b', 14),
        ('o', 2 + 3 + 5 + 2 + 5),
    ];
    assert_eq!(runs, expected);
}

#[test]
fn a_single_message_is_sent_as_a_whole_request_is() {
    for (head, message) in [(post(), "{}"), (get(), "")] {
        let mut whole = Played::new(Protocol::Http1, Limits::default());
        whole.client.start(&head, &bytes(message), 1).unwrap();
        let mut single = Played::new(Protocol::Http1, Limits::default());
        single.client.open(&head, &bytes(message), true, 1).unwrap();
        assert_eq!(single.output(), whole.output());
    }
}

#[test]
fn chunks_arrive_one_by_one_while_the_request_goes_on() {
    let (mut played, exchange) = opened(Limits::default());
    let head = [CHUNKED, b"3\r\na:1\r\n"].concat();
    assert_eq!(played.input(&head).last().unwrap(), "1 body a:1");
    assert_eq!(played.client.send(exchange, &bytes("x"), true), Ok(()));
    assert!(played.output().ends_with(b"1\r\nx\r\n0\r\n\r\n"));
    assert_eq!(played.input(b"3\r\na:2\r\n"), ["1 body a:2"]);
    assert_eq!(played.input(b"0\r\n\r\n"), ["1 complete"]);
    assert_eq!(played.client.capacity(), 1);
    assert_eq!(
        played.client.send(exchange, &bytes("x"), true),
        Err(SendError::Ended)
    );
    let next = played.client.open(&get(), &Bytes::new(), true, 2).unwrap();
    assert_ne!(next, exchange);
    assert_eq!(
        played.client.send(exchange, &bytes("x"), true),
        Err(SendError::Ended)
    );
}

#[test]
fn a_response_that_ends_first_ends_the_connection() {
    let (mut played, exchange) = opened(Limits::default());
    played.output();
    let lines = played.input(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx");
    assert_eq!(
        lines[2..],
        [
            "1 body x",
            "1 complete",
            &format!("closing: {}", Closing::ClientCloses)
        ]
    );
    assert_eq!(
        played.client.send(exchange, &bytes("x"), true),
        Err(SendError::Ended)
    );
}

#[test]
fn messages_wait_for_the_transport() {
    let (mut played, exchange) = opened(Limits::default());
    let long = Bytes::from(vec![b'x'; 300_000]);
    assert_eq!(played.client.send(exchange, &long, false), Ok(()));
    assert!(played.client.is_waiting(exchange));
    assert_eq!(
        played.client.send(exchange, &long, false),
        Err(SendError::Waiting)
    );
    assert_eq!(played.client.send(exchange, &Bytes::new(), true), Ok(()));
    played.output();
    assert!(!played.client.is_waiting(exchange));
    assert_eq!(
        played.client.send(exchange, &long, false),
        Err(SendError::AfterLast)
    );
}

#[test]
fn a_stream_has_no_length_limit_as_a_whole() {
    let limits = Limits {
        max_body_bytes: 3,
        ..Limits::default()
    };
    let (mut played, _) = opened(limits);
    let response = [CHUNKED, b"4\r\n1234\r\n0\r\n\r\n"].concat();
    assert_eq!(played.input(&response)[2], "1 body 1234");
}

proptest! {
    /// A caller that keeps to the room never holds more than the window, and what it reads does not
    /// depend on when it releases.
    #[test]
    fn the_room_is_what_the_window_leaves(
        chunks in prop::collection::vec(1usize..60, 1..20),
        releases in prop::collection::vec(0usize..80, 0..40),
    ) {
        let limits = Limits { stream_window: 50, ..Limits::default() };
        let (mut played, exchange) = opened(limits);
        let mut response = CHUNKED.to_vec();
        for size in &chunks {
            response.extend(format!("{size:x}\r\n{}\r\n", "x".repeat(*size)).into_bytes());
        }
        response.extend(b"0\r\n\r\n");
        let (mut rest, mut held, mut total) = (&response[..], 0, 0);
        let mut releases = releases.into_iter();
        while !rest.is_empty() {
            let room = played.client.input_room();
            prop_assert_eq!(room, 50 - held);
            let (now, later) = rest.split_at(room.min(rest.len()));
            rest = later;
            let before = played.client.traffic().received.body;
            played.feed(now);
            let new = (played.client.traffic().received.body - before) as usize;
            held += new;
            total += new;
            prop_assert!(held <= 50);
            let released = releases.next().unwrap_or(50).min(held);
            held -= released;
            played.client.release(exchange, released);
        }
        prop_assert_eq!(total, chunks.iter().sum::<usize>());
        prop_assert_eq!(played.client.in_flight(), 0);
        prop_assert_eq!(played.client.input_room(), usize::MAX);
    }
}
