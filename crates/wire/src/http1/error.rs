//! The HTTP/1.1 rules that a server can violate.

use crate::error::{Failure, Violation};

/// A rule of RFC 9112 that a response violated. Each message names the section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the error messages describe the variants")]
pub enum Http1Violation {
    /// The first line is not `HTTP/1.x NNN reason`.
    #[error("the status line is malformed (RFC 9112 §4)")]
    StatusLine,
    #[error("the response is not HTTP/1.0 or HTTP/1.1 (RFC 9112 §2.3)")]
    Version,
    #[error("the response looks like HTTP/2, but HTTP/1.1 was requested (RFC 9113 §3.4)")]
    Http2Response,
    #[error("a carriage return has no line feed after it (RFC 9112 §2.2)")]
    BareCarriageReturn,
    /// RFC 9112 lets a client accept it. It is rejected here because implementations interpret such
    /// heads differently.
    #[error("a line ends without a carriage return (RFC 9112 §2.2)")]
    BareLineFeed,
    #[error("a header line is folded (RFC 9112 §5.2)")]
    FoldedLine,
    #[error("there is white space before a header's colon (RFC 9112 §5.1)")]
    SpaceBeforeColon,
    #[error("a header's name is not a token (RFC 9112 §5.1)")]
    FieldName,
    #[error("a header's value contains a control character (RFC 9110 §5.5)")]
    FieldValue,
    #[error("content-length is not a number (RFC 9112 §6.3)")]
    ContentLength,
    #[error("content-length appears with different values (RFC 9112 §6.3)")]
    ConflictingLengths,
    /// Used in response splitting attacks.
    #[error("the response has both content-length and transfer-encoding (RFC 9112 §6.3)")]
    LengthAndTransferEncoding,
    /// A transfer coding other than just `chunked`, or any coding in an HTTP/1.0 response.
    #[error(
        "the transfer-encoding is not plain chunked, or the response is HTTP/1.0 (RFC 9112 §6.1)"
    )]
    TransferEncoding,
    #[error("a chunk size is malformed (RFC 9112 §7.1)")]
    ChunkSize,
    #[error("a chunk's data does not end with a line end (RFC 9112 §7.1)")]
    ChunkEnd,
    #[error("the server switches protocols without being asked to (RFC 9110 §15.2.2)")]
    SwitchingProtocols,
    #[error("the server sends bytes that belong to no call (RFC 9112 §9.2)")]
    UnaskedBytes,
}

impl From<Http1Violation> for Failure {
    fn from(violation: Http1Violation) -> Failure {
        Failure::Violation(Violation::Http1(violation))
    }
}
