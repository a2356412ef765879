//! The response to one call, from its head to the decision whether it is successful.

use rpcgauge_trial::{ErrorSample, FailureKind, HANDLER_END, HANDLER_START, Timing};
use rpcgauge_wire::Fields;
use rpcgauge_wire::grpc::{Code, GrpcViolation, Outcome, StatusSource, UnaryResponse};

use crate::bodies::{Checked, ToCheck};
use crate::trial::{CallStyle, Expect, Trial};

/// The last defined gRPC status code. Higher ones are counted as a single kind.
const LAST_GRPC_CODE: u32 = 16;

const OTHER_ENCODING: &str = "the response uses a compression that was not requested";

/// Number of response bytes that may always be stored for checks.
const MIN_HELD_BYTES: usize = 16 << 20;

/// The number of response bytes that all calls together have stored for their checks.
#[derive(Debug)]
pub(super) struct Held {
    bytes: usize,
    most: usize,
}

impl Held {
    /// Creates a budget with room for at least one response of `largest` bytes.
    pub(super) fn new(largest: u32) -> Self {
        Held {
            bytes: 0,
            most: MIN_HELD_BYTES.max(largest as usize),
        }
    }

    /// Reserves room for `bytes`. Returns false if not enough is left.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let has_room = bytes <= self.most - self.bytes;
        if has_room {
            self.bytes += bytes;
        }
        has_room
    }
}

/// A server's time mark.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Mark {
    #[default]
    Absent,
    /// Not a number.
    Damaged,
    At(u64),
}

/// What to do with a response's message as it arrives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Keep {
    /// Only count its bytes.
    #[default]
    Nothing,
    /// Store it for decoding.
    Message,
    /// Store it for its key and its check.
    Key,
    /// Store it for its check, if it is one of these and there is room.
    Check(Checked),
}

/// One response. It can be reused: [`Response::reset`] retains its memory. If the server streams, it is one message of the
/// response at a time, which the call's stream finds.
#[derive(Debug, Default)]
pub(super) struct Response {
    /// A response over gRPC, unless the server streams.
    grpc: Option<UnaryResponse>,
    pub(super) keep: Keep,
    /// The first problem, if any. `text` describes it, possibly in the server's own words.
    problem: Option<FailureKind>,
    pub(super) text: String,
    status: u16,
    /// Whether the encoding named in the head is the expected one.
    encoded: bool,
    encoded_otherwise: bool,
    /// The message as carried, if it is stored.
    pub(super) message: Vec<u8>,
    /// Number of bytes of the message that are stored for a check.
    held: usize,
    /// Compressed length of the message, bytes.
    pub(super) carried: u64,
    pub(super) handler_start: Mark,
    pub(super) handler_end: Mark,
}

impl Response {
    pub(super) fn new(trial: &Trial) -> Response {
        let streams = trial.streaming.is_some_and(|of| of.form.server_streams());
        let grpc = match trial.request.style {
            CallStyle::Grpc { .. } if !streams => {
                Some(UnaryResponse::new(trial.expect.max_response_bytes))
            }
            CallStyle::Grpc { .. } | CallStyle::Http { .. } | CallStyle::WebSocket => None,
        };
        Response {
            grpc,
            ..Response::default()
        }
    }

    /// Prepares it for another response. `keep` is what to do with the message.
    pub(super) fn reset(&mut self, keep: Keep) {
        if let Some(grpc) = &mut self.grpc {
            grpc.reset();
        }
        self.keep = keep;
        self.problem = None;
        self.text.clear();
        self.status = 0;
        self.encoded = false;
        self.encoded_otherwise = false;
        self.message.clear();
        self.carried = 0;
        self.handler_start = Mark::Absent;
        self.handler_end = Mark::Absent;
    }

