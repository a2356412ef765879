//! What a variant is measured with: the processes of its subjects, started and verified, or a
//! live service.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use rpcgauge_contract::{self as contract, FloorSettings, Listen};
use rpcgauge_message::{Workload, WorkloadSpec};
use rpcgauge_study::features::Role;
use rpcgauge_study::link::NamedLink;
use rpcgauge_study::plan::{TrialSpec, Variant};
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::{
    CodecWork, Placement, REFERENCE, Runtime, SubjectCall, Target, Transport,
};
use rpcgauge_study::words::Named as _;

use super::Run;
use super::events::EventSource;
use super::invocation::FloorHalf;
use super::networks::User;
use crate::error::{TrialFailure, TrialResult};
use crate::files::scratch::Scratch;
use crate::live::Live;
use crate::machine::placement::{CoreSet, Layout};
use crate::run::Event;
use crate::subject::{EventsFile, Start, Subject, SubjectCommand};
use crate::variant::caller::{Caller, Proof};
use crate::variant::server::{Server, Up, enter_client, enter_server};
use crate::variant::settings_line;
use crate::variant::workload_calls::REQUESTS;

/// What a variant is measured with.
pub(super) enum Instance {
    /// A server that the engine calls.
    Server(Server),
    /// A server that a client subject calls.
    Client(Box<Up>, Box<Caller>),
    Codec(Box<Caller>),
}

impl Instance {
    /// The processes of its subjects, the server's first.
    fn processes(&self) -> impl Iterator<Item = &Subject> {
        let (server, caller) = match self {
            Self::Server(server) => (server.process(), None),
            Self::Client(server, client) => (Some(&server.subject), Some(client)),
            Self::Codec(codec) => (None, Some(codec)),
        };
        server
            .into_iter()
            .chain(caller.map(|caller| &caller.subject))
    }

    /// The versions that its processes reported when they were ready, the server's first.
    pub(super) fn versions(&self) -> Vec<BTreeMap<String, String>> {
        self.processes()
            .map(|process| process.ready().versions.clone())
            .collect()
    }

    /// How one of its processes ended, if one did.
    pub(super) fn ended(&self) -> Option<String> {
        self.processes().find_map(Subject::ended)
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
}

/// One start of a variant's subjects.
struct Starting {
    /// The variant's index in the plan.
    index: u32,
    placement: Placement,
    layout: Layout,
    /// The name of its log.
    log: String,
    /// The name of its socket, records and events files, without the extension.
    file: String,
    /// The files that its runtimes write events to.
    sources: Vec<EventSource>,
}

impl Run<'_> {
    /// Starts what a trial is measured with; `starts` is the number of earlier starts. Also returns the files
    /// that its runtimes write events to.
    pub(super) fn new_instance(
        &mut self,
        invocation: u32,
        trial: &TrialSpec,
        variant: &Variant,
        starts: u32,
    ) -> TrialResult<(Instance, Vec<EventSource>)> {
        match &variant.settings.target {
            Target::Live(_) => {
                let live = self.live(variant)?;
                Ok((Instance::Server(Server::Live(Box::new(live))), Vec::new()))
            }
            Target::Call(call) => {
                let mut starting = self.starting(invocation, trial, variant, starts)?;
                let workload = self.workload(&call.workload)?;
                let mut up = Box::new(self.new_server(&mut starting, call, workload.clone())?);
                up.prove(call.cold_calls, self.stop)?;
                let Some(client) = &call.client else {
                    let server = Server::Subject(up);
                    return Ok((Instance::Server(server), starting.sources));
                };
                let stack = &client.stack;
                let client = self.new_client(&mut starting, stack, call, workload, &up)?;
                Ok((Instance::Client(up, Box::new(client)), starting.sources))
            }
            Target::Codec(work) => {
                let mut starting = self.starting(invocation, trial, variant, starts)?;
                let workload = self.workload(&work.workload)?;
                let codec = self.new_codec(&mut starting, work, &workload)?;
                Ok((Instance::Codec(Box::new(codec)), starting.sources))
            }
        }
    }

