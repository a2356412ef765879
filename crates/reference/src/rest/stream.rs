//! Streams of responses over REST: lines of JSON, or Server-Sent Events (WHATWG HTML, section 9.2).

use std::task::{Context, Poll};

use http::HeaderMap;

use crate::service::CallError;
use crate::stream::{Messages, Responses};

/// How messages are separated in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamType {
    Ndjson,
    Sse,
}

impl StreamType {
    pub(super) const ALL: [Self; 2] = [Self::Ndjson, Self::Sse];

    pub(super) const fn media_type(self) -> &'static str {
        match self {
            Self::Ndjson => "application/x-ndjson",
            Self::Sse => "text/event-stream",
        }
    }

    /// The bytes before and after each message.
    pub(super) const fn framing(self) -> (&'static [u8], &'static [u8]) {
        match self {
            Self::Ndjson => (b"", b"\n"),
            Self::Sse => (b"data: ", b"\n\n"),
        }
    }
}

/// The responses to a request. Each has space for the bytes before it.
pub(super) struct RestMessages {
    pub(super) responses: Responses,
    pub(super) stream_type: StreamType,
}

impl Messages for RestMessages {
    type Error = CallError;

    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>, CallError>> {
        let (before, after) = self.stream_type.framing();
        let framed = self.responses.next()?.map(|mut bytes| {
            bytes[..before.len()].copy_from_slice(before);
            bytes.extend_from_slice(after);
            bytes
        });
        Poll::Ready(Ok(framed))
    }

    /// A stream that fails has no proper end, which the client cannot mistake for that of a whole one.
    fn end(ended: Result<(), CallError>) -> Result<Option<HeaderMap>, CallError> {
        ended.map(|()| None)
    }
}
