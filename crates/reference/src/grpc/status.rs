//! gRPC statuses and how they are sent (PROTOCOL-HTTP2.md, "Trailers-Only" and "Status-Message").

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Response};

use crate::body::AnswerBody;

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// The codes that this server sends (the gRPC project's doc/statuscodes.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Code {
    Cancelled = 1,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    ResourceExhausted = 8,
    Unimplemented = 12,
    Internal = 13,
}

/// Why a call failed.
#[derive(Debug)]
pub(super) struct Status {
    code: Code,
    message: String,
    header: Option<(&'static str, HeaderValue)>,
}

impl Status {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            header: None,
        }
    }

    /// With one more header.
    pub(super) fn with(mut self, name: &'static str, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    #[cfg(test)]
    pub(super) fn code(&self) -> Code {
        self.code
    }

    /// The whole answer in one header block: "Trailers-Only".
    pub(super) fn into_response(self, content_type: HeaderValue) -> Response<AnswerBody> {
        let mut response = Response::new(AnswerBody::default());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, content_type);
        headers.insert(GRPC_STATUS, HeaderValue::from(self.code as u16));
        headers.insert(GRPC_MESSAGE, percent_encoded(&self.message));
        if let Some((name, value)) = self.header {
            headers.insert(name, value);
        }
        response
    }
}

/// The trailers of a call that succeeded.
pub(super) fn ok_trailers() -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert(GRPC_STATUS, HeaderValue::from_static("0"));
    trailers
}

/// Longest text of a status, in bytes: header lists are bounded, and a text that breaks the bound
/// would take the status with it. A longer one ends in "...".
const MAX_MESSAGE_BYTES: usize = 1024;

/// A status message as a header: printable ASCII but `%` stands for itself, all else as `%XX`.
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
    // Only printable ASCII is in it.
    HeaderValue::from_maybe_shared(bytes::Bytes::from(encoded))
        .unwrap_or_else(|_| HeaderValue::from_static(""))
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
