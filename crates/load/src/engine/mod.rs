//! Runs a trial: one event loop on the calling thread, or one on each of several threads (`threads`, `team`).
//!
//! Four parts own the state of a trial. Each documents its states and invariants at the top of its module:
//!
//! - `pool`: the connections. How they are opened, lost, drained, kept alive, read and written.
//! - `ledger`: the calls. Which ones are due, in flight, to be retried, succeeded or failed.
//! - `phases`: which phase the trial is in, what is counted, and when the phase ends.
//! - `event_loop`: the turns. It waits for the network and for time. Start reading at its `run`.
//!
//! Other modules are `messages` (what calls carry, and what reads it), `streaming` (calls with several
//! messages), `inbox` (input that has been read but not processed yet) and `snapshots` (the trial's progress,
//! reported while it runs). The engine connects these parts. `requests` follows a call from its due time to its
//! connection, and `responses` follows it back.

mod event_loop;
mod failure_kinds;
mod finish;
mod inbox;
mod ledger;
mod messages;
mod outgoing;
mod phases;
mod pool;
mod requests;
mod response;
mod responses;
mod session;
mod snapshots;
mod stall;
mod stamps;
mod stream;
mod streaming;
mod team;
#[cfg(test)]
pub(crate) mod tests;
mod threads;
mod timer;

use std::sync::atomic::AtomicBool;

use mio::Registry;
use rpcgauge_trial::{MAX_IN_FLIGHT, Schedule, Timing};
use rpcgauge_wire::{Head, Protocol};

pub use self::session::{Counted, Session};
pub use self::threads::{ShardCalls, measure_on_threads};

use self::event_loop::EventLoop;
use self::failure_kinds::{NOT_CONNECTED, STATUS_NOT_LAST, TOO_LATE};
use self::inbox::Inbox;
use self::ledger::{CallEnd, CallFailure, Ledger};
use self::messages::Messages;
use self::phases::{Phase, Phases};
use self::pool::{Attempt, Pool};
use self::snapshots::Snapshots;
use self::stall::Heartbeat;
pub(crate) use self::streaming::CallStream;
use self::streaming::Streams;
use self::team::Member;
use crate::bodies::{Bodies, ResponseCheck};
use crate::clock;
use crate::error::LoadError;
use crate::measurement::Measurement;
use crate::progress::ProgressHook;
use crate::trial::Trial;
use crate::warmup::Settling;

/// Runs `trial` on the calling thread.
///
/// `rule` is called after each slice of the warm-up. Setting `stop` ends the trial within about a tenth of a
/// second, with the figures so far.
///
/// # Errors
/// Returns a [`LoadError`] if the trial cannot be run. Failed calls are not errors; they are counted in
/// [`rpcgauge_trial::TrialFigures::calls`].
pub fn measure(
    trial: &Trial,
    bodies: Bodies<'_>,
    rule: &mut dyn FnMut(u64) -> Settling,
    stop: &AtomicBool,
) -> Result<Measurement, LoadError> {
    let hooks = Hooks {
        settling: Box::new(rule),
        measuring: Box::new(|_| ()),
        progress: None,
        checks: Vec::new(),
    };
    measure_with(trial, bodies, hooks, stop)
}

/// Callbacks of a trial. All of them run on the calling thread.
pub struct Hooks<'r> {
    /// The warm-up's rule. It is called after each slice with the median latency of the slice's calls (the
    /// lower of the two middle values), ns.
    pub settling: Box<dyn FnMut(u64) -> Settling + 'r>,
    /// Called with true just before the first measured call of the trial or slice is due, and with false once
    /// no further call is begun. This is the time to read the server's resource usage.
    pub measuring: Box<dyn FnMut(bool) + 'r>,
    /// Receives snapshots of the measured part at intervals. `None` costs nothing.
    pub progress: Option<ProgressHook<'r>>,
    /// Check responses that are not decoded. A call fails if its response does. The only entry is for all
    /// responses; with a mix, each of its calls has one. Without an entry, responses are accepted.
    pub checks: Vec<Option<ResponseCheck<'r>>>,
}

