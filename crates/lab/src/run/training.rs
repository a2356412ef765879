//! Training runs: processes that start from an ahead-of-time cache first run once without being measured. They make
//! calls, and write their caches when they exit.

use std::path::PathBuf;
use std::time::Duration;

use rpcgauge_contract::{SliceAsk, Until};
use rpcgauge_study::record::Fault;

use super::Run;
use super::instance::{Instance, Occasion, Started};
use crate::error::{TrialFailure, TrialResult};
use crate::subject::AotCache;
use crate::variant::server::Server;

/// The calls of a training run. The cache contains profiles of methods that are called this often (JEP 515).
const CALLS: u32 = 2_000;

/// How long these calls may take: at first, a runtime interprets its code.
const TIME: Duration = Duration::from_secs(60);

impl Run<'_> {
    /// Makes the training run that a variant needs before its processes are started, once for all of its starts. Does
    /// nothing for a variant without an ahead-of-time cache.
    pub(super) fn train(&mut self, occasion: Occasion, variant: u32) -> TrialResult {
        let plan = self.plan;
        let runtime = plan.variants[variant as usize].settings.target.runtime();
        if !runtime.is_some_and(|runtime| runtime.aot_cache) {
            return Ok(());
        }
        let shared = plan.processes_of(variant);
        let first = shared.map_or(variant, |shared| shared.variants[0]);
        if let Some(known) = self.trained.get(&first) {
            return known.clone();
        }
        let occasion = Occasion {
            is_training: true,
            ..occasion
        };
        let trained = self.training_run(occasion, variant);
        self.trained.insert(first, trained.clone());
        trained
    }

    fn training_run(&mut self, occasion: Occasion, variant: u32) -> TrialResult {
        let started: TrialResult<Vec<Started>> = self
            .start_processes(occasion, variant)
            .into_iter()
            .collect();
        let instances = started?.into_iter().map(|(instance, _)| instance);
        let mut instances: Vec<Instance> = instances.collect();
        for instance in &mut instances {
            self.exercise(instance)?;
        }
        for instance in &mut instances {
            instance.ask_to_end();
        }
        let processes = instances.into_iter().flat_map(Instance::into_processes);
        let mut processes = processes.filter(|process| process.is_first_part());
        processes.try_for_each(|process| process.end_well())
    }

    fn exercise(&self, instance: &mut Instance) -> TrialResult {
        let (caller, batch) = match instance {
            Instance::Server(Server::Subject(up)) => return up.prove(CALLS, self.stop),
            Instance::Server(Server::Live(_)) => return Ok(()),
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

    /// How a process uses the file of its cache.
    pub(super) fn aot_cache(&self, file: PathBuf, is_training: bool) -> TrialResult<AotCache> {
        if is_training {
            return Ok(AotCache::Write(file));
        }
        if file.exists() {
            return Ok(AotCache::Load(file));
        }
        let reason = "the training run wrote no ahead-of-time cache; its log, which ends in \"-training\", has the \
                      reason";
        Err(TrialFailure::new(Fault::Subject, reason))
    }
}
