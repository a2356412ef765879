//! A client connected to a server that may send anything, with checks for invariants.

use std::io::IoSlice;
use std::sync::LazyLock;

use bytes::Bytes;
use rpcgauge_wire::{
    Client, Event, Exchange, Fields, Head, Limits, Protocol, SendError, StartError, Token, grpc,
};

use crate::meter;
use crate::script::Cut;

/// The maximum size of a request body, in bytes: more than a connection's initial window.
const MAX_BODY: usize = 100_000;

/// The window of a stream until the server knows the client's (RFC 9113 §6.9.2).
const DEFAULT_WINDOW: u64 = 65_535;

static ZEROS: [u8; MAX_BODY] = [0; MAX_BODY];

/// The lengths of request bodies in bytes: empty, short, passed by reference, a few frames, many frames.
const BODY_LENGTHS: [usize; 6] = [0, 1, 100, 4096, 40_000, MAX_BODY];

/// The number of the head that is longer than a frame. Encoding it is slow, so only one value of a byte selects
/// it.
pub const LONG_HEAD: u8 = 0xff;

static LONG: LazyLock<Head> = LazyLock::new(|| {
    let long = Head::builder("GET", "/long", "a").field("x-long", "~".repeat(20_000));
    long.build().expect("a head that can be sent")
});

static HEADS: LazyLock<[Head; 5]> = LazyLock::new(|| {
    [
        Head::builder("GET", "/", "a"),
        Head::builder("POST", "/p", "localhost:80").field("accept", "*/*"),
        grpc::head("/pkg.Service/Method", "localhost", None),
        Head::builder("HEAD", "/", "a"),
        Head::builder("PUT", "/c", "a").close(true),
    ]
    .map(|builder| builder.build().expect("a head that can be sent"))
});

/// How far a call has progressed, according to its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Started,
    FirstByte,
    Head,
    /// The head, which also ended the response.
    HeadEnds,
    Trailers,
    Ended,
}

#[derive(Debug)]
struct Call {
    stage: Stage,
    /// Body bytes that were received, without those of an exchange that were released.
    held: u64,
    is_exchange: bool,
}

/// A call that was started.
#[derive(Debug, Clone, Copy)]
pub struct Started {
    /// The size of the request body, or of all messages so far, in bytes.
    pub body: usize,
    /// Its name, if it is an exchange.
    pub exchange: Option<Exchange>,
    /// Whether more messages may follow.
    pub more: bool,
}

/// Records what the caller sees, so that two conversations can be compared, and checks it against the
/// guarantees of [`Event`] and [`Client`].
#[derive(Debug)]
struct Notes {
    protocol: Protocol,
    limits: Limits,
    log: Vec<u8>,
    /// The call whose body is at the end of the log: consecutive pieces of a body are joined.
    body_of: Option<Token>,
    /// Indexed by token.
    calls: Vec<Call>,
    closing: bool,
}

/// A client with all of its input and output.
#[derive(Debug)]
pub struct Conversation {
    client: Client,
    notes: Notes,
    cut: Cut,
    /// The calls in the order in which they were started. A call's index is its token.
    pub started: Vec<Started>,
    /// All input.
    pub given: Vec<u8>,
    /// All output that was consumed.
    pub taken: Vec<u8>,
}

impl Conversation {
    /// Opens a new connection whose input will be cut as specified.
    pub fn new(protocol: Protocol, limits: Limits, cut: Cut) -> Conversation {
        meter::reset();
        let client = meter::metered(|| Client::new(protocol, limits.clone()));
        Conversation {
            client,
            notes: Notes {
                protocol,
                limits,
                log: Vec::new(),
                body_of: None,
                calls: Vec::new(),
                closing: false,
            },
            cut,
            started: Vec::new(),
            given: Vec::new(),
            taken: Vec::new(),
        }
    }

