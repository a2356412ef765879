//! The calls of a connection, and everything that is written for them. Both the caller's requests
//! ([`super::connection`]) and the server's frames ([`super::receive`]) change them.

use std::collections::VecDeque;

use bytes::Bytes;

use super::error::{ErrorCode, Http2Violation, code_for};
use super::frame::{self, FrameHeader};
use super::receive_window::ReceiveWindow;
use super::send::Sender;
use super::streams::{Stream, Streams};
use crate::error::{Closing, Failure, LimitExceeded, SendError};
use crate::event::{Event, Sink};
use crate::limits::Limits;
use crate::output::Output;
use crate::traffic::Traffic;
use crate::unsent::Unsent;

/// How many of the streams reset by the client are remembered. The server may have sent frames on
/// them before it received the reset. On other closed streams a frame is an error.
const REMEMBERED_RESETS: usize = 256;

#[derive(Debug)]
pub(super) struct Calls {
    pub(super) limits: Limits,
    pub(super) output: Output,
    /// The bytes in `output`, by purpose.
    pub(super) unsent: Unsent,
    pub(super) traffic: Traffic,
    pub(super) streams: Streams,
    pub(super) next_stream: u32,
    pub(super) sender: Sender,
    /// What the server may still send on the connection.
    pub(super) window: ReceiveWindow,
    /// Streams that the client reset recently, oldest first.
    resets: VecDeque<u32>,
    /// Whether older reset streams were dropped from `resets`.
    resets_forgotten: bool,
    /// Upper bound on the unwritten bytes of queued replies.
    queued_replies: usize,
    /// Whether no more calls can be started.
    pub(super) closing: bool,
}

impl Calls {
    pub(super) fn new(limits: Limits) -> Calls {
        Calls {
            output: Output::default(),
            unsent: Unsent::default(),
            traffic: Traffic::default(),
            streams: Streams::default(),
            next_stream: 1,
            sender: Sender::new(limits.encoder_table_size),
            window: ReceiveWindow::new(i64::from(limits.connection_window)),
            resets: VecDeque::new(),
            resets_forgotten: false,
            queued_replies: 0,
            closing: false,
            limits,
        }
    }

    #[inline]
    pub(super) fn consume_output(&mut self, n: usize) {
        self.output.consume(n);
        self.unsent.written(n, &mut self.traffic.sent);
        self.queued_replies = self.queued_replies.min(self.output.len());
        self.pump();
    }

    /// Drops the output, because it will not be written.
    pub(super) fn drop_output(&mut self) {
        self.output.clear();
        self.unsent.clear();
    }

    /// Queues as much of the request bodies as the windows allow.
    #[inline]
    pub(super) fn pump(&mut self) {
        if self.sender.has_queue() {
            self.sender
                .pump(&mut self.streams, &mut self.output, &mut self.unsent);
        }
    }

    /// Queues a control frame.
    pub(super) fn reply(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let written = self.output.append(write);
        self.queued_replies += written;
        self.unsent.overhead(written);
    }

    /// Fails if the server triggers replies without reading them, because they would fill the
    /// client's memory.
    pub(super) fn check_replies(&self) -> Result<(), Failure> {
        let max = self.limits.max_queued_replies;
        if self.queued_replies > max {
            return Err(LimitExceeded::QueuedReplies(max).into());
        }
        Ok(())
    }

    /// Returns received bytes to the connection's window.
    #[inline]
    pub(super) fn give_back(&mut self, bytes: u32) {
        let size = self.limits.connection_window;
        if let Some(increment) = self.window.give_back(bytes, size) {
            self.reply(|out| frame::write_window_update(out, 0, increment));
        }
    }

    /// Returns the received bytes of a stream that the caller has released to both windows.
    pub(super) fn release(&mut self, id: u32, bytes: usize) {
        let Some(stream) = self.streams.get(id) else {
            return;
        };
        let Some(held) = &mut stream.held else {
            return;
        };
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).min(*held);
        *held -= bytes;
        let size = self.limits.stream_window;
        if let Some(increment) = stream.receive_window.give_back(bytes, size) {
            self.reply(|out| frame::write_window_update(out, id, increment));
        }
        self.give_back(bytes);
    }

    pub(super) fn send(&mut self, id: u32, message: &Bytes, last: bool) -> Result<(), SendError> {
        let stream = self.streams.get(id).ok_or(SendError::Ended)?;
        self.sender
            .send_message(stream, message, last, &mut self.output, &mut self.unsent)?;
        self.pump();
        Ok(())
    }

    /// Removes a call that has ended. Always inlined: its callers need little of the stream, which is
    /// then not copied.
    #[inline(always)]
    pub(super) fn remove(&mut self, id: u32) -> Option<Stream> {
        let stream = self.streams.remove(id)?;
        self.sender.forget(&stream);
        if let Some(held) = stream.held {
            self.give_back(held);
        }
        Some(stream)
    }

    /// Ends a call whose response is complete.
    pub(super) fn complete<S: Sink>(&mut self, id: u32, sink: &mut S) {
        let Some(stream) = self.remove(id) else {
            return;
        };
        if stream.is_sending() {
            // The server does not need the rest of the request (RFC 9113 §8.1). The stream is not
            // remembered: the server has ended it, so no frame of the server can be underway.
            self.reply(|out| frame::write_rst_stream(out, id, ErrorCode::CANCEL));
        }
        sink.take(Event::Complete {
            token: stream.token,
        });
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

    /// Ends the calls on streams above `last`. Returns the number of bytes that they held.
    pub(super) fn fail_above<S: Sink>(
        &mut self,
        last: u32,
        sink: &mut S,
        why: impl Fn(&Stream) -> Failure,
    ) -> u32 {
        let mut held = 0;
        for stream in self.streams.remove_above(last) {
            self.sender.forget(&stream);
            held += stream.held.unwrap_or(0);
            sink.take(Event::Failed {
                token: stream.token,
                failure: why(&stream),
            });
        }
        held
    }

    /// Reports, once, that no more calls can be started.
    pub(super) fn close<S: Sink>(&mut self, reason: Closing, sink: &mut S) {
        if !std::mem::replace(&mut self.closing, true) {
            sink.take(Event::Closing { reason });
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

    /// Checks that a call's frame is on a stream that the client opened.
    pub(super) fn check_opened(
        &self,
        header: &FrameHeader,
        name: &'static str,
    ) -> Result<(), Http2Violation> {
        if header.stream == 0 {
            return Err(Http2Violation::FrameStream(name));
        }
        if header.stream.is_multiple_of(2) || header.stream >= self.next_stream {
            return Err(Http2Violation::IdleStream);
        }
        Ok(())
    }

    /// Checks a frame on a closed stream. It is allowed if the client closed the stream, since the
    /// server may not have received the reset yet.
    pub(super) fn check_closed(&self, id: u32) -> Result<(), Failure> {
        if self.resets_forgotten || self.resets.contains(&id) {
            Ok(())
        } else {
            Err(Http2Violation::ClosedStream.into())
        }
    }

    pub(super) fn write_goaway(&mut self, code: ErrorCode) {
        self.reply(|out| frame::write_goaway(out, code));
    }
}
