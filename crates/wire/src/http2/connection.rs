//! One HTTP/2 connection: its interface to the caller, and how it and its calls end.
//!
//! ```text
//!   open ──GOAWAY, shut down, numbers used up──► closing ──last call ends──► closed
//!     └──────────violation, transport ends───────────┴────────────────────────► dead
//! ```
//!
//! [`super::receive`] processes the server's frames, [`super::send`] writes the client's.

use std::collections::VecDeque;

use bytes::Bytes;

use super::error::{ErrorCode, code_for};
use super::frame::settings::{DEFAULT_FRAME_SIZE, DEFAULT_WINDOW, FRAME_SIZE_LIMIT, MAX_WINDOW};
use super::frame::{self, settings};
use super::hpack::Decoder;
use super::receive::Receiver;
use super::received_blocks::ReceivedBlocks;
use super::send::Sender;
use super::streams::{Stream, Streams};
use super::unsent::Unsent;
use crate::error::{Closing, Failure, LimitExceeded, Stage, StartError};
use crate::event::{Event, Sink, Token};
use crate::limits::Limits;
use crate::output::Output;
use crate::request::Head;
use crate::traffic::Traffic;

/// The first bytes that a client sends (RFC 9113 §3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The highest stream number (RFC 9113 §5.1.1).
const LAST_STREAM: u32 = (1 << 31) - 1;

/// How many of the streams reset by the client are remembered. The server may have sent frames on
/// them before it received the reset. On other closed streams a frame is an error.
const REMEMBERED_RESETS: usize = 256;

