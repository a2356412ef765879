//! gRPC status codes.

use crate::codes::codes;
use crate::error::Failure;
use crate::http2::ErrorCode;

codes! {
    /// A gRPC status code. Codes that the spec does not define are kept as received.
    pub struct Code, or else "status {}":
    OK = 0, "Success.";
    CANCELLED = 1, "The call was cancelled, usually by the caller.";
    UNKNOWN = 2, "An unknown error.";
    INVALID_ARGUMENT = 3, "The caller specified an invalid argument.";
    DEADLINE_EXCEEDED = 4, "The deadline expired before the call completed.";
    NOT_FOUND = 5, "A requested entity was not found.";
    ALREADY_EXISTS = 6, "The entity to create already exists.";
    PERMISSION_DENIED = 7, "The caller has no permission for this call.";
    RESOURCE_EXHAUSTED = 8, "A resource is exhausted, or a message is too large.";
    FAILED_PRECONDITION = 9, "The system is not in a state that this call requires.";
    ABORTED = 10, "The call was aborted, usually because of a conflict.";
    OUT_OF_RANGE = 11, "The call went past the valid range.";
    UNIMPLEMENTED = 12, "The server does not implement the method, or the number of messages is wrong.";
    INTERNAL = 13, "An internal error.";
    UNAVAILABLE = 14, "The service is currently unavailable.";
    DATA_LOSS = 15, "Unrecoverable data loss or corruption.";
    UNAUTHENTICATED = 16, "The caller is not authenticated.";
}

impl Code {
    /// Parses a `grpc-status` value. `None` if it is not a number of decimal digits.
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
