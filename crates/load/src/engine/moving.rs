//! Moving bytes between connections and their transports.

use std::io::{self, ErrorKind, IoSlice};
use std::time::Duration;

use rpcgauge_wire::{Closing, Event};

use super::answer::Rules;
use super::calls::Calls;
use super::connection::State;
use super::kinds::{TOO_LATE, is_lost};
use super::stream::Input;
use super::{Ended, Engine};
use crate::clock;
use crate::error::LoadError;
use crate::failure::FailureKind;

/// Pieces that one write gathers.
const PIECES: usize = 16;

/// Reads from one connection before the others have their turn.
const READS_A_TURN: usize = 16;

impl Engine<'_, '_, '_> {
    pub(super) fn mark_dirty(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        if !connection.dirty {
            connection.dirty = true;
            self.dirty.push(index);
        }
    }

    /// Writes what connections have to write, many calls in one write.
    pub(super) fn write_all(&mut self) -> Result<(), LoadError> {
        while let Some(index) = self.dirty.pop() {
            self.connections[index].dirty = false;
            self.write(index)?;
        }
        Ok(())
    }

    /// Writes until all is written or the transport is full.
    pub(super) fn write(&mut self, index: usize) -> Result<(), LoadError> {
        let Some(open) = self.connections[index].open() else {
            return Ok(());
        };
        let was_blocked = open.blocked;
        open.blocked = false;
        loop {
            let mut pieces = [IoSlice::new(&[]); PIECES];
            let filled = open.client.output_slices(&mut pieces);
            let written = match filled {
                0 => open.stream.flush().map(|()| 0),
                filled => open.stream.write(&pieces[..filled]),
            };
            match written {
                Ok(_) if filled == 0 => break,
                Ok(n) => open.client.consume_output(n),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    open.blocked = true;
                    break;
                }
                // The server may have answered before it stopped to read: look for that first. Not at
                // once: calls may be begun between reads, and where many connections break together
                // each would be found within the one before.
                Err(error) => {
                    open.broken.get_or_insert(error);
                    open.ended = true;
                    self.read_later(index);
                    return Ok(());
                }
            }
        }
        if open.blocked != open.watches_writable {
            open.watches_writable = open.blocked;
            open.stream
                .watch_again(self.poll.registry(), index, open.blocked)
                .map_err(LoadError::machine("watch a connection"))?;
        }
        let all_sent = open.client.is_all_sent() && !open.blocked;
        if was_blocked && !open.blocked {
            self.queue(index);
        }
        // Beside one that is going away there is another, which may write for itself.
        if all_sent
            && let Some(call) = self.unsent.and_then(|token| self.calls.get(token))
            && call.connection == index
        {
            call.stamps.sent = clock::now();
            self.unsent = None;
        }
        Ok(())
    }

    /// Reads what is there, up to this connection's share of a turn, and to the connection's end where
    /// the system has told of it.
    pub(super) fn read(&mut self, index: usize) -> Result<(), LoadError> {
        for _ in 0..READS_A_TURN {
            let Some(open) = self.connections[index].open() else {
                return Ok(());
            };
            let input = open.stream.read(&mut self.buffer);
            let again = self.take_read(index, input)?;
            self.keep_pace()?;
            if !again {
                return Ok(());
            }
        }
        self.read_later(index);
        Ok(())
    }

    /// Has a connection read from in its turn, without an event.
    pub(super) fn read_later(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        if !connection.unread {
            connection.unread = true;
            self.unread.push_back(index);
        }
    }

    /// As [`Engine::read`], but waits for about `at_most` where nothing is there.
    pub(super) fn read_waiting(
        &mut self,
        index: usize,
        at_most: Duration,
    ) -> Result<(), LoadError> {
        let Some(open) = self.connections[index].open() else {
            return Ok(());
        };
        let input = open.stream.read_waiting(&mut self.buffer, at_most);
        if self.take_read(index, input)? {
            self.read(index)?;
        }
        Ok(())
    }

    /// Takes what a read brought. True when the connection is to be read from again.
    fn take_read(&mut self, index: usize, input: io::Result<Input>) -> Result<bool, LoadError> {
        let Some(open) = self.connections[index].open() else {
            return Ok(false);
        };
        match input {
            Ok(Input::Data { n, more }) => {
                let again = more || open.ended;
                self.take_input(index, n)?;
                return Ok(again);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(true),
            // What cannot be written to has said all that it will.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if open.broken.is_some() {
                    self.lose(index, None)?;
                }
            }
            Ok(Input::End) => self.lose(index, None)?,
            Err(error) => self.lose(index, Some(error))?,
        }
        Ok(false)
    }

    /// Gives `n` bytes of the buffer to the connection's client and follows what they mean.
    fn take_input(&mut self, index: usize, n: usize) -> Result<(), LoadError> {
        let at = clock::now();
        let State::Open(open) = &mut self.connections[index].state else {
            return Ok(());
        };
        let (calls, ended, rules) = (&mut self.calls, &mut self.ended, &self.rules);
        let mut apart = CountedApart::default();
        let mut going_away = false;
        let was_over = open.client.is_closed();
        open.client.input(&self.buffer[..n], &mut |event| {
            going_away |= is_goaway(&event);
            apart += follow(calls, ended, rules, at, event);
        });
        // At once, whatever becomes of the calls: bytes that are counted must never become fewer.
        open.client.count_received_prefix(apart.prefixes);
        open.client.count_received_marks(apart.marks);
        let replies = !open.client.is_all_sent() || open.stream.holds_output();
        let ends = !was_over && open.client.is_closed();
        if going_away {
            self.note_going_away(index);
        }
        if ends {
            self.connections[index].ended_by_server();
        }
        self.end_calls(index, at, None)?;
        if replies {
            self.mark_dirty(index);
        }
        self.queue(index);
        self.close_if_over(index, at);
        Ok(())
    }

    /// The transport ended (`error` none, and writing never failed) or broke: the calls on it end.
    pub(super) fn lose(&mut self, index: usize, error: Option<io::Error>) -> Result<(), LoadError> {
        let at = clock::now();
        let State::Open(open) = &mut self.connections[index].state else {
            return Ok(());
        };
        let error = error.or(open.broken.take());
        let (calls, ended, rules) = (&mut self.calls, &mut self.ended, &self.rules);
        open.client.end_of_input(error.is_none(), &mut |event| {
            follow(calls, ended, rules, at, event);
        });
        self.connections[index].ended_by_server();
        self.end_calls(index, at, error.as_ref())?;
        if self.connections[index].open().is_some() {
            self.close(index, at);
        }
        Ok(())
    }

    /// Ends the calls that the last input ended.
    fn end_calls(
        &mut self,
        index: usize,
        at: u64,
        broken: Option<&io::Error>,
    ) -> Result<(), LoadError> {
        let lost = broken.is_some_and(is_lost);
        let mut ended = std::mem::take(&mut self.ended);
        for Ended { token, failure } in ended.drain(..) {
            match failure {
                None => self.complete(token, at)?,
                Some(_) if self.is_too_late(token, at) => self.end_call(token, at, Err(TOO_LATE)),
                // What was silent for long may have the call all the same.
                Some(failure) if !lost && self.retry(token, &failure) => {}
                Some(failure) => {
                    let kind = FailureKind::of_wire(&failure, broken);
                    let text = match broken {
                        Some(error) => format!("{failure}: {error}"),
                        None => failure.to_string(),
                    };
                    self.end_call(token, at, Err((kind, &text)));
                }
            }
            self.close_after_call(index);
        }
        self.ended = ended;
        Ok(())
    }

    fn close_if_over(&mut self, index: usize, at: u64) {
        let over = self.connections[index]
            .open()
            .is_some_and(|open| open.client.is_closed());
        if over {
            self.say_goodbye(index);
            self.close(index, at);
        }
    }

    /// Offers the last bytes (GOAWAY) to a transport that is about to be closed. What it does not
    /// take is lost, and nothing depends on it.
    pub(super) fn say_goodbye(&mut self, index: usize) {
        if let Some(open) = self.connections[index].open() {
            let mut pieces = [IoSlice::new(&[]); PIECES];
            let filled = open.client.output_slices(&mut pieces);
            if filled > 0
                && !open.blocked
                && let Ok(n) = open.stream.write(&pieces[..filled])
            {
                open.client.consume_output(n);
            }
            open.stream.say_end();
        }
    }
}