#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) limits: Limits,
    pub(crate) output: Output,
    /// The bytes in `output`, by purpose.
    pub(super) unsent: Unsent,
    pub(crate) traffic: Traffic,
    pub(super) streams: Streams,
    pub(super) next_stream: u32,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) decoder: Decoder,
    pub(super) blocks: ReceivedBlocks,
    /// The last stream named by the server's GOAWAY.
    pub(super) last_processed: Option<u32>,
    /// Streams that the client reset recently, oldest first.
    resets: VecDeque<u32>,
    /// Whether older reset streams were dropped from `resets`.
    resets_forgotten: bool,
    /// Upper bound on the unwritten bytes of queued replies.
    queued_replies: usize,
    closing: bool,
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
            output: Output::default(),
            unsent: Unsent::default(),
            traffic: Traffic::default(),
            streams: Streams::default(),
            next_stream: 1,
            sender: Sender::new(limits.encoder_table_size),
            receiver: Receiver::new(limits.connection_window, limits.stream_window),
            decoder: Decoder::new(),
            blocks: ReceivedBlocks::new(limits.max_header_list_bytes),
            last_processed: None,
            resets: VecDeque::new(),
            resets_forgotten: false,
            queued_replies: 0,
            closing: false,
            dead: false,
            limits,
        };
        connection.write_preface();
        connection
    }

    fn write_preface(&mut self) {
        let limits = &self.limits;
        let written = self.output.append(|out| {
            out.extend_from_slice(PREFACE);
            settings::write(out, limits);
            if limits.connection_window > DEFAULT_WINDOW {
                frame::write_window_update(out, 0, limits.connection_window - DEFAULT_WINDOW);
            }
        });
        self.unsent.overhead(written);
    }

    #[inline]
    pub(crate) fn start(
        &mut self,
        head: &Head,
        body: &Bytes,
        token: Token,
    ) -> Result<(), StartError> {
        if self.closing || self.dead {
            return Err(StartError::Closing);
        }
        if self.capacity() == 0 {
            return Err(StartError::Full);
        }
        let stated = head.http2_content_length && head.states_length(body.len());
        let length = stated.then_some(body.len() as u64);
        self.sender.check_size(head, length)?;
        let id = self.next_stream;
        self.next_stream += 2;
        // After the last stream number, the connection accepts no more calls.
        self.closing = self.next_stream > LAST_STREAM;
        let mut stream = Stream {
            id,
            token,
            send_window: i64::from(self.sender.initial_window),
            receive_window: self.receiver.initial_window,
            prefix_left: head.body_prefix,
            head_method: head.is_head_method,
            ..Stream::default()
        };
        let (output, unsent) = (&mut self.output, &mut self.unsent);
        self.sender
            .write_head(head, length, id, body.is_empty(), output, unsent);
        self.sender.start_body(&mut stream, body, output, unsent);
        self.streams.insert(stream);
        self.pump();
        Ok(())
    }

    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        if self.closing || self.dead {
            return 0;
        }
        let most = match self.sender.max_concurrent {
            None => self.limits.max_calls_before_settings,
            Some(allowed) => allowed.min(self.limits.max_calls_in_flight),
        };
        (most as usize).saturating_sub(self.streams.len())
    }

    #[inline]
    pub(crate) fn in_flight(&self) -> usize {
        self.streams.len()
    }

    #[inline]
    pub(crate) fn consume_output(&mut self, n: usize) {
        self.output.consume(n);
        self.unsent.written(n, &mut self.traffic.sent);
        self.queued_replies = self.queued_replies.min(self.output.len());
        self.pump();
    }

    #[inline]
    pub(crate) fn is_all_sent(&self) -> bool {
        self.output.len() == 0 && !self.sender.is_sending()
    }

    pub(crate) fn cancel(&mut self, token: Token) -> bool {
        let id = self
            .streams
            .iter_mut()
            .find(|stream| stream.token == token)
            .map(|s| s.id);
        let Some(id) = id else { return false };
        self.remove(id);
        self.reset(id, ErrorCode::CANCEL);
        true
    }

    pub(crate) fn shut_down(&mut self) {
        if !self.closing && !self.dead {
            self.closing = true;
            self.write_goaway(ErrorCode::NO_ERROR);
        }
    }

    pub(crate) fn ping(&mut self) -> bool {
        if self.is_closed() {
            return false;
        }
        // Any 8 bytes work: only the acknowledgement matters.
        let written = self
            .output
            .append(|out| frame::write_ping(out, 0, *b"rpcgauge"));
        self.unsent.overhead(written);
        true
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.dead || self.closing && self.streams.len() == 0
    }

    pub(crate) fn input<S: Sink>(&mut self, mut bytes: &[u8], sink: &mut S) {
        while !bytes.is_empty() && !self.dead {
            let result = self
                .receive(&mut bytes, sink)
                .and_then(|()| self.check_replies());
            if let Err(failure) = result {
                self.fail(failure, sink);
            }
        }
    }

    pub(crate) fn end_of_input<S: Sink>(&mut self, _orderly: bool, sink: &mut S) {
        if self.dead {
            return;
        }
        self.output.clear();
        self.unsent.clear();
        self.end_all(sink, |stream| Failure::Closed {
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
        self.close(Closing::Ended, sink);
        self.dead = true;
    }

    /// Ends the connection after a connection error.
    fn fail<S: Sink>(&mut self, failure: Failure, sink: &mut S) {
        self.write_goaway(code_for(&failure));
        self.end_all(sink, |_| failure);
        self.close(Closing::Failed(failure), sink);
        self.dead = true;
    }

    /// Reports, once, that no more calls can be started.
    pub(super) fn close<S: Sink>(&mut self, reason: Closing, sink: &mut S) {
        if !std::mem::replace(&mut self.closing, true) {
            sink.take(Event::Closing { reason });
        }
    }

    fn end_all<S: Sink>(&mut self, sink: &mut S, why: impl Fn(&Stream) -> Failure) {
        for stream in self.streams.remove_above(0) {
            self.sender.forget(&stream);
            sink.take(Event::Failed {
                token: stream.token,
                failure: why(&stream),
            });
        }
    }

    /// Removes a call that has ended.
    #[inline]
    pub(super) fn remove(&mut self, id: u32) -> Option<Stream> {
        let stream = self.streams.remove(id)?;
        self.sender.forget(&stream);
        Some(stream)
    }

    /// Ends one call after a stream error.
    pub(super) fn fail_stream<S: Sink>(
        &mut self,
        id: u32,
        failure: impl Into<Failure>,
        sink: &mut S,
    ) {
        let failure = failure.into();
        if let Some(stream) = self.remove(id) {
            self.reset(id, code_for(&failure));
            sink.take(Event::Failed {
                token: stream.token,
                failure,
            });
        }
    }

    /// Queues RST_STREAM and remembers the stream.
    pub(super) fn reset(&mut self, id: u32, code: ErrorCode) {
        if self.resets.len() == REMEMBERED_RESETS {
            self.resets.pop_front();
            self.resets_forgotten = true;
        }
        self.resets.push_back(id);
        self.reply(|out| frame::write_rst_stream(out, id, code));
    }

    /// Whether the server may still send frames on a closed stream, because the client reset it.
    pub(super) fn may_be_reset(&self, id: u32) -> bool {
        self.resets_forgotten || self.resets.contains(&id)
    }

    fn write_goaway(&mut self, code: ErrorCode) {
        self.reply(|out| frame::write_goaway(out, code));
    }

    /// Queues a control frame.
    pub(super) fn reply(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let written = self.output.append(write);
        self.queued_replies += written;
        self.unsent.overhead(written);
    }

    /// Fails if the server triggers replies without reading them, because they would fill the
    /// client's memory.
    fn check_replies(&self) -> Result<(), Failure> {
        let max = self.limits.max_queued_replies;
        if self.queued_replies > max {
            return Err(LimitExceeded::QueuedReplies(max).into());
        }
        Ok(())
    }

    /// Queues as much of the request bodies as the windows allow.
    #[inline]
    pub(super) fn pump(&mut self) {
        if self.sender.has_queue() {
            self.sender
                .pump(&mut self.streams, &mut self.output, &mut self.unsent);
        }
    }
}
