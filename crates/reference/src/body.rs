//! Bodies of requests, read within bounds, and bodies of responses: in one piece, or produced in several.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use rpcgauge_message::Limits;

use crate::budget::{Charge, Exhausted, Ledger};
use crate::service::CallError;
use crate::stream::Share;

/// Maximum memory to allocate in advance for a body of known length: the default maximum size of a message.
/// Beyond it, memory grows with the received bytes, because a client can announce any length for free.
const ROOM_AT_ONCE: usize = Limits::DEFAULT.max_message_bytes;

/// The part of a request's body that has been read so far. A body that arrives in one piece is never copied.
pub(crate) struct RequestBody {
    incoming: Incoming,
    read: Read,
    /// The body's share of the budget. It is empty until the server has to wait for more, or copies a second
    /// piece.
    charge: Charge,
}

enum Read {
    OnePiece(Bytes),
    Pieces(Vec<u8>),
}

/// Why a body could not be read to its end.
pub(crate) enum BodyError {
    BrokenOff(hyper::Error),
    Exhausted(Exhausted),
}

impl RequestBody {
    pub(crate) fn new(incoming: Incoming, ledger: &Arc<Ledger>) -> Self {
        Self {
            incoming,
            read: Read::OnePiece(Bytes::new()),
            charge: Charge::new(ledger),
        }
    }

    /// The length that the client announced, if any.
    pub(crate) fn announced_bytes(&self) -> Option<u64> {
        self.incoming.size_hint().exact()
    }

    /// Waits for more bytes. Returns false at the end of the body. `whole` is the body's expected length, 0
    /// if unknown.
    pub(crate) async fn more(&mut self, whole: usize) -> Result<bool, BodyError> {
        loop {
            if self.incoming.is_end_stream() {
                return Ok(false);
            }
            let frame = poll_fn(|context| {
                let polled = Pin::new(&mut self.incoming).poll_frame(context);
                if polled.is_pending() {
                    self.charge.cover(self.read.bytes().len())?;
                }
                polled.map(Ok::<_, Exhausted>)
            });
            let Some(frame) = frame.await.map_err(BodyError::Exhausted)? else {
                return Ok(false);
            };
            // This server ignores request trailers.
            if let Ok(data) = frame.map_err(BodyError::BrokenOff)?.into_data()
                && !data.is_empty()
            {
                self.read
                    .append(data, whole, &mut self.charge)
                    .map_err(BodyError::Exhausted)?;
                return Ok(true);
            }
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.read.bytes()
    }
}

impl Read {
    fn append(&mut self, data: Bytes, whole: usize, charge: &mut Charge) -> Result<(), Exhausted> {
        let have = self.bytes().len();
        let more = whole.saturating_sub(have).min(ROOM_AT_ONCE).max(data.len());
        match self {
            Self::OnePiece(first) if first.is_empty() => *first = data,
            Self::OnePiece(first) => {
                charge.cover(have + more)?;
                let mut all = Vec::with_capacity(have + more);
                all.extend_from_slice(first);
                all.extend_from_slice(&data);
                *self = Self::Pieces(all);
            }
            Self::Pieces(all) => {
                if all.capacity() - have < data.len() {
                    // At least doubles the capacity, so that repeated growth does not copy the same bytes
                    // over and over.
                    let more = more.max(all.capacity());
                    charge.cover(have + more)?;
                    all.reserve_exact(more);
                }
                all.extend_from_slice(&data);
            }
        }
        Ok(())
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::OnePiece(bytes) => bytes,
            Self::Pieces(bytes) => bytes,
        }
    }
}

/// The body of a response.
pub(crate) enum ResponseBody {
    /// All bytes, followed by any trailers.
    Whole {
        data: Piece,
        trailers: Option<HeaderMap>,
    },
    /// Frames that are produced during the call.
    Streamed(Pin<Box<Streamed>>),
}