    fn starting(
        &self,
        invocation: u32,
        trial: &TrialSpec,
        variant: &Variant,
        starts: u32,
    ) -> TrialResult<Starting> {
        self.notify(&Event::SubjectStarting {
            variant,
            progress: self.pace.progress(),
        });
        let place = trial.placement.as_str();
        let name = |variant: &dyn fmt::Display| format!("{invocation}-{variant}-{place}-{starts}");
        Ok(Starting {
            index: trial.variant,
            placement: trial.placement,
            layout: self.placements.layout(trial.placement)?,
            log: name(&variant.name),
            file: name(&trial.variant),
            sources: Vec::new(),
        })
    }

    fn new_server(
        &self,
        starting: &mut Starting,
        call: &SubjectCall,
        workload: Workload,
    ) -> TrialResult<Up> {
        let limits = self.plan.limits;
        let of = (&call.workload, &call.runtime);
        let command = &self.command(&call.server, starting, Role::Server, of)?;
        let link = self.networks.get(
            call.link.as_deref(),
            User::Variant(starting.index),
            (starting.placement, &starting.layout),
            self.plan.seed ^ u64::from(starting.index),
        )?;
        let listen = self.listen(call.transport, link.is_some(), &starting.file)?;
        let line = settings_line::server(call, &workload, listen, command, limits)?;
        let entered = enter_server(link.as_deref())?;
        let subject = self.start(command, &line, &starting.layout.server, &starting.log)?;
        drop(entered);
        Up::new(subject, workload, call, limits, link)
    }

    /// Starts the client that calls a server that is up, on the client's cores.
    fn new_client(
        &self,
        starting: &mut Starting,
        client: &str,
        call: &SubjectCall,
        workload: Workload,
        server: &Up,
    ) -> TrialResult<Caller> {
        let of = (&call.workload, &call.runtime);
        let command = &self.command(client, starting, Role::Client, of)?;
        let records = self.file(&format!("{}.calls", starting.file))?;
        let line = settings_line::client(
            call,
            (&workload, REQUESTS),
            server.subject.ready(),
            command,
            &records,
            self.plan.limits,
        )?;
        let log = format!("{}-client", starting.log);
        let _entered = enter_client(server.link.as_deref())?;
        let subject = self.start(command, &line, &starting.layout.client, &log)?;
        let client = Caller::new(subject, &line, Proof::Response(workload))?;
        Ok(client.expecting(server.response_bytes))
    }

    /// Starts a codec, on the client's cores.
    fn new_codec(
        &self,
        starting: &mut Starting,
        work: &CodecWork,
        workload: &Workload,
    ) -> TrialResult<Caller> {
        let of = (&work.workload, &work.runtime);
        let command = &self.command(&work.codec, starting, Role::Codec, of)?;
        let records = self.file(&format!("{}.calls", starting.file))?;
        let (line, sample) =
            settings_line::codec(work, workload, command, &records, self.plan.limits)?;
        let subject = self.start(command, &line, &starting.layout.client, &starting.log)?;
        Caller::new(subject, &line, Proof::Sample(Box::new(sample)))
    }

    /// Starts the answering half of a floor.
    pub(super) fn new_floor(
        &self,
        trial: &TrialSpec,
        transport: Transport,
        link: Option<&NamedLink>,
    ) -> TrialResult<FloorHalf> {
        let (invocation, place) = (trial.invocation, trial.placement.as_str());
        let mut name = format!("{invocation}-floor-{place}");
        if let Some(link) = link {
            name = format!("{name}-{}", link.name);
        }
        let layout = self.placements.layout(trial.placement)?;
        let user = User::Floors(link.map_or_else(String::new, |link| link.name.clone()));
        let link = self
            .networks
            .get(link, user, (trial.placement, &layout), self.plan.seed)?;
        let listen = self.listen(transport, link.is_some(), &name)?;
        let command = self.options.stacks.command(REFERENCE, None)?;
        let line = contract::SettingsLine::Floor(FloorSettings { listen });
        let _entered = enter_server(link.as_deref())?;
        let log = format!("{name}-{}", transport.as_str());
        let subject = self.start(command, &line, &layout.server, &log)?;
        Ok(FloorHalf { subject, link })
    }

