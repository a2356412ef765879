//! WebSockets: the opening handshake, messages, and the closing handshake.

use base64::Engine as _;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

use super::*;
use crate::{Exchange, SendError, websocket};

/// A WebSocket that a client has opened.
struct Opened {
    played: Played,
    exchange: Exchange,
    /// What accepts its key.
    accept: String,
}

/// The first message is `a`.
fn opened(last: bool) -> Opened {
    opened_with(last, Limits::default())
}

fn opened_with(last: bool, limits: Limits) -> Opened {
    let mut played = Played::new(Protocol::Http1, limits);
    let head = websocket::head("/chat?a=b", "localhost")
        .field("sec-websocket-protocol", "v2, v1")
        .build()
        .unwrap();
    let message = Bytes::from_static(b"a");
    let exchange = played.client.open(&head, &message, last, 1).unwrap();
    let sent = String::from_utf8(played.output()).unwrap();
    let key = sent.strip_prefix(
        "GET /chat?a=b HTTP/1.1\r\nhost: localhost\r\nsec-websocket-protocol: v2, v1\r\n\
         connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: ",
    );
    let key = key.and_then(|key| key.strip_suffix("\r\n\r\n"));
    let key = key.unwrap_or_else(|| panic!("{sent}"));
    let salted = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, salted.as_bytes());
    Opened {
        played,
        exchange,
        accept: base64::engine::general_purpose::STANDARD.encode(hash),
    }
}

impl Opened {
    /// The head that accepts the handshake.
    fn head(&self) -> String {
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {}\r\n\r\n",
            self.accept
        )
    }

    /// Accepts the handshake, and sends more in the same piece.
    fn accept(&mut self, more: &[u8]) -> Vec<String> {
        let head = self.head();
        let mut lines = self.played.input(&[head.as_bytes(), more].concat());
        assert_eq!(lines[0], "1 first byte");
        assert!(
            lines[1].starts_with("1 head 101 Upgrade=websocket "),
            "{lines:?}"
        );
        lines.split_off(2)
    }

    /// The first bytes and the payloads of the frames that the client has sent.
    fn frames(&mut self) -> Vec<(u8, Vec<u8>)> {
        let (output, mut frames) = (self.played.output(), Vec::new());
        let mut rest = &output[..];
        while let [first, length, after @ ..] = rest {
            assert!(*length >= 0x80, "a client masks its frames");
            let (extended, length) = match length & 0x7f {
                126 => (2, usize::from(u16::from_be_bytes([after[0], after[1]]))),
                length => (0, usize::from(length)),
            };
            let (mask, masked) = after[extended..].split_at(4);
            let (masked, after) = masked.split_at(length);
            let payload = masked.iter().zip(mask.iter().cycle());
            frames.push((*first, payload.map(|(byte, mask)| byte ^ mask).collect()));
            rest = after;
        }
        frames
    }

    fn send(&mut self, message: &'static [u8], last: bool) -> Result<(), SendError> {
        let message = Bytes::from_static(message);
        self.played.client.send(self.exchange, &message, last)
    }
}

const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;
const CLOSE: u8 = 0x88;
const PONG: u8 = 0x8a;

/// A close frame with the code 1000.
const NORMAL: &[u8] = b"\x88\x02\x03\xe8";

fn normal() -> (u8, Vec<u8>) {
    (CLOSE, NORMAL[2..].to_vec())
}

