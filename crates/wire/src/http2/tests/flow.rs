//! Flow control in both directions, exact to the byte.

use std::collections::HashMap;

use bytes::Bytes;
use proptest::prelude::*;

use super::script::{Frame, Server};
use crate::{Exchange, Head, Limits, SendError};

fn head() -> Head {
    Head::builder("POST", "/", "a").build().unwrap()
}

fn data_lengths(frames: &[Frame]) -> Vec<(u32, usize, bool)> {
    let data = frames.iter().filter(|f| f.name() == "DATA");
    data.map(|f| (f.stream, f.payload.len(), f.flags & 1 == 1))
        .collect()
}

#[test]
fn a_large_body_stops_at_the_window_and_goes_on_when_it_opens() {
    let mut server = Server::ready();
    let body = Bytes::from((0..100_000u32).map(|i| i as u8).collect::<Vec<_>>());
    server.start(&head(), &body, 1);
    let sent = data_lengths(&server.frames());
    let frame = |n| (1, n, false);
    assert_eq!(
        sent,
        [frame(16_384), frame(16_384), frame(16_384), frame(16_383)]
    );
    server.input(&Frame::window_update(1, 100_000).bytes());
    assert_eq!(
        server.frames(),
        [],
        "the connection's window is still closed"
    );
    server.input(&Frame::window_update(0, 1).bytes());
    assert_eq!(data_lengths(&server.frames()), [frame(1)]);
    server.input(&Frame::window_update(0, 1_000_000).bytes());
    let sent = data_lengths(&server.frames());
    assert_eq!(
        sent,
        [
            frame(16_384),
            frame(16_384),
            (1, 100_000 - 65_536 - 32_768, true)
        ]
    );
    assert!(server.played.client.is_all_sent());
}

#[test]
fn a_lowered_window_may_fall_below_zero() {
    let mut server = Server::ready();
    server.start(&head(), &Bytes::from(vec![1; 100_000]), 1);
    server.frames();
    server.input(&Frame::window_update(0, 1 << 20).bytes());
    // The window of 65,535 is used up, so lowering it to 1,000 makes it 1,000 - 65,535.
    server.settings(&[(4, 1_000)]);
    server.input(&Frame::window_update(1, 64_535).bytes());
    assert_eq!(data_lengths(&server.frames()), []);
    server.input(&Frame::window_update(1, 1).bytes());
    assert_eq!(data_lengths(&server.frames()), [(1, 1, false)]);
    server.settings(&[(4, 1_010)]);
    assert_eq!(data_lengths(&server.frames()), [(1, 10, false)]);
}

#[test]
fn a_new_call_starts_with_the_window_that_is_set() {
    let mut server = Server::ready();
    server.settings(&[(4, 3)]);
    server.start(&head(), &Bytes::from_static(b"hello"), 1);
    assert_eq!(data_lengths(&server.frames()), [(1, 3, false)]);
    server.input(&Frame::window_update(1, 2).bytes());
    assert_eq!(data_lengths(&server.frames()), [(1, 2, true)]);
}

#[test]
fn a_message_prefix_cut_by_the_window_is_counted_once() {
    let mut server = Server::ready();
    server.settings(&[(4, 3)]);
    server.frames();
    let before = *server.played.client.traffic();
    let head = crate::grpc::head("/a/b", "c", None).build().unwrap();
    server.start(&head, &Bytes::from_static(b"\0\0\0\0\x04abcd"), 1);
    server.input(&Frame::window_update(1, 3).bytes());
    server.input(&Frame::window_update(1, 100).bytes());
    server.frames();
    let sent = server.played.client.traffic().since(&before).sent;
    // The frame headers of HEADERS and three DATA frames, and the message prefix.
    assert_eq!((sent.body, sent.overhead), (4, 4 * 9 + 5));
}

#[test]
fn calls_share_the_window_in_turn() {
    let mut server = Server::ready();
    server.settings(&[(4, 1 << 20)]);
    for token in 0..2 {
        server.start(&head(), &Bytes::from(vec![0; 60_000]), token);
    }
    let before = data_lengths(&server.frames());
    assert_eq!(before.iter().map(|(_, n, _)| n).sum::<usize>(), 65_535);
    server.input(&Frame::window_update(0, 40_000).bytes());
    let streams: Vec<u32> = data_lengths(&server.frames())
        .iter()
        .map(|(s, _, _)| *s)
        .collect();
    assert!(streams.contains(&3), "{streams:?}");
}

#[test]
fn larger_frames_are_used_when_the_server_takes_them() {
    let mut server = Server::ready();
    server.settings(&[(5, 50_000)]);
    server.start(&head(), &Bytes::from(vec![0; 60_000]), 1);
    assert_eq!(
        data_lengths(&server.frames()),
        [(1, 50_000, false), (1, 10_000, true)]
    );
}

