//! WebSocket (RFC 6455): messages in both directions over a connection that began as HTTP/1.1.
//!
//! [`crate::Client::open`] with a [`head()`] sends the opening handshake, and [`crate::http1`] reads the response. The
//! frames after it are tungstenite's.

mod error;
mod frames;
mod handshake;

pub use error::WebSocketViolation;
pub(crate) use frames::{Frames, Received};
pub use handshake::head;
pub(crate) use handshake::{FIELDS, Key, RESERVED_FIELDS, SUBPROTOCOL, check};
