//! gRPC statuses and how they are sent (PROTOCOL-HTTP2.md, "Trailers-Only" and "Status-Message").

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const GRPC_STATUS_DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");

/// Status codes of failed calls (the gRPC project's doc/statuscodes.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
#[expect(missing_docs, reason = "doc/statuscodes.md describes each code")]
pub enum Code {
    Cancelled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    OutOfRange = 11,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    DataLoss = 15,
    Unauthenticated = 16,
}

impl Code {
    const ALL: [Self; 16] = [
        Self::Cancelled,
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Aborted,
        Self::OutOfRange,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::DataLoss,
        Self::Unauthenticated,
    ];

    /// Returns the code with this number; `None` for 0, which means success, and for unknown numbers.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|code| *code as u16 == number)
    }
}

/// Why a call failed.
#[derive(Debug, Clone)]
pub struct Status {
    code: Code,
    message: String,
    details: Vec<u8>,
    header: Option<(&'static str, HeaderValue)>,
}

impl Status {
    /// A status without details.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: Vec::new(),
            header: None,
        }
    }

    /// Adds details: an encoded `google.rpc.Status` that repeats the code and message.
    #[must_use]
    pub fn with_details(mut self, details: Vec<u8>) -> Self {
        self.details = details;
        self
    }

    /// Adds one more header field.
    pub(super) fn with(mut self, name: &'static str, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    #[cfg(test)]
    pub(super) fn code(&self) -> Code {
        self.code
    }

    /// Adds the status's fields to a header block or to trailers.
    pub(super) fn insert_into(self, fields: &mut HeaderMap) {
        fields.insert(GRPC_STATUS, HeaderValue::from(self.code as u16));
        fields.insert(GRPC_MESSAGE, percent_encoded(&self.message));
        if !self.details.is_empty() {
            // Binary headers are sent without padding (PROTOCOL-HTTP2.md, "Binary-Header").
            let details = ascii(STANDARD_NO_PAD.encode(&self.details));
            fields.insert(GRPC_STATUS_DETAILS, details);
        }
        if let Some((name, value)) = self.header {
            fields.insert(name, value);
        }
    }
}

/// Adds the status of a call that succeeded to its trailers.
pub(super) fn insert_ok(trailers: &mut HeaderMap) {
    trailers.insert(GRPC_STATUS, HeaderValue::from_static("0"));
}

/// Converts a value that is known to be printable ASCII.
fn ascii(text: impl Into<Bytes>) -> HeaderValue {
    HeaderValue::from_maybe_shared(text.into()).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Maximum length of a status message, bytes. A longer one is truncated and ends in "...". The size of header
/// lists is limited, and a message beyond the limit would lose the whole status.
const MAX_MESSAGE_BYTES: usize = 1024;

/// Encodes a status message for a header: printable ASCII except `%` is literal, everything else is `%XX`.
fn percent_encoded(message: &str) -> HeaderValue {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut end = message.len().min(MAX_MESSAGE_BYTES);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    let cut = if end < message.len() { "..." } else { "" };
    let mut encoded = Vec::with_capacity(end + cut.len());
    for byte in message[..end].bytes().chain(cut.bytes()) {
        match byte {
            b'%' | ..b' ' | 0x7F.. => {
                let (high, low) = (usize::from(byte >> 4), usize::from(byte & 0xF));
                encoded.extend_from_slice(&[b'%', HEX[high], HEX[low]]);
            }
            plain => encoded.push(plain),
        }
    }
    ascii(encoded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_are_percent_encoded() {
        for (message, want) in [
            ("plain, with spaces", "plain, with spaces"),
            ("100%", "100%25"),
            ("line\nbreak", "line%0Abreak"),
            ("ö\u{7f}~", "%C3%B6%7F~"),
            ("", ""),
        ] {
            assert_eq!(percent_encoded(message), want);
        }
    }

    #[test]
    fn codes_have_their_numbers() {
        for number in 1..=16 {
            let code = Code::from_number(number).expect("a code");
            assert_eq!(code as u16, number);
        }
        assert_eq!(Code::from_number(0), None);
        assert_eq!(Code::from_number(17), None);
    }

    #[test]
    fn a_long_message_says_that_it_was_cut() {
        let value = percent_encoded(&"x".repeat(5000));
        assert_eq!(value.len(), MAX_MESSAGE_BYTES + 3);
        assert!(value.as_bytes().ends_with(b"x..."));
    }

    proptest! {
        #[test]
        fn every_message_reads_back(message in "\\PC{0,50}|[\\x00-\\x7f]{0,50}") {
            let value = percent_encoded(&message);
            let mut decoded = Vec::new();
            let mut bytes = value.as_bytes().iter();
            while let Some(&byte) = bytes.next() {
                prop_assert!((b' '..=b'~').contains(&byte));
                let byte = if byte == b'%' {
                    let pair: Vec<u8> = bytes.by_ref().take(2).copied().collect();
                    let text = std::str::from_utf8(&pair).expect("ASCII");
                    u8::from_str_radix(text, 16).expect("two digits")
                } else {
                    byte
                };
                decoded.push(byte);
            }
            prop_assert_eq!(String::from_utf8(decoded).expect("UTF-8"), message);
        }
    }
}
