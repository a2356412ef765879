//! HTTP/2 client connections with prior knowledge (RFC 9113).

mod calls;
mod connection;
mod error;
mod frame;
mod head_blocks;
pub mod hpack;
mod receive;
mod receive_window;
mod received_blocks;
mod response;
mod send;
mod streams;

pub(crate) use connection::Connection;
pub use error::{ErrorCode, Http2Violation};

#[cfg(test)]
mod tests;
