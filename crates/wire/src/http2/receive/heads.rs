//! Heads and trailers: HEADERS and CONTINUATION.

use super::{OpenBlock, Receiver};
use crate::error::{Failure, LimitExceeded};
use crate::event::{Event, Sink};
use crate::http2::calls::Calls;
use crate::http2::error::Http2Violation;
use crate::http2::frame::{END_HEADERS, END_STREAM, FrameHeader};
use crate::http2::received_blocks::ReceivedBlock;
use crate::http2::streams::Stream;
use crate::limits::Limits;

impl Receiver {
    pub(super) fn headers<S: Sink>(
        &mut self,
        calls: &mut Calls,
        header: FrameHeader,
        fragment: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        let end_stream = header.has(END_STREAM);
        if header.has(END_HEADERS) {
            return self.block(calls, header.stream, end_stream, fragment, sink);
        }
        check_block_size(&calls.limits, fragment.len())?;
        self.block = Some(OpenBlock {
            stream: header.stream,
            end_stream,
            bytes: fragment.to_vec(),
            continuations: 0,
        });
        Ok(())
    }

    pub(super) fn continuation<S: Sink>(
        &mut self,
        calls: &mut Calls,
        header: FrameHeader,
        payload: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        let Some(mut block) = self.block.take() else {
            return Err(Http2Violation::UnexpectedContinuation.into());
        };
        block.continuations += 1;
        if block.continuations > calls.limits.max_continuations {
            return Err(LimitExceeded::Continuations(calls.limits.max_continuations).into());
        }
        check_block_size(&calls.limits, block.bytes.len() + payload.len())?;
        block.bytes.extend_from_slice(payload);
        if header.has(END_HEADERS) {
            return self.block(calls, block.stream, block.end_stream, &block.bytes, sink);
        }
        self.block = Some(block);
        Ok(())
    }

    /// Processes a complete field block. It is decoded even if its stream is closed, to keep the
    /// table in sync.
    fn block<S: Sink>(
        &mut self,
        calls: &mut Calls,
        id: u32,
        end_stream: bool,
        block: &[u8],
        sink: &mut S,
    ) -> Result<(), Failure> {
        check_block_size(&calls.limits, block.len())?;
        let block = self
            .blocks
            .decode(&mut self.decoder, block)
            .map_err(|error| Failure::Violation(error.into()))?;
        let Some(stream) = calls.streams.get(id) else {
            return calls.check_closed(id);
        };
        let max_fields = calls.limits.max_fields;
        let result = if block.fields().is_over_limit() {
            Err(LimitExceeded::HeaderListBytes(calls.limits.max_header_list_bytes).into())
        } else if block.fields().fields().len() > max_fields {
            Err(LimitExceeded::Fields(max_fields).into())
        } else if stream.head_seen {
            trailers(stream, block, end_stream, sink)
        } else {
            head(stream, block, end_stream, &calls.limits, sink)
        };
        match result {
            Err(failure) => calls.fail_stream(id, failure, sink),
            Ok(()) if end_stream => calls.complete(id, sink),
            Ok(()) => {}
        }
        Ok(())
    }
}

fn check_block_size(limits: &Limits, length: usize) -> Result<(), LimitExceeded> {
    let max = limits.max_head_bytes;
    if length > max {
        Err(LimitExceeded::HeadBytes(max))
    } else {
        Ok(())
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
    let room = stream.body_room;
    if stream.body_left.is_some_and(|stated| stated > room) {
        return Err(LimitExceeded::BodyBytes(limits.max_body_bytes).into());
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