#[test]
fn messages_are_exchanged_between_two_handshakes() {
    let mut opened = opened(false);
    assert!(opened.played.client.is_waiting(opened.exchange));
    assert_eq!(opened.send(b"b", false), Err(SendError::Waiting));
    assert!(opened.accept(b"").is_empty());
    assert_eq!(opened.frames(), [(TEXT, b"a".to_vec())]);
    assert_eq!(opened.send(b"\xff", false), Ok(()));
    assert_eq!(opened.send(b"", false), Ok(()));
    let long = &[b'x'; 300];
    assert_eq!(opened.send(long, true), Ok(()));
    assert_eq!(opened.send(b"b", false), Err(SendError::AfterLast));
    let sent = [(BINARY, vec![0xff]), (TEXT, vec![]), (TEXT, long.to_vec())];
    assert_eq!(opened.frames(), sent);
    let lines = opened.played.input(b"\x81\x01A\x01\x01B\x80\x01C\x81\x01D");
    assert_eq!(lines, ["1 message A", "1 message BC", "1 message D"]);
    assert_eq!(opened.frames(), [], "a message is not answered");
    assert_eq!(opened.played.input(b"\x81\x01E"), ["1 message E"]);
    assert_eq!(opened.frames(), [normal()]);
    assert_eq!(
        opened.played.input(b"\x88\x02\x03\xe8"),
        [
            "1 complete",
            "closing: the server closes the connection after this response"
        ]
    );
    assert!(opened.played.client.is_closed());
    assert!(opened.played.input(b"\x81\x01F").is_empty());
}

#[test]
fn every_byte_is_counted_by_its_purpose() {
    let mut opened = opened(true);
    let head = opened.head();
    // A ping, the message, and the server's close frame after that of the client.
    opened.accept(b"\x89\x02hi\x81\x02AB");
    opened.frames();
    opened.played.input(NORMAL);
    let traffic = *opened.played.client.traffic();
    let (sent, received) = (traffic.sent, traffic.received);
    let total = (sent.total(), received.total());
    assert_eq!(total, (opened.played.taken, opened.played.given));
    assert_eq!((received.header, received.body), (head.len() as u64, 2));
    assert_eq!(received.overhead, 2 + 4 + 4);
    // A header and a mask for the message, none but those for the pong and the close frame.
    assert_eq!((sent.body, sent.overhead), (1, 6 + 8 + 8));
}

#[test]
fn a_request_that_ended_early_closes_after_the_responses() {
    let mut before = opened(false);
    assert_eq!(before.played.client.end(before.exchange), Ok(()));
    before.accept(b"");
    assert_eq!(before.frames(), [(TEXT, b"a".to_vec())]);
    before.played.input(b"\x81\x01A");
    assert_eq!(before.frames(), [normal()]);
    let mut after = opened(false);
    after.accept(b"\x81\x01A");
    assert_eq!(after.frames().len(), 1, "the request goes on");
    assert_eq!(after.played.client.end(after.exchange), Ok(()));
    assert_eq!(after.frames(), [normal()]);
    let twice = after.played.client.end(after.exchange);
    assert_eq!(twice, Err(SendError::AfterLast));
}

#[test]
fn a_server_that_closes_first_is_answered() {
    let closing = "closing: the server closes the connection after this response";
    for (frame, event) in [
        (NORMAL, "1 complete"),
        (b"\x88\x00", "1 complete"),
        (b"\x88\x05\x03\xf3bad", "1 closed with 1011 \"bad\""),
        (b"\x88\x02\x0f\xa0", "1 closed with 4000 \"\""),
    ] {
        let mut opened = opened(false);
        assert_eq!(opened.accept(frame), [event, closing], "{frame:x?}");
        let sent = opened.frames();
        assert_eq!(sent.last(), Some(&(CLOSE, frame[2..].to_vec())));
        assert_eq!(opened.send(b"b", false), Err(SendError::Ended));
    }
}

#[test]
fn after_the_clients_close_frame_more_messages_do_not_matter_but_the_code_does() {
    for (close, event) in [
        (NORMAL, "1 complete"),
        (b"\x88\x02\x03\xe9", "1 closed with 1001 \"\""),
    ] {
        let mut opened = opened(true);
        opened.accept(b"\x81\x01A");
        let lines = opened.played.input(&[b"\x81\x01B", close].concat());
        assert_eq!(lines[..2], ["1 message B", event]);
    }
}

