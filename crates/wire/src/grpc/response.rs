//! Parses a response, from its head to its status.

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

/// How a call ended.
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

/// Tracks one response with any number of messages through its events. For a response with exactly
/// one, see [`super::UnaryResponse`].
///
/// It stores no message: [`Response::next`] returns their pieces as they arrive.
///
/// Its methods are inlined into [`super::UnaryResponse`], which would otherwise be slower with a
/// second caller.
#[derive(Debug, Clone)]
pub struct Response {
    max_message_bytes: u32,
    deframer: Deframer,
    http_status: u16,
    /// Whether the head has a `grpc-encoding` other than `identity`.
    has_encoding: bool,
    /// Whether the head has a `grpc-status` but does not end the stream.
    status_in_open_head: bool,
    prefixes: u64,
    code: Option<Code>,
    text: String,
    violation: Option<GrpcViolation>,
}

impl Default for Response {
    fn default() -> Self {
        Response::new(DEFAULT_MAX_MESSAGE_BYTES)
    }
}

impl Response {
    /// Creates a response with messages of up to `max_message_bytes` each.
    pub fn new(max_message_bytes: u32) -> Response {
        Response {
            max_message_bytes,
            deframer: Deframer::new(max_message_bytes),
            http_status: 0,
            has_encoding: false,
            status_in_open_head: false,
            prefixes: 0,
            code: None,
            text: String::new(),
            violation: None,
        }
    }

    /// Prepares for the next call. Keeps its memory.
    #[inline]
    pub fn reset(&mut self) {
        self.forget_message();
        let text = std::mem::take(&mut self.text);
        *self = Response {
            text,
            ..Response::new(self.max_message_bytes)
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
    /// of the response does not matter. [`Response::finish`] reports the same violation again.
    #[inline(always)]
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

    /// Takes the next piece of a message off the front of `data`, which is from
    /// [`crate::Event::Body`]. `None` once `data` is used up.
    ///
    /// # Errors
    /// The body violates a rule, or a message exceeds the limit. See also [`Response::head`].
    #[inline(always)]
    pub fn next<'a>(&mut self, data: &mut &'a [u8]) -> Result<Option<Piece<'a>>, GrpcViolation> {
        if let Some(violation) = self.violation {
            return Err(violation);
        }
        let piece = match self.deframer.next(data) {
            Ok(piece) => piece,
            Err(violation) => return self.refuse(violation),
        };
        if let Some(Piece::Start { compressed, .. }) = piece {
            self.prefixes += PREFIX_LENGTH as u64;
            if compressed && !self.has_encoding {
                return self.refuse(GrpcViolation::UnnamedCompression);
            }
        }
        Ok(piece)
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

    /// Bytes of message prefixes so far, for [`crate::Client::count_received_prefix`].
    #[inline]
    pub fn prefix_bytes(&self) -> u64 {
        self.prefixes
    }

    /// The violation, if any, that only shows at the end of the response.
    pub(super) fn check_end(&self) -> Option<GrpcViolation> {
        if self.code.is_none() {
            Some(if self.status_in_open_head {
                GrpcViolation::StatusInOpenHead
            } else {
                GrpcViolation::StatusMissing
            })
        } else if !self.deframer.is_between_messages() {
            Some(GrpcViolation::Truncated)
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

    pub(super) fn refuse<T>(&mut self, violation: GrpcViolation) -> Result<T, GrpcViolation> {
        let first = *self.violation.get_or_insert(violation);
        Err(first)
    }
}

/// Accepts `application/grpc`, alone or followed by `+` and the requested subtype. Parameters are
/// ignored. A response without a subtype is accepted for any, since servers omit it in practice.
#[inline(always)]
pub(super) fn check_content_type(
    value: Option<&[u8]>,
    subtype: Option<&str>,
) -> Result<(), GrpcViolation> {
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::grpc::frame_message;
    use crate::testing::with_fields;

    /// The messages of a response with `body`, with their compressed flags, and its outcome.
    type Seen = (Vec<(bool, Vec<u8>)>, Code, StatusSource);

    fn seen(body: &[u8], cut: usize) -> Seen {
        let head = [
            ("content-type", "application/grpc"),
            ("grpc-encoding", "gzip"),
        ];
        let mut response = Response::new(100);
        with_fields(&head, |fields| response.head(200, fields, false, None)).unwrap();
        let mut messages = Vec::new();
        let mut open = (false, Vec::new());
        for mut piece in body.chunks(cut) {
            while let Ok(Some(piece)) = response.next(&mut piece) {
                match piece {
                    Piece::Start { compressed, .. } => open = (compressed, Vec::new()),
                    Piece::Payload(bytes) => open.1.extend_from_slice(bytes),
                    Piece::End => messages.push(std::mem::take(&mut open)),
                }
            }
        }
        with_fields(&[("grpc-status", "0")], |fields| response.trailers(fields));
        let outcome = response.finish();
        (messages, outcome.code, outcome.source)
    }

    #[test]
    fn a_response_has_any_number_of_messages() {
        let messages = [
            (false, b"a".to_vec()),
            (true, b"".to_vec()),
            (false, b"bc".to_vec()),
        ];
        for count in 0..=3 {
            let messages = &messages[..count];
            let body: Vec<u8> = messages
                .iter()
                .flat_map(|(compressed, text)| frame_message(text, *compressed).unwrap())
                .collect();
            let expected = (messages.to_vec(), Code::OK, StatusSource::Server);
            assert_eq!(seen(&body, 1), expected);
        }
    }

    #[test]
    fn the_messages_before_a_violation_count() {
        let whole = b"\0\0\0\0\x01a";
        let too_large = GrpcViolation::MessageTooLarge {
            length: 101,
            limit: 100,
        };
        for (tail, violation) in [
            (&b"\0\0\0\0\x02b"[..], GrpcViolation::Truncated),
            (b"\0\0\0", GrpcViolation::Truncated),
            (b"\0\0\0\0\x65", too_large),
            (b"\x02\0\0\0\0", GrpcViolation::Flag),
        ] {
            let (messages, code, source) = seen(&[whole, tail].concat(), 3);
            assert_eq!(messages, [(false, b"a".to_vec())]);
            assert_eq!(
                (code, source),
                (violation.code(), StatusSource::Client(violation))
            );
        }
    }

    proptest! {
        #[test]
        fn the_cuts_make_no_difference(body in prop::collection::vec(0u8..9, 0..60), cut in 1usize..20) {
            prop_assert_eq!(seen(&body, cut), seen(&body, usize::MAX));
        }
    }
}
