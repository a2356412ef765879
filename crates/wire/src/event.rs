//! Events that a connection reports to its caller.

use crate::error::{Closing, Failure};

/// The caller's identifier for a call. The connection only returns it in events. It must be unique
/// among the calls in flight on one connection.
pub type Token = u64;

/// A call whose messages are sent and received one by one: see [`crate::Client::open`]. The
/// connection never uses it again for another exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Exchange(pub(crate) u32);

/// Something the server sent, in the order received. Borrows from the bytes just read.
///
/// A call's events are, in this order: `FirstByte`, any number of `Interim`, `Head`, any number of
/// `Body`, at most one `Trailers`, then `Complete`. `Failed` can replace the rest at any point. A WebSocket
/// has `Message`s in place of the body, and may end with `ClosedWith`.
#[derive(Debug, Clone, Copy)]
#[expect(
    missing_docs,
    reason = "a token identifies the call; a failure or reason is why it ended"
)]
pub enum Event<'a> {
    /// The first byte of the call's response arrived; in HTTP/2, its first frame's header. Reported
    /// once per call.
    FirstByte { token: Token },
    /// An interim (1xx) response. The final response is still to come.
    Interim {
        token: Token,
        /// The status, 100 to 199.
        status: u16,
    },
    /// The head of the final response.
    Head {
        token: Token,
        /// The HTTP status, 200 to 999; 101 if the connection is now a WebSocket.
        status: u16,
        /// All fields, in order, without pseudo-header fields.
        fields: Fields<'a>,
        /// Whether the response ends here: no body and no trailers follow. A gRPC response of this
        /// shape is "trailers-only".
        end: bool,
    },
    /// Some bytes of the body, never empty.
    Body {
        token: Token,
        /// The bytes, after chunk or frame decoding.
        data: &'a [u8],
    },
    /// A whole message of a WebSocket; may be empty.
    Message {
        token: Token,
        /// The message, joined from its fragments.
        data: &'a [u8],
    },
    /// The trailer section, after the body.
    Trailers {
        token: Token,
        /// All trailer fields, in order.
        fields: Fields<'a>,
    },
    /// The response is complete: its last byte arrived.
    Complete { token: Token },
    /// The server closed the WebSocket with a code other than 1000 before the client did. The call
    /// has ended.
    ClosedWith {
        token: Token,
        /// The status code (RFC 6455 §7.4).
        code: u16,
        /// The server's explanation; may be empty.
        reason: &'a str,
    },
    /// The call ended without a complete response.
    Failed { token: Token, failure: Failure },
    /// The connection accepts no more calls. Calls in flight may still complete. Reported at most
    /// once, and not if the caller itself ended the connection by calling
    /// [`crate::Client::shut_down`], cancelling an HTTP/1.1 call, or using up the stream numbers of
    /// HTTP/2.
    Closing { reason: Closing },
}

/// Receives events. Any closure is a sink. A dedicated type lets the compiler inline it wherever an
/// event is created.
pub trait Sink {
    /// Receives an event.
    fn take(&mut self, event: Event<'_>);
}

impl<F: FnMut(Event<'_>)> Sink for F {
    fn take(&mut self, event: Event<'_>) {
        self(event);
    }
}

/// The position of a field's name and value in a text, as byte offsets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldRange {
    pub(crate) name_start: u32,
    pub(crate) name_end: u32,
    pub(crate) value_start: u32,
    pub(crate) value_end: u32,
    /// Bytes of the field on the wire: its HTTP/1.1 line with CRLF, or its HPACK representation.
    pub(crate) wire_bytes: u32,
}

impl FieldRange {
    /// The name and value in `text`.
    #[inline]
    pub(crate) fn of<'a>(&self, text: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        (
            &text[self.name_start as usize..self.name_end as usize],
            &text[self.value_start as usize..self.value_end as usize],
        )
    }
}

/// The fields of a head or trailer section, in the order received.
#[derive(Clone, Copy)]
pub struct Fields<'a> {
    text: &'a [u8],
    ranges: &'a [FieldRange],
}

impl<'a> Fields<'a> {
    pub(crate) fn new(text: &'a [u8], ranges: &'a [FieldRange]) -> Self {
        Fields { text, ranges }
    }

    /// The number of fields. A repeated name is counted each time.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// All fields as (name, value). Names are as received: lower case in HTTP/2, any case in
    /// HTTP/1.1. Values have no surrounding white space.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let text = self.text;
        self.ranges.iter().map(move |range| range.of(text))
    }

    /// Like [`Fields::iter`], with the bytes that each field took on the wire: in HTTP/1.1 its line
    /// with CRLF, in HTTP/2 its HPACK representation, which may be only an index.
    pub fn iter_wire_bytes(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8], u64)> + use<'a> {
        let text = self.text;
        self.ranges.iter().map(move |range| {
            let (name, value) = range.of(text);
            (name, value, u64::from(range.wire_bytes))
        })
    }

    /// The value of the first field with this name, ignoring case.
    #[inline]
    pub fn get(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

impl std::fmt::Debug for Fields<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        f.debug_map()
            .entries(self.iter().map(|(name, value)| (text(name), text(value))))
            .finish()
    }
}