    /// Starts a call with the head and the body that these numbers select. In an exchange, the body is the
    /// first message, and more can follow.
    pub fn start(&mut self, head: u8, body: u8, is_exchange: bool) {
        let head = match head {
            LONG_HEAD => &LONG,
            number => &HEADS[usize::from(number) % HEADS.len()],
        };
        let length = BODY_LENGTHS[usize::from(body) % BODY_LENGTHS.len()];
        let body = Bytes::from_static(&ZEROS[..length]);
        let (capacity, token) = (self.client.capacity(), self.started.len() as Token);
        let client = &mut self.client;
        let result = meter::metered(|| {
            if is_exchange {
                client.open(head, &body, false, token).map(Some)
            } else {
                client.start(head, &body, token).map(|()| None)
            }
        });
        match result {
            Ok(exchange) => {
                assert!(capacity > 0, "a call was started above the capacity");
                self.started.push(Started {
                    body: length,
                    exchange,
                    more: is_exchange,
                });
                self.notes.calls.push(Call {
                    stage: Stage::Started,
                    held: 0,
                    is_exchange,
                });
            }
            Err(StartError::HeadTooLarge { bytes, accepted }) => assert!(bytes > accepted.into()),
            Err(StartError::Full) => assert!(capacity == 0 && !self.client.is_closed()),
            Err(StartError::Closing) => assert_eq!(capacity, 0),
        }
        self.check();
    }

    /// Sends the message that this number selects on an exchange.
    pub fn send(&mut self, number: u8, body: u8, last: bool) {
        let Some((token, exchange)) = self.exchange(number) else {
            return;
        };
        let length = BODY_LENGTHS[usize::from(body) % BODY_LENGTHS.len()];
        let message = Bytes::from_static(&ZEROS[..length]);
        let client = &mut self.client;
        let is_waiting = client.is_waiting(exchange);
        let result = meter::metered(|| client.send(exchange, &message, last));
        let started = &mut self.started[token];
        let expected = if self.notes.calls[token].stage == Stage::Ended {
            Err(SendError::Ended)
        } else if !started.more {
            Err(SendError::AfterLast)
        } else if is_waiting && length > 0 {
            Err(SendError::Waiting)
        } else {
            started.body += length;
            started.more = !last;
            Ok(())
        };
        assert_eq!(result, expected);
        self.check();
    }

    /// Releases bytes of an exchange.
    pub fn release(&mut self, number: u8, bytes: u32) {
        let Some((token, exchange)) = self.exchange(number) else {
            return;
        };
        let client = &mut self.client;
        meter::metered(|| client.release(exchange, bytes as usize));
        let call = &mut self.notes.calls[token];
        call.held = call.held.saturating_sub(bytes.into());
        self.check();
    }

    fn exchange(&self, number: u8) -> Option<(usize, Exchange)> {
        let token = usize::from(number).checked_rem(self.started.len())?;
        Some((token, self.started[token].exchange?))
    }

