//! Heads and trailers: HEADERS and CONTINUATION.

use super::OpenBlock;
use crate::error::{Failure, LimitExceeded};
use crate::event::{Event, Sink};
use crate::http2::connection::Connection;
use crate::http2::error::{ErrorCode, Http2Violation};
use crate::http2::frame::{END_HEADERS, END_STREAM, FrameHeader};
use crate::http2::received_blocks::ReceivedBlock;
use crate::http2::streams::Stream;
use crate::limits::Limits;

impl Connection {
    pub(super) fn headers<S: Sink>(
        &mut self,
        header: FrameHeader,
        fragment: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        let end_stream = header.has(END_STREAM);
        if header.has(END_HEADERS) {
            return self.block(header.stream, end_stream, fragment, sink);
        }
        self.check_block_size(fragment.len())?;
        self.receiver.block = Some(OpenBlock {
            stream: header.stream,
            end_stream,
            bytes: fragment.to_vec(),
            continuations: 0,
        });
        Ok(())
    }

    pub(super) fn continuation<S: Sink>(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        let Some(mut block) = self.receiver.block.take() else {
            return Err(Http2Violation::UnexpectedContinuation.into());
        };
        block.continuations += 1;
        if block.continuations > self.limits.max_continuations {
            return Err(LimitExceeded::Continuations(self.limits.max_continuations).into());
        }
        self.check_block_size(block.bytes.len() + payload.len())?;
        block.bytes.extend_from_slice(payload);
        if header.has(END_HEADERS) {
            return self.block(block.stream, block.end_stream, &block.bytes, sink);
        }
        self.receiver.block = Some(block);
        Ok(())
    }

    fn check_block_size(&self, length: usize) -> Result<(), LimitExceeded> {
        let max = self.limits.max_head_bytes;
        if length > max {
            Err(LimitExceeded::HeadBytes(max))
        } else {
            Ok(())
        }
    }

    /// Processes a complete field block. It is decoded even if its stream is closed, to keep the
    /// table in sync.
    fn block<S: Sink>(
        &mut self,
        id: u32,
        end_stream: bool,
        block: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        self.check_block_size(block.len())?;
        let block = self
            .blocks
            .decode(&mut self.decoder, block)
            .map_err(|error| Failure::Violation(error.into()))?;
        let Some(stream) = self.streams.get(id) else {
            return self.check_closed(id);
        };
        let max_fields = self.limits.max_fields;
        let result = if block.fields().is_over_limit() {
            Err(LimitExceeded::HeaderListBytes(self.limits.max_header_list_bytes).into())
        } else if block.fields().fields().len() > max_fields {
            Err(LimitExceeded::Fields(max_fields).into())
        } else if stream.head_seen {
            trailers(stream, block, end_stream, sink)
        } else {
            head(stream, block, end_stream, &self.limits, sink)
        };
        match result {
            Err(failure) => self.fail_stream(id, failure, sink),
            Ok(()) if end_stream => self.complete(id, sink),
            Ok(()) => {}
        }
        Ok(())
    }

    /// Checks a frame on a closed stream. It is allowed if the client closed the stream, since the
    /// server may not have received the reset yet.
    pub(super) fn check_closed(&self, id: u32) -> Result<(), Failure> {
        if self.may_be_reset(id) {
            Ok(())
        } else {
            Err(Http2Violation::ClosedStream.into())
        }
    }

    pub(super) fn complete<S: Sink>(&mut self, id: u32, sink: &mut S) {
        let Some(stream) = self.remove(id) else {
            return;
        };
        if stream.is_sending() {
            // The server does not need the rest of the request (RFC 9113 §8.1).
            self.reset(id, ErrorCode::CANCEL);
        }
        sink.take(Event::Complete {
            token: stream.token,
        });
    }
}

/// Processes an interim or final head.
fn head<S: Sink>(
    stream: &mut Stream,
    block: &mut ReceivedBlock,
    end_stream: bool,
    limits: &Limits,
    sink: &mut S,
) -> Result<(), Failure> {
    let head = block.head()?;
    let (token, status) = (stream.token, head.status);
    if (100..200).contains(&status) {
        if status == 101 || end_stream {
            return Err(Http2Violation::Interim.into());
        }
        stream.interim += 1;
        let most = limits.max_interim_responses;
        if stream.interim > most {
            return Err(LimitExceeded::InterimResponses(most).into());
        }
        sink.take(Event::Interim { token, status });
        return Ok(());
    }
    stream.head_seen = true;
    let bodiless = stream.head_method || matches!(status, 204 | 304);
    stream.body_left = if bodiless {
        Some(0)
    } else {
        head.content_length
    };
    let max_body = limits.max_body_bytes;
    if stream.body_left.is_some_and(|stated| stated > max_body) {
        return Err(LimitExceeded::BodyBytes(max_body).into());
    }
    if end_stream {
        check_end(stream, true)?;
    }
    // `:status` is the first and only pseudo-header field.
    sink.take(Event::Head {
        token,
        status,
        fields: block.fields().fields_after(1),
        end: end_stream,
    });
    Ok(())
}

fn trailers<S: Sink>(
    stream: &Stream,
    block: &mut ReceivedBlock,
    end_stream: bool,
    sink: &mut S,
) -> Result<(), Failure> {
    block.check_trailers()?;
    check_end(stream, end_stream)?;
    let fields = block.fields().fields();
    if !fields.is_empty() {
        sink.take(Event::Trailers {
            token: stream.token,
            fields,
        });
    }
    Ok(())
}

/// Checks that a stream may end here. `end_stream` is false for trailers that do not end it.
pub(super) fn check_end(stream: &Stream, end_stream: bool) -> Result<(), Failure> {
    if !end_stream {
        Err(Http2Violation::TrailersNotLast.into())
    } else if stream.body_left.is_some_and(|left| left > 0) {
        Err(Http2Violation::LengthMismatch.into())
    } else {
        Ok(())
    }
}
