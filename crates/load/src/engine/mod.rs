//! Carries a trial out: one event loop on the calling thread.
//!
//! Each turn begins the calls that are due on the connections that have room, writes what
//! connections have to write, waits for the system, reads what came, and works it through. What the
//! turn decides stands in files by concern: `phases` (which part of the trial it is), `opening` and
//! `retiring` (connections), `keepalive` (silent ones), `calling` (calls), `retrying` (calls that are
//! sent again), `checking` (answers that nobody decodes), `writing`, `waiting` (for the network and for
//! time), `reading` (into the `inbox`), `following` (what came into the calls).

mod ahead;
mod answer;
mod calling;
mod calls;
mod checking;
mod connection;
mod following;
mod horizon;
mod inbox;
mod keepalive;
mod kinds;
mod opening;
mod outcome;
mod phases;
mod progressing;
mod reading;
mod retiring;
mod retrying;
mod session;
mod setup;
mod sizes;
mod slicing;
mod source;
mod spent;
mod stamps;
mod stream;
mod timer;
mod waiting;
mod warming;
mod writing;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use mio::{Events, Poll, Token};
use rpcgauge_wire::{Head, Limits, Traffic};

pub use self::session::{Counted, Session, SliceBounds};

use self::answer::Rules;
use self::calls::Calls;
use self::checking::{Checking, Held};
use self::connection::Connection;
use self::following::Ended;
use self::horizon::Horizon;
use self::inbox::Inbox;
use self::phases::{Failing, Phase};
use self::progressing::Looks;
use self::setup::{closes_after_call, limits, places};
use self::sizes::Sizes;
use self::slicing::Slicing;
use self::source::Source;
use self::spent::Spent;
use self::timer::Timer;
use self::warming::Warming;
use crate::bodies::{AnswerCheck, Bodies};
use crate::clock::{self, nanos};
use crate::error::LoadError;
use crate::measurement::{Ending, Measurement, WarmupOutcome};
use crate::progress::ProgressHook;
use crate::recorder::Recorder;
use crate::schedule::Dues;
use crate::stage::Timing;
use crate::tls::TlsClient;
use crate::trial::{CallStyle, ConnectionUse, Trial};
use crate::warmup::{Settling, WarmupSlice};

/// Events taken from the system at once.
const EVENTS_A_TURN: usize = 1024;

/// The timer's token; connections have their index.
const TIMER: Token = Token(usize::MAX);

/// Carries `trial` out on the calling thread.
///
/// `rule` is asked after each slice of the warm-up. Setting `stop` ends the trial within about a
/// tenth of a second, with what was measured until then.
///
/// # Errors
/// [`LoadError`] when there is nothing to measure with. Calls that fail are no error of the trial:
/// they are counted in [`Measurement::calls`].
pub fn measure(
    trial: &Trial,
    bodies: Bodies<'_>,
    rule: &mut dyn FnMut(WarmupSlice) -> Settling,
    stop: &AtomicBool,
) -> Result<Measurement, LoadError> {
    let hooks = Hooks {
        settling: Box::new(rule),
        measuring: Box::new(|_| ()),
        progress: None,
        check: None,
    };
    measure_with(trial, bodies, hooks, stop)
}

/// What the caller does at certain moments of a trial, on the calling thread.
pub struct Hooks<'r> {
    /// Asked after each slice of the warm-up.
    pub settling: Box<dyn FnMut(WarmupSlice) -> Settling + 'r>,
    /// Called with true just before the first measured call of the trial, or of a slice, is due, and
    /// with false when no further one is begun: the place to read what the server has used so far.
    pub measuring: Box<dyn FnMut(bool) + 'r>,
    /// Shown how the measured part stands, at intervals; `None` costs nothing.
    pub progress: Option<ProgressHook<'r>>,
    /// Checks answers that come compressed and that nobody decodes; one that it refuses fails its call as
    /// [`crate::FailureKind::Decompress`]. The first is checked, then as many as a hundredth of the time is
    /// enough for and, from a damaged one on, each. `None` takes them as they are.
    pub check: Option<AnswerCheck<'r>>,
}

