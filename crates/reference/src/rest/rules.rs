//! The protocol of a call whose body is the message: REST, or unary Connect (connectrpc.com/docs/protocol).

use std::time::Duration;

use http::HeaderMap;
use rpcgauge_message::{Encoding, Workload, content_type};

const CONNECT_PROTOCOL_VERSION: &str = "connect-protocol-version";
const CONNECT_TIMEOUT: &str = "connect-timeout-ms";

const MAX_DIGITS: usize = 10;

/// The protocol that a call follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    Rest,
    Connect,
}

impl Rules {
    /// A Connect call specifies its protocol version.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        if headers.contains_key(CONNECT_PROTOCOL_VERSION) {
            Self::Connect
        } else {
            Self::Rest
        }
    }

    pub(super) fn path(self, workload: &Workload) -> &str {
        match self {
            Self::Rest => workload.rest_path(),
            Self::Connect => workload.method_path(),
        }
    }

    /// The encoding of a body with this content type; `None` if it is not supported.
    pub(super) fn encoding(self, content_type: &str) -> Option<Encoding> {
        match self {
            Self::Rest => content_type::parse_rest(content_type),
            Self::Connect => content_type::parse_connect(content_type),
        }
    }

    /// The content type of a body in this encoding.
    pub(super) fn media_type(self, encoding: Encoding) -> &'static str {
        match self {
            Self::Rest => content_type::rest(encoding),
            Self::Connect => content_type::connect(encoding),
        }
    }

    /// The timeout set by the client, if any. REST calls have none.
    ///
    /// # Errors
    /// A header of the protocol is malformed.
    pub(super) fn timeout(self, headers: &HeaderMap) -> Result<Option<Duration>, &'static str> {
        if self == Self::Rest {
            return Ok(None);
        }
        if headers[CONNECT_PROTOCOL_VERSION] != "1" {
            return Err("connect-protocol-version must be 1");
        }
        let Some(value) = headers.get(CONNECT_TIMEOUT) else {
            return Ok(None);
        };
        milliseconds(value.as_bytes())
            .map(Some)
            .ok_or("connect-timeout-ms must be 1 to 10 digits")
    }
}

fn milliseconds(digits: &[u8]) -> Option<Duration> {
    if digits.len() > MAX_DIGITS || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(Duration::from_millis(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_read_strictly() {
        for (text, want) in [
            ("1", Some(1)),
            ("0000000250", Some(250)),
            ("9999999999", Some(9_999_999_999)),
            ("", None),
            ("12345678901", None),
            ("-1", None),
            ("+1", None),
            ("1.5", None),
            ("1m", None),
            (" 1", None),
        ] {
            let want = want.map(Duration::from_millis);
            assert_eq!(milliseconds(text.as_bytes()), want, "{text:?}");
        }
    }
}
