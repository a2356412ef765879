//! Opens connections, with retries after a backoff.

use std::io;

use rpcgauge_trial::{ConnectionUse, FailureKind};
use rpcgauge_wire::Client;

use super::Pool;
use super::connection::{Connecting, Open, State};
use crate::clock;
use crate::engine::failure_kinds;
use crate::engine::stream::Stream;
use crate::error::LoadError;

/// Maximum number of connections that are being opened at a time. It keeps the server's listen queue (128 on
/// many systems) from overflowing.
const MAX_CONNECTING: usize = 100;

/// How long to wait before retrying a Unix socket with a full listen queue, ns. No event signals when there
/// is room.
const FULL_QUEUE_BACKOFF_NS: u64 = 200_000;

/// The state of an attempt to open a connection.
pub(crate) enum Attempt {
    /// The attempt continues.
    Underway,
    /// The connection is open. If it is meant for a single call, `call` is that call.
    Open { call: Option<u64> },
    /// The attempt failed at `at` (ns).
    Failed {
        call: Option<u64>,
        kind: FailureKind,
        text: String,
        at: u64,
    },
}

impl Pool<'_> {
    /// Takes the list of places that are not open, for [`Pool::maintain`]; `None` if all are open.
    #[inline]
    pub(crate) fn take_not_open(&mut self) -> Option<Vec<usize>> {
        if self.not_open.is_empty() {
            return None;
        }
        self.may_start = MAX_CONNECTING.saturating_sub(self.counts.connecting);
        Some(std::mem::take(&mut self.not_open))
    }

    /// Opens a closed place whose backoff is over, if connections are `wanted`. Abandons an attempt that
    /// takes too long.
    pub(crate) fn maintain(
        &mut self,
        index: usize,
        wanted: bool,
        now: u64,
    ) -> Result<Attempt, LoadError> {
        match &self.places[index].state {
            State::Closed { backoff_until } if *backoff_until <= now => {
                if self.trial.connection_use == ConnectionUse::PerCall {
                    self.queue(index);
                } else if self.may_start > 0 && wanted {
                    self.may_start -= 1;
                    return self.connect(index, None, now);
                }
            }
            State::Connecting(making) => {
                let (since, call) = (making.since, making.call);
                let too_long = now.saturating_sub(since) >= self.deadline;
                // A connection for one call ends with that call's own deadline.
                if too_long && call.is_none() {
                    let late = || io::ErrorKind::TimedOut.into();
                    let error = making.stream.as_ref().map_or_else(late, Stream::too_late);
                    return Ok(self.attempt_failed(index, call, &error, now));
                }
                if making.stream.is_none() {
                    self.counts.connecting -= 1;
                    return self.connect(index, call, since);
                }
            }
            _ => {}
        }
        Ok(Attempt::Underway)
    }

    /// Puts back the list from [`Pool::take_not_open`], without the places that need no more maintenance.
    pub(crate) fn put_back_not_open(&mut self, mut list: Vec<usize>, now: u64) {
        // `connect` may have added to the list.
        list.append(&mut self.not_open);
        list.sort_unstable();
        list.dedup();
        let per_call = self.trial.connection_use == ConnectionUse::PerCall;
        list.retain(|&index| match self.places[index].state {
            State::Open(_) => false,
            State::Closed { backoff_until } => !per_call || backoff_until > now,
            State::Connecting(_) => true,
        });
        self.not_open = list;
    }

    /// When [`Pool::maintain`] next has something to do, ns. `wanted` indicates whether connections should be
    /// opened.
    pub(crate) fn next_maintenance(&self, wanted: bool, now: u64) -> u64 {
        let next_maintenance = |&index: &usize| match &self.places[index].state {
            State::Closed { .. } if !wanted => u64::MAX,
            State::Closed { backoff_until } if *backoff_until > now => *backoff_until,
            // The place waits for others that are being opened.
            State::Closed { .. } => now + FULL_QUEUE_BACKOFF_NS,
            State::Connecting(Connecting { stream: None, .. }) => now + FULL_QUEUE_BACKOFF_NS,
            State::Connecting(making) => making.since.saturating_add(self.deadline),
            State::Open(_) => u64::MAX,
        };
        self.not_open
            .iter()
            .map(next_maintenance)
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Starts connecting. If the connection is meant for a single call, `call` is that call.
    pub(crate) fn connect(
        &mut self,
        index: usize,
        call: Option<u64>,
        since: u64,
    ) -> Result<Attempt, LoadError> {
        self.counts.connecting += 1;
        self.not_open.push(index);
        let making = |stream| {
            State::Connecting(Connecting {
                stream,
                since,
                call,
            })
        };
        let endpoint = &self.trial.endpoint;
        let address = endpoint.address_of(index);
        let connected = Stream::connect(address, self.tls.as_ref(), self.trial.keepalive).and_then(
            |mut stream| {
                let connected = stream.go_on_connecting()?;
                Ok((stream, connected))
            },
        );
        match connected {
            Ok((stream, connected)) => {
                let socket = stream.socket();
                socket.watch(&self.registry, index, !connected, false)?;
                if connected {
                    return Ok(self.connected(index, stream, call));
                }
                self.places[index].state = making(Some(stream));
                Ok(Attempt::Underway)
            }
            Err(error) => {
                self.places[index].state = making(None);
                Ok(match error.kind() {
                    io::ErrorKind::WouldBlock => Attempt::Underway,
                    _ => self.attempt_failed(index, call, &error, clock::now()),
                })
            }
        }
    }

    pub(crate) fn is_connecting(&self, index: usize) -> bool {
        matches!(self.places[index].state, State::Connecting(_))
    }

    /// Continues connecting after an event.
    pub(crate) fn go_on_connecting(&mut self, index: usize) -> Result<Attempt, LoadError> {
        let State::Connecting(making) = &mut self.places[index].state else {
            return Ok(Attempt::Underway);
        };
        let Some(stream) = &mut making.stream else {
            return Ok(Attempt::Underway);
        };
        let call = making.call;
        match stream.go_on_connecting() {
            Ok(false) => Ok(Attempt::Underway),
            Ok(true) => {
                stream.socket().watch(&self.registry, index, false, true)?;
                Ok(match making.stream.take() {
                    Some(stream) => self.connected(index, stream, call),
                    None => Attempt::Underway,
                })
            }
            Err(error) => Ok(self.attempt_failed(index, call, &error, clock::now())),
        }
    }

    fn connected(&mut self, index: usize, stream: Stream, call: Option<u64>) -> Attempt {
        self.counts.connecting -= 1;
        self.counts.open += 1;
        self.counts.opened += 1;
        self.counts.tls_resumed += u64::from(stream.is_resumed());
        if stream.is_tls() {
            // The event for input that arrived with the end of the handshake was already consumed.
            self.mark_to_read(index);
        }
        let client = Client::new(self.trial.endpoint.protocol, self.limits.clone());
        let connection = &mut self.places[index];
        connection.attempted = true;
        connection.generation += 1;
        connection.state = State::Open(Open::new(stream, client));
        if call.is_none() {
            self.queue(index);
        }
        self.mark_to_write(index);
        Attempt::Open { call }
    }

    fn attempt_failed(
        &mut self,
        index: usize,
        call: Option<u64>,
        error: &io::Error,
        at: u64,
    ) -> Attempt {
        self.places[index].attempted = true;
        self.give_up(index, at);
        Attempt::Failed {
            call,
            kind: failure_kinds::of_connect(error),
            text: format!(
                "cannot connect to {}: {error}",
                self.trial.endpoint.address_of(index)
            ),
            at,
        }
    }

    /// Abandons an attempt to open a connection.
    fn give_up(&mut self, index: usize, now: u64) {
        self.counts.connecting -= 1;
        self.counts.failed += 1;
        let connection = &mut self.places[index];
        connection.failed_attempts = connection.failed_attempts.saturating_add(1);
        self.traffic_closed += connection.traffic();
        connection.back_off(now);
        self.not_open.push(index);
    }

    /// Abandons a call that ended without its response. Returns true if its connection was still being
    /// opened.
    pub(crate) fn give_up_call(&mut self, index: usize, token: u64, now: u64) -> bool {
        let state = &self.places[index].state;
        let connecting = matches!(state, State::Connecting(making) if making.call == Some(token));
        if connecting {
            self.give_up(index, now)
        } else {
            self.cancel(index, token)
        }
        connecting
    }

    /// Whether all connections are open or were attempted.
    pub(crate) fn all_attempted(&self) -> bool {
        self.trial.connection_use == ConnectionUse::PerCall
            || self.not_open.is_empty()
            || self.places.iter().all(|connection| connection.attempted)
    }

    /// Makes [`Pool::all_attempted`] wait for connections that were lost, but not for those that failed to
    /// open, which would delay every slice.
    pub(crate) fn forget_attempts(&mut self) {
        for &index in &self.not_open {
            let connection = &mut self.places[index];
            connection.attempted = connection.failed_attempts > 0;
        }
    }
}