/// As [`measure`], with all hooks.
///
/// # Errors
/// As [`measure`].
pub fn measure_with(
    trial: &Trial,
    bodies: Bodies<'_>,
    hooks: Hooks<'_>,
    stop: &AtomicBool,
) -> Result<Measurement, LoadError> {
    let mut engine = Engine::checked(trial, bodies, hooks)?;
    engine.run(&mut Events::with_capacity(EVENTS_A_TURN), stop)?;
    engine.outcome()
}

/// Everything that one trial holds: the trial for `'t`, its bodies' codec for `'b`, its hooks for
/// `'r`.
struct Engine<'t, 'b, 'r> {
    trial: &'t Trial,
    head: Head,
    tls: Option<TlsClient>,
    limits: Limits,
    rules: Rules<'t>,
    source: Source<'b>,
    hooks: Hooks<'r>,
    checking: Option<Checking<'r>>,
    held: Held,
    /// Whether stages are stamped.
    timed: bool,
    /// The trial's deadline of each call, ns.
    deadline: u64,
    /// The trial's patience, ns.
    patience: u64,

    poll: Poll,
    /// How often the loop waited for events while calls counted.
    #[cfg(test)]
    polled: u64,
    timer: Timer,
    inbox: Inbox,

    connections: Vec<Connection>,
    /// Connections that may have room for a call, in turn.
    with_room: VecDeque<usize>,
    /// Connections with something to write.
    dirty: Vec<usize>,
    /// Connections with more to read.
    unread: VecDeque<usize>,
    /// Connections that are closed or being made, where somebody must look after them.
    not_open: Vec<usize>,
    /// Connections that the server is about to end, with calls in flight on them.
    going_away: Vec<usize>,
    /// When connections are looked through for silent ones, ns; never without a keep-alive.
    listen_at: u64,
    connecting: usize,
    open: usize,
    /// Opened over the whole trial.
    connections_opened: u64,
    connections_at_start: usize,
    /// How many of [`Engine::connections_opened`] go on with a TLS session of an earlier one.
    tls_resumed: u64,
    /// How many of them were opened between slices, since the server had closed one.
    connections_reopened: u64,
    /// Attempts to open a connection that failed, over the whole trial.
    connects_failed: u64,
    /// Bytes of connections that are closed.
    traffic_closed: Traffic,

    dues: Dues,
    calls: Calls,
    calls_begun: u64,
    measured_in_flight: u64,
    /// Calls of the warm-up that have ended since the measured part began.
    warmup_ended_after: u64,
    /// The most calls that were in flight at a time in the measured part.
    most_in_flight: usize,
    /// Answers of the warm-up that are verified.
    to_verify: u64,
    /// Calls that wait to be sent again, and some whose deadline has passed meanwhile.
    to_retry: VecDeque<u64>,
    /// The turn took as many calls as one may, and others are due.
    more_are_due: bool,
    /// The call that is due next has no body yet.
    waits_for_body: bool,
    /// There are no more bodies.
    used_up: bool,
    /// The call whose last byte is not handed to the kernel yet, where stages are stamped.
    unsent: Option<u64>,
    /// Calls that the input just read has ended.
    ended: Vec<Ended>,

    horizon: Horizon,
    /// Where a session stands between its slices; `None` where the measured part is one piece.
    slicing: Option<Slicing>,
    phase: Phase,
    phase_started_at: u64,
    /// Calls that are due from here on are measured, ns; there are none before the measured part.
    measured_from: u64,
    failing: Failing,
    drained_by: u64,
    warming: Option<Warming>,
    warmup: WarmupOutcome,
    ending: Ending,

    /// When the caller is shown how the trial stands; `None` without a hook.
    looks: Option<Looks>,
    recorder: Recorder,
    sizes: Sizes,
    spent: Spent,
}

impl<'t, 'b, 'r> Engine<'t, 'b, 'r> {
    /// As [`Engine::new`], for what can be carried out.
    fn checked(trial: &'t Trial, bodies: Bodies<'b>, hooks: Hooks<'r>) -> Result<Self, LoadError> {
        trial.check()?;
        if let Some(hook) = &hooks.progress {
            hook.check()?;
        }
        Self::new(trial, bodies, hooks)
    }

