//! The rules of HTTP/1.1 that a server can break.

use crate::error::{Failure, Violation};

/// A rule of RFC 9112 that a response broke. Each message names the section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Http1Violation {
    /// The first line is not `HTTP/1.x NNN reason`.
    #[error("the status line is malformed (RFC 9112 §4)")]
    StatusLine,
    /// The response is not HTTP/1.0 or 1.1.
    #[error("the response is of another protocol version than HTTP/1.0 or 1.1 (RFC 9112 §2.3)")]
    Version,
    /// The response starts as an HTTP/2 frame does.
    #[error("the response looks like HTTP/2, where HTTP/1.1 was asked (RFC 9113 §3.4)")]
    Http2Response,
    /// A carriage return without a line feed.
    #[error("a carriage return stands without a line feed (RFC 9112 §2.2)")]
    BareCarriageReturn,
    /// A line feed without a carriage return. RFC 9112 lets a client accept it; here it is refused,
    /// since peers disagree about such heads.
    #[error("a line ends without a carriage return (RFC 9112 §2.2)")]
    BareLineFeed,
    /// A line that continues the one before.
    #[error("a header line is folded (RFC 9112 §5.2)")]
    FoldedLine,
    /// White space between a field's name and its colon.
    #[error("white space stands before a header's colon (RFC 9112 §5.1)")]
    SpaceBeforeColon,
    /// A field's name is no token, or there is no colon.
    #[error("a header's name is not a token (RFC 9112 §5.1)")]
    FieldName,
    /// A field's value holds control characters.
    #[error("a header's value holds a control character (RFC 9110 §5.5)")]
    FieldValue,
    /// Content-Length is no number.
    #[error("content-length is not a number (RFC 9112 §6.3)")]
    ContentLength,
    /// Several Content-Length values that differ.
    #[error("content-length is given with different values (RFC 9112 §6.3)")]
    ConflictingLengths,
    /// Content-Length beside Transfer-Encoding: what response splitting uses.
    #[error("content-length stands beside transfer-encoding (RFC 9112 §6.3)")]
    LengthAndTransferEncoding,
    /// A transfer coding other than chunked alone, or one in an HTTP/1.0 response.
    #[error("the transfer-encoding is not plain chunked of HTTP/1.1 (RFC 9112 §6.1)")]
    TransferEncoding,
    /// A chunk size that is no hexadecimal number, or too large.
    #[error("a chunk size is malformed (RFC 9112 §7.1)")]
    ChunkSize,
    /// A chunk's data is not followed by a line end.
    #[error("a chunk does not end with its line end (RFC 9112 §7.1)")]
    ChunkEnd,
    /// A protocol switch that was not asked for.
    #[error("the server switches protocols unasked (RFC 9110 §15.2.2)")]
    SwitchingProtocols,
    /// Bytes that belong to no response.
    #[error("bytes come that belong to no call (RFC 9112 §9.2)")]
    UnaskedBytes,
}

impl From<Http1Violation> for Failure {
    fn from(violation: Http1Violation) -> Failure {
        Failure::Violation(Violation::Http1(violation))
    }
}
