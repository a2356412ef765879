//! Exchanges of messages.

use bytes::Bytes;
use proptest::prelude::*;

use super::hostile::with_two_calls;
use super::script::{Frame, GRPC, Server, grpc_response};
use super::{body, head};
use crate::{Exchange, Head, Limits, SendError};

/// The frames that the client wrote, as `NAME length`, with `end` for END_STREAM.
fn written(server: &mut Server) -> Vec<String> {
    let show = |frame: &Frame| {
        let ends = matches!(frame.name(), "DATA" | "HEADERS") && frame.flags & 1 == 1;
        let end = if ends { " end" } else { "" };
        format!("{} {}{end}", frame.name(), frame.payload.len())
    };
    server.frames().iter().map(show).collect()
}

/// A server with an exchange of token 7 on stream 1, whose response has begun.
fn exchanging(limits: Limits) -> (Server, Exchange) {
    let mut server = Server::ready_with(limits);
    let exchange = server.open(&head(), 7);
    server.frames();
    let block = server.block(&[(":status", "200"), GRPC]);
    server.input(&Frame::headers(1, &block).bytes());
    (server, exchange)
}

#[test]
fn messages_are_sent_one_by_one_until_the_last() {
    let mut server = Server::ready();
    let before = *server.played.client.traffic();
    let exchange = server.open(&head(), 7);
    let heading = server.frames();
    assert_eq!((heading.len(), heading[0].flags), (1, 0x4));
    for last in [false, false, true] {
        assert_eq!(server.send(exchange, &body(), last), Ok(()));
        let end = if last { " end" } else { "" };
        assert_eq!(written(&mut server), [format!("DATA 10{end}")]);
    }
    let sent = server.played.client.traffic().since(&before).sent;
    assert_eq!((sent.body, sent.overhead), (3 * 5, 4 * 9 + 3 * 5));
    assert_eq!(
        server.send(exchange, &body(), false),
        Err(SendError::AfterLast)
    );
    let response = grpc_response(&mut server, 1, b"\0\0\0\0\x02hi");
    assert_eq!(server.input(&response).last().unwrap(), "7 complete");
    assert_eq!(server.send(exchange, &body(), false), Err(SendError::Ended));
    assert_eq!(written(&mut server), [""; 0], "it was half-closed before");
}

#[test]
fn an_empty_message_only_half_closes() {
    let mut server = Server::ready();
    let exchange = server.open(&head(), 7);
    assert_eq!(server.send(exchange, &Bytes::new(), false), Ok(()));
    server.frames();
    assert_eq!(server.send(exchange, &Bytes::new(), true), Ok(()));
    assert_eq!(written(&mut server), ["DATA 0 end"]);
}

#[test]
fn a_single_message_is_sent_as_a_whole_request_is() {
    let plain = Head::builder("POST", "/", "a").build().unwrap();
    for message in [body(), Bytes::new()] {
        let (mut whole, mut single) = (Server::ready(), Server::ready());
        whole.start(&plain, &message, 7);
        let client = &mut single.played.client;
        client.open(&plain, &message, true, 7).unwrap();
        assert_eq!(single.frames(), whole.frames());
    }
}

#[test]
fn a_message_waits_for_the_window_and_keeps_its_end() {
    let mut server = Server::ready();
    server.settings(&[(4, 3)]);
    let exchange = server.open(&head(), 7);
    server.frames();
    assert_eq!(server.send(exchange, &body(), false), Ok(()));
    assert!(server.played.client.is_waiting(exchange));
    assert!(!server.played.client.is_all_sent());
    assert_eq!(
        server.send(exchange, &body(), false),
        Err(SendError::Waiting)
    );
    assert_eq!(server.send(exchange, &Bytes::new(), true), Ok(()));
    assert_eq!(written(&mut server), ["DATA 3"]);
    server.input(&Frame::window_update(1, 6).bytes());
    assert_eq!(written(&mut server), ["DATA 6"]);
    assert!(server.played.client.is_waiting(exchange));
    server.input(&Frame::window_update(1, 1).bytes());
    assert_eq!(written(&mut server), ["DATA 1 end"]);
    assert!(!server.played.client.is_waiting(exchange));
}

#[test]
fn a_response_that_ends_first_ends_the_request() {
    for waits in [false, true] {
        let (mut server, exchange) = exchanging(Limits::default());
        let message = Bytes::from(vec![0; if waits { 100_000 } else { 10 }]);
        server.send(exchange, &message, false).unwrap();
        server.frames();
        assert_eq!(server.played.client.is_waiting(exchange), waits);
        let block = server.block(&[("grpc-status", "9")]);
        let trailers = Frame::headers(1, &block).end_stream().bytes();
        // RFC 9113 §8.1: the server asks the client not to send the rest.
        let reset = Frame::new(3, 0, 1, &[0; 4]).bytes();
        let late_window = Frame::window_update(1, 9).bytes();
        assert_eq!(
            server.input(&[trailers, reset, late_window].concat()),
            ["7 trailers grpc-status=9", "7 complete"]
        );
        assert_eq!(written(&mut server), ["RST_STREAM 4"]);
        assert_eq!(server.send(exchange, &message, true), Err(SendError::Ended));
        assert!(!server.played.client.is_waiting(exchange));
        assert!(server.played.client.is_all_sent() && !server.played.client.is_closed());
    }
}

