//! gRPC status codes.

use crate::error::Failure;
use crate::http2::ErrorCode;

/// A gRPC status code. Codes that the spec does not know are kept as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub u32);

impl Code {
    /// Success.
    pub const OK: Code = Code(0);
    /// Given up by the caller.
    pub const CANCELLED: Code = Code(1);
    /// No better code is known.
    pub const UNKNOWN: Code = Code(2);
    /// The caller's argument is wrong.
    pub const INVALID_ARGUMENT: Code = Code(3);
    /// Out of time.
    pub const DEADLINE_EXCEEDED: Code = Code(4);
    /// No such thing.
    pub const NOT_FOUND: Code = Code(5);
    /// The thing is there already.
    pub const ALREADY_EXISTS: Code = Code(6);
    /// The caller may not do this.
    pub const PERMISSION_DENIED: Code = Code(7);
    /// Some resource is used up, or a message is too large.
    pub const RESOURCE_EXHAUSTED: Code = Code(8);
    /// The system is not in the state this needs.
    pub const FAILED_PRECONDITION: Code = Code(9);
    /// Ended, as by a conflict.
    pub const ABORTED: Code = Code(10);
    /// Past the valid range.
    pub const OUT_OF_RANGE: Code = Code(11);
    /// The server does not have this method, or the count of messages is wrong.
    pub const UNIMPLEMENTED: Code = Code(12);
    /// Something is broken.
    pub const INTERNAL: Code = Code(13);
    /// Cannot be served now.
    pub const UNAVAILABLE: Code = Code(14);
    /// Data is lost.
    pub const DATA_LOSS: Code = Code(15);
    /// The caller is not known.
    pub const UNAUTHENTICATED: Code = Code(16);

    /// The code's name, when the spec knows it.
    pub fn name(self) -> Option<&'static str> {
        const NAMES: [&str; 17] = [
            "OK",
            "CANCELLED",
            "UNKNOWN",
            "INVALID_ARGUMENT",
            "DEADLINE_EXCEEDED",
            "NOT_FOUND",
            "ALREADY_EXISTS",
            "PERMISSION_DENIED",
            "RESOURCE_EXHAUSTED",
            "FAILED_PRECONDITION",
            "ABORTED",
            "OUT_OF_RANGE",
            "UNIMPLEMENTED",
            "INTERNAL",
            "UNAVAILABLE",
            "DATA_LOSS",
            "UNAUTHENTICATED",
        ];
        NAMES.get(self.0 as usize).copied()
    }

    /// Reads a `grpc-status` value: decimal digits. `None` when it is no such number.
    #[inline]
    pub fn parse(value: &[u8]) -> Option<Code> {
        let number = value.iter().try_fold(0u32, |number, byte| {
            let digit = byte.wrapping_sub(b'0');
            let shifted = number.checked_mul(10).filter(|_| digit < 10)?;
            shifted.checked_add(u32::from(digit))
        })?;
        (!value.is_empty()).then_some(Code(number))
    }

    /// The code for a response without `grpc-status` (gRPC HTTP mapping).
    pub fn from_http_status(status: u16) -> Code {
        match status {
            400 | 431 => Code::INTERNAL,
            401 => Code::UNAUTHENTICATED,
            403 => Code::PERMISSION_DENIED,
            404 => Code::UNIMPLEMENTED,
            429 | 502 | 503 | 504 => Code::UNAVAILABLE,
            _ => Code::UNKNOWN,
        }
    }

    /// The code for a call that the server reset (gRPC HTTP/2 spec, "Errors").
    pub fn from_reset(code: ErrorCode) -> Code {
        match code {
            ErrorCode::REFUSED_STREAM => Code::UNAVAILABLE,
            ErrorCode::CANCEL => Code::CANCELLED,
            ErrorCode::ENHANCE_YOUR_CALM => Code::RESOURCE_EXHAUSTED,
            ErrorCode::INADEQUATE_SECURITY => Code::PERMISSION_DENIED,
            known if known.name().is_some() => Code::INTERNAL,
            _ => Code::UNKNOWN,
        }
    }

    /// The code for a call that ended without a response.
    pub fn from_failure(failure: &Failure) -> Code {
        match failure {
            Failure::Closed { .. } | Failure::GoneAway { .. } => Code::UNAVAILABLE,
            Failure::Reset { code } => Code::from_reset(*code),
            Failure::Violation(_) => Code::INTERNAL,
            Failure::Limit(_) => Code::RESOURCE_EXHAUSTED,
        }
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "status {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_decimal_digits_only() {
        assert_eq!(Code::parse(b"0"), Some(Code::OK));
        assert_eq!(Code::parse(b"16"), Some(Code::UNAUTHENTICATED));
        assert_eq!(Code::parse(b"4294967295"), Some(Code(u32::MAX)));
        for bad in [
            "",
            "-1",
            "+1",
            " 1",
            "1x",
            "4294967296",
            "99999999999999999999",
        ] {
            assert_eq!(Code::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn every_known_code_has_its_name() {
        assert_eq!(Code(7).to_string(), "PERMISSION_DENIED");
        assert_eq!(Code::UNAUTHENTICATED.to_string(), "UNAUTHENTICATED");
        assert_eq!(Code(99).to_string(), "status 99");
    }

    #[test]
    fn http_status_maps_as_the_spec_says() {
        let cases = [
            (200, 2),
            (400, 13),
            (401, 16),
            (403, 7),
            (404, 12),
            (429, 14),
            (431, 13),
        ];
        let more = [
            (500, 2),
            (502, 14),
            (503, 14),
            (504, 14),
            (418, 2),
            (800, 2),
        ];
        for (status, code) in cases.into_iter().chain(more) {
            assert_eq!(Code::from_http_status(status), Code(code), "{status}");
        }
    }

    #[test]
    fn resets_map_as_the_spec_says() {
        let codes: Vec<u32> = (0..15).map(|c| Code::from_reset(ErrorCode(c)).0).collect();
        assert_eq!(
            codes,
            [13, 13, 13, 13, 13, 13, 13, 14, 1, 13, 13, 8, 7, 13, 2]
        );
    }
}
