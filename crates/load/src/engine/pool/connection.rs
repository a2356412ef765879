//! A place for one connection: its current state, and when it may be reopened.

use std::io;

use rpcgauge_wire::{Client, Traffic};

use super::keepalive::Liveness;
use crate::engine::stream::Stream;

/// Initial backoff before a connection is reopened after failed attempts, ns.
const FIRST_BACKOFF_NS: u64 = 1_000_000;

/// Maximum backoff, ns. A server that recovers is detected within this time.
const MAX_BACKOFF_NS: u64 = 100_000_000;

/// Number of consecutive failed attempts that are retried without a backoff.
const FREE_ATTEMPTS: u32 = 2;

/// A place for a connection. Over time it contains one connection after another.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) state: State,
    /// Maximum number of calls in flight, derived from the schedule.
    quota: usize,
    /// In a place for draining, where no connections are opened: the place from which the current or last
    /// connection was moved. `None` in other places.
    pub(super) drains_from: Option<usize>,
    /// Number of consecutive attempts without a response, whether the connection failed to open or the server
    /// closed it. Any response counts, even an error. A place for draining starts with [`UNANSWERED`].
    pub(super) failed_attempts: u32,
    /// Number of connections that this place has contained, including the current one.
    pub(super) generation: u64,
    /// Whether an attempt to open it has succeeded or failed since the trial or the slice began.
    pub(super) attempted: bool,
    /// Whether the place is in the queue of those that may have room.
    pub(super) queued: bool,
    /// Whether the place is in the list of those with something to write.
    pub(super) to_write: bool,
    /// Whether the place is in the queue of those with more to read.
    pub(super) to_read: bool,
}

#[derive(Debug)]
pub(super) enum State {
    /// There is no connection. One may be opened from `backoff_until` (ns) on; 0 means immediately.
    Closed {
        backoff_until: u64,
    },
    /// A connection is being opened.
    Connecting(Connecting),
    Open(Open),
}

/// A connection that is being opened.
#[derive(Debug)]
pub(super) struct Connecting {
    /// `None` while a Unix socket's listen queue is full.
    pub(super) stream: Option<Stream>,
    /// When the attempt began, ns.
    pub(super) since: u64,
    /// The call for which it is opened, with [`rpcgauge_trial::ConnectionUse::PerCall`].
    pub(super) call: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Open {
    pub(super) stream: Stream,
    /// The connection's HTTP client.
    pub(crate) client: Client,
    /// Whether the transport accepted less than it was given. An event signals when there is room again.
    pub(super) blocked: bool,
    /// Whether the loop has requested an event for room to write.
    pub(super) watches_writable: bool,
    /// Whether no more input will follow what can be read now. Either the system has reported the end, which
    /// it does only once, or the end was read and has not been processed yet.
    pub(super) input_ended: bool,
    /// Number of reads whose bytes have not been processed yet.
    pub(crate) unprocessed: u32,
    /// Why a write failed; stored until the input before the failure has been read. The system reports a
    /// reset only once, and a later read finds an ordinary end.
    pub(crate) write_error: Option<io::Error>,
    /// The state of the connection's keep-alive.
    pub(super) liveness: Liveness,
    /// If the trial keeps detail, the calls that were passed to the client since the last write.
    pub(crate) unwritten: Vec<u64>,
}

impl Open {
    pub(super) fn new(stream: Stream, client: Client) -> Open {
        Open {
            stream,
            client,
            blocked: false,
            watches_writable: false,
            input_ended: false,
            unprocessed: 0,
            write_error: None,
            liveness: Liveness::default(),
            unwritten: Vec::new(),
        }
    }

    /// Whether output can be written now and can still be answered.
    fn takes_bytes(&self) -> bool {
        !self.blocked && self.write_error.is_none() && !self.input_ended
    }

    /// Whether the client or TLS has something to write.
    pub(crate) fn has_output(&self) -> bool {
        !self.client.is_all_sent() || self.stream.holds_output()
    }

    /// Bytes of the connection, including its transport's overhead.
    pub(super) fn traffic(&self) -> Traffic {
        let mut sum = *self.client.traffic();
        sum += self.stream.overhead();
        sum
    }
}

impl Connection {
    pub(super) fn new(quota: usize) -> Connection {
        Connection {
            state: State::Closed { backoff_until: 0 },
            quota,
            drains_from: None,
            failed_attempts: 0,
            generation: 0,
            attempted: false,
            queued: false,
            to_write: false,
            to_read: false,
        }
    }

    /// A place for connections that accept no more calls.
    pub(super) fn draining() -> Connection {
        Connection {
            attempted: true,
            ..Connection::new(0)
        }
    }

    /// How many more calls may be started on the connection now.
    pub(super) fn room(&self) -> usize {
        self.open_to_calls().map_or(0, |open| {
            let by_schedule = self.quota.saturating_sub(open.client.in_flight());
            by_schedule.min(open.client.capacity())
        })
    }