#[test]
fn nothing_may_follow_the_end_of_a_response_although_the_request_goes_on() {
    for with_trailers in [false, true] {
        for heads in [false, true] {
            let (mut server, _) = exchanging(Limits::default());
            let block = server.block(&[("grpc-status", "0")]);
            let end = if with_trailers {
                Frame::headers(1, &block).end_stream()
            } else {
                Frame::data(1, b"x").end_stream()
            };
            server.input(&end.bytes());
            let more = if heads {
                Frame::headers(1, &block).end_stream()
            } else {
                Frame::data(1, b"x")
            };
            let lines = server.input(&more.bytes());
            let rule = "closing: the server violated the protocol: a frame comes after its stream's \
                        end (RFC 9113 §5.1)";
            assert_eq!(lines, [rule]);
        }
    }
}

#[test]
fn a_server_that_never_half_closes_keeps_its_exchange_until_it_is_cancelled() {
    let (mut server, exchange) = exchanging(Limits::default());
    server.send(exchange, &body(), true).unwrap();
    server.input(&Frame::data(1, b"\0\0\0\0\x01a").bytes());
    assert_eq!(server.played.client.in_flight(), 1);
    server.frames();
    assert!(server.played.client.cancel(7));
    assert_eq!(written(&mut server), ["RST_STREAM 4"]);
    assert_eq!(server.send(exchange, &body(), true), Err(SendError::Ended));
    server.played.client.release(exchange, 6);
    assert_eq!(
        server.input(&Frame::data(1, b"late").bytes()),
        [""; 0],
        "the reset may still be underway"
    );
}

fn small_windows() -> Limits {
    Limits {
        stream_window: 100,
        connection_window: 65_535,
        ..Limits::default()
    }
}

#[test]
fn a_slow_reader_stops_the_server() {
    let (mut server, exchange) = exchanging(small_windows());
    assert_eq!(server.input(&Frame::data(1, &[0; 100]).bytes()).len(), 1);
    assert_eq!(written(&mut server), [""; 0], "nothing is taken");
    server.played.client.release(exchange, 10);
    let frames = server.frames();
    assert_eq!(frames, [Frame::window_update(1, 10)]);
    server.played.client.release(exchange, 90);
    assert_eq!(server.frames(), [Frame::window_update(1, 90)]);
    server.input(&Frame::data(1, &[0; 100]).bytes());
    server.played.client.release(exchange, 10);
    let lines = server.input(&Frame::data(1, &[0; 11]).bytes());
    assert_eq!(
        lines,
        [
            "7 failed: the server violated the protocol: the server sends more than flow control \
          allows (RFC 9113 §6.9.1)"
        ]
    );
}

/// Half of the window is used up by a message that was taken; the next fills the rest.
#[test]
fn a_message_of_a_whole_window_arrives_although_updates_are_batched() {
    let (mut server, exchange) = exchanging(small_windows());
    server.input(&Frame::data(1, &[0; 40]).bytes());
    server.played.client.release(exchange, 40);
    assert_eq!(server.frames(), [], "the server still has more than that");
    server.input(&Frame::data(1, &[0; 60]).bytes());
    assert_eq!(server.frames(), [Frame::window_update(1, 40)]);
}

#[test]
fn padding_needs_no_reader() {
    let (mut server, _) = exchanging(small_windows());
    let mut padded = Frame::data(1, &[&[79][..], &[0; 99]].concat());
    padded.flags |= 0x8;
    server.input(&padded.bytes());
    assert_eq!(server.frames(), [Frame::window_update(1, 80)]);
}

#[test]
fn the_end_of_an_exchange_returns_its_bytes_to_the_connection() {
    let limits = Limits {
        connection_window: 65_535,
        ..Limits::default()
    };
    let ends: [fn(&mut Server); 4] = [
        |server| {
            let end = Frame::data(1, b"").end_stream();
            server.input(&end.bytes());
        },
        |server| {
            server.played.client.cancel(7);
        },
        |server| {
            server.input(&Frame::new(3, 0, 1, &[0; 4]).bytes());
        },
        |server| {
            server.input(&Frame::goaway(0, 0).bytes());
        },
    ];
    for end in ends {
        let (mut server, _) = exchanging(limits.clone());
        server.input(&Frame::data(1, &[0; 16_000]).bytes().repeat(4));
        assert_eq!(server.frames(), [], "the connection's window is as slow");
        end(&mut server);
        let update = Frame::window_update(0, 64_000);
        assert!(server.frames().contains(&update));
    }
}

