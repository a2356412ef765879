//! Parses a response that has exactly one message: of a unary or a client-streaming call.

use super::deframer::Piece;
use super::error::GrpcViolation;
use super::response::{Outcome, Response};
use crate::event::Fields;

/// Tracks one unary response through its events. [`UnaryResponse::reset`] makes it reusable and
/// keeps its memory.
///
/// It stores no message: [`UnaryResponse::body`] returns the payload bytes of each chunk.
#[derive(Debug, Clone, Default)]
pub struct UnaryResponse {
    response: Response,
    /// Whether the message is compressed; `None` before its prefix arrives.
    compressed: Option<bool>,
}

impl UnaryResponse {
    /// Creates a response with a message of up to `max_message_bytes`.
    pub fn new(max_message_bytes: u32) -> UnaryResponse {
        UnaryResponse {
            response: Response::new(max_message_bytes),
            compressed: None,
        }
    }

    /// See [`Response::reset`].
    #[inline]
    pub fn reset(&mut self) {
        self.response.reset();
        self.compressed = None;
    }

    /// See [`Response::forget_message`].
    #[inline]
    pub fn forget_message(&mut self) {
        self.response.forget_message();
    }

    /// See [`Response::head`].
    ///
    /// # Errors
    /// The response is not gRPC with this subtype.
    #[inline]
    pub fn head(
        &mut self,
        status: u16,
        fields: &Fields<'_>,
        end: bool,
        subtype: Option<&str>,
    ) -> Result<(), GrpcViolation> {
        self.response.head(status, fields, end, subtype)
    }

    /// Processes [`crate::Event::Body`] and returns its message bytes, which may be empty.
    ///
    /// # Errors
    /// The body violates a rule, has a second message, or the message exceeds the limit. See also
    /// [`Response::head`].
    #[inline]
    pub fn body<'a>(&mut self, mut data: &'a [u8]) -> Result<&'a [u8], GrpcViolation> {
        let mut payload: &[u8] = &[];
        loop {
            match self.response.next(&mut data)? {
                None => return Ok(payload),
                Some(Piece::Start { compressed, .. }) => {
                    if self.compressed.replace(compressed).is_some() {
                        return self.response.refuse(GrpcViolation::ManyMessages);
                    }
                }
                Some(Piece::Payload(bytes)) => payload = bytes,
                Some(Piece::End) => {}
            }
        }
    }

    /// See [`Response::trailers`].
    #[inline]
    pub fn trailers(&mut self, fields: &Fields<'_>) {
        self.response.trailers(fields);
    }

    /// See [`Response::finish`]. Only a response with a message is OK.
    #[inline(always)]
    pub fn finish(&mut self) -> Outcome<'_> {
        if self.compressed.is_none() && self.response.check_end().is_none() {
            let _ = self.response.refuse::<()>(GrpcViolation::NoMessage);
        }
        self.response.finish()
    }

    /// See [`Response::names_encoding`].
    #[inline]
    pub fn names_encoding(&self) -> bool {
        self.response.names_encoding()
    }

    /// See [`Response::waits_after_status`].
    pub fn waits_after_status(&self) -> bool {
        self.response.waits_after_status()
    }

    /// Whether the message is compressed; false before its prefix arrives.
    #[inline]
    pub fn is_compressed(&self) -> bool {
        self.compressed == Some(true)
    }

    /// See [`Response::prefix_bytes`].
    #[inline]
    pub fn prefix_bytes(&self) -> u64 {
        self.response.prefix_bytes()
    }
}

#[cfg(test)]
mod tests;
