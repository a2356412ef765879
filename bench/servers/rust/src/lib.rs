//! Servers with known behavior, for testing load generators.
//!
//! A single-threaded event loop serves HTTP/1.1 and gRPC over HTTP/2 (with prior knowledge) on one port. The
//! servers differ only in their [`behaviour::Behaviour`], which decides when a call is answered and whether it
//! is refused, and in whether calls stream ([`streaming::Streaming`]). Every message is the same one, which is
//! encoded in advance.

pub mod arguments;
mod arrival;
pub mod behaviour;
pub mod clock;
mod connection;
pub mod deframer;
mod http1;
mod http2;
pub mod record;
mod responses;
pub mod serve;
pub mod streaming;
mod streams;
