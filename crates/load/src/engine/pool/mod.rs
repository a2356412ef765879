//! The pool: a trial's connections, each in its own place.
//!
//! ```text
//!                 ┌───────────── failed, too late ─────────────┐
//!                 ▼                                            │
//! closed, from its backoff's end on ──── connect ────► connecting ──► open
//!                 ▲                                                    │ │
//!                 └──────── ended by the server, or after its call ────┘ │
//!                                                                        │ GOAWAY with calls in flight
//!                 closed for good ◄─── its calls ended ─── draining ◄────┘ (in another place)
//! ```
//!
//! Invariants between calls to the pool's methods:
//!
//! - `counts.connecting` and `counts.open` are the numbers of places in those states.
//! - Every place that is closed or connecting is in `not_open`, unless it is for draining, or may be opened
//!   immediately for a single call.
//! - A place is at most once in each of `with_room`, `to_write` and `to_read`, as its flags indicate. It may
//!   be there unnecessarily: whoever takes it out checks its state.
//! - `traffic` never decreases: when a connection is closed, its bytes are added to `traffic_closed`.
//! - The pool itself does not begin or end calls. It returns results that tell the caller to do so.

mod connection;
mod draining;
mod keepalive;
mod opening;
mod transfer;

use std::cmp::Ordering;
use std::collections::VecDeque;

use mio::Registry;
use rpcgauge_trial::{ConnectionUse, MAX_IN_FLIGHT, Schedule};
use rpcgauge_wire::{Client, Limits, Protocol, Traffic};

use self::connection::{Connection, Open, UNANSWERED};
pub(super) use self::opening::Attempt;
use super::inbox::Origin;
use crate::clock::{self, nanos};
use crate::tls::TlsClient;
use crate::trial::{CallStyle, Trial};

pub(super) struct Pool<'t> {
    trial: &'t Trial,
    registry: Registry,
    tls: Option<TlsClient>,
    limits: Limits,
    /// How long opening a connection may take, ns. The same as a call's deadline.
    deadline: u64,
    places: Vec<Connection>,
    /// Places that may have room for a call, in rotation.
    with_room: VecDeque<usize>,
    /// Places with something to write.
    to_write: Vec<usize>,
    /// Places with more to read.
    to_read: VecDeque<usize>,
    /// Places that should be opened or are being opened.
    not_open: Vec<usize>,
    /// How many more connection attempts may begin in this turn.
    may_start: usize,
    /// Places whose connection the server is about to close (GOAWAY), until they are handled.
    going_away: Vec<usize>,
    /// When to check for silent connections next, ns; `u64::MAX` without a keep-alive.
    keepalive_at: u64,
    pub(super) counts: ConnectionCounts,
    /// Bytes of connections that are closed.
    traffic_closed: Traffic,
}

/// Current numbers of connections, and totals over the trial.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ConnectionCounts {
    pub(super) connecting: usize,
    pub(super) open: usize,
    pub(super) opened: u64,
    /// How many of the opened connections resumed the TLS session of an earlier one.
    pub(super) tls_resumed: u64,
    /// Failed attempts to open a connection.
    pub(super) failed: u64,
}

