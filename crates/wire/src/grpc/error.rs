//! The gRPC rules that a response can violate.

use super::code::Code;

/// A rule of the gRPC HTTP/2 spec that a response violated, or the message size limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the error messages describe the variants")]
pub enum GrpcViolation {
    /// The content type is neither `application/grpc` nor `application/grpc+SUBTYPE`.
    #[error("the response's content-type is not gRPC's (gRPC HTTP/2 spec, Responses)")]
    ContentType,
    /// The content type is gRPC's, but not with the requested subtype.
    #[error("the response does not have the requested encoding (gRPC HTTP/2 spec, Responses)")]
    Subtype,
    /// Neither the trailers nor a trailers-only response has a `grpc-status`.
    #[error("the response has no grpc-status (gRPC HTTP/2 spec, Responses)")]
    StatusMissing,
    /// `grpc-status` is only in a head that does not end the stream, where it is not valid.
    #[error(
        "grpc-status is in a head without END_STREAM instead of in trailers (gRPC HTTP/2 spec, Responses)"
    )]
    StatusInOpenHead,
    #[error("the response's grpc-status is not a number (gRPC HTTP/2 spec, Responses)")]
    StatusMalformed,
    #[error("the response has two different values of grpc-status (gRPC HTTP/2 spec, Responses)")]
    StatusConflict,
    #[error("a message has an unknown flag (gRPC HTTP/2 spec, Length-Prefixed-Message)")]
    Flag,
    /// A message is compressed, but the response has no `grpc-encoding`.
    #[error(
        "a message is compressed, but there is no grpc-encoding (gRPC HTTP/2 spec, Message-Encoding)"
    )]
    UnnamedCompression,
    #[error("the response ends inside a message (gRPC HTTP/2 spec, Length-Prefixed-Message)")]
    Truncated,
    #[error("the response is OK but has no message (gRPC status codes, cardinality)")]
    NoMessage,
    #[error("a unary response has more than one message (gRPC status codes, cardinality)")]
    ManyMessages,
    #[error("a message of {length} bytes is over the limit of {limit} (max_message_bytes)")]
    MessageTooLarge { length: u32, limit: u32 },
}

impl GrpcViolation {
    /// The resulting status of the call (gRPC status codes). For a response that is not gRPC or has
    /// no status, derive it from the HTTP status instead: see [`Code::from_http_status`].
    pub fn code(&self) -> Code {
        match self {
            GrpcViolation::ContentType
            | GrpcViolation::StatusMissing
            | GrpcViolation::StatusInOpenHead
            | GrpcViolation::StatusMalformed
            | GrpcViolation::StatusConflict => Code::UNKNOWN,
            GrpcViolation::Subtype
            | GrpcViolation::Flag
            | GrpcViolation::UnnamedCompression
            | GrpcViolation::Truncated => Code::INTERNAL,
            GrpcViolation::NoMessage | GrpcViolation::ManyMessages => Code::UNIMPLEMENTED,
            GrpcViolation::MessageTooLarge { .. } => Code::RESOURCE_EXHAUSTED,
        }
    }
}
