//! The WebSocket rules that a server can violate.

use tungstenite::error::{CapacityError, ProtocolError};

use crate::error::{Failure, LimitExceeded, Violation};

/// A rule of RFC 6455 that a server violated. Each message names the section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the error messages describe the variants")]
pub enum WebSocketViolation {
    #[error("status 101 without upgrade: websocket and connection: upgrade (RFC 6455 §4.1)")]
    Upgrade,
    /// The server has not read the key. It may be no WebSocket server, or a cache.
    #[error("sec-websocket-accept does not match the key (RFC 6455 §4.1)")]
    Accept,
    #[error("the server selects an extension that was not offered (RFC 6455 §4.1)")]
    Extension,
    #[error("the server selects a subprotocol that was not offered (RFC 6455 §4.1)")]
    Subprotocol,
    #[error("a reserved bit of a frame is set (RFC 6455 §5.2)")]
    ReservedBits,
    #[error("a frame has an unknown opcode (RFC 6455 §5.2)")]
    Opcode,
    #[error("the server masks a frame (RFC 6455 §5.1)")]
    MaskedFrame,
    #[error("a fragment continues no message, or a message begins inside another (RFC 6455 §5.4)")]
    Fragment,
    #[error("a control frame is fragmented or longer than 125 bytes (RFC 6455 §5.5)")]
    ControlFrame,
    #[error("a close frame has one byte, or a code that must not be sent (RFC 6455 §7.4)")]
    CloseFrame,
    #[error("a text is not UTF-8 (RFC 6455 §8.1)")]
    Utf8,
    #[error("the server's frames cannot be read (RFC 6455 §5)")]
    Frames,
}

impl From<WebSocketViolation> for Failure {
    fn from(violation: WebSocketViolation) -> Failure {
        Failure::Violation(Violation::WebSocket(violation))
    }
}

/// What an error of the codec means for the call.
pub(super) fn failure(error: &tungstenite::Error) -> Failure {
    use tungstenite::Error;
    match error {
        Error::Capacity(CapacityError::MessageTooLong { max_size, .. }) => {
            let most = u32::try_from(*max_size).unwrap_or(u32::MAX);
            LimitExceeded::MessageBytes(most).into()
        }
        Error::Utf8(_) => WebSocketViolation::Utf8.into(),
        Error::Protocol(error) => of_protocol(error).into(),
        _ => WebSocketViolation::Frames.into(),
    }
}

fn of_protocol(error: &ProtocolError) -> WebSocketViolation {
    match error {
        ProtocolError::NonZeroReservedBits => WebSocketViolation::ReservedBits,
        ProtocolError::InvalidOpcode(_)
        | ProtocolError::UnknownControlFrameType(_)
        | ProtocolError::UnknownDataFrameType(_) => WebSocketViolation::Opcode,
        ProtocolError::MaskedFrameFromServer => WebSocketViolation::MaskedFrame,
        ProtocolError::UnexpectedContinueFrame | ProtocolError::ExpectedFragment(_) => {
            WebSocketViolation::Fragment
        }
        ProtocolError::FragmentedControlFrame | ProtocolError::ControlFrameTooBig => {
            WebSocketViolation::ControlFrame
        }
        ProtocolError::InvalidCloseSequence => WebSocketViolation::CloseFrame,
        _ => WebSocketViolation::Frames,
    }
}
