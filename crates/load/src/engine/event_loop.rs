//! The event loop: it waits for the network and the timer, and lets the engine do what is due.
//!
//! The loop waits for events of all connections and of its timer. A closed loop over one connection instead
//! waits in the read itself, as the floor's loop does, which saves a system call per call. It does so for all
//! calls, so that all are timed the same way. Anything else that becomes due must then wait until the call
//! ends or the read times out.
//!
//! Input is read ahead of its processing. A burst of responses, for example after a stall, takes longer to
//! process than to read. A response is timed when it is read, so input must not stay unread in the meantime.
//! All connections are therefore read first, and again between portions of the input.
//!
//! Invariants: a turn begins with an empty inbox. The loop never waits while there is room for a due call, or
//! while a connection has pending reads or writes.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mio::{Events, Poll, Token};

use super::stall::Heartbeat;
use super::team::Member;
use super::timer::Timer;
use super::{Engine, Hooks};
use crate::bodies::Bodies;
use crate::clock;
use crate::error::LoadError;
use crate::trial::Trial;

const EVENTS_A_TURN: usize = 1024;

/// The timer's token. The token of a connection is its index in the pool.
const TIMER: Token = Token(usize::MAX);

/// Maximum time between two checks of the stop flag, ns.
pub(super) const LOOK_UP_NS: u64 = 50_000_000;

/// How long the loop waits before it checks again for a late body, ns. No event announces one.
pub(super) const LATE_BODY_REST_NS: u64 = 100_000;

/// The timeout of a read. The kernel rounds it up to ticks of up to 10 ms, and adds one tick.
const READ_WAIT: Duration = Duration::from_millis(20);

/// A read may block only if no deadline passes within this time, ns.
const QUIET_NS: u64 = 45_000_000;

/// How long input may stay unread while other input is processed and the inbox has room, ns.
const UNREAD_NS: u64 = 100_000;

/// How long one turn of the loop keeps reading, ns. The stop flag, deadlines and the trial's end are checked
/// between turns.
const MAX_TURN_NS: u64 = 5_000_000;

pub(super) struct EventLoop<'t, 'b, 'r> {
    poll: Poll,
    events: Events,
    timer: Timer,
    pub(super) engine: Engine<'t, 'b, 'r>,
    /// How many times the loop waited for events while a measured call was in flight.
    #[cfg(test)]
    pub(super) polled: u64,
}

impl<'t, 'b, 'r> EventLoop<'t, 'b, 'r> {
    pub(super) fn new(
        trial: &'t Trial,
        member: Option<Member<'t>>,
        bodies: Bodies<'b>,
        hooks: Hooks<'r>,
    ) -> Result<Self, LoadError> {
        // A shard may be too small for a trial of its own.
        if member.is_none() {
            trial.check()?;
        }
        if hooks.progress.as_ref().map(|hook| hook.every) == Some(Duration::ZERO) {
            let what = "the time between snapshots of a trial";
            return Err(LoadError::setting(what, "more than 0"));
        }
        let no_loop = || LoadError::machine("create an event loop");
        let poll = Poll::new().map_err(no_loop())?;
        let registry = poll.registry().try_clone().map_err(no_loop())?;
        let timer = Timer::new(&registry, TIMER).map_err(LoadError::machine("create a timer"))?;
        Ok(EventLoop {
            poll,
            events: Events::with_capacity(EVENTS_A_TURN),
            timer,
            engine: Engine::new(trial, member, bodies, hooks, registry)?,
            #[cfg(test)]
            polled: 0,
        })
    }

    /// Runs until the trial or the slice is over, or until `stop` is set.
    pub(super) fn run(&mut self, stop: &AtomicBool) -> Result<(), LoadError> {
        self.engine.heartbeat = Heartbeat::start();
        loop {
            if stop.load(Ordering::Relaxed) {
                self.engine.phases.interrupt();
                return Ok(());
            }
            if self.turn()? {
                return Ok(());
            }
        }
    }

    /// Runs one turn. Returns whether the trial or the slice is over.
    #[inline(always)]
    pub(super) fn turn(&mut self) -> Result<bool, LoadError> {
        let mut now = clock::now();
        if self.engine.beat(now) {
            // Read the input that arrived during the stall before any connection is considered silent or any
            // call late.
            self.catch_up()?;
            now = clock::now();
        }
        let engine = &mut self.engine;
        engine.maintain_connections(now)?;
        engine.expire(now);
        // Before calls begin, because a call whose time is over makes room for the next one.
        if engine.streams.is_some() {
            engine.send_messages(now)?;
        }
        if engine.phases.advance(now, &engine.pool, &mut engine.ledger) {
            return Ok(true);
        }
        // The phase may have changed, with a later start.
        let now = engine.phases.started_at.max(now);
        engine.follow_demand(now);
        engine.begin_due(now)?;
        engine.write_all()?;
        engine.take_snapshot(now);
        engine.ledger.recorder.count_stages();
        self.wait_and_read(now)?;
        self.process_all()?;
        Ok(false)
    }

    /// Reads and processes the available input without waiting.
    pub(super) fn catch_up(&mut self) -> Result<(), LoadError> {
        self.poll_and_read(Some(Duration::ZERO))?;
        self.process_all()
    }

