//! The run: invocations, blocks, trials, in the plan's order.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_study::plan::Plan;
use rpcgauge_study::record::Environment;

use crate::error::LabError;
use crate::observer::Observer;
use crate::records::Records;
use crate::subject::SubjectCommand;

/// What a lab needs to know beside the plan.
#[derive(Debug, Clone)]
pub struct Options {
    /// How each subject is started, by the name in a variant's settings.
    pub subjects: BTreeMap<String, SubjectCommand>,
    /// The subject that answers for the floor's calibration.
    pub floor: SubjectCommand,
    /// The folder for the subjects' logs, made when it is missing.
    pub logs: PathBuf,
    /// How long a subject may take until it is ready.
    pub ready_timeout: Duration,
    /// How long a subject may take to end when it is asked to.
    pub end_timeout: Duration,
    /// How often a subject that died is started again within one invocation.
    pub restarts: u32,
}

impl Options {
    /// The embedded reference server as the only subject, with the default limits.
    pub fn new(reference: SubjectCommand, logs: PathBuf) -> Self {
        Self {
            subjects: BTreeMap::from([("reference".to_owned(), reference.clone())]),
            floor: reference,
            logs,
            ready_timeout: Duration::from_secs(30),
            end_timeout: Duration::from_secs(5),
            restarts: 2,
        }
    }
}

/// Carries plans out.
#[derive(Debug)]
pub struct Lab {
    options: Options,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Every trial of the plan is recorded.
    Complete,
    /// It was asked to stop; `--resume` goes on.
    Stopped,
}

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// How it ended.
    pub ending: Ending,
    /// Trials that were measured in this part of the run.
    pub measured: usize,
    /// Trials that failed in this part of the run, recorded with their reasons.
    pub failed: usize,
    /// Trials that were recorded before it started.
    pub skipped: usize,
}

impl Lab {
    /// A lab with these options. Nothing is started yet.
    pub fn new(options: Options) -> Self {
        Self { options }
    }

    /// The machine as it is now, for a run of `plan`.
    pub fn environment(&self, plan: &Plan) -> Environment {
        crate::environment::look(plan.idle)
    }

    /// Runs what of `plan` is not recorded yet.
    ///
    /// `stop` is looked at during and between trials: once it is true, the trial that runs is given
    /// up unrecorded and the run ends. The calling thread measures; it must live until this
    /// returns, since the subjects are bound to its life.
    ///
    /// # Errors
    /// [`LabError`] when the run cannot go on. A trial that fails is no error: it is recorded.
    pub fn run(
        &self,
        plan: &Plan,
        records: &mut dyn Records,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<Summary, LabError> {
        let _ = (plan, records, observer, stop, &self.options);
        Err(LabError::Plan("not carried out yet".to_owned()))
    }
}
