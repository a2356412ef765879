//! Bodies: DATA frames and the receive windows that they consume (RFC 9113 §6.1, §6.9).

use super::heads::check_end;
use super::{Reading, note_first_byte};
use crate::error::{Failure, LimitExceeded};
use crate::event::{Event, Sink};
use crate::http2::connection::Connection;
use crate::http2::error::Http2Violation;
use crate::http2::frame::{self, END_STREAM, FrameHeader, PADDED};
use crate::http2::streams::Stream;

impl Connection {
    pub(super) fn begin_data<S: Sink>(
        &mut self,
        header: FrameHeader,
        bytes: &mut &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        self.check_call_stream(&header, "DATA")?;
        if header.has(PADDED) && header.length == 0 {
            return Err(Http2Violation::FrameLength("DATA").into());
        }
        let length = i64::from(header.length);
        if length > self.receiver.window {
            return Err(Http2Violation::FlowControl.into());
        }
        self.receiver.window -= length;
        match self.streams.get(header.stream) {
            None => self.check_closed(header.stream)?,
            Some(stream) => {
                note_first_byte(stream, sink);
                if length > stream.receive_window {
                    self.fail_stream(header.stream, Http2Violation::FlowControl, sink);
                } else if !stream.head_seen {
                    self.fail_stream(header.stream, Http2Violation::DataBeforeHead, sink);
                } else {
                    stream.receive_window -= length;
                }
            }
        }
        if header.has(PADDED) {
            self.receiver.reading = Some(Reading::PadLength(header));
            return Ok(());
        }
        self.read_data(header, header.length, 0, bytes, sink);
        Ok(())
    }

    pub(super) fn read_data<S: Sink>(
        &mut self,
        header: FrameHeader,
        data: u32,
        padding: u32,
        bytes: &mut &[u8],
        sink: &mut S,
    ) {
        let n = (data as usize).min(bytes.len());
        let (piece, rest) = bytes.split_at(n);
        let skipped = (padding as usize).min(rest.len());
        *bytes = &rest[skipped..];
        self.traffic.received.body += n as u64;
        self.traffic.received.overhead += skipped as u64;
        let (data, padding) = (data - n as u32, padding - skipped as u32);
        let max_body = self.limits.max_body_bytes;
        if n > 0
            && let Some(stream) = self.streams.get(header.stream)
            && let Err(failure) = body(stream, piece, max_body, sink)
        {
            self.fail_stream(header.stream, failure, sink);
        }
        if data > 0 || padding > 0 {
            self.receiver.reading = Some(Reading::Data {
                header,
                data,
                padding,
            });
        } else {
            self.receiver.reading = None;
            self.finish_data(header, sink);
        }
    }

    /// Called when a complete DATA frame was read. Returns its bytes to the windows, and ends the
    /// call if the frame ends the stream.
    fn finish_data<S: Sink>(&mut self, header: FrameHeader, sink: &mut S) {
        self.announce_window(header.length);
        let Some(stream) = self.streams.get(header.stream) else {
            return;
        };
        if header.has(END_STREAM) {
            match check_end(stream, true) {
                Ok(()) => self.complete(header.stream, sink),
                Err(failure) => self.fail_stream(header.stream, failure, sink),
            }
            return;
        }
        stream.unannounced += header.length;
        // Updates are batched. When half of the window is used, the server still has the other
        // half.
        if stream.unannounced > 0 && stream.unannounced >= self.limits.stream_window / 2 {
            let increment = std::mem::take(&mut stream.unannounced);
            stream.receive_window += i64::from(increment);
            self.reply(|out| frame::write_window_update(out, header.stream, increment));
        }
    }

    #[inline]
    fn announce_window(&mut self, received: u32) {
        let receiver = &mut self.receiver;
        receiver.unannounced += received;
        if receiver.unannounced >= self.limits.connection_window / 2 {
            let increment = std::mem::take(&mut receiver.unannounced);
            receiver.window += i64::from(increment);
            self.reply(|out| frame::write_window_update(out, 0, increment));
        }
    }
}

fn body<S: Sink>(
    stream: &mut Stream,
    data: &[u8],
    max_body: u64,
    sink: &mut S,
) -> Result<(), Failure> {
    let stated = stream.body_left.unwrap_or(u64::MAX);
    let room = stated.min(max_body - stream.body_bytes);
    let within = &data[..data.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
    stream.body_bytes += within.len() as u64;
    if let Some(left) = &mut stream.body_left {
        *left -= within.len() as u64;
    }
    if !within.is_empty() {
        sink.take(Event::Body {
            token: stream.token,
            data: within,
        });
    }
    if within.len() == data.len() {
        Ok(())
    } else if room == stated {
        Err(Http2Violation::LengthMismatch.into())
    } else {
        Err(LimitExceeded::BodyBytes(max_body).into())
    }
}
