//! Bodies: DATA frames and the receive windows that they consume (RFC 9113 §6.1, §6.9).

use super::heads::check_end;
use super::{Reading, Receiver, note_first_byte};
use crate::error::{Failure, LimitExceeded};
use crate::event::{Event, Sink};
use crate::http2::calls::Calls;
use crate::http2::error::Http2Violation;
use crate::http2::frame::{self, END_STREAM, FrameHeader, PADDED};
use crate::http2::streams::Stream;
use crate::limits::Limits;

impl Receiver {
    #[inline]
    pub(super) fn begin_data<S: Sink>(
        &mut self,
        calls: &mut Calls,
        header: FrameHeader,
        bytes: &mut &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        calls.check_opened(&header, "DATA")?;
        if header.has(PADDED) && header.length == 0 {
            return Err(Http2Violation::FrameLength("DATA").into());
        }
        if !calls.window.take(header.length) {
            return Err(Http2Violation::FlowControl.into());
        }
        match calls.streams.get(header.stream) {
            None => calls.check_closed(header.stream)?,
            Some(stream) => {
                note_first_byte(stream, sink);
                if !stream.receive_window.take(header.length) {
                    calls.fail_stream(header.stream, Http2Violation::FlowControl, sink);
                } else if !stream.head_seen {
                    calls.fail_stream(header.stream, Http2Violation::DataBeforeHead, sink);
                }
            }
        }
        if header.has(PADDED) {
            self.reading = Some(Reading::PadLength(header));
            return Ok(());
        }
        self.read_data(calls, header, header.length, 0, bytes, sink);
        Ok(())
    }

    pub(super) fn read_data<S: Sink>(
        &mut self,
        calls: &mut Calls,
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
        calls.traffic.received.body += n as u64;
        calls.traffic.received.overhead += skipped as u64;
        let (data, padding) = (data - n as u32, padding - skipped as u32);
        if n > 0
            && let Some(stream) = calls.streams.get(header.stream)
        {
            if let Some(held) = &mut stream.held {
                *held += n as u32;
                stream.receive_window.withhold(n as u32);
                calls.window.withhold(n as u32);
            }
            if let Err(failure) = body(stream, piece, &calls.limits, sink) {
                calls.fail_stream(header.stream, failure, sink);
            }
        }
        if data > 0 || padding > 0 {
            self.reading = Some(Reading::Data {
                header,
                data,
                padding,
            });
        } else {
            self.reading = None;
            finish_data(calls, header, sink);
        }
    }
}

/// Called when a complete DATA frame was read. Returns its bytes to the windows, and ends the call
/// if the frame ends the stream.
#[inline]
fn finish_data<S: Sink>(calls: &mut Calls, header: FrameHeader, sink: &mut S) {
    let (length, id) = (header.length, header.stream);
    calls.give_back(length);
    let Some(stream) = calls.streams.get(id) else {
        return;
    };
    if header.has(END_STREAM) {
        match check_end(stream, true) {
            Ok(()) => calls.complete(id, sink),
            Err(failure) => calls.fail_stream(id, failure, sink),
        }
        return;
    }
    let size = calls.limits.stream_window;
    if let Some(increment) = stream.receive_window.give_back(length, size) {
        calls.reply(|out| frame::write_window_update(out, id, increment));
    }
}

fn body<S: Sink>(
    stream: &mut Stream,
    data: &[u8],
    limits: &Limits,
    sink: &mut S,
) -> Result<(), Failure> {
    let stated = stream.body_left.unwrap_or(u64::MAX);
    let room = stated.min(stream.body_room);
    let within = &data[..data.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
    stream.body_room -= within.len() as u64;
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
        Err(LimitExceeded::BodyBytes(limits.max_body_bytes).into())
    }
}