/// Like [`measure`], but with all hooks.
///
/// # Errors
/// The same as [`measure`].
pub fn measure_with(
    trial: &Trial,
    bodies: Bodies<'_>,
    hooks: Hooks<'_>,
    stop: &AtomicBool,
) -> Result<Measurement, LoadError> {
    run(trial, None, bodies, hooks, stop)
}

/// Runs a trial, or a thread's part of it.
fn run(
    trial: &Trial,
    member: Option<Member<'_>>,
    bodies: Bodies<'_>,
    hooks: Hooks<'_>,
    stop: &AtomicBool,
) -> Result<Measurement, LoadError> {
    let mut event_loop = EventLoop::new(trial, member, bodies, hooks)?;
    event_loop.run(stop)?;
    event_loop.engine.finish()
}

/// The parts of one trial. The trial is borrowed for `'t`, the codec of its bodies for `'b`, and its hooks
/// for `'r`.
struct Engine<'t, 'b, 'r> {
    trial: &'t Trial,
    /// The head of each request: one, or those of the mix.
    heads: Vec<Head>,
    /// Whether stages are timed.
    timed: bool,
    /// Whether the loop always waits for events, because more than the end of a call can be due next.
    polls: bool,
    pool: Pool<'t>,
    ledger: Ledger<'t>,
    phases: Phases<'t, 'r>,
    messages: Messages<'b, 'r>,
    /// The exchanges of streaming calls; `None` for other calls.
    streams: Option<Box<Streams>>,
    inbox: Inbox,
    /// `None` if there is no hook.
    snapshots: Option<Snapshots<'r>>,
    heartbeat: Heartbeat,
    /// Calls that the current input has ended, by token.
    ended: Vec<(u64, CallEnd)>,
    /// Whether the turn took the maximum number of calls and more are due.
    more_are_due: bool,
    /// Whether the next due call has no body yet.
    waits_for_body: bool,
}

impl<'t, 'b, 'r> Engine<'t, 'b, 'r> {
    fn new(
        trial: &'t Trial,
        member: Option<Member<'t>>,
        bodies: Bodies<'b>,
        hooks: Hooks<'r>,
        registry: Registry,
    ) -> Result<Self, LoadError> {
        let checks = !hooks.checks.is_empty();
        let messages = Messages::new(bodies, hooks.checks, trial)?;
        Ok(Engine {
            trial,
            heads: (0..trial.all_requests().count())
                .map(|mix_call| trial.head(mix_call, &[]))
                .collect::<Result<_, _>>()?,
            timed: trial.timing == Timing::Stages,
            polls: trial.streaming.is_some() || !matches!(trial.schedule, Schedule::Closed { .. }),
            pool: Pool::new(trial, registry),
            ledger: Ledger::new(trial, checks, hooks.progress.is_some()),
            phases: Phases::new(trial, member, hooks.settling, hooks.measuring, clock::now()),
            messages,
            streams: Streams::new(trial).map(Box::new),
            inbox: Inbox::new(),
            snapshots: hooks.progress.map(Snapshots::new),
            heartbeat: Heartbeat::start(),
            ended: Vec::new(),
            more_are_due: false,
            waits_for_body: false,
        })
    }

    /// Notes that the loop runs at `now`. Returns whether it was stalled until then.
    #[inline]
    fn beat(&mut self, now: u64) -> bool {
        let stall = self.heartbeat.beat(now);
        if let Some(stall) = stall {
            self.phases.note_stall(&stall, &mut self.ledger);
            self.ledger.last_stall = stall;
        }
        stall.is_some()
    }

    /// Adapts the load to the current number of users.
    fn follow_demand(&mut self, now: u64) {
        let Some(demand) = &self.trial.demand else {
            return;
        };
        if self.phases.phase != Phase::Measured {
            return;
        }
        let users = demand.users();
        match self.trial.schedule {
            Schedule::Closed { in_flight } => {
                let calls = users.saturating_mul(in_flight).min(MAX_IN_FLIGHT) as usize;
                let in_flight = self.ledger.calls.len();
                self.ledger.due_times.set_calls(calls, in_flight, now);
                if self.trial.endpoint.protocol == Protocol::Http1 && demand.connection_each() {
                    self.pool.grow(calls);
                }
            }
            Schedule::Rate { per_second, .. } => {
                let rate = f64::from(users) * per_second;
                self.ledger.due_times.set_rate(rate, now);
            }
            // A ramp has no demand.
            Schedule::Ramp { .. } => {}
        }
    }

