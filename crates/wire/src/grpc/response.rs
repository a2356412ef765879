//! Parses a unary response, from its head to its status.

use super::code::Code;
use super::deframer::{Deframer, Piece};
use super::error::GrpcViolation;
use super::{DEFAULT_MAX_MESSAGE_BYTES, PREFIX_LENGTH, decode_message};
use crate::event::Fields;

/// Where a call's status came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusSource {
    /// The server sent it as `grpc-status`.
    Server,
    /// The client chose it because the response violated a rule.
    Client(GrpcViolation),
}

/// How a unary call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// The status.
    pub code: Code,
    /// The server's `grpc-message`, decoded; often empty. Untrusted text: escape it for display.
    pub message: &'a str,
    /// Where the status came from.
    pub source: StatusSource,
}

/// A buffer for `grpc-message` larger than this many bytes is freed after its call instead of
/// reused.
const KEPT_TEXT: usize = 1024;

/// Tracks one unary response through its events. [`UnaryResponse::reset`] makes it reusable and
/// keeps its memory.
///
/// It stores no message: [`UnaryResponse::body`] returns the payload bytes of each chunk.
#[derive(Debug, Clone)]
pub struct UnaryResponse {
    max_message_bytes: u32,
    deframer: Deframer,
    http_status: u16,
    /// Whether the head has a `grpc-encoding` other than `identity`.
    has_encoding: bool,
    /// Whether the head has a `grpc-status` but does not end the stream.
    status_in_open_head: bool,
    /// Whether the message is compressed; `None` before its prefix arrives.
    compressed: Option<bool>,
    prefixes: u64,
    code: Option<Code>,
    text: String,
    violation: Option<GrpcViolation>,
}

impl Default for UnaryResponse {
    fn default() -> Self {
        UnaryResponse::new(DEFAULT_MAX_MESSAGE_BYTES)
    }
}

impl UnaryResponse {
    /// Creates a response with a message of up to `max_message_bytes`.
    pub fn new(max_message_bytes: u32) -> UnaryResponse {
        UnaryResponse {
            max_message_bytes,
            deframer: Deframer::new(max_message_bytes),
            http_status: 0,
            has_encoding: false,
            status_in_open_head: false,
            compressed: None,
            prefixes: 0,
            code: None,
            text: String::new(),
            violation: None,
        }
    }

    /// Prepares for the next call.
    #[inline]
    pub fn reset(&mut self) {
        self.forget_message();
        let text = std::mem::take(&mut self.text);
        *self = UnaryResponse {
            text,
            ..UnaryResponse::new(self.max_message_bytes)
        };
    }

    /// Clears the server's `grpc-message`. Frees its memory if it is large, because the next call
    /// may be much later.
    #[inline]
    pub fn forget_message(&mut self) {
        self.text.clear();
        if self.text.capacity() > KEPT_TEXT {
            self.text = String::new();
        }
    }

    /// Processes [`crate::Event::Head`]. `subtype` is the one that was requested with
    /// [`super::head`].
    ///
    /// # Errors
    /// The response is not gRPC with this subtype. The caller may cancel the call, since the rest
    /// of the response does not matter. [`UnaryResponse::finish`] reports the same violation again.
    #[inline]
    pub fn head(
        &mut self,
        status: u16,
        fields: &Fields<'_>,
        end: bool,
        subtype: Option<&str>,
    ) -> Result<(), GrpcViolation> {
        self.http_status = status;
        let mut content_type = None;
        for (name, value) in fields.iter() {
            match name {
                b"content-type" => content_type = Some(value),
                b"grpc-encoding" => self.has_encoding = value != b"identity",
                // A status in the head is only valid if nothing follows ("trailers-only").
                b"grpc-status" if end => self.set_status(value),
                b"grpc-status" => self.status_in_open_head = true,
                b"grpc-message" if end => decode_message(value, &mut self.text),
                _ => {}
            }
        }
        if self.code.is_some() {
            return Ok(());
        }
        check_content_type(content_type, subtype).or_else(|violation| self.refuse(violation))
    }

