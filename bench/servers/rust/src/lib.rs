//! Servers whose behaviour is known, to hold load generators against.
//!
//! One event loop on one thread serves HTTP/1.1 and gRPC over HTTP/2 (with prior knowledge) on one
//! port. What differs between the servers is a value, a [`behaviour::Behaviour`]: when a call is
//! answered, and whether it is refused. Every call gets the same response, made before the first one.

pub mod arguments;
mod arrival;
pub mod behaviour;
pub mod clock;
mod connection;
mod http1;
mod http2;
pub mod record;
pub mod serve;
