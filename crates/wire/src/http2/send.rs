//! Sends heads, and bodies as the windows allow (RFC 9113 §5.2, §6.9).

use std::collections::VecDeque;

use bytes::Bytes;

use super::error::Http2Violation;
use super::frame::settings::{DEFAULT_FRAME_SIZE, DEFAULT_WINDOW, MAX_WINDOW, Setting};
use super::frame::{END_HEADERS, END_STREAM, HEADER_LENGTH, kind, write_header};
use super::head_blocks::HeadBlocks;
use super::hpack::ENTRY_OVERHEAD;
use super::streams::{Stream, Streams};
use crate::error::{SendError, StartError};
use crate::output::{ENOUGH_QUEUED, Output};
use crate::request::{Decimal, Head};
use crate::unsent::Unsent;

/// The sending side of a connection.
#[derive(Debug)]
pub(super) struct Sender {
    blocks: HeadBlocks,
    /// The connection's window, in bytes. Never negative, unlike a stream's.
    window: i64,
    /// The initial window of a new stream, in bytes (the server's SETTINGS_INITIAL_WINDOW_SIZE).
    pub(super) initial_window: u32,
    /// The server's SETTINGS_MAX_FRAME_SIZE.
    max_frame: usize,
    /// The server's SETTINGS_MAX_CONCURRENT_STREAMS; `None` until its SETTINGS arrive.
    pub(super) max_concurrent: Option<u32>,
    /// The server's SETTINGS_MAX_HEADER_LIST_SIZE.
    max_header_list: Option<u32>,
    /// Streams with a body to send and room in their window, which take turns.
    queue: VecDeque<u32>,
    /// Number of streams with unsent body bytes.
    sending: usize,
}

impl Sender {
    pub(super) fn new(table_size: u32) -> Sender {
        Sender {
            blocks: HeadBlocks::new(table_size),
            window: i64::from(DEFAULT_WINDOW),
            initial_window: DEFAULT_WINDOW,
            max_frame: DEFAULT_FRAME_SIZE as usize,
            max_concurrent: None,
            max_header_list: None,
            queue: VecDeque::new(),
            sending: 0,
        }
    }

    #[inline]
    pub(super) fn is_sending(&self) -> bool {
        self.sending > 0
    }

