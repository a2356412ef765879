//! Whole HTTP/1.1 conversations.

mod exchanges;
mod hostile;
mod websocket;

use bytes::Bytes;
use proptest::prelude::*;

use crate::testing::Played;
use crate::{Client, Closing, Event, Head, Limits, Protocol, StartError};

fn post() -> Head {
    Head::builder("POST", "/echo", "localhost")
        .field("accept", "*/*")
        .build()
        .unwrap()
}

fn get() -> Head {
    Head::builder("GET", "/", "localhost").build().unwrap()
}

fn started(head: &Head) -> Played {
    with_limits(head, Limits::default())
}

fn with_limits(head: &Head, limits: Limits) -> Played {
    let mut played = Played::new(Protocol::Http1, limits);
    played
        .client
        .start(head, &Bytes::from_static(b"{}"), 1)
        .unwrap();
    played.output();
    played
}

/// The events of a response followed by the transport's end. Asserts that feeding it byte by byte
/// gives the same events.
fn response_to(head: &Head, limits: Limits, response: &[u8]) -> Vec<String> {
    let mut whole = with_limits(head, limits.clone());
    whole.feed(response);
    let lines = whole.end(true);
    let mut bytewise = with_limits(head, limits);
    for byte in response {
        bytewise.feed(std::slice::from_ref(byte));
    }
    assert_eq!(bytewise.end(true), lines, "byte by byte");
    // How much of a malformed part was parsed before the error depends on how the input was split.
    if !lines
        .iter()
        .any(|line| line.contains("violated") || line.contains("limit"))
    {
        assert_eq!(bytewise.client.traffic(), whole.client.traffic());
    }
    lines
}

fn response(text: &str) -> Vec<String> {
    response_to(&get(), Limits::default(), text.as_bytes())
}

/// The single failure that a response causes.
fn failure(text: &str) -> String {
    let lines = response(text);
    let failed: Vec<_> = lines
        .iter()
        .filter_map(|l| l.strip_prefix("1 failed: "))
        .collect();
    assert_eq!(failed.len(), 1, "{lines:?}");
    assert!(lines.last().unwrap().starts_with("closing: "), "{lines:?}");
    failed[0].to_owned()
}

#[test]
fn there_is_no_ping() {
    let mut client = Client::new(Protocol::Http1, Limits::default());
    assert!(!client.ping());
    assert!(client.output().is_empty());
}

#[test]
fn calls_follow_each_other_on_one_connection() {
    let mut played = Played::new(Protocol::Http1, Limits::default());
    let head = post();
    for token in 1..=2 {
        assert_eq!(played.client.capacity(), 1);
        played
            .client
            .start(&head, &Bytes::from_static(b"{\"a\":1}"), token)
            .unwrap();
        assert_eq!(
            played.client.start(&head, &Bytes::new(), 9),
            Err(StartError::Full)
        );
        assert!(!played.client.is_all_sent());
        assert_eq!(
            played.output(),
            b"POST /echo HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\ncontent-length: 7\r\n\r\n{\"a\":1}"
        );
        assert!(played.client.is_all_sent());
        assert_eq!(
            played.input(b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 3\r\n\r\nxyz"),
            [
                format!("{token} first byte"),
                format!("{token} head 200 Content-Type=a/b Content-Length=3"),
                format!("{token} body xyz"),
                format!("{token} complete"),
            ]
        );
    }
    assert_eq!(played.client.in_flight(), 0);
    let traffic = *played.client.traffic();
    assert_eq!(
        (
            traffic.sent.header,
            traffic.sent.body,
            traffic.sent.overhead
        ),
        (2 * 72, 14, 0)
    );
    assert_eq!(traffic.sent.total(), played.taken);
    assert_eq!(
        (traffic.received.header, traffic.received.body),
        (2 * 57, 6)
    );
    assert_eq!(traffic.received.total(), played.given);
}

#[test]
fn a_get_without_a_body_states_no_length() {
    let mut played = Played::new(Protocol::Http1, Limits::default());
    played.client.start(&get(), &Bytes::new(), 1).unwrap();
    assert_eq!(
        played.output(),
        b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
    );
}

#[test]
fn chunks_and_trailers() {
    let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                3;x\r\nabc\r\n2\r\nde\r\n0\r\nX-T: u\r\n\r\n";
    assert_eq!(
        response(text),
        [
            "1 first byte",
            "1 head 200 Transfer-Encoding=chunked",
            "1 body abcde",
            "1 trailers X-T=u",
            "1 complete",
            "closing: the connection ended",
        ]
    );
    let mut played = started(&get());
    played.input(text.as_bytes());
    let received = played.client.traffic().received;
    // Overhead: "3;x\r\n", "\r\n", "2\r\n", "\r\n", "0\r\n", and "\r\n" after the trailers.
    let framing = 5 + 2 + 3 + 2 + 3 + 2;
    assert_eq!((received.body, received.overhead), (5, framing));
    assert_eq!(received.total(), text.len() as u64);
    assert_eq!(played.client.capacity(), 1);
}

#[test]
fn what_came_of_a_response_counts_although_the_rest_never_comes() {
    let in_trailers = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-T: u\r\n\r";
    for text in ["H", "HTTP/1.1 200 OK\r\nX-Y", in_trailers] {
        for cut in 0..text.len() {
            let mut played = started(&get());
            played.feed(&text.as_bytes()[..cut]);
            played.feed(&text.as_bytes()[cut..]);
            let received = played.client.traffic().received;
            assert_eq!(received.total(), text.len() as u64, "{text:?} cut at {cut}");
        }
    }
    let mut played = started(&get());
    played.feed(b"SSH-2.0-x\r\n");
    let received = played.client.traffic().received;
    assert_eq!((received.header, received.total()), (11, 11), "no answer");
}

#[test]
fn a_field_takes_its_line_on_the_wire() {
    let text = b"HTTP/1.1 204 x\r\nA:b\r\nlong-name: \t v \r\n\r\n";
    let mut client = started(&get()).client;
    let mut sizes = Vec::new();
    client.input(text, &mut |event: Event<'_>| {
        if let Event::Head { fields, .. } = event {
            sizes.extend(fields.iter_wire_bytes().map(|(_, _, bytes)| bytes));
        }
    });
    assert_eq!(sizes, [5, 17]);
    client.count_received_marks(17);
    let received = client.traffic().received;
    assert_eq!((received.header, received.marks), (16 + 5 + 2, 17));
    assert_eq!(received.total(), text.len() as u64);
}

