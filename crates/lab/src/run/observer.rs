//! Events that a run reports while it is in progress, for display.

use std::time::Duration;

use rpcgauge_load as load;
use rpcgauge_study::plan::{TrialSpec, Variant};
use rpcgauge_study::record::TrialRecord;

/// Receives the events of a run.
///
/// Events are delivered on the measuring thread, between trials and never while one is measured. A slow
/// observer lengthens the run but does not disturb the figures.
pub trait Observer {
    /// Handles an event.
    fn notice(&mut self, event: &Event<'_>);

    /// Returns the [`Watch`] for the trial about to be measured. By default there is none, because snapshots
    /// take time from calls.
    fn watch(&mut self) -> Option<&mut dyn Watch> {
        None
    }
}

/// Takes snapshots of a trial while it is measured.
pub trait Watch {
    /// The interval between snapshots, greater than 0.
    fn every(&self) -> Duration;

    /// Takes a snapshot of the measured part of `variant`'s trial. Called on the measuring thread between two
    /// iterations of its loop. It must not block: calls that become due in the meantime are late. Returns
    /// histograms for the next interval.
    fn sample(&mut self, variant: &Variant, progress: load::TrialProgress) -> load::IntervalTimes;
}

/// An observer that ignores all events.
impl Observer for () {
    fn notice(&mut self, _: &Event<'_>) {}
}

/// Any closure that accepts an event is an observer.
impl<F: FnMut(&Event<'_>)> Observer for F {
    fn notice(&mut self, event: &Event<'_>) {
        self(event);
    }
}

/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunProgress {
    /// Recorded trials of the plan, including those of an earlier part of the run.
    pub done: usize,
    /// Trials in the plan; 0 for a search, whose number of trials is not known in advance.
    pub total: usize,
    /// The time since this part of the run started.
    pub elapsed: Duration,
    /// The estimated time until the run ends.
    pub remaining: Duration,
}

/// An event of a run, with the run's progress.
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the field types are self-explanatory")]
pub enum Event<'a> {
    /// An invocation started, with new processes.
    InvocationStarted {
        /// The invocation's number, from 0.
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
    /// A search chose this rate for the trial that starts next.
    RateChosen {
        /// Calls per second.
        rate: f64,
        /// The number of the trial within the search, from 1.
        number: usize,
    },
    /// A trial ended, successfully or not, and was recorded.
    TrialEnded {
        record: &'a TrialRecord,
        progress: RunProgress,
    },
    /// A problem that does not fail a trial.
    Warning {
        /// One line: what is wrong, where, and what to do.
        text: &'a str,
    },
}