    /// Processes [`crate::Event::Body`] and returns its message bytes, which may be empty.
    ///
    /// # Errors
    /// The body violates a rule, or the message exceeds the limit. See also
    /// [`UnaryResponse::head`].
    #[inline]
    pub fn body<'a>(&mut self, mut data: &'a [u8]) -> Result<&'a [u8], GrpcViolation> {
        if let Some(violation) = self.violation {
            return Err(violation);
        }
        let mut payload: &[u8] = &[];
        loop {
            match self.deframer.next(&mut data) {
                Ok(None) => return Ok(payload),
                Ok(Some(Piece::Start { compressed, .. })) => {
                    self.prefixes += PREFIX_LENGTH as u64;
                    if self.compressed.is_some() {
                        return self.refuse(GrpcViolation::ManyMessages);
                    }
                    if compressed && !self.has_encoding {
                        return self.refuse(GrpcViolation::UnnamedCompression);
                    }
                    self.compressed = Some(compressed);
                }
                Ok(Some(Piece::Payload(bytes))) => payload = bytes,
                Ok(Some(Piece::End)) => {}
                Err(violation) => return self.refuse(violation),
            }
        }
    }

    /// Processes [`crate::Event::Trailers`].
    #[inline]
    pub fn trailers(&mut self, fields: &Fields<'_>) {
        for (name, value) in fields.iter() {
            match name {
                b"grpc-status" => self.set_status(value),
                b"grpc-message" => decode_message(value, &mut self.text),
                _ => {}
            }
        }
    }

    /// Processes [`crate::Event::Complete`] and returns how the call ended. A server's status other
    /// than OK takes precedence over a violation.
    #[inline]
    pub fn finish(&mut self) -> Outcome<'_> {
        let by_server = self.code.filter(|code| *code != Code::OK);
        let violation = self.violation.or_else(|| self.check_end());
        let (code, source) = match (by_server, violation) {
            (Some(code), _) => (code, StatusSource::Server),
            (None, None) => (Code::OK, StatusSource::Server),
            (None, Some(violation)) => {
                let code = match violation {
                    GrpcViolation::ContentType
                    | GrpcViolation::StatusMissing
                    | GrpcViolation::StatusInOpenHead => Code::from_http_status(self.http_status),
                    other => other.code(),
                };
                (code, StatusSource::Client(violation))
            }
        };
        Outcome {
            code,
            message: &self.text,
            source,
        }
    }

    /// Whether the head has a `grpc-encoding` other than "identity".
    #[inline]
    pub fn names_encoding(&self) -> bool {
        self.has_encoding
    }

    /// Whether the server may believe that it has ended the response although it has not: its only
    /// `grpc-status` is in a head that does not end the stream.
    pub fn waits_after_status(&self) -> bool {
        self.status_in_open_head && self.code.is_none()
    }

    /// Whether the message is compressed; false before its prefix arrives.
    #[inline]
    pub fn is_compressed(&self) -> bool {
        self.compressed == Some(true)
    }

    /// Bytes of message prefixes so far, for [`crate::Client::count_received_prefix`].
    #[inline]
    pub fn prefix_bytes(&self) -> u64 {
        self.prefixes
    }

    /// The violation, if any, that only shows at the end of the response.
    fn check_end(&self) -> Option<GrpcViolation> {
        if self.code.is_none() {
            Some(if self.status_in_open_head {
                GrpcViolation::StatusInOpenHead
            } else {
                GrpcViolation::StatusMissing
            })
        } else if !self.deframer.is_between_messages() {
            Some(GrpcViolation::Truncated)
        } else if self.compressed.is_none() {
            Some(GrpcViolation::NoMessage)
        } else {
            None
        }
    }

    #[inline]
    fn set_status(&mut self, value: &[u8]) {
        let violation = match (Code::parse(value), self.code) {
            (None, _) => GrpcViolation::StatusMalformed,
            (Some(code), Some(earlier)) if code != earlier => GrpcViolation::StatusConflict,
            (Some(code), _) => {
                self.code = Some(code);
                return;
            }
        };
        self.violation.get_or_insert(violation);
    }

    fn refuse<T>(&mut self, violation: GrpcViolation) -> Result<T, GrpcViolation> {
        let first = *self.violation.get_or_insert(violation);
        Err(first)
    }
}

/// Accepts `application/grpc`, alone or followed by `+` and the requested subtype. Parameters are
/// ignored. A response without a subtype is accepted for any, since servers omit it in practice.
#[inline]
fn check_content_type(value: Option<&[u8]>, subtype: Option<&str>) -> Result<(), GrpcViolation> {
    const GRPC: &[u8] = b"application/grpc";
    let value = value.unwrap_or_default();
    // Fast path for nearly every response.
    if value == GRPC {
        return Ok(());
    }
    let media_type = value
        .split(|&b| b == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii_end();
    if media_type.len() < GRPC.len() || !media_type[..GRPC.len()].eq_ignore_ascii_case(GRPC) {
        return Err(GrpcViolation::ContentType);
    }
    match &media_type[GRPC.len()..] {
        [] => Ok(()),
        [b'+', got @ ..] => {
            let asked = subtype.unwrap_or("proto").as_bytes();
            if got.eq_ignore_ascii_case(asked) {
                Ok(())
            } else {
                Err(GrpcViolation::Subtype)
            }
        }
        _ => Err(GrpcViolation::ContentType),
    }
}

#[cfg(test)]
mod tests;
