//! Bodies: a request's, read within bounds, and an answer's, written in one piece.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::grpc::reflection::Dialogue;

/// A request's body, as far as it was read. A body in one piece is never copied.
pub(crate) struct RequestBody {
    incoming: Incoming,
    read: Read,
}

enum Read {
    OnePiece(Bytes),
    Pieces(Vec<u8>),
}

impl RequestBody {
    pub(crate) fn new(incoming: Incoming) -> Self {
        Self {
            incoming,
            read: Read::OnePiece(Bytes::new()),
        }
    }

    /// How many bytes the client said it would send, if it did.
    pub(crate) fn announced_bytes(&self) -> Option<u64> {
        self.incoming.size_hint().exact()
    }

    /// Waits for more; false at the body's end. `most` bounds what room is taken in advance.
    pub(crate) async fn more(&mut self, most: usize) -> Result<bool, hyper::Error> {
        loop {
            if self.incoming.is_end_stream() {
                return Ok(false);
            }
            let frame = poll_fn(|context| Pin::new(&mut self.incoming).poll_frame(context)).await;
            let Some(frame) = frame else { return Ok(false) };
            // Trailers of a request say nothing to this server.
            if let Ok(data) = frame?.into_data()
                && !data.is_empty()
            {
                self.append(data, most);
                return Ok(true);
            }
        }
    }

    fn append(&mut self, data: Bytes, most: usize) {
        match &mut self.read {
            Read::OnePiece(first) if first.is_empty() => *first = data,
            Read::OnePiece(first) => {
                let left = usize::try_from(self.incoming.size_hint().lower()).unwrap_or(most);
                let room = (first.len() + data.len()).saturating_add(left.min(most));
                let mut all = Vec::with_capacity(room);
                all.extend_from_slice(first);
                all.extend_from_slice(&data);
                self.read = Read::Pieces(all);
            }
            Read::Pieces(all) => all.extend_from_slice(&data),
        }
    }

    /// What was read so far.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.read {
            Read::OnePiece(bytes) => bytes,
            Read::Pieces(bytes) => bytes,
        }
    }
}

/// An answer's body.
#[derive(Debug)]
pub(crate) enum AnswerBody {
    /// All its bytes, then trailers if it has any.
    Whole {
        data: Bytes,
        trailers: Option<HeaderMap>,
    },
    /// Answers to questions as they come.
    Answering(Box<Dialogue>),
}

impl Default for AnswerBody {
    /// No body.
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl AnswerBody {
    pub(crate) fn new(data: Vec<u8>) -> Self {
        Self::Whole {
            data: data.into(),
            trailers: None,
        }
    }

    pub(crate) fn with_trailers(data: Vec<u8>, trailers: HeaderMap) -> Self {
        Self::Whole {
            data: data.into(),
            trailers: Some(trailers),
        }
    }

    pub(crate) fn answering(dialogue: Dialogue) -> Self {
        Self::Answering(Box::new(dialogue))
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let (data, trailers) = match self.get_mut() {
            Self::Whole { data, trailers } => (data, trailers),
            Self::Answering(dialogue) => return dialogue.poll_frame(context),
        };
        let frame = if data.is_empty() {
            trailers.take().map(Frame::trailers)
        } else {
            Some(Frame::data(std::mem::take(data)))
        };
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole { data, trailers } => data.is_empty() && trailers.is_none(),
            Self::Answering(dialogue) => dialogue.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole {
                data,
                trailers: None,
            } => SizeHint::with_exact(data.len() as u64),
            // gRPC frames its messages itself and sends no content-length.
            _ => SizeHint::default(),
        }
    }
}
