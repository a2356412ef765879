//! What is timed, and the stages of a call (docs/method.md).

use serde::{Deserialize, Serialize};

/// What a trial times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Timing {
    /// One call in flight in a closed loop, from the start of encoding to the end of decoding, with
    /// a timestamp between the stages.
    Stages,
    /// Many calls in flight or arrivals at a rate: each call from when it was due to the last byte
    /// of its response, without timestamps in between.
    Load,
}

/// Response header: the host's monotonic clock, in decimal nanoseconds, when the handler received
/// the decoded request.
pub const HANDLER_START: &str = "rpcgauge-handler-start";

/// Response header: the host's monotonic clock, in decimal nanoseconds, when the handler returned
/// its response, before it was encoded.
pub const HANDLER_END: &str = "rpcgauge-handler-end";

/// The stages of a call, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Connecting, including the TLS handshake, for calls that open their own connection.
    Connect,
    /// From the message to bytes.
    Encode,
    /// From the encoded to the compressed bytes.
    Compress,
    /// From the request's bytes, through framing and the first write, until the last byte is passed
    /// to the kernel.
    Send,
    /// Until the first byte of the response is read.
    Wait,
    /// Until its last byte is read and its framing is parsed.
    Receive,
    /// From the compressed to the encoded bytes.
    Decompress,
    /// From bytes to the message.
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
    /// All stages in order. The client's own stages come first; together they are the whole call.
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