    /// Waits until a connection is readable or writable, or until something is due, and reads the input.
    /// `now` is when the turn began. Anything that became due since then has not been handled, so the loop
    /// must not wait for it.
    fn wait_and_read(&mut self, now: u64) -> Result<(), LoadError> {
        if let Some(index) = self.engine.lone_connection(now) {
            self.engine.read(index, Some(READ_WAIT))?;
            return self.engine.read_marked();
        }
        #[cfg(test)]
        {
            let engine = &self.engine;
            let is_measured = engine.phases.phase == super::phases::Phase::Measured;
            self.polled += u64::from(is_measured && !engine.ledger.calls.is_empty());
        }
        let wake = self.engine.wake_by(now);
        if wake <= now {
            return self.poll_and_read(Some(Duration::ZERO));
        }
        self.timer
            .wake_by(wake, now)
            .map_err(LoadError::machine("set a timer"))?;
        self.poll_and_read(None)
    }

    /// Polls for readable and writable connections, and reads once from each readable one, in the order of
    /// the events.
    fn poll_and_read(&mut self, timeout: Option<Duration>) -> Result<(), LoadError> {
        match self.poll.poll(&mut self.events, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.events.clear(),
            result => result.map_err(LoadError::machine("wait for the network"))?,
        }
        for event in &self.events {
            if event.token() == TIMER {
                continue;
            }
            let index = event.token().0;
            let engine = &mut self.engine;
            if engine.pool.is_connecting(index) {
                let attempt = engine.pool.go_on_connecting(index)?;
                engine.follow(attempt);
            }
            if event.is_writable() && engine.pool.is_blocked(index) {
                engine.write(index)?;
            }
            let ended = event.is_read_closed() || event.is_error();
            if event.is_readable() || ended {
                engine.pool.note_readable(index, ended);
            }
        }
        self.engine.read_marked()
    }

    /// Processes all input that was read. If this takes a while, due calls are begun and written in between,
    /// and connections are read again if there is room.
    fn process_all(&mut self) -> Result<(), LoadError> {
        let Some(began) = self.engine.inbox.since() else {
            return Ok(());
        };
        let mut read_at = began;
        let phase = self.engine.phases.phase;
        while let Some(portion) = self.engine.inbox.next() {
            self.engine.process(portion)?;
            if self.engine.inbox.is_empty() {
                break;
            }
            let now = clock::now();
            self.engine.beat(now);
            if now - read_at < UNREAD_NS {
                self.engine.take_due_calls(now)?;
                continue;
            }
            read_at = now;
            self.engine.begin_due(now)?;
            self.engine.write_all()?;
            // After a change of phase, the next turn does the rest.
            let goes_on = now - began < MAX_TURN_NS && self.engine.phases.phase == phase;
            if goes_on && self.engine.inbox.has_room() {
                self.poll_and_read(Some(Duration::ZERO))?;
            }
        }
        Ok(())
    }
}

impl Engine<'_, '_, '_> {
    /// Reads once from each connection that is marked for reading. A single one is read until it has no more
    /// input. If the inbox is full, the next turn starts with the remaining connections, so that none
    /// starves.
    fn read_marked(&mut self) -> Result<(), LoadError> {
        let mut left = self.pool.to_read();
        while self.inbox.has_room()
            && (left > 0 || self.pool.to_read() == 1)
            && let Some(index) = self.pool.next_to_read()
        {
            left = left.saturating_sub(1);
            self.read(index, None)?;
        }
        Ok(())
    }

    /// Reads once from a connection, waiting for about `wait`, and sends the calls that became due in the
    /// meantime.
    fn read(&mut self, index: usize, wait: Option<Duration>) -> Result<(), LoadError> {
        match self.pool.read(index, &mut self.inbox, wait) {
            Some(at) => {
                self.beat(at);
                self.take_due_calls(at)
            }
            None => Ok(()),
        }
    }

    /// Returns the only connection that can have input, if the loop waits for nothing but a call in flight.
    fn lone_connection(&self, now: u64) -> Option<usize> {
        let quiet_until = now.saturating_add(QUIET_NS);
        let (_, expires_at) = self.ledger.calls.oldest()?;
        let is_busy = self.more_are_due || expires_at < quiet_until;
        if is_busy || self.polls {
            None
        } else {
            self.pool.lone_connection()
        }
    }

    /// The time by which the loop must run again, with or without network events, ns.
    fn wake_by(&self, now: u64) -> u64 {
        if self.more_are_due || self.pool.has_work() {
            return now;
        }
        let snapshot = self.snapshots.as_ref();
        let snapshot = snapshot.map_or(u64::MAX, |snapshots| snapshots.next_at(&self.phases));
        let mut wake = snapshot.min(now + LOOK_UP_NS);
        if self.streams.is_some() {
            wake = wake.min(self.next_message_at(now));
        }
        wake = wake.min(self.phases.ends_by(&self.ledger, now));
        if let Some((_, expires_at)) = self.ledger.calls.oldest() {
            wake = wake.min(expires_at);
        }
        let admitted = |due: &u64| self.phases.admits(&self.ledger, *due);
        if let Some(due) = self.ledger.due_times.next().filter(admitted) {
            wake = wake.min(if due > now {
                due
            } else if self.waits_for_body {
                now + LATE_BODY_REST_NS
            } else {
                // The call waits for its deadline, or for room, which only a network event can create.
                self.ledger.calls.deadline_of(due)
            });
        }
        wake.min(self.pool.next_maintenance(self.wants_connections(), now))
    }
}
