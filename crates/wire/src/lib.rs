//! Sans-I/O clients for HTTP/1.1, HTTP/2 (with HPACK), gRPC and WebSocket.
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
//! Every started call ends in exactly one of [`Event::Complete`], [`Event::ClosedWith`],
//! [`Event::Failed`], or a successful [`Client::cancel`].
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
//!
//! # Exchanges of messages
//!
//! [`Client::start`] sends a whole request, and the client makes room for the response as fast as
//! it reads. If either side sends several messages, use [`Client::open`] instead. It returns an
//! [`Exchange`]; the events are the same, with the token as before:
//!
//! - [`Client::send`] sends one more message, or ends the request. HTTP/2 sends a message in DATA
//!   frames, HTTP/1.1 in a chunk. A message for which the server's flow control has no room is kept,
//!   and [`Client::is_waiting`] returns true until all of it is in the output; until then, no other
//!   message is accepted.
//! - Received bytes stay in the exchange's window until the caller returns them with
//!   [`Client::release`]. A caller that releases a message when it has processed it slows down the
//!   server, which can never send more than [`Limits::stream_window`] bytes ahead. The parts of a
//!   message that may be longer than the window must be released as they arrive.
//! - [`grpc::Response`] finds the messages in a body of gRPC, [`TextDeframer`] those in NDJSON and
//!   Server-Sent Events.
//! - A [`websocket::head()`] makes the exchange a WebSocket. Its first message waits for the server's
//!   part of the opening handshake, and [`Event::Message`] is a message that was received.
//! - HTTP/1.1 has no flow control of its own, so do not read more than [`Client::input_room`].
//!
//! ```
//! use rpcgauge_wire::grpc::{self, Piece};
//! use rpcgauge_wire::{Client, Event, Limits, Protocol};
//!
//! let head = grpc::head("/pkg.Service/Talk", "localhost", None).build()?;
//! let mut client = Client::new(Protocol::Http2, Limits::default());
//! let exchange = client.open(&head, &bytes::Bytes::new(), false, 1)?;
//! client.send(exchange, &grpc::frame_message(b"first", false)?, false)?;
//! client.send(exchange, &grpc::frame_message(b"last", false)?, true)?;
//!
//! let mut response = grpc::Response::default();
//! let mut messages = 0;
//! # let from_server = b"\0\0\0\x04\0\0\0\0\0\0\0\x01\x01\x04\0\0\0\x01\x88\
//! #     \0\0\x0c\0\0\0\0\0\x01\0\0\0\0\x02hi\0\0\0\0\0";
//! client.input(from_server, &mut |event: Event<'_>| {
//!     if let Event::Body { token: 1, mut data } = event {
//!         while let Ok(Some(piece)) = response.next(&mut data) {
//!             messages += usize::from(piece == Piece::End);
//!         }
//!     }
//! });
//! assert_eq!(messages, 2);
//! client.release(exchange, 12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod client;
mod codes;
mod error;
mod event;
mod limits;
mod output;
mod request;
#[cfg(test)]
mod testing;
mod text;
mod traffic;
mod unsent;

pub mod grpc;
pub mod http1;
pub mod http2;
pub mod websocket;

pub use client::{Client, Protocol};
pub use error::{
    Closing, Failure, LimitExceeded, PrepareError, SendError, Stage, StartError, Violation,
};
pub use event::{Event, Exchange, Fields, Sink, Token};
pub use http2::ErrorCode;
pub use limits::Limits;
pub use request::{Head, HeadBuilder};
pub use text::{TextDeframer, TextFraming, TextPiece};
pub use traffic::{ByteCount, Traffic};