#[test]
fn a_body_is_not_queued_further_than_it_is_written() {
    let mut server = Server::ready();
    server.settings(&[(4, 1 << 30)]);
    server.input(&Frame::window_update(0, 1 << 30).bytes());
    let body = Bytes::from(vec![0; 10 << 20]);
    server.start(&head(), &body, 1);
    let mut pieces = [std::io::IoSlice::new(&[]); 64];
    let filled = server.played.client.output_slices(&mut pieces);
    let queued: usize = pieces[..filled].iter().map(|piece| piece.len()).sum();
    assert!(filled < pieces.len() && queued < 300_000, "{queued}");
    let sent: usize = data_lengths(&server.frames())
        .iter()
        .map(|(_, n, _)| n)
        .sum();
    assert_eq!(sent, 10 << 20);
    assert_eq!(
        server.played.client.traffic().sent.total(),
        server.played.taken
    );
}

#[test]
fn received_bytes_are_given_back_in_batches() {
    let limits = Limits {
        stream_window: 100_000,
        connection_window: 150_000,
        ..Limits::default()
    };
    let mut server = Server::ready_with(limits);
    server.start(&head(), &Bytes::new(), 1);
    server.frames();
    let block = server.block(&[(":status", "200")]);
    server.input(&Frame::headers(1, &block).bytes());
    let mut updates = Vec::new();
    for _ in 0..50 {
        server.input(&Frame::data(1, &[0; 10_000]).bytes());
        updates.extend(server.frames().into_iter().map(|f| (f.stream, f.payload)));
    }
    let total = |stream| -> u32 {
        let of_stream = updates.iter().filter(|(s, _)| *s == stream);
        of_stream
            .map(|(_, p)| u32::from_be_bytes(p[..].try_into().unwrap()))
            .sum()
    };
    assert_eq!(total(1), 500_000);
    assert_eq!(
        total(0),
        480_000,
        "updates of 80,000, the first multiple of the frame size above half a window"
    );
    assert_eq!(updates.len(), 10 + 6);
}

#[test]
fn a_window_overrun_ends_the_connection_or_the_call_only() {
    for (stream_window, connection_window, name, code_at, capacity) in [
        (1 << 20, 65_535, "GOAWAY", 7, 0),
        (70_000, 64 << 20, "RST_STREAM", 3, 1000),
    ] {
        let limits = Limits {
            stream_window,
            connection_window,
            max_frame_size: 100_000,
            ..Limits::default()
        };
        let mut server = Server::ready_with(limits);
        server.start(&head(), &Bytes::new(), 1);
        let block = server.block(&[(":status", "200")]);
        server.input(&Frame::headers(1, &block).bytes());
        let overrun = vec![0; stream_window.min(connection_window) as usize + 1];
        let lines = server.input(&Frame::data(1, &overrun).bytes());
        let why = "more than flow control allows";
        assert!(lines[0].contains(why), "{lines:?}");
        let frames = server.frames();
        let last = frames.last().unwrap();
        assert_eq!((last.name(), last.payload[code_at]), (name, 3));
        assert_eq!(server.played.client.capacity(), capacity);
    }
}

#[test]
fn until_settings_are_acknowledged_the_default_window_holds() {
    let limits = Limits {
        stream_window: 10,
        ..Limits::default()
    };
    let mut server = Server::silent(limits);
    server.settings(&[]);
    server.start(&head(), &Bytes::new(), 1);
    let block = server.block(&[(":status", "200")]);
    server.input(&Frame::headers(1, &block).bytes());
    let lines = server.input(&Frame::data(1, &[0; 1000]).bytes());
    assert_eq!(lines, ["1 body of 1000 bytes"]);
    // The received bytes are returned to the window, and the acknowledgement lowers it to 10.
    server.input(&Frame::new(4, 1, 0, b"").bytes());
    assert_eq!(
        server.input(&Frame::data(1, &[0; 10]).bytes()),
        [r"1 body \x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"]
    );
    let lines = server.input(&Frame::data(1, &[0; 11]).bytes());
    assert!(
        lines[0].contains("more than flow control allows"),
        "{lines:?}"
    );
}

#[derive(Debug, Clone)]
enum Step {
    Start(usize),
    Open(usize),
    Send(usize, usize, bool),
    WidenConnection(u32),
    WidenStream(u32, u32),
    InitialWindow(u32),
    FrameSize(u32),
    Cancel(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0usize..60_000).prop_map(Step::Start),
        (0usize..60_000).prop_map(Step::Open),
        (0usize..12, 0usize..60_000, any::<bool>())
            .prop_map(|(n, length, last)| Step::Send(n, length, last)),
        (1u32..60_000).prop_map(Step::WidenConnection),
        (0u32..12, 1u32..60_000).prop_map(|(n, by)| Step::WidenStream(n, by)),
        (0u32..100_000).prop_map(Step::InitialWindow),
        (16_384u32..40_000).prop_map(Step::FrameSize),
        (0u64..12).prop_map(Step::Cancel),
    ]
}

/// How much the client may send, from the server's point of view.
struct Account {
    connection: i64,
    initial: i64,
    largest_frame: usize,
    streams: HashMap<u32, Receiving>,
    exchanges: Vec<(Exchange, u32)>,
}

/// What the server expects on a stream.
struct Receiving {
    window: i64,
    received: Vec<u8>,
    /// The body, or the messages so far.
    expected: Vec<u8>,
    /// Whether no message may follow.
    last: bool,
    ended: bool,
}

