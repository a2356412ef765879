//! A trial that is measured one slice at a time. Its connections stay open between slices.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_trial::{Schedule, Slice, SlowCall};
use rpcgauge_wire::Traffic;

use super::event_loop::EventLoop;
use super::phases::Slicing;
use super::stall::Heartbeat;
use super::{Engine, Hooks};
use crate::bodies::Bodies;
use crate::clock;
use crate::error::LoadError;
use crate::measurement::Measurement;
use crate::trial::Trial;

/// A closed loop that is measured in slices. Between slices, no call is in flight and the connections stay
/// open, so that other sessions can be measured on the same thread.
pub struct Session<'t, 'b, 'r> {
    event_loop: EventLoop<'t, 'b, 'r>,
}

/// The totals of a session's slices so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Time in which calls were counted.
    pub time: Duration,
    /// Counted calls that were begun.
    pub started: u64,
    /// How many of the started calls succeeded.
    pub answered: u64,
    /// Calls that were excluded from the figures.
    pub skipped: u64,
    /// Bytes on the connections, including those of the skipped calls.
    pub traffic: Traffic,
}

impl<'t, 'b, 'r> Session<'t, 'b, 'r> {
    /// Opens the connections of `trial`, on the calling thread. The trial's own [`rpcgauge_trial::Stop`] is
    /// ignored, since the caller decides how many slices there are.
    ///
    /// # Errors
    /// Returns a [`LoadError`] if the trial cannot be run, or is not a closed loop.
    pub fn open(
        trial: &'t Trial,
        bodies: Bodies<'b>,
        hooks: Hooks<'r>,
        stop: &AtomicBool,
    ) -> Result<Self, LoadError> {
        if !matches!(trial.schedule, Schedule::Closed { .. }) {
            return Err(LoadError::setting("a trial in slices", "a closed loop"));
        }
        let mut event_loop = EventLoop::new(trial, None, bodies, hooks)?;
        event_loop.engine.phases.slice();
        event_loop.run(stop)?;
        Ok(Session { event_loop })
    }

    /// Runs the next slices of the warm-up. Returns whether the warm-up is over; no calls are made once it is.
    ///
    /// # Errors
    /// Returns a [`LoadError`] if the machine or the codec fails. Failed calls are not errors; they are counted.
    pub fn warm_up_turn(&mut self, stop: &AtomicBool) -> Result<bool, LoadError> {
        if self.is_over() || self.event_loop.engine.phases.warmup.is_finished() {
            return Ok(true);
        }
        self.event_loop.engine.heartbeat = Heartbeat::start();
        self.event_loop.catch_up()?;
        let Engine { phases, ledger, .. } = &mut self.event_loop.engine;
        phases.begin_warm_up_turn(clock::now(), ledger);
        self.event_loop.run(stop)?;
        Ok(self.is_over() || self.event_loop.engine.phases.warmup.is_finished())
    }

    /// Measures one slice of at most `max_calls` counted calls.
    ///
    /// # Errors
    /// Returns a [`LoadError`] if the machine or the codec fails, and [`LoadError::WrongResponse`] if a
    /// response of the slice is wrong. Failed calls are not errors; they are counted.
    pub fn slice(
        &mut self,
        slice: &Slice,
        max_calls: u64,
        stop: &AtomicBool,
    ) -> Result<(), LoadError> {
        if self.is_over() {
            return Ok(());
        }
        // Input since the last slice, such as the end of a connection, is processed before the first call.
        self.event_loop.engine.heartbeat = Heartbeat::start();
        self.event_loop.catch_up()?;
        let Engine {
            phases,
            pool,
            ledger,
            messages,
            ..
        } = &mut self.event_loop.engine;
        messages.begin_slice();
        phases.begin_slice(slice, max_calls, clock::now(), pool, ledger);
        let ran = self.event_loop.run(stop);
        let Engine {
            phases,
            pool,
            ledger,
            messages,
            ..
        } = &mut self.event_loop.engine;
        phases.end_slice(clock::now(), pool, ledger);
        ran?;
        messages.verify_last()
    }

    /// Whether further slices would add nothing, because all calls failed for too long, the bodies are used
    /// up, or the session was stopped.
    pub fn is_over(&self) -> bool {
        self.event_loop.engine.phases.is_over()
    }

    /// The totals of the slices so far.
    pub fn counted(&self) -> Counted {
        let (engine, slicing) = (&self.event_loop.engine, self.slicing());
        let account = &engine.ledger.recorder.account;
        Counted {
            time: Duration::from_nanos(slicing.counted_ns),
            started: account.calls.started,
            answered: account.calls.answered,
            skipped: slicing.skipped,
            traffic: slicing.traffic,
        }
    }

    /// Requests sent so far, including those of the warm-up.
    pub fn requests_sent(&self) -> u64 {
        self.event_loop.engine.ledger.requests_sent
    }

    /// The slow calls so far, if they are recorded.
    pub fn slow(&self) -> &[SlowCall] {
        self.event_loop.engine.ledger.recorder.slow()
    }

    /// Ends the session and returns the combined figures of all slices. The timeline covers the slices and
    /// the time between them.
    ///
    /// # Errors
    /// Returns [`LoadError::WrongResponse`] if a response of a slice is wrong, and [`LoadError::Accounting`]
    /// if the counts do not add up.
    pub fn finish(self) -> Result<Measurement, LoadError> {
        self.event_loop.engine.finish()
    }

    fn slicing(&self) -> &Slicing {
        let slicing = self.event_loop.engine.phases.slicing();
        slicing.expect("a session is divided into slices from the start")
    }
}
