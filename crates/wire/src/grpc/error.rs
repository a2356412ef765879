//! The gRPC rules that a response can violate.

use super::code::Code;

/// A rule of the gRPC HTTP/2 spec that a response violated, or the message size limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each is")]
pub enum GrpcViolation {
    /// The content type is neither `application/grpc` nor that with a subtype.
    #[error("the response's content-type is not gRPC's (gRPC HTTP/2 spec, Responses)")]
    ContentType,
    /// The content type is gRPC's, but with another subtype than requested.
    #[error("the response is in another encoding than requested (gRPC HTTP/2 spec, Responses)")]
    Subtype,
    /// No `grpc-status`, neither in trailers nor in a trailers-only response.
    #[error("the response has no grpc-status (gRPC HTTP/2 spec, Responses)")]
    StatusMissing,
    /// `grpc-status` is only in a head that does not end the stream, where it does not count.
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
    /// A compressed message in a response that names no compression.
    #[error("a message is compressed without a grpc-encoding (gRPC HTTP/2 spec, Message-Encoding)")]
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
    /// The call's resulting status (gRPC status codes). For a response that is not gRPC or has no
    /// status, derive it from the HTTP status instead: see [`Code::from_http_status`].
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
