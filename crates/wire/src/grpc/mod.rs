//! gRPC over HTTP/2: message framing, status, and the head of a call.
//!
//! Sources: the gRPC project's `PROTOCOL-HTTP2.md`, `statuscodes.md` and
//! `http-grpc-status-mapping.md`. Messages in this module call them "gRPC HTTP/2 spec", "gRPC
//! status codes" and "gRPC HTTP mapping".

mod code;
mod deframer;
mod error;
mod request;
mod response;
mod unary;
mod values;

pub use code::Code;
pub use deframer::{Deframer, Piece};
pub use error::GrpcViolation;
pub use request::{MessageTooLong, frame_message, head};
pub use response::{Outcome, Response, StatusSource};
pub use unary::UnaryResponse;
pub use values::{check_metadata, decode_binary, decode_message, encode_binary, encode_timeout};

/// Length of the prefix of each message, in bytes: the compressed flag and a 32-bit length.
pub const PREFIX_LENGTH: usize = 5;

/// The default limit on one received message, in bytes: 4 MiB, as in grpc-go and grpc-java.
pub const DEFAULT_MAX_MESSAGE_BYTES: u32 = 4 << 20;
