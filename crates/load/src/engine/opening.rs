//! Opening connections, losing them, and opening them again.

use std::io;

use rpcgauge_wire::Client;

use super::Engine;
use super::connection::{Connecting, Connection, Open, State, rested_at};
use super::keepalive::Hearing;
use super::phases::Phase;
use super::stream::Stream;
use crate::clock;
use crate::error::LoadError;
use crate::failure::FailureKind;
use crate::trial::ConnectionUse;

/// Connections being made at the same time at most, so that the server's queue of waiting
/// connections (128 on many systems) does not run over.
const MOST_CONNECTING: usize = 100;

/// How long until a full queue of a Unix socket is tried again, ns. Nothing tells when it has room.
const FULL_QUEUE_REST_NS: u64 = 200_000;

impl Engine<'_, '_, '_> {
    /// Opens what is closed and has rested; gives up what takes too long.
    pub(super) fn tend_connections(&mut self, now: u64) -> Result<(), LoadError> {
        let mut list = std::mem::take(&mut self.not_open);
        let mut connecting = self.connecting;
        for &index in &list {
            match &self.connections[index].state {
                State::Closed { retry_at } if *retry_at <= now => {
                    if self.trial.connection_use == ConnectionUse::PerCall {
                        self.queue(index);
                    } else if connecting < MOST_CONNECTING && self.is_wanted() {
                        connecting += 1;
                        self.connect(index, None, now)?;
                    }
                }
                State::Connecting(making) => {
                    let since = making.since;
                    let (full_queue, call) = (making.stream.is_none(), making.call);
                    let too_long = now.saturating_sub(since) >= self.deadline;
                    // A connection for one call ends with that call's own deadline.
                    if too_long && call.is_none() {
                        let error = making
                            .stream
                            .as_ref()
                            .map_or(io::ErrorKind::TimedOut.into(), Stream::too_late);
                        self.connect_failed(index, &error, now);
                    } else if full_queue {
                        self.connecting -= 1;
                        self.connect(index, call, since)?;
                    }
                }
                _ => {}
            }
        }
        // What became of them is looked at afresh: `connect` may have added to the list.
        list.append(&mut self.not_open);
        list.sort_unstable();
        list.dedup();
        let per_call = self.trial.connection_use == ConnectionUse::PerCall;
        list.retain(|&index| match self.connections[index].state {
            State::Open(_) => false,
            State::Closed { retry_at } => !per_call || retry_at > now,
            State::Connecting(_) => true,
        });
        self.not_open = list;
        Ok(())
    }

    /// Whether a connection that is closed is wanted again: calls are begun, or sent again.
    pub(super) fn is_wanted(&self) -> bool {
        self.phase != Phase::Draining || !self.to_retry.is_empty()
    }

    /// When [`Engine::tend_connections`] has something to do next.
    pub(super) fn tend_by(&self, now: u64) -> u64 {
        let times = self
            .not_open
            .iter()
            .map(|&index| match &self.connections[index].state {
                State::Closed { .. } if !self.is_wanted() => u64::MAX,
                State::Closed { retry_at } if *retry_at > now => *retry_at,
                // It waits for others that are being made.
                State::Closed { .. } => now + FULL_QUEUE_REST_NS,
                State::Connecting(Connecting { stream: None, .. }) => now + FULL_QUEUE_REST_NS,
                State::Connecting(making) => making.since.saturating_add(self.deadline),
                State::Open(_) => u64::MAX,
            });
        times.min().unwrap_or(u64::MAX)
    }

    /// Starts to connect, for `call` where it is the only one on its connection.
    pub(super) fn connect(
        &mut self,
        index: usize,
        call: Option<u64>,
        since: u64,
    ) -> Result<(), LoadError> {
        self.connecting += 1;
        self.not_open.push(index);
        let making = |stream| {
            State::Connecting(Connecting {
                stream,
                since,
                call,
            })
        };
        let connected = Stream::connect(
            &self.trial.target.address,
            self.tls.as_ref(),
            self.trial.keepalive,
        )
        .and_then(|mut stream| {
            let connected = stream.go_on_connecting()?;
            Ok((stream, connected))
        });
        match connected {
            Ok((mut stream, connected)) => {
                stream
                    .watch(self.poll.registry(), index, !connected)
                    .map_err(LoadError::machine("watch a connection"))?;
                if connected {
                    self.connected(index, stream, call);
                    return Ok(());
                }
                self.connections[index].state = making(Some(stream));
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.connections[index].state = making(None);
                Ok(())
            }
            Err(error) => {
                self.connections[index].state = making(None);
                self.connect_failed(index, &error, clock::now());
                Ok(())
            }
        }
    }

    /// Looks whether a connection being made is made now.
    pub(super) fn look_at_connecting(&mut self, index: usize) -> Result<(), LoadError> {
        let State::Connecting(making) = &mut self.connections[index].state else {
            return Ok(());
        };
        match making
            .stream
            .as_mut()
            .map_or(Ok(false), Stream::go_on_connecting)
        {
            Ok(false) => Ok(()),
            Ok(true) => {
                let call = making.call;
                let Some(mut stream) = making.stream.take() else {
                    return Ok(());
                };
                stream
                    .watch_again(self.poll.registry(), index, false)
                    .map_err(LoadError::machine("watch a connection"))?;
                self.connected(index, stream, call);
                Ok(())
            }
            Err(error) => {
                self.connect_failed(index, &error, clock::now());
                Ok(())
            }
        }
    }

    fn connected(&mut self, index: usize, stream: Stream, call: Option<u64>) {
        self.connecting -= 1;
        self.open += 1;
        self.connections_opened += 1;
        self.connections_reopened += u64::from(self.phase == Phase::Resuming);
        self.tls_resumed += u64::from(stream.is_resumed());
        if stream.may_hold_input() {
            self.read_later(index);
        }
        let connection = &mut self.connections[index];
        connection.tried = true;
        connection.generation += 1;
        connection.state = State::Open(Open {
            stream,
            client: Client::new(self.trial.target.protocol, self.limits.clone()),
            blocked: false,
            watches_writable: false,
            ended: false,
            waiting: 0,
            broken: None,
            hearing: Hearing::default(),
        });
        match call {
            Some(token) => self.send(token),
            None => self.queue(index),
        }
        self.mark_dirty(index);
    }

    pub(super) fn connect_failed(&mut self, index: usize, error: &io::Error, now: u64) {
        let kind = FailureKind::of_connect(error);
        let text = format!("cannot connect to {}: {error}", self.trial.target.address);
        self.connecting -= 1;
        self.connects_failed += 1;
        let connection = &mut self.connections[index];
        connection.tried = true;
        connection.in_vain = connection.in_vain.saturating_add(1);
        let retry_at = rested_at(connection.in_vain, now);
        let before = std::mem::replace(&mut connection.state, State::Closed { retry_at });
        self.not_open.push(index);
        let State::Connecting(making) = before else {
            return;
        };
        self.traffic_closed += making.traffic();
        match making.call {
            Some(token) => self.end_call(token, now, Err((kind, &text))),
            None if self.open == 0 && self.connecting == 0 => self.fail_waiting(kind, &text, now),
            None => self.recorder.errors.add(kind, &text),
        }
    }

    /// Gives up a connection being made whose call is out of time.
    pub(super) fn stop_connecting(&mut self, index: usize, now: u64) {
        self.connecting -= 1;
        self.connects_failed += 1;
        let connection = &mut self.connections[index];
        connection.in_vain = connection.in_vain.saturating_add(1);
        let retry_at = rested_at(connection.in_vain, now);
        self.traffic_closed += connection.traffic();
        connection.state = State::Closed { retry_at };
        self.not_open.push(index);
    }

    /// Closes a connection, none of whose calls are in flight any more.
    pub(super) fn close(&mut self, index: usize, now: u64) {
        let connection = &mut self.connections[index];
        let retry_at = rested_at(connection.in_vain, now);
        let closed = State::Closed { retry_at };
        if let State::Open(open) = std::mem::replace(&mut connection.state, closed) {
            self.traffic_closed += open.traffic();
            self.open -= 1;
        }
        if self.trial.connection_use == ConnectionUse::PerCall && retry_at == 0 {
            self.queue(index);
        } else if !self.connections[index].spare {
            self.not_open.push(index);
        }
    }

    /// Whether every connection is open or was tried.
    pub(super) fn all_tried(&self) -> bool {
        self.trial.connection_use == ConnectionUse::PerCall
            || self.not_open.is_empty()
            || self.connections.iter().all(|connection| connection.tried)
    }

    /// Puts a connection into the queue of those that may have room for a call.
    pub(super) fn queue(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        if !connection.queued {
            connection.queued = true;
            self.with_room.push_back(index);
        }
    }

    /// The next connection, in turn, that can take a call now.
    pub(super) fn next_with_room(&mut self, now: u64) -> Option<usize> {
        while let Some(index) = self.with_room.pop_front() {
            self.connections[index].queued = false;
            if can_take_call(&self.connections[index], self.trial.connection_use, now) {
                return Some(index);
            }
        }
        None
    }
}

fn can_take_call(connection: &Connection, connection_use: ConnectionUse, now: u64) -> bool {
    match connection_use {
        ConnectionUse::Reuse => connection.room() > 0,
        ConnectionUse::PerCall => {
            matches!(connection.state, State::Closed { retry_at } if retry_at <= now)
        }
    }
}
