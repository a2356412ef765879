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

/// The client's side of one connection. See the crate's documentation for how it is driven.
#[derive(Debug)]
pub struct Client {
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    Http1(Box<http1::Connection>),
    Http2(Box<http2::Connection>),
}

/// The same expression on the connection of either protocol.
macro_rules! either {
    ($inner:expr, $connection:ident => $call:expr) => {
        match $inner {
            Inner::Http1($connection) => $call,
            Inner::Http2($connection) => $call,
        }
    };
}

impl Client {
    /// A connection that was just opened. HTTP/2 queues its preface and SETTINGS at once; they
    /// leave together with the first call when that is started before the first write.
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
    /// See [`StartError`]; nothing was queued then.
    #[inline]
    pub fn start(&mut self, head: &Head, body: &Bytes, token: Token) -> Result<(), StartError> {
        either!(&mut self.inner, c => c.start(head, body, token))
    }

    /// How many more calls can be started now. 0 also once the connection is closing.
    #[inline]
    pub fn capacity(&self) -> usize {
        either!(&self.inner, c => c.capacity())
    }

    /// Whether responses are matched to calls by their order alone, as in HTTP/1.1. Bytes that came
    /// before a call was started, and are given to [`Client::input`] after, would then be taken for
    /// its response.
    #[inline]
    pub fn responses_in_order(&self) -> bool {
        matches!(self.inner, Inner::Http1(_))
    }

    /// How many calls are in flight: started and neither complete, failed nor cancelled.
    #[inline]
    pub fn in_flight(&self) -> usize {
        either!(&self.inner, c => c.in_flight())
    }

    /// The next bytes to write, empty when there is nothing to write now. This is one contiguous
    /// piece; more may follow once it is consumed.
    #[inline]
    pub fn output(&self) -> &[u8] {
        either!(&self.inner, c => c.output.first())
    }

    /// Whether [`Client::output`] is known to be all that there is to write now, as it is where bodies are
    /// short.
    #[inline]
    pub fn is_output_in_one_piece(&self) -> bool {
        either!(&self.inner, c => c.output.is_in_one_piece())
    }

    /// Fills `slices` with what is to be written, in order, for one vectored write. Returns how
    /// many slices were filled.
    pub fn output_slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        either!(&self.inner, c => c.output.slices(slices))
    }

    /// Reports that the transport took the first `n` bytes of the output. More may be queued by this
    /// when a large body waited for room.
    ///
    /// # Panics
    /// When `n` is more than was offered: a mistake of the caller, not of the server.
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

    /// Takes what was read and calls `sink` with what it means. All of `bytes` is taken. After the
    /// connection is closed, bytes are ignored.
    pub fn input<S: Sink>(&mut self, bytes: &[u8], sink: &mut S) {
        either!(&mut self.inner, c => c.input(bytes, sink));
    }

    /// Reports that the transport ended or broke: nothing will be read any more. Calls in flight
    /// fail, except an HTTP/1.1 response whose body ends with the connection, which completes. When
    /// the transport broke rather than ended, say so with `orderly` false: such a body then fails.
    pub fn end_of_input<S: Sink>(&mut self, orderly: bool, sink: &mut S) {
        either!(&mut self.inner, c => c.end_of_input(orderly, sink));
    }

    /// Gives a call up; no event for it comes any more. HTTP/2 queues RST_STREAM; HTTP/1.1 has no
    /// such thing, and its connection is closed from then on. False when no such call is in flight.
    pub fn cancel(&mut self, token: Token) -> bool {
        either!(&mut self.inner, c => c.cancel(token))
    }

    /// Queues an orderly end: GOAWAY in HTTP/2, nothing in HTTP/1.1. No call can be started then.
    pub fn shut_down(&mut self) {
        either!(&mut self.inner, c => c.shut_down());
    }

    /// Queues a PING, which a server that is there acknowledges (RFC 9113 §6.7). The acknowledgement is
    /// not an event of a call: it counts as overhead received, like every sign of life. False where the
    /// connection is over or its protocol has no PING; nothing is queued then.
    pub fn ping(&mut self) -> bool {
        match &mut self.inner {
            Inner::Http1(_) => false,
            Inner::Http2(connection) => connection.ping(),
        }
    }

    /// Whether the connection is over: no call is or can be in flight. Write what output is left
    /// and close the transport.
    #[inline]
    pub fn is_closed(&self) -> bool {
        either!(&self.inner, c => c.is_closed())
    }

    /// Bytes so far, both directions. The prefix of each gRPC message sent is counted as overhead
    /// already; for received ones see [`Client::count_received_prefix`], and for fields that are not
    /// part of the call [`Client::count_received_marks`].
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

    /// Counts `n` received header bytes as marks instead: fields that the server
    /// sends for the measurement, as long as [`crate::Fields::iter_wire_bytes`] says they were.
    #[inline]
    pub fn count_received_marks(&mut self, n: u64) {
        either!(&mut self.inner, c => c.traffic.received.header_to_marks(n));
    }
}