    fn new(trial: &'t Trial, bodies: Bodies<'b>, mut hooks: Hooks<'r>) -> Result<Self, LoadError> {
        let timed = trial.timing == Timing::Stages;
        let grpc = matches!(trial.request.style, CallStyle::Grpc { .. });
        let source = Source::new(bodies, grpc, timed)?;
        let poll = Poll::new().map_err(LoadError::machine("make an event loop"))?;
        let timer =
            Timer::new(poll.registry(), TIMER).map_err(LoadError::machine("make a timer"))?;
        let connections = places(trial);
        let target = &trial.target;
        let now = clock::now();
        let mut engine = Engine {
            trial,
            head: trial
                .request
                .prepare(closes_after_call(trial), target.tls.is_some())?,
            tls: target.tls.as_ref().map(|tls| tls.client(target.protocol)),
            limits: limits(trial),
            rules: Rules {
                style: &trial.request.style,
                expect: &trial.expect,
                marks: timed,
            },
            to_verify: source.to_verify(),
            source,
            looks: hooks.progress.as_ref().map(|hook| Looks::new(hook.every)),
            recorder: Recorder::new(trial.timing, &trial.schedule, hooks.progress.is_some()),
            checking: hooks.check.take().map(Checking::new),
            held: Held::new(trial.expect.max_answer_bytes),
            hooks,
            timed,
            deadline: nanos(trial.deadline),
            patience: nanos(trial.patience),
            poll,
            #[cfg(test)]
            polled: 0,
            timer,
            inbox: Inbox::new(),
            with_room: VecDeque::with_capacity(connections.len()),
            dirty: Vec::with_capacity(connections.len()),
            unread: VecDeque::new(),
            not_open: Vec::new(),
            going_away: Vec::new(),
            connections,
            listen_at: trial.keepalive.map_or(u64::MAX, |_| now),
            connecting: 0,
            open: 0,
            connections_opened: 0,
            connections_at_start: 0,
            tls_resumed: 0,
            connections_reopened: 0,
            connects_failed: 0,
            traffic_closed: Traffic::default(),
            dues: Dues::new(&trial.schedule, u64::MAX),
            calls: Calls::default(),
            calls_begun: 0,
            measured_in_flight: 0,
            warmup_ended_after: 0,
            most_in_flight: 0,
            to_retry: VecDeque::new(),
            more_are_due: false,
            waits_for_body: false,
            used_up: false,
            unsent: None,
            ended: Vec::new(),
            horizon: Horizon::new(trial),
            slicing: None,
            phase: Phase::Opening,
            phase_started_at: now,
            measured_from: u64::MAX,
            failing: Failing::default(),
            drained_by: u64::MAX,
            warming: None,
            warmup: WarmupOutcome::default(),
            ending: Ending::Complete,
            sizes: Sizes::default(),
            spent: Spent::default(),
        };
        for index in 0..engine.connections.len() {
            match trial.connection_use {
                ConnectionUse::Reuse => engine.not_open.push(index),
                ConnectionUse::PerCall => engine.queue(index),
            }
        }
        Ok(engine)
    }

    fn run(&mut self, events: &mut Events, stop: &AtomicBool) -> Result<(), LoadError> {
        loop {
            if stop.load(Ordering::Relaxed) {
                self.ending = Ending::Interrupted;
                return Ok(());
            }
            let now = clock::now();
            if !self.going_away.is_empty() {
                self.retire_connections()?;
            }
            if !self.not_open.is_empty() {
                self.tend_connections(now)?;
            }
            if now >= self.listen_at {
                self.look_for_silence(now)?;
            }
            self.expire(now);
            if self.advance(now) {
                return Ok(());
            }
            // Going on to another part takes time of its own.
            let now = self.phase_started_at.max(now);
            self.begin_due(now)?;
            self.write_all()?;
            self.look(now);
            self.wait_and_read(events, now)?;
        }
    }

    /// Bytes on all connections so far.
    fn traffic(&self) -> Traffic {
        let mut sum = self.traffic_closed;
        for connection in &self.connections {
            sum += connection.traffic();
        }
        sum
    }
}