#[test]
fn interim_responses_come_before_the_final_one() {
    assert_eq!(
        response(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\na: b\r\n\r\nHTTP/1.1 204 x\r\n\r\n"
        ),
        [
            "1 first byte",
            "1 interim 100",
            "1 interim 103",
            "1 head 204 end",
            "1 complete",
            "closing: the connection ended",
        ]
    );
    let limits = Limits {
        max_interim_responses: 2,
        ..Limits::default()
    };
    let endless = "HTTP/1.1 100 x\r\n\r\n".repeat(3);
    let lines = response_to(&get(), limits, endless.as_bytes());
    assert!(
        lines[3].contains("more than 2 interim responses"),
        "{lines:?}"
    );
    let switch = failure("HTTP/1.1 101 Switching Protocols\r\n\r\n");
    assert!(switch.contains("switches protocols"), "{switch}");
}

#[test]
fn some_responses_have_no_body_whatever_they_say() {
    let head = Head::builder("HEAD", "/", "a").build().unwrap();
    let text = b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n";
    let mut played = started(&head);
    let lines = played.input(text);
    assert_eq!(
        lines[1..],
        ["1 head 200 content-length=500 end", "1 complete"]
    );
    assert_eq!(played.client.capacity(), 1);
    for status in [204, 304] {
        let mut played = started(&get());
        let text = format!("HTTP/1.1 {status} x\r\ntransfer-encoding: chunked\r\n\r\n");
        let lines = played.input(text.as_bytes());
        assert_eq!(lines.last().unwrap(), "1 complete");
        assert_eq!(played.client.capacity(), 1);
    }
    let mut played = started(&get());
    let lines = played.input(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    assert_eq!(
        lines[1..],
        ["1 head 200 content-length=0 end", "1 complete"]
    );
}

#[test]
fn a_body_may_end_with_the_connection_if_that_ends_in_order() {
    let text = "HTTP/1.1 200 OK\r\n\r\nabc";
    assert_eq!(
        response(text)[1..],
        [
            "1 head 200",
            "1 body abc",
            "1 complete",
            "closing: the connection ended"
        ]
    );
    let mut played = started(&get());
    played.input(text.as_bytes());
    let lines = played.end(false);
    assert_eq!(
        lines[0],
        "1 failed: the connection closed in the middle of the response body"
    );
}

#[test]
fn the_connection_closes_when_either_side_asks() {
    let mut played = started(&get());
    let lines = played.input(b"HTTP/1.1 200 OK\r\nConnection: close\r\ncontent-length: 1\r\n\r\nx");
    assert_eq!(
        lines[2..],
        [
            "1 body x",
            "1 complete",
            &format!("closing: {}", Closing::ServerCloses)
        ]
    );
    assert!(played.client.is_closed());
    assert_eq!(
        played.client.start(&get(), &Bytes::new(), 2),
        Err(StartError::Closing)
    );

    let head = Head::builder("GET", "/", "a").close(true).build().unwrap();
    let mut played = started(&head);
    played.input(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    assert!(played.client.is_closed());
}

#[test]
fn a_response_before_the_request_is_out_ends_the_connection() {
    let mut played = Played::new(Protocol::Http1, Limits::default());
    played
        .client
        .start(&post(), &Bytes::from(vec![0; 100_000]), 1)
        .unwrap();
    played.client.consume_output(50);
    let lines = played.input(b"HTTP/1.1 413 x\r\ncontent-length: 0\r\n\r\n");
    assert_eq!(
        lines[2..],
        ["1 complete", &format!("closing: {}", Closing::ClientCloses)]
    );
    assert_eq!(played.client.output(), b"");
}

#[test]
fn a_cancelled_call_takes_its_connection_along() {
    let mut played = started(&get());
    assert!(!played.client.cancel(2));
    assert!(played.client.cancel(1));
    assert!(played.client.is_closed());
    assert_eq!(
        played.input(b"HTTP/1.1 200 OK\r\n\r\n"),
        Vec::<String>::new()
    );
}

#[test]
fn a_grpc_prefix_counts_as_overhead() {
    let mut played = Played::new(Protocol::Http1, Limits::default());
    let head = crate::grpc::head("/a/b", "x", None).build().unwrap();
    played
        .client
        .start(&head, &Bytes::from_static(b"\0\0\0\0\x01x"), 1)
        .unwrap();
    assert_eq!(
        played.client.traffic().sent.total(),
        0,
        "nothing is written"
    );
    played.output();
    let sent = played.client.traffic().sent;
    assert_eq!((sent.body, sent.overhead), (1, 5));
}

#[test]
fn what_is_never_written_is_not_counted_as_sent() {
    let ends: [fn(&mut Played); 4] = [
        |played| {
            played.client.cancel(1);
        },
        |played| {
            played.end(false);
        },
        |played| played.feed(b"HTTP/1.1 413 x\r\nContent-Length: 0\r\n\r\n"),
        |played| played.feed(b"no HTTP\r\n\r\n"),
    ];
    let body = Bytes::from(vec![b'x'; 10_000]);
    for grpc in [false, true] {
        let head = if grpc {
            crate::grpc::head("/a/b", "x", None).build().unwrap()
        } else {
            post()
        };
        let mut whole = Played::new(Protocol::Http1, Limits::default());
        whole.client.start(&head, &body, 1).unwrap();
        whole.output();
        let whole = whole.client.traffic().sent;
        for end in ends {
            // The output is cut inside the head, the prefix and the body, and after all of them.
            for left in [10_001, 9_998, 9_000, 0] {
                let mut played = Played::new(Protocol::Http1, Limits::default());
                played.client.start(&head, &body, 1).unwrap();
                let mut to_write = whole.total() as usize - left;
                while to_write > 0 {
                    let n = to_write.min(played.client.output().len());
                    played.client.consume_output(n);
                    to_write -= n;
                }
                end(&mut played);
                let sent = played.client.traffic().sent;
                assert_eq!(sent.total(), whole.total() - left as u64, "{left}");
                assert!(sent.header == whole.header || sent.body == 0, "{sent:?}");
            }
        }
    }
}

/// Nearly valid responses, which exercise the parser deeply.
fn nearly_http() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop_oneof![
        Just("HTTP/1.1 200 OK\r\n"),
        Just("HTTP/1.1 100 x\r\n\r\n"),
        Just("content-length: 3\r\n"),
        Just("transfer-encoding: chunked\r\n"),
        Just("connection: close\r\n"),
        Just("\r\n"),
        Just("3\r\nabc\r\n"),
        Just("0\r\n"),
        Just("abc"),
        Just("a: b\r\n"),
        Just("\r"),
        Just("\n"),
        Just(" "),
    ];
    prop::collection::vec(pieces, 0..10).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn the_cuts_make_no_difference(start in any::<bool>(), tail in nearly_http(), cut in 1usize..9) {
        let mut bytes = if start { b"HTTP/1.1 200 OK\r\n".to_vec() } else { Vec::new() };
        bytes.extend_from_slice(&tail);
        let expected = response_to(&get(), Limits::default(), &bytes);
        let mut played = started(&get());
        bytes.chunks(cut).for_each(|chunk| played.feed(chunk));
        prop_assert_eq!(played.end(true), expected);
    }

    #[test]
    fn any_bytes_end_the_call_in_one_way(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let lines = response_to(&get(), Limits::default(), &bytes);
        let ends = lines.iter().filter(|l| l.contains("complete") || l.contains("failed")).count();
        prop_assert_eq!(ends, 1);
    }
}