    /// Maintains connections that the server is about to close, that are not open, or that are silent.
    fn maintain_connections(&mut self, now: u64) -> Result<(), LoadError> {
        while let Some((from, to)) = self.pool.drain_next(self.wants_connections(), now)? {
            self.ledger.calls.move_all(from, to);
        }
        if let Some(places) = self.pool.take_not_open() {
            for &index in &places {
                let attempt = self.pool.maintain(index, self.wants_connections(), now)?;
                self.follow(attempt);
            }
            self.pool.put_back_not_open(places, now);
        }
        if self.pool.checks_for_silence(now) {
            for index in 0..self.pool.places() {
                if let Some(silence) = self.pool.check_liveness(index, now) {
                    self.lose(index, Some(silence), now)?;
                }
            }
        }
        Ok(())
    }

    /// Whether closed connections should be reopened, because calls will be begun or retried.
    fn wants_connections(&self) -> bool {
        self.phases.phase != Phase::Draining || !self.ledger.to_retry.is_empty()
    }

    /// Applies the result of an attempt to open a connection to the calls that wait for it.
    fn follow(&mut self, attempt: Attempt) {
        match attempt {
            Attempt::Underway | Attempt::Open { call: None } => {}
            Attempt::Open { call: Some(token) } => self.send(token),
            Attempt::Failed {
                call,
                kind,
                text,
                at,
            } => match call {
                Some(token) => self.end_call(token, at, Err((kind, &text))),
                None if self.pool.counts.open + self.pool.counts.connecting == 0 => {
                    self.fail_waiting((kind, &text), at);
                }
                None => self.ledger.recorder.errors.add(kind, &text),
            },
        }
    }

    fn expire(&mut self, now: u64) {
        while let Some((token, expires_at)) = self.ledger.calls.oldest()
            && expires_at <= now
        {
            self.fail_late(token, now);
        }
    }

    #[cold]
    fn fail_late(&mut self, token: u64, now: u64) {
        let call = self.ledger.calls.get(token);
        let (index, waits_after_status) = call.map_or((0, false), |call| {
            (call.connection, call.response.waits_after_status())
        });
        let failure = if self.pool.give_up_call(index, token, now) {
            NOT_CONNECTED
        } else if waits_after_status {
            STATUS_NOT_LAST
        } else {
            TOO_LATE
        };
        self.end_call(token, now, Err(failure));
    }

    /// Counts the end of a call, successful or not, and notifies the schedule.
    fn end_call(&mut self, token: u64, done: u64, result: Result<(), CallFailure<'_>>) {
        let late = self.phases.is_after_arrivals(done, &self.ledger);
        let note = |ended| self.phases.call_ended(ended);
        self.ledger.end(token, (done, late), result, note);
    }

    /// Writes all pending output, with many calls in one write.
    fn write_all(&mut self) -> Result<(), LoadError> {
        while let Some(index) = self.pool.next_to_write() {
            self.write(index)?;
        }
        Ok(())
    }

    fn write(&mut self, index: usize) -> Result<(), LoadError> {
        if self.trial.keeps_detail {
            self.stamp_written(index);
        }
        if self.pool.write(index)? {
            self.ledger.stamp_sent(index);
        }
        Ok(())
    }

    /// Stamps the calls whose first bytes the next write of a connection can contain. The clock is read once
    /// for all of them.
    fn stamp_written(&mut self, index: usize) {
        let open = self.pool.open(index);
        let Some(open) = open.filter(|open| !open.unwritten.is_empty()) else {
            return;
        };
        let now = clock::now();
        for token in open.unwritten.drain(..) {
            if let Some(call) = self.ledger.calls.get(token) {
                call.stamps.written = now;
            }
        }
    }
}
