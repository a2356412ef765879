//! One connection's place: what stands there now, and when it may be opened again.

use std::io;

use rpcgauge_wire::{Client, Traffic};

use super::keepalive::Hearing;
use super::stream::Stream;

/// The shortest rest before a connection is opened again, ns, once openings have been in vain.
const FIRST_REST_NS: u64 = 1_000_000;

/// The longest rest, ns. A server that comes back is found within this time.
const LONGEST_REST_NS: u64 = 100_000_000;

/// So many openings in vain, one after the other, are followed by another at once.
const FREE_TRIES: u32 = 2;

/// A place for a connection. Connections come and go in it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) state: State,
    /// Calls in flight at most, from the schedule.
    pub(super) quota: usize,
    /// Whether it is only for connections that the server is about to end: none is opened here.
    pub(super) spare: bool,
    /// Openings in a row that led to no answer: a connection that failed to open, or that the server
    /// ended. An answer is one whatever it says.
    pub(super) in_vain: u32,
    /// How many connections have stood here, with the one that does.
    pub(super) generation: u64,
    /// Whether it was tried at all.
    pub(super) tried: bool,
    /// Whether it stands in the queue of connections that may have room.
    pub(super) queued: bool,
    /// Whether it stands in the list of connections with something to write.
    pub(super) dirty: bool,
    /// Whether it stands in the list of connections with more to read.
    pub(super) unread: bool,
}

/// What stands in a place.
#[derive(Debug)]
pub(super) enum State {
    /// Nothing. It may be opened from `retry_at` (ns) on.
    Closed { retry_at: u64 },
    /// A connection being made since `since` (ns).
    Connecting(Connecting),
    /// A connection.
    Open(Open),
}

/// A connection being made.
#[derive(Debug)]
pub(super) struct Connecting {
    /// `None` while a Unix socket's queue of waiting connections is full.
    pub(super) stream: Option<Stream>,
    pub(super) since: u64,
    /// The call that it is made for, with [`crate::ConnectionUse::PerCall`].
    pub(super) call: Option<u64>,
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) stream: Stream,
    pub(super) client: Client,
    /// The transport took less than it was given; it says when there is room again.
    pub(super) blocked: bool,
    /// Whether the loop asked to be told of room for writing.
    pub(super) watches_writable: bool,
    /// Nothing more comes after what can be read: the system has told so, which it does once, or the end
    /// was read and is not followed yet.
    pub(super) ended: bool,
    /// What was read and is not followed yet, in reads.
    pub(super) waiting: u32,
    /// Why writing failed, until what the server said before that is read. The system tells of a reset
    /// once: a read after it finds an end like any other.
    pub(super) broken: Option<io::Error>,
    /// What was last heard, as far as a keep-alive looks for it.
    pub(super) hearing: Hearing,
}

impl Connecting {
    /// Bytes of the handshake so far.
    pub(super) fn traffic(&self) -> Traffic {
        self.stream
            .as_ref()
            .map_or(Traffic::default(), Stream::overhead)
    }
}

impl Open {
    /// Whether what is written now can leave, and be answered.
    fn takes_bytes(&self) -> bool {
        !self.blocked && self.broken.is_none() && !self.ended
    }

    /// Bytes of the connection, with those of its transport.
    pub(super) fn traffic(&self) -> Traffic {
        let mut sum = *self.client.traffic();
        sum += self.stream.overhead();
        sum
    }
}

impl Connection {
    pub(super) fn new(quota: usize) -> Connection {
        Connection {
            state: State::Closed { retry_at: 0 },
            quota,
            spare: false,
            in_vain: 0,
            generation: 0,
            tried: false,
            queued: false,
            dirty: false,
            unread: false,
        }
    }

    /// A place for connections that take no more calls.
    pub(super) fn spare() -> Connection {
        Connection {
            spare: true,
            tried: true,
            ..Connection::new(0)
        }
    }

    /// How many more calls may be started here now.
    pub(super) fn room(&self) -> usize {
        self.open_to_calls().map_or(0, |open| {
            let by_schedule = self.quota.saturating_sub(open.client.in_flight());
            by_schedule.min(open.client.capacity())
        })
    }

