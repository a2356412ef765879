//! The stages of a call (docs/method.md).

use std::collections::BTreeMap;

use crate::Histogram;

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Timing {
    /// Each call from due to done.
    Calls,
    /// Also the stages in between. One call in flight in a closed loop.
    Stages,
}

/// The stages of a call, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// The connection's making, the TLS handshake included, for calls that open their own.
    Connect,
    /// Message to bytes.
    Encode,
    /// Bytes to fewer bytes.
    Compress,
    /// From the request's bytes, over their framing and first write, until the last byte is handed
    /// to the kernel.
    Send,
    /// Until the first byte of the response is read.
    Wait,
    /// Until its last byte is read and its framing understood.
    Receive,
    /// Back to the plain bytes.
    Decompress,
    /// Bytes to message.
    Decode,
    /// Start of encoding until the handler has the decoded message.
    RequestTime,
    /// The handler's own time.
    HandlerTime,
    /// The handler's end until the client has decoded.
    ResponseTime,
}

impl Stage {
    /// All of them, in their order.
    pub const ALL: [Stage; 11] = [
        Stage::Connect,
        Stage::Encode,
        Stage::Compress,
        Stage::Send,
        Stage::Wait,
        Stage::Receive,
        Stage::Decompress,
        Stage::Decode,
        Stage::RequestTime,
        Stage::HandlerTime,
        Stage::ResponseTime,
    ];
}

/// Time in each stage over the calls that succeeded, ns. A stage that no call had is absent.
pub type Stages = BTreeMap<Stage, Histogram>;