#[test]
fn other_calls_are_not_held() {
    let mut server = with_two_calls(small_windows());
    let block = server.block(&[(":status", "200")]);
    server.input(&Frame::headers(1, &block).bytes());
    server.input(&Frame::data(1, &[0; 60]).bytes());
    assert_eq!(server.frames(), [Frame::window_update(1, 60)]);
}

#[derive(Debug, Clone)]
enum Step {
    /// The server sends this much, or what it may. With padding.
    Data(usize, usize, u8),
    /// The caller releases this many of the bytes that it has.
    Release(usize, usize),
    Cancel(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let size = prop_oneof![0usize..100, 0usize..20_000];
    prop_oneof![
        4 => (0usize..3, size.clone(), 0u8..9).prop_map(|(n, size, pad)| Step::Data(n, size, pad)),
        3 => (0usize..3, size).prop_map(|(n, size)| Step::Release(n, size)),
        1 => (0usize..20).prop_map(Step::Cancel),
    ]
}

const STREAM_WINDOW: usize = 30_000;
const CONNECTION_WINDOW: usize = 70_000;

/// Three exchanges, the windows that the server knows of, and the bytes that the caller has.
struct Held {
    server: Server,
    exchanges: Vec<Exchange>,
    connection: usize,
    streams: [usize; 3],
    held: [usize; 3],
    open: [bool; 3],
}

impl Held {
    fn new() -> Held {
        let mut server = Server::ready_with(Limits {
            stream_window: STREAM_WINDOW as u32,
            connection_window: CONNECTION_WINDOW as u32,
            ..Limits::default()
        });
        let exchanges = (0..3).map(|token| server.open(&head(), token)).collect();
        for stream in [1, 3, 5] {
            let block = server.block(&[(":status", "200"), GRPC]);
            server.input(&Frame::headers(stream, &block).bytes());
        }
        Held {
            server,
            exchanges,
            connection: CONNECTION_WINDOW,
            streams: [STREAM_WINDOW; 3],
            held: [0; 3],
            open: [true; 3],
        }
    }

    fn play(&mut self, step: &Step) {
        match *step {
            Step::Data(n, size, pad) if self.open[n] => {
                let room = self.connection.min(self.streams[n]).min(16_384);
                let overhead = if pad > 0 { 1 + usize::from(pad) } else { 0 };
                let Some(room) = room.checked_sub(overhead) else {
                    return;
                };
                let size = size.min(room);
                let stream = n as u32 * 2 + 1;
                let mut frame = Frame::data(stream, &vec![0; size]);
                if pad > 0 {
                    frame.flags |= 0x8;
                    frame.payload.insert(0, pad);
                    frame.payload.extend(vec![0; usize::from(pad)]);
                }
                self.connection -= frame.payload.len();
                self.streams[n] -= frame.payload.len();
                self.held[n] += size;
                let lines = self.server.input(&frame.bytes());
                assert!(lines.iter().all(|line| line.contains("body")), "{lines:?}");
            }
            Step::Release(n, size) if self.open[n] => {
                let size = size.min(self.held[n]);
                self.held[n] -= size;
                self.server.played.client.release(self.exchanges[n], size);
            }
            Step::Cancel(n) if n < 3 && self.open[n] => {
                self.open[n] = false;
                self.held[n] = 0;
                assert!(self.server.played.client.cancel(n as u64));
            }
            _ => {}
        }
        for frame in self.server.frames() {
            if frame.name() != "WINDOW_UPDATE" {
                continue;
            }
            let increment = u32::from_be_bytes(frame.payload[..].try_into().unwrap()) as usize;
            match frame.stream {
                0 => self.connection += increment,
                stream => self.streams[stream as usize / 2] += increment,
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// A server that keeps to its windows never makes the caller hold more than these, and gets room
    /// again when the caller releases what it holds.
    #[test]
    fn no_more_is_held_than_the_windows_allow(steps in prop::collection::vec(step(), 1..80)) {
        let mut held = Held::new();
        for step in &steps {
            held.play(step);
            let sum = held.held.iter().sum::<usize>();
            prop_assert!(sum + held.connection <= CONNECTION_WINDOW);
            // No deadlock: a server without room waits only for the reader.
            prop_assert!(held.connection > 0 || sum == CONNECTION_WINDOW);
            for n in 0..3 {
                prop_assert!(!held.open[n] || held.held[n] + held.streams[n] <= STREAM_WINDOW);
                prop_assert!(held.streams[n] > 0 || held.held[n] == STREAM_WINDOW || !held.open[n]);
            }
        }
        for n in 0..3 {
            held.play(&Step::Release(n, usize::MAX));
        }
        prop_assert!(held.connection >= CONNECTION_WINDOW / 2);
        for n in (0..3).filter(|n| held.open[*n]) {
            prop_assert!(held.streams[n] >= STREAM_WINDOW / 2);
        }
    }
}