    /// Whether the connection takes another call now, whatever the schedule says.
    pub(super) fn takes_calls(&self) -> bool {
        self.open_to_calls()
            .is_some_and(|open| open.client.capacity() > 0)
    }

    /// What stands here, where calls may be started on it. One whose transport is full takes none, so that
    /// what waits to be written stays bounded. Where nothing is in flight, what is not followed yet can only
    /// be about the connection itself, and may end it; and where answers are told apart by their order, what
    /// is not read yet would be taken for the answer of a call that begins before. A connection that is
    /// made for one call has it from the start.
    fn open_to_calls(&self) -> Option<&Open> {
        match &self.state {
            State::Open(open) if open.takes_bytes() => {
                let unheard = open.waiting > 0 || self.unread && open.client.answers_in_order();
                (!unheard || open.client.in_flight() > 0).then_some(open)
            }
            _ => None,
        }
    }

    pub(super) fn open(&mut self) -> Option<&mut Open> {
        match &mut self.state {
            State::Open(open) => Some(open),
            _ => None,
        }
    }

    /// Takes note that the server ended the connection that stands here, or made it unusable. A call
    /// that is answered sets the count to 0, so that two such ends in a row are two in vain.
    pub(super) fn ended_by_server(&mut self) {
        self.in_vain = self.in_vain.saturating_add(1);
    }

    /// Whether the connection that stands here has brought an answer already, or a part of its head.
    pub(super) fn has_answered(&self) -> bool {
        self.traffic().received.header > 0
    }

    /// Bytes of the connection that stands here.
    pub(super) fn traffic(&self) -> Traffic {
        match &self.state {
            State::Open(open) => open.traffic(),
            State::Connecting(making) => making.traffic(),
            State::Closed { .. } => Traffic::default(),
        }
    }
}

/// When a connection that is closed at `now` may be opened again: 0 is at once.
pub(super) fn rested_at(in_vain: u32, now: u64) -> u64 {
    match rest(in_vain) {
        0 => 0,
        rest => now.saturating_add(rest),
    }
}

/// How long to rest after `in_vain` openings in a row led to no answer, ns. Without it a server that
/// refuses everything would be called as fast as the machine can.
fn rest(in_vain: u32) -> u64 {
    match in_vain.checked_sub(FREE_TRIES + 1) {
        None => 0,
        Some(doublings) => (FIRST_REST_NS << doublings.min(16)).min(LONGEST_REST_NS),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use rpcgauge_wire::{Head, Limits, Protocol};

    use super::*;
    use crate::trial::Address;

    #[test]
    fn a_call_begins_where_nothing_can_be_taken_for_its_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let head = Head::builder("GET", "/", "localhost").build().unwrap();
        let room = |protocol, waiting, unread, calls: u64| {
            let limits = Limits {
                max_calls_before_settings: 2,
                ..Limits::default()
            };
            let mut client = Client::new(protocol, limits);
            for token in 0..calls {
                client.start(&head, &bytes::Bytes::new(), token).unwrap();
            }
            let mut connection = Connection::new(2);
            connection.unread = unread;
            connection.state = State::Open(Open {
                stream: Stream::connect(&address, None, None).unwrap(),
                client,
                blocked: false,
                watches_writable: false,
                ended: false,
                waiting,
                broken: None,
                hearing: Hearing::default(),
            });
            connection.room()
        };
        let (http1, http2) = (Protocol::Http1, Protocol::Http2);
        assert_eq!(room(http1, 0, false, 0), 1);
        assert_eq!(room(http1, 0, true, 0), 0, "an answer may lie there");
        assert_eq!(room(http2, 0, true, 0), 2, "answers have numbers");
        for protocol in [http1, http2] {
            assert_eq!(room(protocol, 1, false, 0), 0, "it may end the connection");
        }
        assert_eq!(room(http2, 1, true, 1), 1, "it is about the call in flight");
    }

    #[test]
    fn rests_grow_up_to_a_bound() {
        let ms = |in_vain| rest(in_vain) / 1_000_000;
        let table: Vec<u64> = (0..12).map(ms).collect();
        assert_eq!(table, [0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 100, 100]);
        assert_eq!(ms(u32::MAX), 100);
    }
}
