//! One HTTP/2 connection: its interface to the caller, and how it ends.
//!
//! ```text
//!   open ──GOAWAY, shut down, numbers used up──► closing ──last call ends──► closed
//!     └──────────violation, transport ends───────────┴────────────────────────► dead
//! ```
//!
//! [`super::receive`] processes the server's frames, [`super::send`] writes the client's.

use bytes::Bytes;

use super::calls::Calls;
use super::error::{ErrorCode, code_for};
use super::frame::settings::{DEFAULT_FRAME_SIZE, DEFAULT_WINDOW, FRAME_SIZE_LIMIT, MAX_WINDOW};
use super::frame::{self, settings};
use super::receive::Receiver;
use super::receive_window::ReceiveWindow;
use super::streams::Stream;
use crate::error::{Closing, Failure, SendError, Stage, StartError};
use crate::event::{Exchange, Sink, Token};
use crate::limits::Limits;
use crate::output::Output;
use crate::request::Head;
use crate::traffic::Traffic;

/// The first bytes that a client sends (RFC 9113 §3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The highest stream number (RFC 9113 §5.1.1).
const LAST_STREAM: u32 = (1 << 31) - 1;

#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) calls: Calls,
    receiver: Receiver,
    dead: bool,
}

impl Connection {
    /// Creates a connection, with the values of `limits` clamped to the ranges that RFC 9113
    /// allows.
    pub(crate) fn new(mut limits: Limits) -> Self {
        limits.stream_window = limits.stream_window.clamp(1, MAX_WINDOW);
        limits.connection_window = limits.connection_window.clamp(DEFAULT_WINDOW, MAX_WINDOW);
        limits.max_frame_size = limits
            .max_frame_size
            .clamp(DEFAULT_FRAME_SIZE, FRAME_SIZE_LIMIT);
        let mut connection = Connection {
            receiver: Receiver::new(&limits),
            calls: Calls::new(limits),
            dead: false,
        };
        connection.write_preface();
        connection
    }

    fn write_preface(&mut self) {
        let calls = &mut self.calls;
        let limits = &calls.limits;
        let written = calls.output.append(|out| {
            out.extend_from_slice(PREFACE);
            settings::write(out, limits);
            if limits.connection_window > DEFAULT_WINDOW {
                frame::write_window_update(out, 0, limits.connection_window - DEFAULT_WINDOW);
            }
        });
        calls.unsent.overhead(written);
    }

    #[inline]
    pub(crate) fn start(
        &mut self,
        head: &Head,
        body: &Bytes,
        token: Token,
    ) -> Result<(), StartError> {
        let stream = Stream {
            token,
            body_room: self.calls.limits.max_body_bytes,
            ..Stream::default()
        };
        self.begin(head, body, stream).map(|_| ())
    }

    pub(crate) fn open(
        &mut self,
        head: &Head,
        first: &Bytes,
        last: bool,
        token: Token,
    ) -> Result<Exchange, StartError> {
        let stream = Stream {
            token,
            more: !last,
            held: Some(0),
            body_room: u64::MAX,
            ..Stream::default()
        };
        self.begin(head, first, stream).map(Exchange)
    }

    /// Starts a call on `stream`, with the rest of its fields to be filled in. Returns its number.
    #[inline]
    fn begin(&mut self, head: &Head, body: &Bytes, stream: Stream) -> Result<u32, StartError> {
        let room = self.capacity();
        let calls = &mut self.calls;
        if calls.closing || self.dead {
            return Err(StartError::Closing);
        }
        if room == 0 {
            return Err(StartError::Full);
        }
        let stated = !stream.more && head.http2_content_length && head.states_length(body.len());
        let length = stated.then_some(body.len() as u64);
        calls.sender.check_size(head, length)?;
        let id = calls.next_stream;
        calls.next_stream += 2;
        // After the last stream number, the connection accepts no more calls.
        calls.closing = calls.next_stream > LAST_STREAM;
        let mut stream = Stream {
            id,
            send_window: i64::from(calls.sender.initial_window),
            receive_window: ReceiveWindow::new(self.receiver.initial_window),
            prefix: head.body_prefix,
            prefix_left: head.body_prefix,
            head_method: head.is_head_method,
            ..stream
        };
        let end = body.is_empty() && !stream.more;
        let (output, unsent) = (&mut calls.output, &mut calls.unsent);
        calls
            .sender
            .write_head(head, length, id, end, output, unsent);
        calls.sender.start_body(&mut stream, body, output, unsent);
        calls.streams.insert(stream);
        calls.pump();
        Ok(id)
    }