impl Account {
    /// Reads the client's frames.
    fn read(&mut self, frames: Vec<Frame>) -> Result<(), TestCaseError> {
        for frame in frames {
            if frame.name() != "DATA" {
                continue;
            }
            let n = frame.payload.len();
            prop_assert!(n <= self.largest_frame);
            self.connection -= n as i64;
            let stream = self.streams.get_mut(&frame.stream).unwrap();
            stream.window -= n as i64;
            prop_assert!(self.connection >= 0);
            prop_assert!(n == 0 || stream.window >= 0);
            stream.received.extend_from_slice(&frame.payload);
            prop_assert!(!stream.ended);
            stream.ended = frame.flags & 1 == 1;
            let is_whole = stream.received == stream.expected;
            prop_assert_eq!(stream.ended, is_whole && stream.last);
        }
        Ok(())
    }
}

fn pattern(token: u64, length: usize) -> Bytes {
    Bytes::from(
        (0..length)
            .map(|i| (i as u64 * 7 + token) as u8)
            .collect::<Vec<_>>(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// The client respects the windows however the server changes them, and every body that fits
    /// arrives in full.
    #[test]
    fn the_client_keeps_to_every_window(steps in prop::collection::vec(step(), 1..60)) {
        let mut server = Server::ready();
        let mut account = Account {
            connection: 65_535,
            initial: 65_535,
            largest_frame: 16_384,
            streams: HashMap::new(),
            exchanges: Vec::new(),
        };
        let mut token = 0;
        let mut cancelled = Vec::new();
        for step in steps {
            // Frames that the client queued before it received a change follow the old state, so
            // the server reads everything before it changes its windows.
            account.read(server.frames())?;
            match step {
                Step::Start(length) | Step::Open(length) => {
                    if server.played.client.capacity() == 0 {
                        continue;
                    }
                    let body = pattern(token, length);
                    let stream = token as u32 * 2 + 1;
                    let is_open = matches!(step, Step::Open(_));
                    if is_open {
                        let client = &mut server.played.client;
                        let exchange = client.open(&head(), &body, false, token).unwrap();
                        account.exchanges.push((exchange, stream));
                    } else {
                        server.start(&head(), &body, token);
                    }
                    account.streams.insert(stream, Receiving {
                        window: account.initial,
                        received: Vec::new(),
                        expected: body.to_vec(),
                        last: !is_open,
                        ended: !is_open && length == 0,
                    });
                    token += 1;
                }
                Step::Send(which, length, last) => {
                    let Some((exchange, stream)) = account.exchanges.get(which) else {
                        continue;
                    };
                    let is_waiting = server.played.client.is_waiting(*exchange);
                    let message = pattern(which as u64, length);
                    let result = server.send(*exchange, &message, last);
                    let of_stream = account.streams.get_mut(stream).unwrap();
                    let refused = if cancelled.contains(stream) {
                        Err(SendError::Ended)
                    } else if of_stream.last {
                        Err(SendError::AfterLast)
                    } else if is_waiting && length > 0 {
                        Err(SendError::Waiting)
                    } else {
                        of_stream.expected.extend_from_slice(&message);
                        of_stream.last = last;
                        Ok(())
                    };
                    prop_assert_eq!(result, refused);
                }
                Step::WidenConnection(by) => {
                    account.connection += i64::from(by);
                    server.input(&Frame::window_update(0, by).bytes());
                }
                Step::WidenStream(which, by) => {
                    let stream = which * 2 + 1;
                    if let Some(of_stream) = account.streams.get_mut(&stream) {
                        of_stream.window += i64::from(by);
                        server.input(&Frame::window_update(stream, by).bytes());
                    }
                }
                Step::InitialWindow(size) => {
                    let change = i64::from(size) - account.initial;
                    account.initial += change;
                    account.streams.values_mut().for_each(|stream| stream.window += change);
                    server.settings(&[(4, size)]);
                }
                Step::FrameSize(size) => {
                    account.largest_frame = size as usize;
                    server.settings(&[(5, size)]);
                }
                Step::Cancel(which) => {
                    if server.played.client.cancel(which) {
                        cancelled.push(which as u32 * 2 + 1);
                    }
                }
            }
        }
        account.read(server.frames())?;
        // Open all windows, so that each call that was not cancelled is sent in full.
        account.connection = i64::MAX;
        account.streams.values_mut().for_each(|stream| stream.window = i64::MAX);
        server.settings(&[(4, 10_000_000)]);
        server.input(&Frame::window_update(0, 100_000_000).bytes());
        account.read(server.frames())?;
        prop_assert!(server.played.client.is_all_sent());
        for (number, stream) in account.streams {
            if cancelled.contains(&number) {
                prop_assert!(stream.expected.starts_with(&stream.received));
            } else {
                prop_assert!(stream.received == stream.expected);
                prop_assert_eq!(stream.ended, stream.last);
            }
        }
        prop_assert_eq!(server.played.client.traffic().sent.total(), server.played.taken);
    }
}
