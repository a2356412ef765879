//! HTTP/1.1 client connections (RFC 9112).

mod connection;
mod error;

pub(crate) use connection::Connection;
pub use error::Http1Violation;
