//! One connection, independent of its protocol.

use std::io::IoSlice;

use bytes::Bytes;

use crate::error::{SendError, StartError};
use crate::event::{Exchange, Sink, Token};
use crate::limits::Limits;
use crate::request::Head;
use crate::traffic::Traffic;
use crate::{http1, http2};

/// The protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// HTTP/1.1 (RFC 9112), one call at a time.
    Http1,
    /// HTTP/2 (RFC 9113) with prior knowledge.
    Http2,
}

/// The client side of one connection. The crate's documentation shows how to drive it.
#[derive(Debug)]
pub struct Client {
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    Http1(Box<http1::Connection>),
    Http2(Box<http2::Connection>),
}

/// Evaluates the same expression on the connection of either protocol.
macro_rules! either {
    ($inner:expr, $connection:ident => $call:expr) => {
        match $inner {
            Inner::Http1($connection) => $call,
            Inner::Http2($connection) => $call,
        }
    };
}

impl Client {
    /// Creates a client for a newly opened connection. HTTP/2 queues its preface and SETTINGS
    /// immediately. If a call is started before the first write, everything is sent together.
    pub fn new(protocol: Protocol, limits: Limits) -> Client {
        let inner = match protocol {
            Protocol::Http1 => Inner::Http1(Box::new(http1::Connection::new(limits))),
            Protocol::Http2 => Inner::Http2(Box::new(http2::Connection::new(limits))),
        };
        Client { inner }
    }

    /// Queues a call. A large body is not copied: a reference to it is kept until it is written.
    ///
    /// # Errors
    /// See [`StartError`]. On error, nothing is queued.
    #[inline]
    pub fn start(&mut self, head: &Head, body: &Bytes, token: Token) -> Result<(), StartError> {
        either!(&mut self.inner, c => c.start(head, body, token))
    }

    /// Opens an exchange and queues its head, with the first message unless `first` is empty. If the
    /// message is the `last` one, or if there is none and `last` is true, the request ends there.
    /// Unlike for [`Client::start`], [`Limits::max_body_bytes`] does not apply to the response, and
    /// received bytes must be released: see [`Client::release`].
    ///
    /// # Errors
    /// See [`StartError`]. On error, nothing is queued.
    pub fn open(
        &mut self,
        head: &Head,
        first: &Bytes,
        last: bool,
        token: Token,
    ) -> Result<Exchange, StartError> {
        either!(&mut self.inner, c => c.open(head, first, last, token))
    }

    /// Queues the next message of an exchange, as [`Client::start`] does a body. An empty message
    /// sends nothing, except to a WebSocket. With `last`, the request ends: see [`Client::end`].
    ///
    /// # Errors
    /// See [`SendError`]. On error, nothing is queued.
    pub fn send(
        &mut self,
        exchange: Exchange,
        message: &Bytes,
        last: bool,
    ) -> Result<(), SendError> {
        either!(&mut self.inner, c => c.send(exchange, message, last))
    }

    /// Ends the request of an exchange without another message (half-close). A WebSocket has no
    /// half-close: its closing handshake begins once as many messages were received as sent.
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn end(&mut self, exchange: Exchange) -> Result<(), SendError> {
        either!(&mut self.inner, c => c.end(exchange))
    }

    /// Whether a part of the exchange's last message waits for the server's flow control, for the
    /// opening handshake of a WebSocket, or for earlier output to be written. This can change with [`Client::input`] and
    /// [`Client::consume_output`].
    pub fn is_waiting(&self, exchange: Exchange) -> bool {
        either!(&self.inner, c => c.is_waiting(exchange))
    }

    /// Returns `bytes` of the received body to the windows, so that the server may send as many
    /// again. Then check [`Client::output`]. The end of an exchange returns all of its bytes.
    pub fn release(&mut self, exchange: Exchange, bytes: usize) {
        either!(&mut self.inner, c => c.release(exchange, bytes));
    }

    /// How many bytes may be passed to [`Client::input`] now. HTTP/2 always takes all, because its
    /// windows bound what the server sends. HTTP/1.1 takes less while received bytes of an exchange
    /// are not released; whoever leaves the rest in the transport slows down the server.
    #[inline]
    pub fn input_room(&self) -> usize {
        match &self.inner {
            Inner::Http1(connection) => connection.input_room(),
            Inner::Http2(_) => usize::MAX,
        }
    }

    /// How many more calls can be started now; 0 once the connection is closing.
    #[inline]
    pub fn capacity(&self) -> usize {
        either!(&self.inner, c => c.capacity())
    }

