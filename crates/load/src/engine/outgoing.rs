//! A request that is ready to be sent.

use bytes::Bytes;
use rpcgauge_wire::grpc::{self, MessageTooLong};

use crate::bodies::Body;

/// A request's message in the form in which it is sent.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// The bytes passed to the connection, including gRPC's prefix.
    pub(super) body: Bytes,
    /// Length of the message before compression, bytes.
    pub(super) plain: u64,
    /// Length of the message after compression, bytes.
    pub(super) carried: u64,
}

/// Frames a body in advance.
pub(super) fn framed(body: Body, grpc: bool) -> Result<Outgoing, MessageTooLong> {
    let carried = body.bytes.len() as u64;
    let bytes = if grpc {
        grpc::frame_message(&body.bytes, body.compressed)?
    } else {
        Bytes::from(body.bytes)
    };
    Ok(Outgoing {
        body: bytes,
        plain: body.plain_len,
        carried,
    })
}