    /// The command that starts a stack for a variant's messages, with its runtime settings.
    fn command(
        &self,
        stack: &str,
        starting: &mut Starting,
        process: Role,
        (workload, runtime): (&WorkloadSpec, &Runtime),
    ) -> TrialResult<SubjectCommand> {
        let command = self.options.stacks.command(stack, Some(workload))?;
        if !runtime.events || command.runtime.read.is_none() {
            return Ok(command.with_runtime(runtime, None));
        }
        let file = self.file(&format!("{}-{}.events", starting.file, process.as_str()))?;
        let with_events = command.with_runtime(runtime, Some(&file));
        let events = EventsFile::of(command, file);
        let source = events.map(|events| EventSource { process, events });
        starting.sources.extend(source);
        Ok(with_events)
    }

    /// The live service of a variant, or of the one that it repeats.
    fn live(&self, variant: &Variant) -> TrialResult<Live> {
        let name = variant.repeats.as_ref().unwrap_or(&variant.name);
        let live = self.options.live.get(name).cloned();
        live.ok_or_else(|| {
            let reason = format!(
                "the plan does not keep the requests and credentials of the live service \"{name}\"; \
                 start a new run"
            );
            TrialFailure::new(Fault::User, reason)
        })
    }

    /// A workload's messages, made once for all variants that use it: they can be large.
    fn workload(&mut self, spec: &WorkloadSpec) -> TrialResult<Workload> {
        if let Some((_, workload)) = self.workloads.iter().find(|(known, _)| known == spec) {
            return Ok(workload.clone());
        }
        let workload = Workload::new(spec)
            .map_err(|error| TrialFailure::new(Fault::User, error.to_string()))?;
        self.workloads.push((spec.clone(), workload.clone()));
        Ok(workload)
    }

    fn start(
        &self,
        command: &SubjectCommand,
        line: &contract::SettingsLine,
        cores: &CoreSet,
        log: &str,
    ) -> TrialResult<Subject> {
        let start = Start {
            command,
            settings: line,
            cores: Some(cores),
            log: &self.log_path(log),
            ready_timeout: command.ready_timeout.unwrap_or(self.options.ready_timeout),
            end_timeout: self.options.end_timeout,
        };
        Subject::start(&start, self.stop)
    }

    /// Where a subject listens; `name` is for a Unix socket.
    fn listen(&self, transport: Transport, is_linked: bool, name: &str) -> TrialResult<Listen> {
        if is_linked {
            let host = rpcgauge_link::SERVER.to_string();
            return Ok(Listen::Tcp { host });
        }
        let path = match transport {
            Transport::Tcp => PathBuf::new(),
            Transport::Unix => self.file(&format!("{name}.sock"))?,
        };
        Ok(settings_line::listen(transport, path))
    }

    /// The path of a socket, records or events file, in a folder that is created when first needed.
    fn file(&self, name: &str) -> TrialResult<PathBuf> {
        let scratch = match self.scratch.get() {
            Some(made) => made,
            None => {
                let made = Scratch::make()
                    .map_err(|error| TrialFailure::new(Fault::Machine, error.to_string()))?;
                self.scratch.get_or_init(|| made)
            }
        };
        Ok(scratch.path(name))
    }

    fn log_path(&self, name: &str) -> PathBuf {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=.".contains(c);
        let plain = name.replace(|c| !is_plain(c), "_");
        self.options.logs.join(format!("{plain}.log"))
    }
}