    /// Whether responses are matched to calls only by their order, as in HTTP/1.1. If so, bytes
    /// that arrived before a call was started must not be passed to [`Client::input`] afterwards:
    /// they would be parsed as its response.
    #[inline]
    pub fn responses_in_order(&self) -> bool {
        matches!(self.inner, Inner::Http1(_))
    }

    /// Number of calls in flight: started, but not complete, failed or cancelled.
    #[inline]
    pub fn in_flight(&self) -> usize {
        either!(&self.inner, c => c.in_flight())
    }

    /// The next bytes to write, in one contiguous piece; empty if there is nothing to write now.
    /// More may follow once they are consumed.
    #[inline]
    pub fn output(&self) -> &[u8] {
        either!(&self.inner, c => c.output().first())
    }

    /// Whether [`Client::output`] is everything that can be written now. This is the case if all
    /// bodies are short.
    #[inline]
    pub fn is_output_in_one_piece(&self) -> bool {
        either!(&self.inner, c => c.output().is_in_one_piece())
    }

    /// Fills `slices` with the output, in order, for one vectored write. Returns the number of
    /// slices filled.
    pub fn output_slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        either!(&self.inner, c => c.output().slices(slices))
    }

    /// Reports that the transport accepted the first `n` bytes of the output. This can queue more
    /// output if a large body was waiting for room.
    ///
    /// # Panics
    /// If `n` is more than the output, which is a bug in the caller, not in the server.
    #[inline]
    pub fn consume_output(&mut self, n: usize) {
        either!(&mut self.inner, c => c.consume_output(n));
    }

    /// Whether every byte of every started call is written: no output is left, and no body is
    /// waiting for the server's flow control.
    #[inline]
    pub fn is_all_sent(&self) -> bool {
        either!(&self.inner, c => c.is_all_sent())
    }

    /// Parses all of `bytes` and calls `sink` with the events. Ignores bytes once the connection is
    /// closed.
    pub fn input<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) {
        either!(&mut self.inner, c => c.input(bytes, sink));
    }

    /// Reports that the transport ended or failed, so nothing more will be read. Calls in flight
    /// fail, except an HTTP/1.1 response whose body ends with the connection, which completes. If
    /// the transport failed, pass `orderly` as false: such a response then fails, too.
    pub fn end_of_input<S: Sink>(&mut self, orderly: bool, sink: &mut S) {
        either!(&mut self.inner, c => c.end_of_input(orderly, sink));
    }

    /// Cancels a call. No more events are reported for it. HTTP/2 queues RST_STREAM. HTTP/1.1 has
    /// no way to cancel a call, so this closes the connection; a WebSocket queues a close frame. Returns false if no call with this
    /// token is in flight.
    pub fn cancel(&mut self, token: Token) -> bool {
        either!(&mut self.inner, c => c.cancel(token))
    }

    /// Begins an orderly shutdown. No call can be started afterwards. HTTP/2 queues GOAWAY;
    /// HTTP/1.1 queues nothing.
    pub fn shut_down(&mut self) {
        either!(&mut self.inner, c => c.shut_down());
    }

    /// Queues a PING, which a live server acknowledges (RFC 9113 §6.7). The acknowledgement causes
    /// no event; it is only counted as received overhead. Returns false, and queues nothing, if the
    /// connection is closed or its protocol has no PING.
    pub fn ping(&mut self) -> bool {
        match &mut self.inner {
            Inner::Http1(_) => false,
            Inner::Http2(connection) => connection.ping(),
        }
    }

    /// Whether the connection is closed: no call is or can be in flight. The caller should write
    /// the remaining output and close the transport.
    #[inline]
    pub fn is_closed(&self) -> bool {
        either!(&self.inner, c => c.is_closed())
    }

    /// Bytes so far, in both directions. The prefixes of sent gRPC messages are already counted as
    /// overhead. For those of received messages see [`Client::count_received_prefix`], and for
    /// fields that exist only for the measurement [`Client::count_received_marks`].
    #[inline]
    pub fn traffic(&self) -> &Traffic {
        either!(&self.inner, c => c.traffic())
    }

    /// Moves `n` received body bytes to overhead: the message prefixes that
    /// [`crate::grpc::Response`] found.
    #[inline]
    pub fn count_received_prefix(&mut self, n: u64) {
        either!(&mut self.inner, c => c.traffic_mut().received.body_to_overhead(n));
    }

    /// Moves `n` received header bytes to marks: fields that the server sends for the measurement,
    /// with their size from [`crate::Fields::iter_wire_bytes`].
    #[inline]
    pub fn count_received_marks(&mut self, n: u64) {
        either!(&mut self.inner, c => c.traffic_mut().received.header_to_marks(n));
    }
}
