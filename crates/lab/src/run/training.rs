//! Training runs: processes that are to start from an ahead-of-time cache run once beforehand, make calls, and write
//! the cache when they exit.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rpcgauge_contract::{SliceAsk, Until};
use rpcgauge_message::WorkloadSpec;
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::Runtime;

use super::Run;
use super::instance::{Instance, Started};
use crate::error::{TrialFailure, TrialResult};
use crate::subject::training_file;

/// The calls of a training run. The profile of a method that was called this often is part of the cache (JEP 515).
const CALLS: u32 = 2_000;

/// How long these calls may take: at first, a runtime interprets its code.
const TIME: Duration = Duration::from_secs(60);

impl Run<'_> {
    /// Runs the programs whose caches are missing, unless none is. `start` starts all processes of a variant, or of
    /// those that share processes.
    pub(super) fn train(
        &self,
        programs: &BTreeSet<&str>,
        (workload, runtime): (&WorkloadSpec, &Runtime),
        start: impl FnOnce() -> Vec<TrialResult<Started>>,
    ) -> TrialResult {
        let commands = programs
            .iter()
            .map(|program| self.options.stacks.command(program, Some(workload)));
        let commands = commands.collect::<Result<Vec<_>, _>>()?;
        let missing = commands
            .into_iter()
            .filter_map(|command| command.missing_cache(runtime));
        let missing: Vec<PathBuf> = missing.collect();
        if missing.is_empty() {
            return Ok(());
        }
        let started: TrialResult<Vec<Started>> = start().into_iter().collect();
        let mut instances: Vec<Instance> = started?.into_iter().map(|(one, _)| one).collect();
        for instance in &mut instances {
            self.exercise(instance)?;
        }
        for instance in &mut instances {
            instance.ask_to_end();
        }
        drop(instances);
        for cache in missing {
            fs::rename(training_file(&cache), &cache).map_err(|error| {
                let reason = format!(
                    "the training run left no ahead-of-time cache ({error}); its log has the reason, for example \
                     that the runtime is too old"
                );
                TrialFailure::new(Fault::Subject, reason)
            })?;
        }
        Ok(())
    }

    fn exercise(&self, instance: &mut Instance) -> TrialResult {
        let (caller, batch) = match instance {
            Instance::Server(server) => return server.exercise(CALLS, self.stop),
            Instance::Client(_, client) => (client, None),
            Instance::Codec(codec) => (codec, Some(1)),
        };
        let ask = SliceAsk {
            skip: 0,
            until: Until::Calls(CALLS.into()),
            batch,
        };
        caller.subject.slice(&ask, TIME, self.stop).map(drop)
    }
}
