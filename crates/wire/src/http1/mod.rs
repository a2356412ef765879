//! HTTP/1.1 client connections (RFC 9112): one call at a time, kept open between calls, or
//! upgraded to a WebSocket (RFC 6455) for the only one.

mod chunked;
mod connection;
mod error;
mod head;
mod receive;
mod section;
mod websocket;

pub(crate) use connection::Connection;
pub use error::Http1Violation;

#[cfg(test)]
mod tests;
