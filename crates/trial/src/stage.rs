//! What is timed, and the stages of a call (docs/method.md).

use serde::{Deserialize, Serialize};

/// What a trial times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Timing {
    /// One call in flight in a closed loop, timed from the start of encoding to the end of
    /// decoding, with a timestamp between stages.
    Stages,
    /// Many calls in flight or arrivals at a rate. Each call is timed from when it was due to the
    /// last byte of its response, without timestamps in between.
    Load,
}

/// Response header: when the handler received the decoded request, in decimal nanoseconds of the
/// host's monotonic clock.
pub const HANDLER_START: &str = "rpcgauge-handler-start";

/// Response header: when the handler returned its response, before it was encoded, in decimal
/// nanoseconds of the host's monotonic clock.
pub const HANDLER_END: &str = "rpcgauge-handler-end";

/// The stages of a call, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Connecting, including the TLS handshake, for calls that open their own connection.
    Connect,
    /// Converting the message to bytes.
    Encode,
    /// Compressing the encoded bytes.
    Compress,
    /// Framing the request's bytes and writing them, until the last byte is passed to the kernel.
    Send,
    /// Waiting until the first byte of the response is read.
    Wait,
    /// Receiving the rest of the response, until the last byte is read and the framing is parsed.
    Receive,
    /// Decompressing the response to encoded bytes.
    Decompress,
    /// Converting the bytes to a message.
    Decode,
    /// From the start of encoding until the handler has the decoded message. Overlaps the client's
    /// stages.
    RequestTime,
    /// The handler's own time. Overlaps `Wait`.
    HandlerTime,
    /// From the handler's end until the client has decoded the response. Overlaps the client's
    /// stages.
    ResponseTime,
}

impl Stage {
    /// All stages in order. The client's own stages come first; together, they make up the whole
    /// call.
    pub const ALL: [Self; 11] = [
        Self::Connect,
        Self::Encode,
        Self::Compress,
        Self::Send,
        Self::Wait,
        Self::Receive,
        Self::Decompress,
        Self::Decode,
        Self::RequestTime,
        Self::HandlerTime,
        Self::ResponseTime,
    ];

    /// The client's own stages.
    pub const CLIENT: &'static [Self] = Self::ALL.split_at(8).0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_stages_stand_in_their_order() {
        assert!(Stage::ALL.is_sorted_by(|a, b| a < b));
        assert_eq!(Stage::CLIENT.last(), Some(&Stage::Decode));
    }
}
