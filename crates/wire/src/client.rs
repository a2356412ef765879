//! One connection, whatever its protocol.

use std::io::IoSlice;

use bytes::Bytes;

use crate::error::StartError;
use crate::event::{Sink, Token};
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
    /// A client for a connection that was just opened. HTTP/2 queues its preface and SETTINGS
    /// immediately; if a call is started before the first write, all leave together.
    pub fn new(protocol: Protocol, limits: Limits) -> Client {
        let inner = match protocol {
            Protocol::Http1 => Inner::Http1(Box::new(http1::Connection::new(limits))),
            Protocol::Http2 => Inner::Http2(Box::new(http2::Connection::new(limits))),
        };
        Client { inner }
    }

    /// Queues a call. A large body is not copied: its reference is kept until it is written.
    ///
    /// # Errors
    /// See [`StartError`]. Nothing is queued then.
    #[inline]
    pub fn start(&mut self, head: &Head, body: &Bytes, token: Token) -> Result<(), StartError> {
        either!(&mut self.inner, c => c.start(head, body, token))
    }

    /// How many more calls can be started now; 0 once the connection is closing.
    #[inline]
    pub fn capacity(&self) -> usize {
        either!(&self.inner, c => c.capacity())
    }

    /// Whether responses are matched to calls only by their order, as in HTTP/1.1. If so, bytes
    /// that arrived before a call was started must not be passed to [`Client::input`] after: they
    /// would be taken for its response.
    #[inline]
    pub fn responses_in_order(&self) -> bool {
        matches!(self.inner, Inner::Http1(_))
    }

    /// How many calls are in flight: started and neither complete, failed nor cancelled.
    #[inline]
    pub fn in_flight(&self) -> usize {
        either!(&self.inner, c => c.in_flight())
    }

    /// The next bytes to write, in one contiguous piece; empty if there is nothing to write now.
    /// More may follow once it is consumed.
    #[inline]
    pub fn output(&self) -> &[u8] {
        either!(&self.inner, c => c.output.first())
    }

    /// Whether [`Client::output`] is everything that there is to write now. It is if all bodies are
    /// short.
    #[inline]
    pub fn is_output_in_one_piece(&self) -> bool {
        either!(&self.inner, c => c.output.is_in_one_piece())
    }

    /// Fills `slices` with the output, in order, for one vectored write. Returns how many slices
    /// were filled.
    pub fn output_slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        either!(&self.inner, c => c.output.slices(slices))
    }

    /// Reports that the transport took the first `n` bytes of the output. This can queue more, if a
    /// large body was waiting for room.
    ///
    /// # Panics
    /// If `n` is more than the output: a bug in the caller, not in the server.
    #[inline]
    pub fn consume_output(&mut self, n: usize) {
        either!(&mut self.inner, c => c.consume_output(n));
    }

    /// Whether every byte of every started call is written: no output is left and no body waits
    /// for the server's flow control.
    #[inline]
    pub fn is_all_sent(&self) -> bool {
        either!(&self.inner, c => c.is_all_sent())
    }

    /// Parses all of `bytes` and calls `sink` with the events. Once the connection is closed, bytes
    /// are ignored.
    pub fn input<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) {
        either!(&mut self.inner, c => c.input(bytes, sink));
    }

    /// Reports that the transport ended or failed, so that nothing more will be read. Calls in
    /// flight fail, except an HTTP/1.1 response whose body ends with the connection: it completes.
    /// If the transport failed rather than ended, pass `orderly` as false: such a response then
    /// fails, too.
    pub fn end_of_input<S: Sink>(&mut self, orderly: bool, sink: &mut S) {
        either!(&mut self.inner, c => c.end_of_input(orderly, sink));
    }

    /// Cancels a call; no more events are reported for it. HTTP/2 queues RST_STREAM. HTTP/1.1 has
    /// no way to cancel a call, so its connection is closed from then on. Returns false if no such
    /// call is in flight.
    pub fn cancel(&mut self, token: Token) -> bool {
        either!(&mut self.inner, c => c.cancel(token))
    }

    /// Begins an orderly shutdown, after which no call can be started. HTTP/2 queues GOAWAY;
    /// HTTP/1.1 queues nothing.
    pub fn shut_down(&mut self) {
        either!(&mut self.inner, c => c.shut_down());
    }

    /// Queues a PING, which a live server acknowledges (RFC 9113 §6.7). The acknowledgement causes
    /// no event; it only counts as received overhead. Returns false, and queues nothing, if the
    /// connection is closed or its protocol has no PING.
    pub fn ping(&mut self) -> bool {
        match &mut self.inner {
            Inner::Http1(_) => false,
            Inner::Http2(connection) => connection.ping(),
        }
    }

    /// Whether the connection is closed: no call is or can be in flight. Write the remaining output
    /// and close the transport.
    #[inline]
    pub fn is_closed(&self) -> bool {
        either!(&self.inner, c => c.is_closed())
    }

    /// Bytes so far, in both directions. The prefixes of sent gRPC messages are already counted as
    /// overhead; for those of received messages see [`Client::count_received_prefix`], and for
    /// fields that are not part of the call [`Client::count_received_marks`].
    #[inline]
    pub fn traffic(&self) -> &Traffic {
        either!(&self.inner, c => &c.traffic)
    }

    /// Counts `n` received body bytes as overhead instead: the message prefixes that
    /// [`crate::grpc::UnaryResponse`] found.
    #[inline]
    pub fn count_received_prefix(&mut self, n: u64) {
        either!(&mut self.inner, c => c.traffic.received.body_to_overhead(n));
    }

    /// Counts `n` received header bytes as marks instead: fields that the server sends for the
    /// measurement, with the length that [`crate::Fields::iter_wire_bytes`] gives.
    #[inline]
    pub fn count_received_marks(&mut self, n: u64) {
        either!(&mut self.inner, c => c.traffic.received.header_to_marks(n));
    }
}