fn is_goaway(event: &Event<'_>) -> bool {
    matches!(
        event,
        Event::Closing {
            reason: Closing::GoAway { .. }
        }
    )
}

/// Received bytes that are not what HTTP takes them for.
#[derive(Debug, Clone, Copy, Default)]
struct CountedApart {
    /// Of bodies: gRPC's message prefixes, which are framing.
    prefixes: u64,
    /// Of headers: the server's marks, which are there for the trial alone.
    marks: u64,
}

impl std::ops::AddAssign for CountedApart {
    fn add_assign(&mut self, other: CountedApart) {
        self.prefixes += other.prefixes;
        self.marks += other.marks;
    }
}

/// Follows one event into its call. Returns which of its bytes are to be counted apart.
fn follow(
    calls: &mut Calls,
    ended: &mut Vec<Ended>,
    rules: &Rules<'_>,
    at: u64,
    event: Event<'_>,
) -> CountedApart {
    let mut apart = CountedApart::default();
    match event {
        Event::FirstByte { token } => {
            if let Some(call) = calls.get(token) {
                call.stamps.first_byte = at;
            }
        }
        Event::Head {
            token,
            status,
            fields,
            end,
        } => {
            if let Some(call) = calls.get(token) {
                apart.marks = call.answer.head(rules, status, fields, end);
            }
        }
        Event::Body { token, data } => {
            if let Some(call) = calls.get(token) {
                let before = call.answer.prefix_bytes();
                call.answer.body(data);
                apart.prefixes = call.answer.prefix_bytes() - before;
            }
        }
        Event::Trailers { token, fields } => {
            if let Some(call) = calls.get(token) {
                apart.marks = call.answer.trailers(rules, fields);
            }
        }
        Event::Complete { token } => ended.push(Ended {
            token,
            failure: None,
        }),
        Event::Failed { token, failure } => ended.push(Ended {
            token,
            failure: Some(failure),
        }),
        Event::Interim { .. } | Event::Closing { .. } => {}
    }
    apart
}