#[test]
fn a_handshake_that_is_not_accepted_fails() {
    let failed = |head: &str| {
        let lines = opened(false).played.input(head.as_bytes());
        lines.into_iter().find(|line| line.starts_with("1 failed"))
    };
    for (head, rule) in [
        ("HTTP/1.1 101 x\r\n\r\n", "101 without upgrade"),
        (
            "HTTP/1.1 101 x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
             sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
            "does not match the key",
        ),
    ] {
        let line = failed(head).unwrap_or_default();
        assert!(line.contains(rule), "{line}");
    }
    let mut refused = opened(false);
    let response = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno";
    let lines = refused.played.input(response);
    assert_eq!(
        lines[1..4],
        ["1 head 403 content-length=2", "1 body no", "1 complete"]
    );
    assert!(
        refused.played.client.is_closed(),
        "the request had not ended"
    );
    let mut ordinary = opened(false);
    let lines = ordinary
        .played
        .input(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    assert_eq!(lines[1], "1 head 200 content-length=0 end");
}

#[test]
fn a_connection_that_ends_before_the_closing_handshake_fails() {
    let mut opened = opened(false);
    opened.accept(b"\x81\x05A");
    assert_eq!(
        opened.played.end(true)[0],
        "1 failed: the connection closed without the WebSocket's closing handshake"
    );
    let mut broken = opened_with(false, Limits::default());
    let lines = broken.accept(b"\x81\x81\0\0\0\0A");
    assert!(lines[0].contains("the server masks a frame"), "{lines:?}");
    assert!(broken.played.client.is_closed());
}

#[test]
fn a_cancelled_websocket_is_closed() {
    let mut opened = opened(false);
    opened.accept(b"");
    assert!(opened.played.client.cancel(1));
    assert_eq!(opened.frames(), [(TEXT, b"a".to_vec()), normal()]);
    assert!(opened.played.client.is_closed());
    let mut early = opened_with(false, Limits::default());
    assert!(early.played.client.cancel(1));
    assert_eq!(early.frames(), []);
}

#[test]
fn pongs_that_the_server_does_not_read_are_bounded() {
    let limits = Limits {
        max_queued_replies: 40,
        ..Limits::default()
    };
    let mut opened = opened_with(false, limits);
    let ping: &[u8] = b"\x89\x02hi";
    opened.accept(ping);
    for _ in 0..10 {
        assert_eq!(opened.frames().last(), Some(&(PONG, b"hi".to_vec())));
        assert!(opened.played.input(ping).is_empty(), "it reads them");
    }
    let mut lines = Vec::new();
    for _ in 0..5 {
        lines.extend(opened.played.input(ping));
    }
    assert!(lines[0].contains("max_queued_replies"), "{lines:?}");
}

#[test]
fn received_messages_are_held_until_they_are_released() {
    let limits = Limits {
        stream_window: 10,
        ..Limits::default()
    };
    let mut opened = opened_with(false, limits);
    opened.accept(b"\x81\x04abcd\x81\x04efgh");
    assert_eq!(opened.played.client.input_room(), 2);
    opened.played.client.release(opened.exchange, 8);
    assert_eq!(opened.played.client.input_room(), 10);
}

#[test]
fn fields_of_the_handshake_are_reserved() {
    for name in ["Sec-WebSocket-Key", "sec-websocket-extensions", "upgrade"] {
        let head = websocket::head("/", "localhost").field(name, "x").build();
        let reserved = crate::PrepareError::ReservedField(name.to_ascii_lowercase());
        assert_eq!(head.map(|_| ()), Err(reserved));
    }
}

proptest! {
    #[test]
    fn no_bytes_after_the_handshake_break_the_client(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut opened = opened(false);
        opened.accept(b"");
        opened.played.feed(&bytes);
        let lines = opened.played.end(true);
        let is_end = |line: &&String| !line.starts_with("1 message") && line.starts_with("1 ");
        prop_assert_eq!(lines.iter().filter(is_end).count(), 1, "{:?}", lines);
        prop_assert!(opened.played.client.is_closed());
        prop_assert!(opened.played.client.traffic().received.total() <= opened.played.given);
    }
}