impl<'t> Pool<'t> {
    /// A pool whose sockets are registered with `registry`. No connection is open yet.
    pub(super) fn new(trial: &'t Trial, registry: Registry) -> Pool<'t> {
        let endpoint = &trial.endpoint;
        let tls = endpoint.tls.as_ref();
        let places = places(trial);
        let mut pool = Pool {
            trial,
            registry,
            tls: tls.map(|tls| tls.client(endpoint.protocol)),
            limits: limits(trial),
            deadline: nanos(trial.deadline),
            with_room: VecDeque::with_capacity(places.len()),
            to_write: Vec::with_capacity(places.len()),
            to_read: VecDeque::new(),
            not_open: Vec::new(),
            may_start: 0,
            going_away: Vec::new(),
            // HTTP/1.1 has no PING and relies on the system's probes.
            keepalive_at: match trial.keepalive {
                Some(_) if endpoint.protocol == Protocol::Http2 => 0,
                _ => u64::MAX,
            },
            places,
            counts: ConnectionCounts::default(),
            traffic_closed: Traffic::default(),
        };
        for index in 0..pool.places.len() {
            match trial.connection_use {
                ConnectionUse::Reuse => pool.not_open.push(index),
                ConnectionUse::PerCall => pool.queue(index),
            }
        }
        pool
    }

    /// Adds places until there are at least `connections`. They are then opened.
    pub(super) fn grow(&mut self, connections: usize) {
        for index in self.places.len()..connections {
            self.places.push(Connection::new(MAX_IN_FLIGHT as usize));
            self.not_open.push(index);
        }
    }

    pub(super) fn open(&mut self, index: usize) -> Option<&mut Open> {
        self.places[index].open()
    }

    /// The HTTP client of the connection at this place, if it is open.
    pub(super) fn client(&self, index: usize) -> Option<&Client> {
        self.places[index].client()
    }

    pub(super) fn traffic(&self) -> Traffic {
        let mut sum = self.traffic_closed;
        for connection in &self.places {
            sum += connection.traffic();
        }
        sum
    }

    /// The open connection from which input came, unless it is gone by now.
    pub(super) fn origin(&mut self, origin: Origin) -> Option<&mut Open> {
        let connection = &mut self.places[origin.index];
        if connection.generation == origin.generation {
            connection.open()
        } else {
            None
        }
    }

    pub(super) fn traffic_of(&self, index: usize) -> Traffic {
        self.places[index].traffic()
    }

    /// Notes that a response arrived, so that earlier attempts no longer count as failed.
    pub(super) fn note_response(&mut self, index: usize) {
        self.places[index].failed_attempts = 0;
    }

    /// Notes that the server closed the connection or made it unusable. This is a failed attempt unless a
    /// response arrived before, which resets the count.
    pub(super) fn note_end_by_server(&mut self, index: usize) {
        let connection = &mut self.places[index];
        connection.failed_attempts = connection.failed_attempts.saturating_add(1);
    }

    /// Adds a place to the queue of those that may have room for a call.
    pub(super) fn queue(&mut self, index: usize) {
        let connection = &mut self.places[index];
        if !connection.queued {
            connection.queued = true;
            self.with_room.push_back(index);
        }
    }

    /// The next place that can accept a call now. Places take turns.
    pub(super) fn next_with_room(&mut self, now: u64) -> Option<usize> {
        while let Some(index) = self.with_room.pop_front() {
            let connection = &mut self.places[index];
            connection.queued = false;
            let has_room = match self.trial.connection_use {
                ConnectionUse::Reuse => connection.room() > 0,
                ConnectionUse::PerCall => connection.may_open(now),
            };
            if has_room {
                return Some(index);
            }
        }
        None
    }

    /// The place on which a call is sent again: any other open connection that accepts calls, or else the
    /// same one if it still does. The quota of calls in flight is ignored, since the call is already included
    /// in one.
    pub(super) fn place_for_retry(&mut self, failed_on: usize, now: u64) -> Option<usize> {
        match self.trial.connection_use {
            ConnectionUse::PerCall => self.next_with_room(now),
            ConnectionUse::Reuse => {
                let places = self.places.len();
                (1..=places)
                    .map(|step| (failed_on + step) % places)
                    .find(|index| self.places[*index].takes_calls())
            }
        }
    }

    /// The only connection that can have input, if all calls are made on it and the pool has nothing else to
    /// do.
    pub(super) fn lone_connection(&self) -> Option<usize> {
        if self.has_work() || self.counts.connecting > 0 || !self.not_open.is_empty() {
            return None;
        }
        // A trial with one connection may also have a place for draining.
        let one = self.counts.open == 1 && self.places.len() <= 2;
        if !one || self.trial.connection_use == ConnectionUse::PerCall {
            return None;
        }
        self.places.iter().position(Connection::can_wait)
    }

    /// Cancels a call that ended without its response.
    pub(super) fn cancel(&mut self, index: usize, token: u64) {
        if let Some(open) = self.places[index].open() {
            open.client.cancel(token);
            self.mark_to_write(index);
            self.queue(index);
            self.close_after_call(index);
        }
    }

    /// Closes a connection whose only call is over, or whose HTTP client is closed.
    pub(super) fn close_after_call(&mut self, index: usize) {
        let per_call = self.trial.connection_use == ConnectionUse::PerCall;
        let Some(open) = self.places[index].open() else {
            return;
        };
        if per_call && open.client.in_flight() == 0 {
            open.client.shut_down();
        } else if !open.client.is_closed() {
            return;
        }
        self.end(index, clock::now());
    }

    /// Closes a connection that has no calls and accepts none. No-op if it is already closed.
    pub(super) fn end(&mut self, index: usize, now: u64) {
        let connection = &mut self.places[index];
        let Some(open) = connection.open() else {
            return;
        };
        open.say_goodbye();
        self.traffic_closed += open.traffic();
        self.counts.open -= 1;
        let backoff_until = connection.back_off(now);
        if let Some(from) = connection.drains_from {
            // The place in which it was opened records how it ended.
            let since_goaway = connection.failed_attempts.cmp(&UNANSWERED);
            let failed = &mut self.places[from].failed_attempts;
            match since_goaway {
                Ordering::Less => *failed = 0,
                // The client closed it, so this is not the server's failure.
                Ordering::Equal => {}
                Ordering::Greater => *failed = failed.saturating_add(1),
            }
        } else if self.trial.connection_use == ConnectionUse::PerCall && backoff_until == 0 {
            self.queue(index);
        } else {
            self.not_open.push(index);
        }
    }

    /// Ends the output of all connections. Without a close_notify, a server would consider a TLS session
    /// truncated.
    pub(super) fn end_transports(&mut self) {
        for connection in &mut self.places {
            if let Some(open) = connection.open() {
                open.stream.say_end();
            }
        }
    }
}

/// One slot per connection of the trial. The schedule determines how many calls each may have in flight.
fn places(trial: &Trial) -> Vec<Connection> {
    let connections = trial.connections as usize;
    let (places, calls) = match (trial.connection_use, &trial.schedule) {
        (ConnectionUse::PerCall, Schedule::Closed { in_flight }) => {
            (*in_flight as usize, *in_flight as usize)
        }
        (ConnectionUse::PerCall, _) => (connections, connections),
        (ConnectionUse::Reuse, Schedule::Closed { in_flight }) if trial.demand.is_none() => {
            (connections, *in_flight as usize)
        }
        (ConnectionUse::Reuse, _) => (connections, connections * MAX_IN_FLIGHT as usize),
    };
    // Each place has an equal share; the first ones also take the remainder.
    let (share, left) = (calls / places, calls % places);
    (0..places)
        .map(|index| Connection::new(share + usize::from(index < left)))
        .collect()
}

/// The limits of a connection, with the trial's bound on responses. Its calls in flight are bounded only by
/// its place's quota, because a lower limit would silently cap the schedule.
fn limits(trial: &Trial) -> Limits {
    let prefix = match trial.request.style {
        CallStyle::Http { .. } | CallStyle::WebSocket => 0,
        CallStyle::Grpc { .. } => rpcgauge_wire::grpc::PREFIX_LENGTH as u64,
    };
    let bound = u64::from(trial.expect.max_response_bytes) + prefix;
    Limits {
        max_body_bytes: trial.limits.max_body_bytes.min(bound),
        max_calls_in_flight: MAX_IN_FLIGHT,
        ..trial.limits.clone()
    }
}

#[cfg(test)]
mod tests {
    use mio::Poll;
    use rpcgauge_trial::FailureKind;

    use super::*;
    use crate::engine::tests::{trial, unused};

    #[test]
    fn attempts_that_fail_are_counted_and_then_back_off() {
        let trial = trial(unused());
        let poll = Poll::new().unwrap();
        let mut pool = Pool::new(&trial, poll.registry().try_clone().unwrap());
        let now = clock::now();
        for attempts in 1..=3 {
            let places = pool.take_not_open().unwrap();
            assert_eq!(places, [0]);
            let attempt = pool.maintain(0, true, now).unwrap();
            pool.put_back_not_open(places, now);
            let Attempt::Failed { call, kind, at, .. } = attempt else {
                panic!("nothing is there to connect to");
            };
            assert_eq!((call, kind), (None, FailureKind::ConnectRefused));
            assert!(at >= now && pool.all_attempted());
            assert_eq!((pool.counts.failed, pool.counts.connecting), (attempts, 0));
        }
        let attempt = pool.maintain(0, true, now).unwrap();
        assert!(matches!(attempt, Attempt::Underway), "it backs off");
        assert!(pool.next_maintenance(true, now) > now);
        assert_eq!(pool.next_maintenance(false, now), u64::MAX);
    }
}