    /// Passes input to the client, cut into pieces.
    pub fn give(&mut self, bytes: &[u8]) {
        self.given.extend_from_slice(bytes);
        for piece in self.cut.pieces(bytes) {
            let (client, notes) = (&mut self.client, &mut self.notes);
            meter::metered(|| {
                client.input(piece, &mut |event: Event<'_>| {
                    meter::unmetered(|| notes.note(event))
                });
            });
        }
        self.check();
    }

    /// Cancels a call.
    pub fn cancel(&mut self, number: u8) {
        let count = self.notes.calls.len();
        let token = usize::from(number).checked_rem(count).unwrap_or(0);
        let client = &mut self.client;
        let cancelled = meter::metered(|| client.cancel(token as Token));
        let in_flight = self.notes.calls.get(token).map(|call| call.stage) < Some(Stage::Ended);
        assert_eq!(cancelled, count > 0 && in_flight, "cancelling call {token}");
        if cancelled {
            self.notes.calls[token].stage = Stage::Ended;
        }
        self.check();
    }

    /// Consumes at most `n` bytes of output, or all of it if `n` is 0.
    pub fn take(&mut self, n: u16) {
        let mut left = match n {
            0 => usize::MAX,
            n => usize::from(n),
        };
        while left > 0 && !self.client.output().is_empty() {
            let first = self.client.output();
            let mut slices = [IoSlice::new(&[]); 3];
            let filled = self.client.output_slices(&mut slices);
            assert!(filled > 0 && *slices[0] == *first, "both return the output");
            let taken = left.min(first.len());
            self.taken.extend_from_slice(&first[..taken]);
            let client = &mut self.client;
            meter::metered(|| client.consume_output(taken));
            left -= taken;
        }
        self.check();
    }

    /// Shuts the connection down.
    pub fn shut_down(&mut self) {
        let client = &mut self.client;
        meter::metered(|| client.shut_down());
        assert_eq!(self.client.capacity(), 0);
        self.check();
    }

    /// Ends the transport, cleanly or not.
    pub fn end(&mut self, orderly: bool) {
        let (client, notes) = (&mut self.client, &mut self.notes);
        meter::metered(|| {
            client.end_of_input(orderly, &mut |event: Event<'_>| {
                meter::unmetered(|| notes.note(event))
            });
        });
        assert!(self.client.is_closed() && self.client.in_flight() == 0);
        self.check();
    }

    /// Consumes all output and ends the transport. Checks that every call ended exactly once, and that no more
    /// bytes were counted than received.
    pub fn finish(&mut self) {
        self.take(0);
        assert!(self.client.traffic().received.total() <= self.given.len() as u64);
        self.end(true);
        self.check_memory();
        for (token, call) in self.notes.calls.iter().enumerate() {
            assert_eq!(call.stage, Stage::Ended, "call {token}");
        }
    }

    /// Everything that the caller could observe: the log and the output.
    pub fn seen(&self) -> (&[u8], &[u8]) {
        (&self.notes.log, &self.taken)
    }

    /// Checks the invariants, and records the visible state.
    fn check(&mut self) {
        let client = &self.client;
        let (in_flight, capacity) = (client.in_flight(), client.capacity());
        let calls = &self.notes.calls;
        let open = calls.iter().filter(|call| call.stage < Stage::Ended);
        assert_eq!(in_flight, open.count(), "calls in flight");
        if client.is_closed() {
            assert_eq!((in_flight, capacity), (0, 0), "a closed connection");
        }
        assert!(!self.notes.closing || capacity == 0, "after Closing");
        let sent = client.traffic().sent;
        assert_eq!(sent.total(), self.taken.len() as u64, "{sent:?}");
        // How much of a damaged part is interpreted before the damage is detected depends on how the input is
        // cut.
        let received = if self.notes.closing || client.is_closed() {
            0
        } else {
            client.traffic().received.total()
        };
        let state = [
            in_flight as u64,
            capacity as u64,
            received,
            client.traffic().sent.total(),
            u64::from(client.is_closed()),
            u64::from(client.is_all_sent()),
        ];
        self.notes.body_of = None;
        self.notes.log.extend(state.map(u64::to_le_bytes).concat());
    }

    /// Checks memory against a bound derived from the limits: the input that may be held (twice, for buffers
    /// that grow by doubling) plus the output that may be queued. The bound is generous because the check is
    /// for unbounded growth.
    fn check_memory(&self) {
        let limits = &self.notes.limits;
        let heads = limits.max_head_bytes.min(self.given.len());
        let of_heads = heads + 2 * limits.max_header_list_bytes as usize;
        let of_tables = 8 * (limits.header_table_size + limits.encoder_table_size) as usize;
        let of_replies = limits.max_queued_replies.min(self.given.len() * 4);
        let of_calls = self.started.len() * (2 * 21_000 + 1024);
        let of_output = 2 * (256 * 1024 + of_replies);
        let of_frame = limits.max_frame_size as usize;
        let most = 16_384 + 4 * (of_heads + of_frame) + of_tables + of_output + of_calls;
        let peak = meter::peak();
        assert!(peak <= most as u64, "{peak} bytes held, {most} expected");
    }
}

