//! The events of a run while it runs. Nothing is drawn here.

use std::time::Duration;

use rpcgauge_load as load;
use rpcgauge_study::plan::{TrialSpec, Variant};
use rpcgauge_study::record::TrialRecord;

/// Takes the events of a run.
///
/// They come between trials, never while one is measured, on the thread that measures: what an
/// observer does takes time from the run but disturbs no figure.
pub trait Observer {
    /// Something happened.
    fn notice(&mut self, event: &Event<'_>);

    /// What takes snapshots of the trial that is about to be measured. Snapshots take time from the
    /// calls, so that there are none by default.
    fn watch(&mut self) -> Option<&mut dyn Watch> {
        None
    }
}

/// Takes snapshots of a trial while it is measured.
pub trait Watch {
    /// The time between two snapshots, more than 0.
    fn every(&self) -> Duration;

    /// Takes a snapshot of the measured part of `variant`'s trial. The thread that measures calls it
    /// between two turns of its loop, and the calls that become due meanwhile are late: it may hand
    /// something over, and wait for nothing. Returns histograms for the next interval.
    fn sample(&mut self, variant: &Variant, progress: load::TrialProgress) -> load::IntervalTimes;
}

/// An observer that takes no snapshots.
impl Observer for () {
    fn notice(&mut self, _: &Event<'_>) {}
}

/// Any closure over an event is an observer.
impl<F: FnMut(&Event<'_>)> Observer for F {
    fn notice(&mut self, event: &Event<'_>) {
        self(event);
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunProgress {
    /// Trials of the plan that are recorded, those of an earlier part of the run included.
    pub done: usize,
    /// Trials of the plan; 0 in a search, which has as many as it needs.
    pub total: usize,
    /// Since this part of the run started.
    pub elapsed: Duration,
    /// What is left will take about this long.
    pub remaining: Duration,
}

/// What happened, and how far the run is then.
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a field is what its type says")]
pub enum Event<'a> {
    /// Fresh processes from here on.
    InvocationStarted {
        /// Which, from 0.
        invocation: u32,
        /// Of how many.
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
    /// A trial ended, well or not, and is recorded.
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
