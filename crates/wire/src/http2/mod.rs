//! HTTP/2 client connections with prior knowledge (RFC 9113).

mod connection;
mod error;
pub mod hpack;

pub(crate) use connection::Connection;
pub use error::{ErrorCode, Http2Violation};