    /// Whether [`Sender::pump`] may have work to do.
    #[inline]
    pub(super) fn has_queue(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Removes a stream that has ended.
    #[inline]
    pub(super) fn forget(&mut self, stream: &Stream) {
        if stream.is_waiting() {
            self.take_back(stream.id);
        }
    }

    /// Removes the rest of a body. Without this, a server that opens no window and resets every
    /// call would fill the queue.
    fn take_back(&mut self, stream: u32) {
        self.sending -= 1;
        self.queue.retain(|id| *id != stream);
    }

    /// Checks that the server accepts a head of this size.
    #[inline]
    pub(super) fn check_size(&self, head: &Head, length: Option<u64>) -> Result<(), StartError> {
        let Some(accepted) = self.max_header_list else {
            return Ok(());
        };
        let of_length = length.map_or(0, |length| {
            "content-length".len() + Decimal::new(length).as_bytes().len() + ENTRY_OVERHEAD
        });
        let bytes = head.http2.list_size() + of_length as u64;
        if bytes > u64::from(accepted) {
            return Err(StartError::HeadTooLarge { bytes, accepted });
        }
        Ok(())
    }

    /// Writes HEADERS, followed by CONTINUATION frames if the block is longer than a frame.
    #[inline]
    pub(super) fn write_head(
        &mut self,
        head: &Head,
        length: Option<u64>,
        stream: u32,
        end: bool,
        output: &mut Output,
        unsent: &mut Unsent,
    ) {
        let max = self.max_frame;
        let block = self.blocks.block(head, length);
        output.append(|out| {
            let end_stream = if end { END_STREAM } else { 0 };
            let (first, mut rest) = block.split_at(block.len().min(max));
            let end_headers = |rest: &[u8]| if rest.is_empty() { END_HEADERS } else { 0 };
            let flags = end_stream | end_headers(rest);
            write_header(out, first.len(), kind::HEADERS, flags, stream);
            out.extend_from_slice(first);
            unsent.push(HEADER_LENGTH, first.len(), 0);
            while !rest.is_empty() {
                let (part, after) = rest.split_at(rest.len().min(max));
                write_header(
                    out,
                    part.len(),
                    kind::CONTINUATION,
                    end_headers(after),
                    stream,
                );
                out.extend_from_slice(part);
                unsent.push(HEADER_LENGTH, part.len(), 0);
                rest = after;
            }
        });
    }

    /// Sends a short body immediately if the window and the queue allow it. Leaves any other body
    /// to [`Sender::pump`].
    #[inline]
    pub(super) fn start_body(
        &mut self,
        stream: &mut Stream,
        body: &Bytes,
        output: &mut Output,
        unsent: &mut Unsent,
    ) {
        let room = self.window.min(stream.send_window);
        let fits = body.len() <= self.max_frame && body.len() as i64 <= room;
        if body.is_empty() {
        } else if fits && self.queue.is_empty() && output.len() < ENOUGH_QUEUED {
            self.write_data(stream, body, body.len(), output, unsent);
        } else {
            stream.body = Some(body.clone());
            self.sending += 1;
            self.queue.push_back(stream.id);
        }
    }

    /// Sends another message.
    pub(super) fn send_message(
        &mut self,
        stream: &mut Stream,
        message: &Bytes,
        last: bool,
        output: &mut Output,
        unsent: &mut Unsent,
    ) -> Result<(), SendError> {
        if !stream.more {
            return Err(SendError::AfterLast);
        }
        if !message.is_empty() {
            if stream.is_waiting() {
                return Err(SendError::Waiting);
            }
            stream.more = !last;
            stream.sent = 0;
            stream.prefix_left = stream.prefix;
            self.start_body(stream, message, output, unsent);
        } else if last {
            stream.more = false;
            // If a message waits, its end will have END_STREAM.
            if !stream.is_waiting() {
                output.append(|out| write_header(out, 0, kind::DATA, END_STREAM, stream.id));
                unsent.overhead(HEADER_LENGTH);
            }
        }
        Ok(())
    }

    /// Sends bodies in turn, one frame each, as the windows and [`ENOUGH_QUEUED`] allow.
    pub(super) fn pump(&mut self, streams: &mut Streams, output: &mut Output, unsent: &mut Unsent) {
        while self.window > 0 && output.len() < ENOUGH_QUEUED {
            let Some(id) = self.queue.pop_front() else {
                return;
            };
            let Some(stream) = streams.get(id) else {
                continue;
            };
            let room = self.window.min(stream.send_window);
            if room <= 0 {
                stream.blocked = true;
                continue;
            }
            let Some(body) = stream.body.take() else {
                continue;
            };
            let left = body.len() - stream.sent;
            let n = left
                .min(self.max_frame)
                .min(usize::try_from(room).unwrap_or(usize::MAX));
            self.write_data(stream, &body, n, output, unsent);
            if stream.sent < body.len() {
                stream.body = Some(body);
                self.queue.push_back(id);
            } else {
                self.sending -= 1;
            }
        }
    }

    /// Writes the next `n` bytes of a body as one frame.
    #[inline]
    fn write_data(
        &mut self,
        stream: &mut Stream,
        body: &Bytes,
        n: usize,
        output: &mut Output,
        unsent: &mut Unsent,
    ) {
        let end = stream.sent + n;
        let flags = if end == body.len() && !stream.more {
            END_STREAM
        } else {
            0
        };
        output.append(|out| write_header(out, n, kind::DATA, flags, stream.id));
        output.body(body, stream.sent, end);
        stream.sent = end;
        stream.send_window -= n as i64;
        self.window -= n as i64;
        // Cannot truncate: a frame has less than 2^24 bytes.
        let of_prefix = stream.prefix_left.min(n as u32);
        stream.prefix_left -= of_prefix;
        let of_prefix = of_prefix as usize;
        unsent.push(HEADER_LENGTH + of_prefix, 0, n - of_prefix);
    }

    /// Increases the connection's window.
    pub(super) fn widen(&mut self, by: u32) -> Result<(), Http2Violation> {
        if by == 0 {
            return Err(Http2Violation::WindowIncrement);
        }
        self.window += i64::from(by);
        if self.window > i64::from(MAX_WINDOW) {
            return Err(Http2Violation::WindowOverflow);
        }
        Ok(())
    }

    /// Changes a stream's window; `by` may be negative.
    pub(super) fn widen_stream(
        &mut self,
        stream: &mut Stream,
        by: i64,
    ) -> Result<(), Http2Violation> {
        stream.send_window += by;
        if stream.send_window > i64::from(MAX_WINDOW) {
            return Err(Http2Violation::WindowOverflow);
        }
        if stream.blocked && stream.send_window > 0 {
            stream.blocked = false;
            self.queue.push_back(stream.id);
        }
        Ok(())
    }

    /// Applies one of the server's settings.
    pub(super) fn set(
        &mut self,
        setting: Setting,
        streams: &mut Streams,
    ) -> Result<(), Http2Violation> {
        match setting {
            Setting::HeaderTableSize(size) => self.blocks.set_allowed_size(size),
            Setting::MaxConcurrentStreams(most) => self.max_concurrent = Some(most),
            Setting::InitialWindowSize(size) => {
                let change = i64::from(size) - i64::from(self.initial_window);
                self.initial_window = size;
                for stream in streams.iter_mut() {
                    self.widen_stream(stream, change)?;
                }
            }
            Setting::MaxFrameSize(size) => self.max_frame = size as usize,
            Setting::MaxHeaderListSize(size) => self.max_header_list = Some(size),
            Setting::Ignored => {}
        }
        Ok(())
    }

    /// Called with the server's first SETTINGS. If they set no limit, concurrent streams are
    /// unlimited.
    pub(super) fn settings_received(&mut self) {
        self.max_concurrent.get_or_insert(u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::super::streams::stream;
    use super::*;

    /// Here the connection's window stays closed, and every call ends before its body is sent.
    #[test]
    fn calls_that_end_unsent_leave_nothing_in_the_queue() {
        let mut sender = Sender::new(0);
        sender.window = 0;
        let (mut output, mut unsent) = (Output::default(), Unsent::default());
        for number in 0..1000 {
            let mut call = stream(number * 2 + 1);
            let body = Bytes::from_static(b"body");
            sender.start_body(&mut call, &body, &mut output, &mut unsent);
            assert!(sender.is_sending());
            sender.forget(&call);
            assert!(!sender.is_sending());
        }
        assert_eq!(sender.queue.len(), 0);
    }
}