    /// Whether the connection can accept another call now, regardless of the schedule.
    pub(super) fn takes_calls(&self) -> bool {
        self.open_to_calls()
            .is_some_and(|open| open.client.capacity() > 0)
    }

    /// The connection, if calls may be started on it. A full transport accepts none, so that pending output
    /// stays bounded. While no call is in flight, unprocessed input can only concern the connection itself,
    /// and may close it. If responses are matched to calls only by order, unread input would be mistaken for
    /// the response to the next call. A connection that is opened for one call is assigned that call from the
    /// start.
    fn open_to_calls(&self) -> Option<&Open> {
        match &self.state {
            State::Open(open) if open.takes_bytes() => {
                let unread =
                    open.unprocessed > 0 || self.to_read && open.client.responses_in_order();
                (!unread || open.client.in_flight() > 0).then_some(open)
            }
            _ => None,
        }
    }

    /// Whether a connection may be opened in this place at `now`.
    pub(super) fn may_open(&self, now: u64) -> bool {
        matches!(self.state, State::Closed { backoff_until } if backoff_until <= now)
    }

    /// Whether a read can wait for this connection's next input.
    pub(super) fn can_wait(&self) -> bool {
        match &self.state {
            State::Open(open) => !open.blocked && !open.input_ended && !open.stream.holds_input(),
            State::Connecting(_) | State::Closed { .. } => false,
        }
    }

    pub(super) fn open(&mut self) -> Option<&mut Open> {
        match &mut self.state {
            State::Open(open) => Some(open),
            _ => None,
        }
    }

    pub(super) fn client(&self) -> Option<&Client> {
        match &self.state {
            State::Open(open) => Some(&open.client),
            _ => None,
        }
    }

    /// Closes the connection at `now`. Returns the end of the backoff, which depends on the failed attempts;
    /// 0 for no backoff.
    pub(super) fn back_off(&mut self, now: u64) -> u64 {
        let backoff_until = backoff_until(self.failed_attempts, now);
        self.state = State::Closed { backoff_until };
        backoff_until
    }

    pub(super) fn traffic(&self) -> Traffic {
        match &self.state {
            State::Open(open) => open.traffic(),
            // Bytes of the handshake so far.
            State::Connecting(Connecting { stream, .. }) => {
                stream.as_ref().map(Stream::overhead).unwrap_or_default()
            }
            State::Closed { .. } => Traffic::default(),
        }
    }
}

/// The value of [`Connection::failed_attempts`] when draining begins. When the connection ends, a lower value
/// means that a response arrived after GOAWAY, a higher value that the server closed the connection without a
/// response, and the same value that the client closed it.
pub(super) const UNANSWERED: u32 = 2;

/// The end of the backoff after `failed_attempts` consecutive attempts without a response; 0 for no backoff.
/// Without a backoff, a server that refuses everything would be called as fast as the machine can.
fn backoff_until(failed_attempts: u32, now: u64) -> u64 {
    let Some(doublings) = failed_attempts.checked_sub(FREE_ATTEMPTS + 1) else {
        return 0;
    };
    let backoff = (FIRST_BACKOFF_NS << doublings.min(16)).min(MAX_BACKOFF_NS);
    now.saturating_add(backoff)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use rpcgauge_wire::{Head, Limits, Protocol};

    use super::*;
    use rpcgauge_trial::Address;

    #[test]
    fn a_call_begins_if_no_unread_input_can_pass_for_its_response() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let head = Head::builder("GET", "/", "localhost").build().unwrap();
        let room = |protocol, unprocessed, to_read, calls: u64| {
            let limits = Limits {
                max_calls_before_settings: 2,
                ..Limits::default()
            };
            let mut client = Client::new(protocol, limits);
            for token in 0..calls {
                client.start(&head, &bytes::Bytes::new(), token).unwrap();
            }
            let mut connection = Connection::new(2);
            connection.to_read = to_read;
            let stream = Stream::connect(&address, None, None).unwrap();
            connection.state = State::Open(Open {
                unprocessed,
                ..Open::new(stream, client)
            });
            connection.room()
        };
        let (http1, http2) = (Protocol::Http1, Protocol::Http2);
        assert_eq!(room(http1, 0, false, 0), 1);
        assert_eq!(room(http1, 0, true, 0), 0, "a response may be unread");
        assert_eq!(room(http2, 0, true, 0), 2, "responses have numbers");
        for protocol in [http1, http2] {
            assert_eq!(room(protocol, 1, false, 0), 0, "it may end the connection");
        }
        assert_eq!(room(http2, 1, true, 1), 1, "it is about the call in flight");
    }

    #[test]
    fn backoffs_grow_up_to_a_bound() {
        let ms = |attempts| backoff_until(attempts, 0) / 1_000_000;
        let table: Vec<u64> = (0..12).map(ms).collect();
        assert_eq!(table, [0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 100, 100]);
        assert_eq!(ms(u32::MAX), 100);
    }
}
