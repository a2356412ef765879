//! Training runs: processes that start from an ahead-of-time cache first run once without being measured. They make
//! calls, and write their caches when they exit.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rpcgauge_contract::{SliceAsk, Until};
use rpcgauge_study::record::Fault;

use super::Run;
use super::instance::{Instance, Occasion, Started};
use crate::error::{TrialFailure, TrialResult};
use crate::subject::AotCache;
use crate::variant::server::Server;

/// How long a training run makes calls. On a JVM, the cache then contains profiles of the methods that they use (JEP 515).
const TIME: Duration = Duration::from_secs(5);

/// How long the last call of a client may take longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The calls of rpcgauge's own client between two looks at the clock.
const BATCH: u32 = 100;

impl Run<'_> {
    /// Makes the training run that a variant needs before its processes are started, unless an earlier one succeeded.
    /// Does nothing for a variant without an ahead-of-time cache.
    pub(super) fn train(&mut self, occasion: Occasion, variant: u32) -> TrialResult {
        let plan = self.plan;
        let runtime = plan.variants[variant as usize].settings.target.runtime();
        if !runtime.is_some_and(|runtime| runtime.aot_cache) {
            return Ok(());
        }
        let shared = self.processes_of(variant);
        let first = shared.map_or(variant, |shared| shared.variants[0]);
        if self.trained.contains(&first) {
            return Ok(());
        }
        let occasion = Occasion {
            is_training: true,
            ..occasion
        };
        self.training_run(occasion, variant)?;
        self.trained.insert(first);
        Ok(())
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
            Instance::Server(Server::Subject(up)) => {
                let begun = Instant::now();
                while begun.elapsed() < TIME {
                    up.prove(BATCH, self.stop)?;
                }
                return Ok(());
            }
            Instance::Server(Server::Live(..)) => return Ok(()),
            Instance::Client(_, client) => (client, None),
            Instance::Codec(codec) => (codec, Some(1)),
        };
        let ask = SliceAsk {
            skip: 0,
            until: Until::Time(TIME),
            batch,
        };
        let done = caller.subject.slice(&ask, TIME + PATIENCE, self.stop)?;
        let failed =
            |error| TrialFailure::new(Fault::Subject, format!("the training run failed: {error}"));
        done.error.map_or(Ok(()), |error| Err(failed(error)))
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
