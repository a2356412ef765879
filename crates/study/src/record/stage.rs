//! The stages of a call.

use serde::{Deserialize, Serialize};

/// The stages of a call, in their order (docs/method.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// The connection's making, for calls that open their own.
    Connect,
    /// Message to bytes.
    Encode,
    /// Bytes to fewer bytes.
    Compress,
    /// First write until the last byte is handed to the kernel.
    Send,
    /// Until the first byte of the response.
    Wait,
    /// Until its last byte.
    Receive,
    /// Back to the plain bytes.
    Decompress,
    /// Bytes to message.
    Decode,
    /// Start of encoding until the handler has the decoded message. Overlaps the client's stages.
    RequestTime,
    /// The handler's own time. Overlaps `Wait`.
    HandlerTime,
    /// The handler's end until the client has decoded. Overlaps the client's stages.
    ResponseTime,
}

impl Stage {
    /// The client's own stages in order; together they are the whole call.
    pub const CLIENT: [Self; 8] = [
        Self::Connect,
        Self::Encode,
        Self::Compress,
        Self::Send,
        Self::Wait,
        Self::Receive,
        Self::Decompress,
        Self::Decode,
    ];
}