/// A body that produces its frames one by one.
pub(crate) type Streamed = dyn Body<Data = Piece, Error = CallError> + Send;

/// Bytes of a response. They are charged to the budget until they have been sent. A refusal is not charged.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    bytes: Bytes,
    _held: Held,
}

/// What a piece returns when it has been sent.
#[derive(Debug, Default)]
enum Held {
    #[default]
    Nothing,
    Charge(#[expect(dead_code, reason = "held until it is dropped")] Charge),
    Share(#[expect(dead_code, reason = "held until it is dropped")] Share),
}

impl Piece {
    pub(crate) fn charged(bytes: Vec<u8>, ledger: &Arc<Ledger>) -> Result<Self, Exhausted> {
        let charge = Charge::of(ledger, bytes.capacity())?;
        Ok(Self {
            bytes: bytes.into(),
            _held: Held::Charge(charge),
        })
    }

    /// One of several pieces, which share a charge.
    pub(crate) fn of_stream(bytes: Vec<u8>, share: Share) -> Self {
        Self {
            bytes: bytes.into(),
            _held: Held::Share(share),
        }
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }
}

impl Default for ResponseBody {
    fn default() -> Self {
        Self::new(Piece::default(), None)
    }
}

impl ResponseBody {
    pub(crate) fn new(data: Piece, trailers: Option<HeaderMap>) -> Self {
        Self::Whole { data, trailers }
    }

    pub(crate) fn refusal(data: Vec<u8>) -> Self {
        let data = Piece {
            bytes: data.into(),
            _held: Held::Nothing,
        };
        Self::new(data, None)
    }
}

impl Body for ResponseBody {
    type Data = Piece;
    type Error = CallError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, CallError>>> {
        let (data, trailers) = match self.get_mut() {
            Self::Whole { data, trailers } => (data, trailers),
            Self::Streamed(body) => return body.as_mut().poll_frame(context),
        };
        let frame = if data.has_remaining() {
            Some(Frame::data(std::mem::take(data)))
        } else {
            trailers.take().map(Frame::trailers)
        };
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole { data, trailers } => !data.has_remaining() && trailers.is_none(),
            Self::Streamed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole {
                data,
                trailers: None,
            } => SizeHint::with_exact(data.remaining() as u64),
            // gRPC has its own framing and sends no content-length.
            _ => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A piece the size of an HTTP/2 frame.
    const PIECE: Bytes = Bytes::from_static(&[7; 16 << 10]);

    /// A charge on an unlimited budget.
    fn charge() -> Charge {
        Charge::new(&Ledger::sharing(usize::MAX, 1)[0])
    }

    /// The body's capacity after each piece. `whole` is known from the second piece on.
    fn room(pieces: usize, whole: usize) -> Vec<usize> {
        let (mut read, mut charge) = (Read::OnePiece(Bytes::new()), charge());
        let room = (0..pieces).map(|piece| {
            let whole = if piece == 0 { 0 } else { whole };
            read.append(PIECE, whole, &mut charge).expect("room");
            assert_eq!(read.bytes().len(), (piece + 1) * PIECE.len());
            match &read {
                Read::OnePiece(_) => 0,
                Read::Pieces(all) => all.capacity(),
            }
        });
        room.collect()
    }

    #[test]
    fn a_body_of_known_length_is_allocated_at_once() {
        let whole = 20 * PIECE.len();
        let want = [vec![0], vec![whole; 19]].concat();
        assert_eq!(room(20, whole), want);
        // A body longer than announced, or of unknown length, is still read.
        assert!(room(20, 2 * PIECE.len()).last() >= Some(&whole));
        assert!(room(20, 0).last() >= Some(&whole));
    }

    #[test]
    fn an_announced_length_takes_no_more_memory_than_a_message_may_have() {
        let most = ROOM_AT_ONCE + 3 * PIECE.len();
        let room = room(3, u32::MAX as usize);
        assert!(room.iter().all(|room| *room <= most), "{room:?}");
    }
}