    /// Processes the head of the final response: its status, its fields, and whether it is the whole response.
    /// `expected` is the required HTTP status. Returns the size of the marks in it, bytes.
    #[inline]
    pub(super) fn head(
        &mut self,
        trial: &Trial,
        expected: Option<u16>,
        (status, fields, end): (u16, Fields<'_>, bool),
    ) -> u64 {
        self.status = status;
        let marks = self.marks(trial, fields);
        match (&mut self.grpc, &trial.request.style) {
            (Some(grpc), CallStyle::Grpc { subtype }) => {
                // `finish` reports an error again, together with the status.
                let _ = grpc.head(status, &fields, end, subtype.as_deref());
                if grpc.names_encoding() {
                    self.encoding(&trial.expect, fields.get(b"grpc-encoding"));
                }
            }
            _ => self.http_head(&trial.expect, expected, (status, fields)),
        }
        marks
    }

    /// Processes a piece of the body. Returns the bytes of gRPC message prefixes in it, and whether a prefix
    /// announces a message that is too large, in which case the rest need not be awaited.
    #[inline]
    pub(super) fn body(&mut self, data: &[u8], held: &mut Held) -> (u64, bool) {
        let (payload, prefixes, too_large) = match &mut self.grpc {
            Some(grpc) => {
                let before = grpc.prefix_bytes();
                // As for the head, `finish` reports errors again. Unreadable data is not counted.
                let (payload, too_large) = match grpc.body(data) {
                    Ok(payload) => (payload, false),
                    Err(GrpcViolation::MessageTooLarge { .. }) => (&[][..], true),
                    Err(_) => (&[][..], false),
                };
                (payload, grpc.prefix_bytes() - before, too_large)
            }
            None => (data, 0, false),
        };
        self.store(payload, held);
        (prefixes, too_large)
    }

    /// Counts a piece of a message, and stores it if it is needed.
    #[inline(always)]
    pub(super) fn store(&mut self, payload: &[u8], held: &mut Held) {
        self.carried += payload.len() as u64;
        let is_key = self.keep == Keep::Key && self.problem.is_none();
        if self.keep == Keep::Message || is_key {
            self.message.extend_from_slice(payload);
        } else if self.problem.is_some() {
            // The server's error text becomes a sample. One character more than a sample's maximum shows that
            // it must be truncated.
            const ENOUGH: usize = (ErrorSample::MAX_CHARS + 1) * char::MAX.len_utf8();
            let room = ENOUGH.saturating_sub(self.message.len());
            self.message
                .extend_from_slice(&payload[..payload.len().min(room)]);
        } else if self.is_for_check() {
            self.hold(payload, held);
        }
    }

    /// Processes the head of a streaming gRPC response.
    pub(super) fn stream_head(
        &mut self,
        trial: &Trial,
        (status, fields): (u16, Fields<'_>),
        names_encoding: bool,
    ) {
        self.status = status;
        if names_encoding {
            self.encoding(&trial.expect, fields.get(b"grpc-encoding"));
        }
    }

    /// Begins a message of a stream over gRPC.
    pub(super) fn begin_message(&mut self, compressed: bool) {
        if compressed && self.encoded_otherwise {
            self.refuse(FailureKind::ContentEncoding, OTHER_ENCODING.to_owned());
        }
        self.encoded = compressed;
    }

    /// Forgets a message of a stream that was processed.
    pub(super) fn end_message(&mut self, held: &mut Held) {
        self.release(held);
        self.message.clear();
        self.carried = 0;
    }

    /// Refuses a response that is compressed. Returns whether it is.
    pub(super) fn refuse_compressed(&mut self) -> bool {
        let is_compressed = self.encoded || self.encoded_otherwise;
        if is_compressed {
            self.refuse(FailureKind::ContentEncoding, OTHER_ENCODING.to_owned());
        }
        is_compressed
    }

    /// Whether something is wrong with the response.
    pub(super) fn has_failed(&self) -> bool {
        self.problem.is_some()
    }

    /// Fails the call for this reason, unless there is an earlier one.
    #[cold]
    pub(super) fn refuse(&mut self, kind: FailureKind, text: String) {
        if self.problem.is_none() {
            self.problem = Some(kind);
            self.text = text;
        }
    }

    fn hold(&mut self, payload: &[u8], held: &mut Held) {
        if held.take(payload.len()) {
            self.held += payload.len();
            self.message.extend_from_slice(payload);
        } else {
            self.keep = Keep::Nothing;
            self.release(held);
        }
    }

    /// Releases the memory of a message stored for a check, which may be large.
    #[inline]
    pub(super) fn release(&mut self, held: &mut Held) {
        if self.held > 0 {
            held.bytes -= self.held;
            self.held = 0;
            self.message = Vec::new();
        }
    }

    fn is_for_check(&self) -> bool {
        match self.keep {
            Keep::Check(Checked::All) | Keep::Key => true,
            Keep::Check(Checked::Compressed) => self.is_compressed(),
            Keep::Nothing | Keep::Message => false,
        }
    }

    /// The message of a successful response, if it should be checked. An HTTP response without a body, such
    /// as to HEAD, is not compressed, regardless of its head.
    pub(super) fn to_check(&self) -> Option<ToCheck<'_>> {
        let is_there = self.grpc.is_some() || self.carried > 0;
        let are_all = matches!(self.keep, Keep::Check(Checked::All) | Keep::Key);
        (self.is_for_check() && (is_there || are_all)).then(|| ToCheck {
            carried: &self.message,
            compressed: is_there && self.is_compressed(),
        })
    }

    /// Processes the trailers. Returns the size of the marks in them, bytes.
    #[inline]
    pub(super) fn trailers(&mut self, trial: &Trial, fields: Fields<'_>) -> u64 {
        if let Some(grpc) = &mut self.grpc {
            grpc.trailers(&fields);
        }
        self.marks(trial, fields)
    }

    /// Checks the complete response. On error, [`Response::text`] describes it. Inlined for unary calls.
    #[inline(always)]
    pub(super) fn finish(&mut self) -> Result<(), FailureKind> {
        self.finish_grpc();
        // A gRPC response may name an encoding although its message is not compressed.
        let may_be_compressed = self.grpc.as_ref().is_none_or(UnaryResponse::is_compressed);
        if self.problem.is_none() && self.encoded_otherwise && may_be_compressed {
            self.text.push_str(OTHER_ENCODING);
            self.problem = Some(FailureKind::ContentEncoding);
        }
        let Some(kind) = self.problem else {
            return Ok(());
        };
        if let FailureKind::HttpStatus(_) = kind {
            self.quote_body();
        }
        Err(kind)
    }

    /// See [`UnaryResponse::waits_after_status`].
    pub(super) fn waits_after_status(&self) -> bool {
        self.grpc
            .as_ref()
            .is_some_and(UnaryResponse::waits_after_status)
    }

    /// Whether the message must be decompressed.
    pub(super) fn is_compressed(&self) -> bool {
        match &self.grpc {
            Some(grpc) => grpc.is_compressed(),
            None => self.encoded,
        }
    }

    #[inline]
    fn http_head(
        &mut self,
        expect: &Expect,
        expected: Option<u16>,
        (status, fields): (u16, Fields<'_>),
    ) {
        self.encoding(expect, fields.get(b"content-encoding"));
        let is_good = match expected {
            Some(expected) => status == expected,
            None => (200..300).contains(&status),
        };
        if !is_good {
            self.problem = Some(FailureKind::HttpStatus(status));
            self.text = match expected {
                Some(expected) => format!("HTTP status {status} instead of {expected}"),
                None => format!("HTTP status {status}"),
            };
            return;
        }
        // A response with status 101 has no content.
        let Some(expected) = expect.content_type.as_ref().filter(|_| status != 101) else {
            return;
        };
        let got = fields.get(b"content-type").unwrap_or_default();
        let media_type = got.split(|&byte| byte == b';').next().unwrap_or_default();
        if !media_type
            .trim_ascii()
            .eq_ignore_ascii_case(expected.as_bytes())
        {
            self.problem = Some(FailureKind::ContentType);
            let got = String::from_utf8_lossy(got);
            let got = ErrorSample::shortened(&got);
            self.text = format!("the response's content-type is {got:?} instead of {expected}");
        }
    }

    #[inline]
    fn encoding(&mut self, expect: &Expect, named: Option<&[u8]>) {
        let Some(named) = named.filter(|named| !named.eq_ignore_ascii_case(b"identity")) else {
            return;
        };
        let expected = expect.encoding.as_deref().unwrap_or_default();
        self.encoded = named.eq_ignore_ascii_case(expected.as_bytes());
        self.encoded_otherwise = !self.encoded;
    }

    #[inline(always)]
    fn finish_grpc(&mut self) {
        let Some(grpc) = &mut self.grpc else {
            return;
        };
        let outcome = grpc.finish();
        self.problem = Self::problem(&outcome, self.status, &mut self.text).or(self.problem);
        // A call's slot is reused, and there may be very many slots.
        grpc.forget_message();
    }

    /// Applies how a streaming gRPC response ended, unless a message has failed the call before.
    pub(super) fn finish_stream(&mut self, outcome: &Outcome<'_>) {
        // The messages themselves say whether they are compressed.
        self.encoded_otherwise = false;
        if self.problem.is_none() {
            self.problem = Self::problem(outcome, self.status, &mut self.text);
        }
    }

    /// What is wrong with a gRPC response that ended like this. `text` then describes it.
    #[inline(always)]
    fn problem(outcome: &Outcome<'_>, status: u16, text: &mut String) -> Option<FailureKind> {
        match outcome.source {
            StatusSource::Server if outcome.code == Code::OK => None,
            StatusSource::Server => {
                let (code, said) = (outcome.code.0, ErrorSample::shortened(outcome.message));
                *text = match (code > LAST_GRPC_CODE, said.is_empty()) {
                    (false, false) => said.into_owned(),
                    (false, true) => "the server sent no message with the status".to_owned(),
                    (true, false) => format!("grpc-status {code}: {said}"),
                    (true, true) => format!("grpc-status {code}"),
                };
                let code = code.min(LAST_GRPC_CODE + 1);
                Some(FailureKind::GrpcStatus(code))
            }
            StatusSource::Client(violation) => {
                *text = violation.to_string();
                Some(match violation {
                    GrpcViolation::ContentType
                    | GrpcViolation::StatusMissing
                    | GrpcViolation::StatusInOpenHead
                        if status != 200 =>
                    {
                        *text = format!("HTTP status {status}");
                        FailureKind::HttpStatus(status)
                    }
                    GrpcViolation::ContentType | GrpcViolation::Subtype => FailureKind::ContentType,
                    GrpcViolation::MessageTooLarge { .. } => FailureKind::TooLarge,
                    _ => FailureKind::Protocol,
                })
            }
        }
    }

    fn quote_body(&mut self) {
        let said = String::from_utf8_lossy(&self.message);
        let said = ErrorSample::shortened(said.trim());
        if !said.is_empty() {
            self.text.push_str(": ");
            self.text.push_str(&said);
        }
    }

    /// Reads the marks among the fields if stages are timed. Returns their bytes on the wire.
    #[inline]
    fn marks(&mut self, trial: &Trial, fields: Fields<'_>) -> u64 {
        match trial.timing {
            Timing::Stages => self.read_marks(fields),
            Timing::Load => 0,
        }
    }

    fn read_marks(&mut self, fields: Fields<'_>) -> u64 {
        let mut sum = 0;
        for (name, value, wire_bytes) in fields.iter_wire_bytes() {
            let mark = if name.eq_ignore_ascii_case(HANDLER_START.as_bytes()) {
                &mut self.handler_start
            } else if name.eq_ignore_ascii_case(HANDLER_END.as_bytes()) {
                &mut self.handler_end
            } else {
                continue;
            };
            *mark = Mark::read(value);
            sum += wire_bytes;
        }
        sum
    }
}

impl Mark {
    /// Parses a mark: decimal digits whose value fits into 64 bits.
    fn read(value: &[u8]) -> Mark {
        let number = value.iter().try_fold(0u64, |number, byte| {
            let digit = byte.wrapping_sub(b'0');
            let shifted = number.checked_mul(10).filter(|_| digit < 10)?;
            shifted.checked_add(u64::from(digit))
        });
        match number {
            Some(number) if !value.is_empty() => Mark::At(number),
            _ => Mark::Damaged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_decimal_digits_of_64_bits() {
        assert_eq!(Mark::read(b"0"), Mark::At(0));
        assert_eq!(Mark::read(b"18446744073709551615"), Mark::At(u64::MAX));
        for bad in [
            "",
            "-1",
            "+1",
            "1.5",
            "0x10",
            "18446744073709551616",
            "1 2",
            "\u{e9}",
        ] {
            assert_eq!(Mark::read(bad.as_bytes()), Mark::Damaged, "{bad}");
        }
    }
}
