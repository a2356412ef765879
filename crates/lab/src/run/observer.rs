//! The events of a run while it runs. Observers show them.

use std::time::Duration;

use rpcgauge_load as load;
use rpcgauge_study::plan::{TrialSpec, Variant};
use rpcgauge_study::record::TrialRecord;

/// Receives the events of a run.
///
/// They come between trials, never while one is measured, on the thread that measures: an observer lengthens
/// the run but disturbs no figure.
pub trait Observer {
    /// Receives an event.
    fn notice(&mut self, event: &Event<'_>);

    /// Returns the [`Watch`] for the trial about to be measured. The default is none: snapshots take time from
    /// calls.
    fn watch(&mut self) -> Option<&mut dyn Watch> {
        None
    }
}

/// Takes snapshots of a trial while it is measured.
pub trait Watch {
    /// The time between two snapshots, more than 0.
    fn every(&self) -> Duration;

    /// Takes a snapshot of the measured part of `variant`'s trial. The measuring thread calls it between two
    /// iterations of its loop, and calls that become due meanwhile are late, so it must not block. Returns
    /// histograms for the next interval.
    fn sample(&mut self, variant: &Variant, progress: load::TrialProgress) -> load::IntervalTimes;
}

/// An observer that ignores all events.
impl Observer for () {
    fn notice(&mut self, _: &Event<'_>) {}
}

/// Any closure over an event is an observer.
impl<F: FnMut(&Event<'_>)> Observer for F {
    fn notice(&mut self, event: &Event<'_>) {
        self(event);
    }
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunProgress {
    /// Trials of the plan that are recorded, including those of an earlier part of the run.
    pub done: usize,
    /// Trials of the plan; 0 in a search, which has as many as it needs.
    pub total: usize,
    /// The time since this part of the run started.
    pub elapsed: Duration,
    /// About how long the rest will take.
    pub remaining: Duration,
}

/// What happened, and how far the run has come.
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a field is what its type says")]
pub enum Event<'a> {
    /// An invocation started; its processes are fresh.
    InvocationStarted {
        /// Its number, from 0.
        invocation: u32,
        /// The number of invocations.
        of: u32,
        progress: RunProgress,
    },
    /// A variant's server is being started and verified.
    SubjectStarting {
        variant: &'a Variant,
        progress: RunProgress,
    },
    /// A trial is about to be measured.
    TrialStarted {
        trial: &'a TrialSpec,
        variant: &'a Variant,
        progress: RunProgress,
    },
    /// A search tries this rate in the trial that starts next.
    RateChosen {
        /// Calls per second.
        rate: f64,
        /// Which trial of the search, from 1.
        number: usize,
    },
    /// A trial ended, successfully or not, and is recorded.
    TrialEnded {
        record: &'a TrialRecord,
        progress: RunProgress,
    },
    /// Something went wrong that fails no trial.
    Warning {
        /// One line: what, where, and what to do.
        text: &'a str,
    },
}
