//! A search: trials of one variant at rates that are chosen during the run.

use std::sync::atomic::AtomicBool;

use rpcgauge_study::plan::{Plan, Variant};
use rpcgauge_study::record::TrialRecord;

use super::{Lab, Planned, Run, Summary, check};
use crate::error::LabError;
use crate::run::{Event, Observer, Records};

/// Chooses the rates of a search, trial by trial. The lab itself does not evaluate trials.
pub trait RateSearch {
    /// The rate of the next trial, calls per second; `None` when the search is over.
    fn next_rate(&mut self) -> Option<f64>;

    /// Called with each finished trial, successful or not.
    fn ended(&mut self, record: &TrialRecord);
}

impl Lab {
    /// Runs the search of a plan: its trials in order, for as long as `rates` provides a rate.
    ///
    /// See [`Lab::run`] for `stop` and the calling thread.
    ///
    /// # Errors
    /// [`LabError`] if the run cannot continue or the plan has no search. A failed trial is recorded and
    /// is not an error.
    pub fn search(
        &self,
        plan: &Plan,
        rates: &mut dyn RateSearch,
        records: &mut dyn Records,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Summary, LabError> {
        let trials = &plan.trials;
        check(plan, trials)?;
        let Some(search) = plan.capacity else {
            return Err(LabError::Plan("it has no search".to_owned()));
        };
        let mut run = Run::prepare(&self.options, plan, trials, records, observer, stop)?;
        run.keep_environment()?;
        let mut invocation = run.begin_invocation(0)?;
        for (index, trial) in trials.iter().enumerate() {
            let Some(rate) = rates.next_rate().filter(|_| !run.is_stopped()) else {
                break;
            };
            let planned = &plan.variants[trial.variant as usize];
            let variant = Variant {
                settings: search.at_rate(&planned.settings, rate),
                ..planned.clone()
            };
            run.notify(&Event::RateChosen {
                rate,
                number: index + 1,
            });
            let planned = Planned {
                spec: trial,
                variant: &variant,
                rate: Some(rate),
            };
            for record in run.rotation(&mut invocation, &[planned])? {
                rates.ended(&record);
            }
        }
        invocation.end_all_but(&[]);
        run.keep_disturbances()?;
        Ok(run.summary())
    }
}
