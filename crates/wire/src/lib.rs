//! Sans-I/O clients for HTTP/1.1, HTTP/2 (with HPACK) and gRPC.
//!
//! Bytes in, events out. Nothing here opens a socket or reads a clock, so the same code runs under
//! any event loop, on byte arrays in tests, and under a fuzzer.
//!
//! One [`Client`] is one connection. The caller's loop is the same for both protocols:
//!
//! 1. While [`Client::capacity`] allows, [`Client::start`] calls. A [`Head`] is prepared once and
//!    used for many calls; the body is given with each call.
//! 2. Write [`Client::output`] to the transport and report the number of bytes written with
//!    [`Client::consume_output`]. One write can carry many calls.
//! 3. Pass the bytes read to [`Client::input`]; it calls back with [`Event`]s that borrow from
//!    them. Then check `output` and `capacity` again: both may have changed.
//! 4. When the transport ends or fails, call [`Client::end_of_input`]. Once [`Client::is_closed`]
//!    returns true, write the remaining `output` and close the transport.
//!
//! Every started call ends in exactly one of [`Event::Complete`], [`Event::Failed`], or a
//! successful [`Client::cancel`].
//!
//! ```
//! use rpcgauge_wire::{Client, Event, Head, Limits, Protocol};
//!
//! let head = Head::builder("GET", "/hello", "localhost").build()?;
//! let mut client = Client::new(Protocol::Http1, Limits::default());
//! client.start(&head, &bytes::Bytes::new(), 1)?;
//! assert_eq!(client.output(), b"GET /hello HTTP/1.1\r\nhost: localhost\r\n\r\n");
//! client.consume_output(client.output().len());
//!
//! let mut body = Vec::new();
//! client.input(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi", &mut |event: Event<'_>| {
//!     if let Event::Body { token: 1, data } = event {
//!         body.extend_from_slice(data);
//!     }
//! });
//! assert_eq!(body, b"hi");
//! assert_eq!(client.capacity(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! For gRPC, feed a call's events to a [`grpc::UnaryResponse`], which yields the call's status.

mod client;
mod codes;
mod error;
mod event;
mod limits;
mod output;
mod request;
#[cfg(test)]
mod testing;
mod traffic;

pub mod grpc;
pub mod http1;
pub mod http2;

pub use client::{Client, Protocol};
pub use error::{Closing, Failure, LimitExceeded, PrepareError, Stage, StartError, Violation};
pub use event::{Event, Fields, Sink, Token};
pub use http2::ErrorCode;
pub use limits::Limits;
pub use request::{Head, HeadBuilder};
pub use traffic::{ByteCount, Traffic};