    pub(crate) fn send(
        &mut self,
        exchange: Exchange,
        message: &Bytes,
        last: bool,
    ) -> Result<(), SendError> {
        self.calls.send(exchange.0, message, last)
    }

    pub(crate) fn end(&mut self, exchange: Exchange) -> Result<(), SendError> {
        self.send(exchange, &Bytes::new(), true)
    }

    pub(crate) fn is_waiting(&self, exchange: Exchange) -> bool {
        self.calls.streams.is_waiting(exchange.0)
    }

    pub(crate) fn release(&mut self, exchange: Exchange, bytes: usize) {
        self.calls.release(exchange.0, bytes);
    }

    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        let calls = &self.calls;
        if calls.closing || self.dead {
            return 0;
        }
        let most = match calls.sender.max_concurrent {
            None => calls.limits.max_calls_before_settings,
            Some(allowed) => allowed.min(calls.limits.max_calls_in_flight),
        };
        (most as usize).saturating_sub(calls.streams.len())
    }

    #[inline]
    pub(crate) fn in_flight(&self) -> usize {
        self.calls.streams.len()
    }

    #[inline]
    pub(crate) fn output(&self) -> &Output {
        &self.calls.output
    }

    #[inline]
    pub(crate) fn consume_output(&mut self, n: usize) {
        self.calls.consume_output(n);
    }

    #[inline]
    pub(crate) fn is_all_sent(&self) -> bool {
        self.calls.output.len() == 0 && !self.calls.sender.is_sending()
    }

    #[inline]
    pub(crate) fn traffic(&self) -> &Traffic {
        &self.calls.traffic
    }

    #[inline]
    pub(crate) fn traffic_mut(&mut self) -> &mut Traffic {
        &mut self.calls.traffic
    }

    pub(crate) fn cancel(&mut self, token: Token) -> bool {
        let streams = &mut self.calls.streams;
        let stream = streams.iter_mut().find(|stream| stream.token == token);
        let Some(id) = stream.map(|stream| stream.id) else {
            return false;
        };
        self.calls.remove(id);
        self.calls.reset(id, ErrorCode::CANCEL);
        true
    }

    pub(crate) fn shut_down(&mut self) {
        if !self.calls.closing && !self.dead {
            self.calls.closing = true;
            self.calls.write_goaway(ErrorCode::NO_ERROR);
        }
    }

    pub(crate) fn ping(&mut self) -> bool {
        if self.is_closed() {
            return false;
        }
        // Any 8 bytes work: only the acknowledgement matters.
        let calls = &mut self.calls;
        let written = calls
            .output
            .append(|out| frame::write_ping(out, 0, *b"rpcgauge"));
        calls.unsent.overhead(written);
        true
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.dead || self.calls.closing && self.calls.streams.len() == 0
    }

    pub(crate) fn input<S: Sink>(&mut self, mut bytes: &[u8], sink: &mut S) {
        while !bytes.is_empty() && !self.dead {
            let result = self
                .receiver
                .receive(&mut self.calls, &mut bytes, sink)
                .and_then(|()| self.calls.check_replies());
            if let Err(failure) = result {
                self.calls.write_goaway(code_for(&failure));
                self.die(Closing::Failed(failure), sink, |_| failure);
            }
        }
    }

    pub(crate) fn end_of_input<S: Sink>(&mut self, _orderly: bool, sink: &mut S) {
        if self.dead {
            return;
        }
        self.calls.drop_output();
        self.die(Closing::Ended, sink, |stream| Failure::Closed {
            stage: match stream {
                Stream {
                    head_seen: true, ..
                } => Stage::InBody,
                Stream {
                    first_byte_seen: true,
                    ..
                } => Stage::InHead,
                _ => Stage::BeforeHead,
            },
        });
    }

    /// Ends the connection and every call.
    fn die<S: Sink>(&mut self, reason: Closing, sink: &mut S, why: impl Fn(&Stream) -> Failure) {
        self.calls.fail_above(0, sink, why);
        self.calls.close(reason, sink);
        self.dead = true;
    }
}
