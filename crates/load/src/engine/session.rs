//! A trial that is measured a slice at a time, with its connections open in between.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use mio::Events;
use rpcgauge_wire::Traffic;

use super::slicing::Slicing;
use super::{EVENTS_A_TURN, Engine, Hooks};
use crate::bodies::Bodies;
use crate::clock;
use crate::error::LoadError;
use crate::measurement::{Ending, Measurement};
use crate::schedule::Schedule;
use crate::trial::Trial;

pub use super::slicing::SliceBounds;

/// A closed loop that is measured in slices. Between them no call is in flight, and the connections
/// stay open: others can be measured meanwhile, on the same thread.
pub struct Session<'t, 'b, 'r> {
    engine: Engine<'t, 'b, 'r>,
    events: Events,
}

/// What a session's slices add up to so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// The time in which calls counted.
    pub time: Duration,
    /// Calls that were begun in it.
    pub started: u64,
    /// How many of them succeeded.
    pub answered: u64,
    /// Calls that were left out.
    pub skipped: u64,
    /// Bytes on the connections, of all these.
    pub traffic: Traffic,
}

impl<'t, 'b, 'r> Session<'t, 'b, 'r> {
    /// Opens the connections of `trial` and warms up, on the calling thread. The trial's own
    /// [`crate::Stop`] is not looked at: who asks for slices knows how many there are to be.
    ///
    /// # Errors
    /// [`LoadError`] when there is nothing to measure with, or the trial is no closed loop.
    pub fn open(
        trial: &'t Trial,
        bodies: Bodies<'b>,
        hooks: Hooks<'r>,
        stop: &AtomicBool,
    ) -> Result<Self, LoadError> {
        if !matches!(trial.schedule, Schedule::Closed { .. }) {
            return Err(LoadError::Setting {
                what: "a trial in slices",
                allowed: "a closed loop",
            });
        }
        let mut engine = Engine::checked(trial, bodies, hooks)?;
        engine.slicing = Some(Slicing::default());
        let mut session = Session {
            engine,
            events: Events::with_capacity(EVENTS_A_TURN),
        };
        session.engine.run(&mut session.events, stop)?;
        Ok(session)
    }

    /// Measures one slice.
    ///
    /// # Errors
    /// [`LoadError`] when the machine or the codec fails. Calls that fail are counted.
    pub fn slice(&mut self, bounds: &SliceBounds, stop: &AtomicBool) -> Result<(), LoadError> {
        if self.is_over() {
            return Ok(());
        }
        let Session { engine, events } = self;
        // What came meanwhile, the end of a connection for one, is known before the first call.
        engine.poll(events, Some(Duration::ZERO))?;
        engine.read_all(events)?;
        engine.work_through(events)?;
        engine.begin_slice(bounds, clock::now());
        let ran = engine.run(events, stop);
        engine.end_slice(clock::now());
        ran
    }

    /// Whether nothing but failures came for too long, the bodies are used up, or it was stopped: no
    /// slice adds anything any more.
    pub fn is_over(&self) -> bool {
        self.engine.ending != Ending::Complete
    }

    /// What the slices add up to so far.
    pub fn counted(&self) -> Counted {
        let account = &self.engine.recorder.account;
        let slicing = self.slicing();
        Counted {
            time: Duration::from_nanos(slicing.counted_ns),
            started: account.started,
            answered: account.answered,
            skipped: slicing.skipped,
            traffic: slicing.traffic,
        }
    }

    /// Ends the session: the figures of all slices together. The timeline spans them with what lay
    /// between.
    ///
    /// # Errors
    /// [`LoadError::Accounting`] when calls got lost.
    pub fn finish(mut self) -> Result<Measurement, LoadError> {
        self.engine.recorder.counted_ns = Some(self.slicing().counted_ns);
        self.engine.outcome()
    }

    fn slicing(&self) -> &Slicing {
        let slicing = self.engine.slicing.as_ref();
        slicing.expect("a session is made with it, and nothing takes it away")
    }
}
