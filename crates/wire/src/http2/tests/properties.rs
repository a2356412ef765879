//! Properties that hold for all input.

use bytes::Bytes;
use proptest::prelude::*;

use super::script::{Frame, GRPC, Server, grpc_response};
use crate::{Head, Limits};

fn head() -> Head {
    Head::builder("POST", "/", "a").build().unwrap()
}

/// Three calls, the first with a body that waits for the window, the second an exchange.
fn with_calls() -> Server {
    let limits = Limits {
        stream_window: 70_000,
        connection_window: 80_000,
        max_continuations: 2,
        max_interim_responses: 2,
        max_queued_replies: 200,
        ..Limits::default()
    };
    let mut server = Server::ready_with(limits);
    server.start(&head(), &Bytes::from(vec![0; 100_000]), 1);
    let exchange = server.open(&head(), 2);
    server
        .send(exchange, &Bytes::from_static(b"x"), false)
        .unwrap();
    server.start(&head(), &Bytes::new(), 3);
    server.frames();
    server
}

/// All observable state after `bytes` arrived in pieces of `cut` bytes.
fn played(bytes: &[u8], cut: usize) -> (Vec<String>, usize, bool, usize, Vec<Frame>) {
    let mut server = with_calls();
    bytes
        .chunks(cut)
        .for_each(|piece| server.played.feed(piece));
    let mut lines = server.played.script.take();
    let client = &server.played.client;
    let state = (client.in_flight(), client.is_closed(), client.capacity());
    let frames = server.frames();
    assert_eq!(
        server.played.client.traffic().sent.total(),
        server.played.taken
    );
    assert!(server.played.client.traffic().received.total() <= server.played.given);
    lines.extend(server.played.end(true));
    for token in 1..=3 {
        let ends = [format!("{token} complete"), format!("{token} failed")];
        let count = lines
            .iter()
            .filter(|l| ends.iter().any(|end| l.starts_with(end)))
            .count();
        assert_eq!(count, 1, "call {token} ends once: {lines:?}");
    }
    assert_eq!(
        lines.iter().filter(|l| l.starts_with("closing")).count(),
        1,
        "{lines:?}"
    );
    (lines, state.0, state.1, state.2, frames)
}

/// Valid and nearly valid frames.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let stream = prop_oneof![5 => (0u32..3).prop_map(|n| n * 2 + 1), 1 => 0u32..9];
    let payload = prop::collection::vec(any::<u8>(), 0..20);
    let some_block = prop_oneof![
        Just(b"\x88".to_vec()),
        Just(b"\x88\x0f\x0d\x011".to_vec()),
        Just(b"\x08\x03100".to_vec()),
        Just(b"\x00\x01a\x01b".to_vec()),
        Just(b"\x40\x01a\x01b".to_vec()),
        Just(b"\xbe".to_vec()),
    ];
    prop_oneof![
        4 => (stream.clone(), some_block.clone(), any::<u8>())
            .prop_map(|(s, block, flags)| Frame::new(1, flags & 0x5 | 0x4, s, &block).bytes()),
        1 => (stream.clone(), some_block, any::<u8>())
            .prop_map(|(s, block, flags)| Frame::new(9 - flags % 2 * 8, flags & 0x4, s, &block).bytes()),
        4 => (stream.clone(), payload.clone(), any::<u8>())
            .prop_map(|(s, data, flags)| Frame::new(0, flags & 0x9, s, &data).bytes()),
        1 => (stream.clone(), 0u32..100_000)
            .prop_map(|(s, by)| Frame::window_update(s, by).bytes()),
        1 => (0u16..7, prop_oneof![0u32..70_000, any::<u32>()])
            .prop_map(|(id, value)| Frame::settings(&[(id, value)]).bytes()),
        1 => Just(Frame::new(6, 0, 0, b"12345678").bytes()),
        1 => (0u32..7, 0u32..14).prop_map(|(last, code)| Frame::goaway(last, code).bytes()),
        1 => (stream.clone(), 0u32..14)
            .prop_map(|(s, code)| Frame::new(3, 0, s, &code.to_be_bytes()).bytes()),
        1 => (any::<u8>(), any::<u8>(), stream, payload)
            .prop_map(|(kind, flags, s, p)| Frame::new(kind, flags, s, &p).bytes()),
    ]
}

proptest! {
    #[test]
    fn the_cuts_make_no_difference(
        frames in prop::collection::vec(frame(), 0..14),
        cut in 1usize..40,
        truncated in 0usize..12,
    ) {
        let mut bytes = frames.concat();
        bytes.truncate(bytes.len().saturating_sub(truncated));
        let whole = played(&bytes, usize::MAX);
        prop_assert_eq!(&played(&bytes, 1), &whole);
        prop_assert_eq!(&played(&bytes, cut), &whole);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 1usize..40) {
        let whole = played(&bytes, usize::MAX);
        prop_assert_eq!(&played(&bytes, cut), &whole);
    }

    #[test]
    fn any_first_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let mut server = Server::silent(Limits::default());
        server.start(&head(), &Bytes::new(), 1);
        let mut lines = server.input(&bytes);
        lines.extend(server.played.end(true));
        prop_assert_eq!(lines.iter().filter(|l| l.starts_with("1 failed")).count(), 1);
    }

    /// Changes one byte of a valid conversation.
    #[test]
    fn one_damaged_byte_is_survived(at in 0usize..400, value in any::<u8>()) {
        let mut server = with_calls();
        let mut bytes = Vec::new();
        for stream in [3, 1, 5] {
            bytes.extend_from_slice(&grpc_response(&mut server, stream, &[0, 0, 0, 0, 1, 9]));
        }
        let block = server.block(&[(":status", "200"), GRPC]);
        bytes.extend_from_slice(&Frame::headers(5, &block).bytes());
        let at = at % bytes.len();
        bytes[at] = value;
        let whole = played(&bytes, usize::MAX);
        prop_assert_eq!(played(&bytes, 1), whole);
    }
}
