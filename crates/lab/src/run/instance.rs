//! What a variant is measured with: the processes of its subjects, started and verified, or a user's service.

use std::collections::BTreeMap;

use rpcgauge_message::{Workload, WorkloadSpec};
use rpcgauge_study::plan::{SharedProcesses, Variant};
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::{LiveCall, Placement, Target};

use super::Run;
use super::events::EventSource;
use crate::error::{TrialFailure, TrialResult};
use crate::live::{Live, StartedService};
use crate::subject::Subject;
use crate::variant::caller::Caller;
use crate::variant::server::{Running, Server, Up};

/// What a variant is measured with.
pub(super) enum Instance {
    /// A server that the engine calls.
    Server(Server),
    /// A server that a client subject calls.
    Client(Box<Up>, Box<Caller>),
    Codec(Box<Caller>),
}

impl Instance {
    /// Its processes, the server's first.
    fn processes(&self) -> impl Iterator<Item = Running<'_>> {
        let (server, caller) = match self {
            Self::Server(server) => (server.process(), None),
            Self::Client(server, client) => (Some(Running::Subject(&server.subject)), Some(client)),
            Self::Codec(codec) => (None, Some(codec)),
        };
        server
            .into_iter()
            .chain(caller.map(|caller| Running::Subject(&caller.subject)))
    }

    /// The versions that its subjects reported in their ready lines, the server's first.
    pub(super) fn versions(&self) -> Vec<BTreeMap<String, String>> {
        let subjects = self.processes().filter_map(|process| match process {
            Running::Subject(subject) => Some(subject.ready().versions.clone()),
            Running::Service(_) => None,
        });
        subjects.collect()
    }

    /// How one of its processes ended; `None` while all are running.
    pub(super) fn ended(&self) -> Option<String> {
        self.processes().find_map(Running::ended)
    }

    pub(super) fn ask_to_end(&mut self) {
        match self {
            Self::Server(server) => server.ask_to_end(),
            Self::Client(server, client) => {
                client.subject.ask_to_end();
                server.subject.ask_to_end();
            }
            Self::Codec(codec) => codec.subject.ask_to_end(),
        }
    }

    /// The processes of its subjects, to be ended one by one.
    pub(super) fn into_processes(self) -> Vec<Subject> {
        match self {
            Self::Server(Server::Subject(up)) => vec![up.subject],
            Self::Server(Server::Live(..)) => Vec::new(),
            Self::Client(server, client) => vec![server.subject, client.subject],
            Self::Codec(codec) => vec![codec.subject],
        }
    }
}

/// Identifies one start within a run.
#[derive(Clone, Copy)]
pub(super) struct Occasion {
    pub(super) invocation: u32,
    pub(super) placement: Placement,
    /// The number of earlier starts.
    pub(super) starts: u32,
    /// Whether it is a training run, which is not measured.
    pub(super) is_training: bool,
}

/// An instance, and the files to which its runtimes write events.
pub(super) type Started = (Instance, Vec<EventSource>);

impl Run<'_> {
    /// Starts what a trial is measured with. Also returns the files to which its runtimes write events.
    pub(super) fn new_instance(&mut self, occasion: Occasion, index: u32) -> TrialResult<Started> {
        let variant = &self.plan.variants[index as usize];
        match &variant.settings.target {
            Target::Live(call) => {
                let server = self.new_service(occasion, index, call)?;
                Ok((Instance::Server(server), Vec::new()))
            }
            Target::Call(call) => {
                let call = self.call_starting(occasion, index, call)?;
                self.call_instances(vec![call], None).swap_remove(0)
            }
            Target::Codec(work) => {
                let mut starting = self.starting(occasion, index)?;
                let workload = self.workload(&work.workload)?;
                let codec = self.new_codec(&mut starting, work, &workload)?;
                Ok((Instance::Codec(Box::new(codec)), starting.sources))
            }
        }
    }

    /// Starts the processes that variants share. They have a part for every one of these variants, even those not
    /// measured this time, so that the processes are always the same.
    pub(super) fn shared_instances(
        &mut self,
        occasion: Occasion,
        shared: &SharedProcesses,
    ) -> Vec<TrialResult<Started>> {
        let plan = self.plan;
        let calls = shared.variants.iter().map(|&index| {
            let variant = plan.variants.get(index as usize);
            match variant.map(|variant| &variant.settings.target) {
                Some(Target::Call(call)) => self.call_starting(occasion, index, call),
                Some(Target::Live(_) | Target::Codec(_)) | None => {
                    let reason =
                        "the plan shares processes with a variant that does not call a subject";
                    Err(TrialFailure::new(Fault::User, reason))
                }
            }
        });
        match calls.collect() {
            Ok(calls) => self.call_instances(calls, Some(shared)),
            Err(failure) => shared
                .variants
                .iter()
                .map(|_| Err(failure.clone()))
                .collect(),
        }
    }

    /// A user's service: started, if the plan has its command.
    fn new_service(&self, occasion: Occasion, index: u32, call: &LiveCall) -> TrialResult<Server> {
        let live = self.live(&self.plan.variants[index as usize])?;
        if call.service.start.is_none() {
            return Ok(Server::Live(Box::new(live), None));
        }
        let starting = self.starting(occasion, index)?;
        let (cores, log) = (&starting.layout.server, self.log_path(&starting.log));
        let service = StartedService::start(&call.service, Some(cores), &log, self.stop)?;
        let live = Box::new(live.at_port(service.port()));
        Ok(Server::Live(live, Some(Box::new(service))))
    }

    /// The live service of a variant, or of the variant that it repeats.
    fn live(&self, variant: &Variant) -> TrialResult<Live> {
        let name = variant.original();
        let live = self.options.live.get(name).cloned();
        live.ok_or_else(|| {
            let reason = format!(
                "the plan does not contain the requests and credentials of the live service \"{name}\"; \
                 start a new run"
            );
            TrialFailure::new(Fault::User, reason)
        })
    }

    /// A workload's messages, built once for all variants that use it because they can be large.
    pub(super) fn workload(&mut self, spec: &WorkloadSpec) -> TrialResult<Workload> {
        if let Some((_, workload)) = self.workloads.iter().find(|(known, _)| known == spec) {
            return Ok(workload.clone());
        }
        let workload = Workload::new(spec)
            .map_err(|error| TrialFailure::new(Fault::User, error.to_string()))?;
        self.workloads.push((spec.clone(), workload.clone()));
        Ok(workload)
    }
}
