//! HTTP/2 error codes, and the HTTP/2 rules that a server can violate.

use crate::codes::codes;
use crate::error::{Failure, Violation};

codes! {
    /// An error code of RST_STREAM and GOAWAY (RFC 9113 §7). Unknown codes are preserved.
    pub struct ErrorCode, or else "error code {:#x}":
    NO_ERROR = 0x0, "Graceful shutdown.";
    PROTOCOL_ERROR = 0x1, "Unspecific protocol error.";
    INTERNAL_ERROR = 0x2, "Unexpected internal error.";
    FLOW_CONTROL_ERROR = 0x3, "Flow control was violated.";
    SETTINGS_TIMEOUT = 0x4, "SETTINGS were not acknowledged in time.";
    STREAM_CLOSED = 0x5, "A frame arrived on a half-closed stream.";
    FRAME_SIZE_ERROR = 0x6, "A frame has a wrong size.";
    REFUSED_STREAM = 0x7, "The stream was not processed.";
    CANCEL = 0x8, "The stream is no longer needed.";
    COMPRESSION_ERROR = 0x9, "The field compression context is lost.";
    CONNECT_ERROR = 0xa, "A tunnel's connection was reset.";
    ENHANCE_YOUR_CALM = 0xb, "The peer causes excessive load.";
    INADEQUATE_SECURITY = 0xc, "The transport is not secure enough.";
    HTTP_1_1_REQUIRED = 0xd, "HTTP/1.1 is required instead.";
}

/// A rule of RFC 9113 that the server violated. Each message names the section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the error messages describe the variants")]
pub enum Http2Violation {
    #[error("the server does not speak HTTP/2: its first frame is not SETTINGS (RFC 9113 §3.4)")]
    Preface,
    #[error("the server speaks only HTTP/1.x, but HTTP/2 is required (RFC 9113 §3.4)")]
    Http1Response,
    #[error("a frame is longer than allowed (RFC 9113 §4.2)")]
    FrameTooLong,
    #[error("a {0} frame has a wrong length (RFC 9113 §4.2, §6)")]
    FrameLength(&'static str),
    /// A frame of a call on stream 0, or a frame of the connection on another stream.
    #[error("a {0} frame is on a stream where it is not allowed (RFC 9113 §6)")]
    FrameStream(&'static str),
    /// The padding is as long as the frame or longer.
    #[error("a frame's padding is longer than the frame (RFC 9113 §6.1)")]
    Padding,
    #[error("a field block is interrupted (RFC 9113 §6.10)")]
    BlockInterrupted,
    #[error("a CONTINUATION frame continues nothing (RFC 9113 §6.10)")]
    UnexpectedContinuation,
    #[error("the server pushes although push is disabled (RFC 9113 §8.4)")]
    Push,
    #[error("a setting has a value that is not allowed (RFC 9113 §6.5.2)")]
    SettingValue,
    /// SETTINGS_INITIAL_WINDOW_SIZE is above 2^31-1, or it or a WINDOW_UPDATE would make a window
    /// larger than that.
    #[error("a window grows beyond 2^31-1 bytes (RFC 9113 §6.9.1, §6.9.2)")]
    WindowOverflow,
    #[error("a window is increased by 0 (RFC 9113 §6.9)")]
    WindowIncrement,
    #[error("the server sends more than flow control allows (RFC 9113 §6.9.1)")]
    FlowControl,
    #[error("a frame is on a stream that was not opened (RFC 9113 §5.1)")]
    IdleStream,
    #[error("a frame comes after its stream's end (RFC 9113 §5.1)")]
    ClosedStream,
    #[error("a second GOAWAY raises the last stream of the first (RFC 9113 §6.8)")]
    GoAwayIncreased,
    #[error("data comes before the response's head (RFC 9113 §8.1)")]
    DataBeforeHead,
    /// A pseudo-header field is unknown, misplaced or repeated, or `:status` is missing.
    #[error(
        "the response does not start with :status as its only pseudo-header field (RFC 9113 §8.3)"
    )]
    PseudoFields,
    #[error(":status is not three digits (RFC 9113 §8.3.2)")]
    Status,
    #[error("a field's name is malformed or not in lower case (RFC 9113 §8.2.1)")]
    FieldName,
    /// The value contains control characters, or is surrounded by white space.
    #[error("a field's value is malformed (RFC 9113 §8.2.1)")]
    FieldValue,
    /// A field for HTTP/1.1 connection management.
    #[error("the response has a connection-specific field (RFC 9113 §8.2.2)")]
    ConnectionField,
    /// The trailer section does not end the stream, or a second head follows the final one.
    #[error("the trailers do not have END_STREAM (RFC 9113 §8.1)")]
    TrailersNotLast,
    /// An interim response ends the stream or has status 101.
    #[error("an interim response ends its stream or has status 101 (RFC 9113 §8.1, §8.6)")]
    Interim,
    #[error("content-length is malformed (RFC 9113 §8.1.1)")]
    ContentLength,
    #[error("the body's length does not match its content-length (RFC 9113 §8.1.1)")]
    LengthMismatch,
}

impl Http2Violation {
    /// The code to send to the server in GOAWAY or RST_STREAM.
    pub fn code(&self) -> ErrorCode {
        match self {
            Http2Violation::FrameTooLong | Http2Violation::FrameLength(_) => {
                ErrorCode::FRAME_SIZE_ERROR
            }
            Http2Violation::WindowOverflow | Http2Violation::FlowControl => {
                ErrorCode::FLOW_CONTROL_ERROR
            }
            Http2Violation::ClosedStream => ErrorCode::STREAM_CLOSED,
            _ => ErrorCode::PROTOCOL_ERROR,
        }
    }
}

impl From<Http2Violation> for Failure {
    fn from(violation: Http2Violation) -> Failure {
        Failure::Violation(Violation::Http2(violation))
    }
}

/// The code that tells the server why the client ends a stream or the connection.
pub(super) fn code_for(failure: &Failure) -> ErrorCode {
    match failure {
        Failure::Violation(Violation::Http2(violation)) => violation.code(),
        Failure::Violation(Violation::Hpack(_)) => ErrorCode::COMPRESSION_ERROR,
        Failure::Limit(_) => ErrorCode::ENHANCE_YOUR_CALM,
        _ => ErrorCode::PROTOCOL_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_their_registered_names() {
        assert_eq!(ErrorCode(0x7).to_string(), "REFUSED_STREAM");
        assert_eq!(
            ErrorCode::HTTP_1_1_REQUIRED.to_string(),
            "HTTP_1_1_REQUIRED"
        );
        assert_eq!(ErrorCode(0x1f).to_string(), "error code 0x1f");
    }
}