impl Notes {
    fn note(&mut self, event: Event<'_>) {
        let token = match event {
            Event::FirstByte { token } => self.step(token, Stage::Started, Stage::FirstByte),
            Event::Interim { token, status } => {
                assert!((100..200).contains(&status));
                self.step(token, Stage::FirstByte, Stage::FirstByte)
            }
            Event::Head {
                token,
                status,
                fields,
                end,
            } => {
                assert!((200..1000).contains(&status));
                self.check_fields(&fields);
                let next = if end { Stage::HeadEnds } else { Stage::Head };
                self.step(token, Stage::FirstByte, next)
            }
            Event::Body { token, data } => return self.body(token, data),
            Event::Trailers { token, fields } => {
                assert!(!fields.is_empty());
                self.check_fields(&fields);
                self.step(token, Stage::Head, Stage::Trailers)
            }
            Event::Complete { token } => {
                let stage = self.calls[token as usize].stage;
                assert!((Stage::Head..Stage::Ended).contains(&stage), "{stage:?}");
                self.step(token, stage, Stage::Ended)
            }
            Event::Failed { token, .. } => {
                let stage = self.calls[token as usize].stage;
                assert!(stage < Stage::Ended);
                self.step(token, stage, Stage::Ended)
            }
            Event::Message { .. } | Event::ClosedWith { .. } => panic!("no call is a WebSocket"),
            Event::Closing { .. } => {
                assert!(!std::mem::replace(&mut self.closing, true), "Closing once");
                Token::MAX
            }
        };
        self.body_of = None;
        self.log.extend(token.to_le_bytes());
        self.log.extend(format!("{event:?}").bytes());
    }

    fn step(&mut self, token: Token, from: Stage, to: Stage) -> Token {
        let call = &mut self.calls[token as usize];
        assert_eq!(call.stage, from, "call {token} continues to {to:?}");
        call.stage = to;
        token
    }

    fn body(&mut self, token: Token, data: &[u8]) {
        let call = &mut self.calls[token as usize];
        assert_eq!(call.stage, Stage::Head, "a body of call {token}");
        assert!(!data.is_empty());
        call.held += data.len() as u64;
        let most = if call.is_exchange {
            u64::from(self.limits.stream_window).max(DEFAULT_WINDOW)
        } else {
            self.limits.max_body_bytes
        };
        assert!(call.held <= most);
        if self.body_of.replace(token) != Some(token) {
            self.log.extend(token.to_le_bytes());
            self.log.extend(b"body");
        }
        self.log.extend_from_slice(data);
    }

    fn check_fields(&self, fields: &Fields<'_>) {
        assert!(fields.len() <= self.limits.max_fields);
        for (name, value) in fields.iter() {
            assert!(!name.is_empty() && name.iter().all(u8::is_ascii_graphic));
            let lower = !name.iter().any(u8::is_ascii_uppercase);
            assert!(lower || self.protocol == Protocol::Http1, "{name:?}");
            assert!(!value.iter().any(|b| b"\r\n\0".contains(b)), "{value:?}");
            let blank = |b: Option<&u8>| matches!(b, Some(b' ' | b'\t'));
            assert!(!blank(value.first()) && !blank(value.last()), "{value:?}");
            assert!(fields.get(name).is_some());
        }
    }
}

/// Limits to choose from: the defaults, limits that short inputs reach, and others.
pub fn limits(choice: u8) -> Limits {
    let small = Limits {
        max_head_bytes: 600,
        max_header_list_bytes: 500,
        max_fields: 5,
        max_interim_responses: 2,
        max_body_bytes: 300,
        max_chunk_line_bytes: 12,
        max_continuations: 2,
        max_queued_replies: 200,
        max_calls_in_flight: 5,
        max_calls_before_settings: 2,
        stream_window: 70_000,
        connection_window: 80_000,
        header_table_size: 100,
        encoder_table_size: 100,
        ..Limits::default()
    };
    match choice % 4 {
        0 => Limits::default(),
        1 => small,
        // A window below the protocol's default, and non-default table sizes.
        2 => Limits {
            stream_window: 100,
            header_table_size: 8192,
            encoder_table_size: 0,
            max_calls_before_settings: 4,
            max_frame_size: 20_000,
            ..Limits::default()
        },
        // Limits that no server can reach.
        _ => Limits {
            max_head_bytes: usize::MAX,
            max_body_bytes: u64::MAX,
            max_chunk_line_bytes: usize::MAX,
            max_fields: usize::MAX,
            max_interim_responses: u32::MAX,
            max_continuations: u32::MAX,
            max_queued_replies: usize::MAX,
            stream_window: u32::MAX,
            connection_window: u32::MAX,
            max_frame_size: 16_384,
            ..Limits::default()
        },
    }
}
