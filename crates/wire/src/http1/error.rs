//! The rules of HTTP/1.1 that a server can break.

use crate::error::{Failure, Violation};

/// A rule of RFC 9112 that a response broke. Each message names the section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each is")]
pub enum Http1Violation {
    /// The first line is not `HTTP/1.x NNN reason`.
    #[error("the status line is malformed (RFC 9112 §4)")]
    StatusLine,
    #[error("the response is of another protocol version than HTTP/1.0 or 1.1 (RFC 9112 §2.3)")]
    Version,
    #[error("the response looks like HTTP/2, where HTTP/1.1 was asked (RFC 9113 §3.4)")]
    Http2Response,
    #[error("a carriage return stands without a line feed (RFC 9112 §2.2)")]
    BareCarriageReturn,
    /// RFC 9112 lets a client accept it; here it is refused, since peers disagree about such heads.
    #[error("a line ends without a carriage return (RFC 9112 §2.2)")]
    BareLineFeed,
    #[error("a header line is folded (RFC 9112 §5.2)")]
    FoldedLine,
    #[error("white space stands before a header's colon (RFC 9112 §5.1)")]
    SpaceBeforeColon,
    #[error("a header's name is not a token (RFC 9112 §5.1)")]
    FieldName,
    #[error("a header's value holds a control character (RFC 9110 §5.5)")]
    FieldValue,
    #[error("content-length is not a number (RFC 9112 §6.3)")]
    ContentLength,
    #[error("content-length is given with different values (RFC 9112 §6.3)")]
    ConflictingLengths,
    /// What response splitting uses.
    #[error("content-length stands beside transfer-encoding (RFC 9112 §6.3)")]
    LengthAndTransferEncoding,
    /// A transfer coding other than chunked alone, or one in an HTTP/1.0 response.
    #[error("the transfer-encoding is not plain chunked of HTTP/1.1 (RFC 9112 §6.1)")]
    TransferEncoding,
    #[error("a chunk size is malformed (RFC 9112 §7.1)")]
    ChunkSize,
    #[error("a chunk does not end with its line end (RFC 9112 §7.1)")]
    ChunkEnd,
    #[error("the server switches protocols unasked (RFC 9110 §15.2.2)")]
    SwitchingProtocols,
    #[error("bytes come that belong to no call (RFC 9112 §9.2)")]
    UnaskedBytes,
}

impl From<Http1Violation> for Failure {
    fn from(violation: Http1Violation) -> Failure {
        Failure::Violation(Violation::Http1(violation))
    }
}
