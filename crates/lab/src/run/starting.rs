//! Starts the processes of subjects: servers, clients, codecs, and the answering halves of floors.

use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;
use std::slice;

use rpcgauge_contract::{FloorSettings, Listen, SettingsLine, Several};
use rpcgauge_link::Network;
use rpcgauge_message::{Workload, WorkloadSpec};
use rpcgauge_study::features::Role;
use rpcgauge_study::link::NamedLink;
use rpcgauge_study::plan::{SharedProcesses, TrialSpec};
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::{CodecWork, Placement, REFERENCE, Runtime, SubjectCall, Transport};
use rpcgauge_study::words::Named as _;

use super::Run;
use super::events::EventSource;
use super::instance::{Instance, Occasion, Started};
use super::invocation::FloorHalf;
use super::networks::User;
use crate::error::{TrialFailure, TrialResult};
use crate::files::scratch::Scratch;
use crate::machine::placement::{CoreSet, Layout};
use crate::run::Event;
use crate::subject::{EventsFile, RuntimeFiles, Start, Subject, SubjectCommand};
use crate::variant::caller::Caller;
use crate::variant::server::{Server, Up, enter_client, enter_server};
use crate::variant::settings_line;
use crate::variant::workload_calls::REQUESTS;

/// One start of a variant's subjects.
pub(super) struct Starting {
    /// The variant's index in the plan.
    index: u32,
    placement: Placement,
    pub(super) layout: Layout,
    /// The name of the log file, without its extension.
    pub(super) log: String,
    /// The name of its socket, records and events files, without the extension.
    file: String,
    is_training: bool,
    /// The files to which its runtimes write events.
    pub(super) sources: Vec<EventSource>,
}

/// One start of a variant that calls a server.
pub(super) struct CallStarting<'v> {
    starting: Starting,
    call: &'v SubjectCall,
    workload: Workload,
}

impl Run<'_> {
    pub(super) fn starting(&self, occasion: Occasion, index: u32) -> TrialResult<Starting> {
        let Occasion {
            invocation,
            placement,
            starts,
            is_training,
        } = occasion;
        let variant = &self.plan.variants[index as usize];
        self.notify(&Event::SubjectStarting {
            variant,
            progress: self.pace.progress(),
        });
        let place = placement.as_str();
        let training = if is_training { "-training" } else { "" };
        let name = |variant: &dyn fmt::Display| {
            format!("{invocation}-{variant}-{place}-{starts}{training}")
        };
        Ok(Starting {
            index,
            placement,
            layout: self.placements.layout(placement)?,
            log: name(&variant.name),
            file: name(&index),
            is_training,
            sources: Vec::new(),
        })
    }

    pub(super) fn call_starting<'v>(
        &mut self,
        occasion: Occasion,
        index: u32,
        call: &'v SubjectCall,
    ) -> TrialResult<CallStarting<'v>> {
        Ok(CallStarting {
            starting: self.starting(occasion, index)?,
            call,
            workload: self.workload(&call.workload)?,
        })
    }

    /// Starts the servers, verifies them, and starts the clients that call them: each in its own process, or all in
    /// the processes of `shared`.
    pub(super) fn call_instances(
        &self,
        mut calls: Vec<CallStarting<'_>>,
        shared: Option<&SharedProcesses>,
    ) -> Vec<TrialResult<Started>> {
        let ups = match shared.and_then(|shared| shared.server.as_deref()) {
            Some(program) => self.servers(&mut calls, program),
            None => {
                let own = |start: &mut CallStarting<'_>| {
                    let call = start.call;
                    self.servers(slice::from_mut(start), &call.server)
                };
                calls.iter_mut().flat_map(own).collect()
            }
        };
        let ups: Vec<TrialResult<Up>> = ups
            .into_iter()
            .zip(&calls)
            .map(|(up, of)| {
                let mut up = up?;
                up.prove(of.call.cold_calls, self.stop)?;
                Ok(up)
            })
            .collect();
        let clients = match shared.and_then(|shared| shared.client.as_deref()) {
            Some(program) => self.clients(&mut calls, &ups, Some(program)),
            None => {
                let each = calls.iter_mut().zip(&ups);
                let own = each.flat_map(|(call, up)| {
                    let stack = call.call.client.as_ref().map(|client| &*client.stack);
                    self.clients(slice::from_mut(call), slice::from_ref(up), stack)
                });
                own.collect()
            }
        };
        let instances = calls.into_iter().zip(ups).zip(clients);
        instances
            .map(|((call, up), client)| {
                let up = Box::new(up?);
                let instance = match client? {
                    Some(client) => Instance::Client(up, Box::new(client)),
                    None => Instance::Server(Server::Subject(up)),
                };
                Ok((instance, call.starting.sources))
            })
            .collect()
    }

    /// Starts one server process with a part for each call.
    fn servers(&self, calls: &mut [CallStarting<'_>], program: &str) -> Vec<TrialResult<Up>> {
        let up = |(subject, call): (Subject, &CallStarting<'_>), link| {
            let workload = call.workload.clone();
            Up::new(subject, workload, call.call, self.plan.limits, link)
        };
        match self.start_servers(calls, program) {
            Ok((subjects, link)) => {
                let parts = subjects.into_iter().zip(&*calls);
                parts.map(|part| up(part, link.clone())).collect()
            }
            Err(failure) => calls.iter().map(|_| Err(failure.clone())).collect(),
        }
    }

    fn start_servers(
        &self,
        calls: &mut [CallStarting<'_>],
        program: &str,
    ) -> TrialResult<(Vec<Subject>, Option<Rc<Network>>)> {
        let command = self.command_of_all(calls, program, Role::Server)?;
        let CallStarting { starting, call, .. } = &calls[0];
        let link = self.networks.get(
            call.link.as_deref(),
            User::Variant(starting.index),
            (starting.placement, &starting.layout),
            self.plan.seed ^ u64::from(starting.index),
        )?;
        let settings = calls.iter().map(|of| {
            let (call, limits) = (of.call, self.plan.limits);
            let listen = self.listen(call.transport, link.is_some(), &of.starting.file)?;
            let command = command.with_stack(&call.server);
            settings_line::server(call, &of.workload, listen, &command, limits)
        });
        let mut parts = settings.collect::<TrialResult<Vec<_>>>()?;
        let line = match parts.len() {
            1 => SettingsLine::Server(Box::new(parts.swap_remove(0))),
            _ => SettingsLine::Servers(Several { parts }),
        };
        let _entered = enter_server(link.as_deref())?;
        let subjects = self.start(&command, &line, &starting.layout.server, &starting.log)?;
        Ok((subjects, link))
    }

    /// Starts one client process, on the client's cores, with a part for each server. All servers must be running. The
    /// results are `None` if the engine makes the calls.
    fn clients(
        &self,
        calls: &mut [CallStarting<'_>],
        ups: &[TrialResult<Up>],
        program: Option<&str>,
    ) -> Vec<TrialResult<Option<Caller>>> {
        let Some(program) = program else {
            return ups.iter().map(|_| Ok(None)).collect();
        };
        let up: TrialResult<Vec<&Up>> = ups
            .iter()
            .map(|up| up.as_ref().map_err(Clone::clone))
            .collect();
        match up.and_then(|up| self.start_clients(calls, &up, program)) {
            Ok(clients) => clients.into_iter().map(|client| client.map(Some)).collect(),
            Err(failure) => ups.iter().map(|_| Err(failure.clone())).collect(),
        }
    }

    fn start_clients(
        &self,
        calls: &mut [CallStarting<'_>],
        ups: &[&Up],
        program: &str,
    ) -> TrialResult<Vec<TrialResult<Caller>>> {
        let command = self.command_of_all(calls, program, Role::Client)?;
        let settings = calls.iter().zip(ups).map(|(of, up)| {
            let stack = of.call.client.as_ref().map_or("", |client| &client.stack);
            settings_line::client(
                of.call,
                (&of.workload, REQUESTS),
                up.subject.said(),
                &command.with_stack(stack),
                &self.file(&format!("{}.calls", of.starting.file))?,
                self.plan.limits,
            )
        });
        let parts = settings.collect::<TrialResult<Vec<_>>>()?;
        let line = match &parts[..] {
            [only] => SettingsLine::Client(Box::new(only.clone())),
            _ => SettingsLine::Clients(Several {
                parts: parts.clone(),
            }),
        };
        let starting = &calls[0].starting;
        let log = format!("{}-client", starting.log);
        let entered = enter_client(ups[0].link.as_deref())?;
        let subjects = self.start(&command, &line, &starting.layout.client, &log)?;
        drop(entered);
        let clients = subjects.into_iter().zip(&parts).zip(calls.iter().zip(ups));
        let clients = clients.map(|((subject, settings), (of, up))| {
            let client = Caller::client(subject, settings, of.workload.clone())?;
            Ok(client.expecting(up.response_bytes))
        });
        Ok(clients.collect())
    }

    /// The command for a process that serves all of these calls. Their runtime settings are the same, so the first
    /// call's are used.
    fn command_of_all(
        &self,
        calls: &mut [CallStarting<'_>],
        program: &str,
        process: Role,
    ) -> TrialResult<SubjectCommand> {
        let CallStarting { starting, call, .. } = &mut calls[0];
        self.command(program, starting, process, (&call.workload, &call.runtime))
    }

    /// Starts a codec on the client's cores.
    pub(super) fn new_codec(
        &self,
        starting: &mut Starting,
        work: &CodecWork,
        workload: &Workload,
    ) -> TrialResult<Caller> {
        let of = (&work.workload, &work.runtime);
        let command = &self.command(&work.codec, starting, Role::Codec, of)?;
        let records = self.file(&format!("{}.calls", starting.file))?;
        let (settings, sample) =
            settings_line::codec(work, workload, command, &records, self.plan.limits)?;
        let line = SettingsLine::Codec(Box::new(settings.clone()));
        let mut parts = self.start(command, &line, &starting.layout.client, &starting.log)?;
        Caller::codec(parts.swap_remove(0), &settings, sample)
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
        let line = SettingsLine::Floor(FloorSettings { listen });
        let _entered = enter_server(link.as_deref())?;
        let log = format!("{name}-{}", transport.as_str());
        let mut parts = self.start(command, &line, &layout.server, &log)?;
        let subject = parts.swap_remove(0);
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
        let mut files = RuntimeFiles::default();
        if runtime.aot_cache && command.runtime.flags.aot_cache.is_some() {
            let file = self.file(&format!("{}-{}.aot", starting.index, process.as_str()))?;
            files.aot_cache = Some(self.aot_cache(file, starting.is_training)?);
        }
        if runtime.events && command.runtime.read.is_some() {
            let file = self.file(&format!("{}-{}.events", starting.file, process.as_str()))?;
            let events = EventsFile::of(command, file.clone());
            let source = events.map(|events| EventSource { process, events });
            starting.sources.extend(source);
            files.events = Some(file);
        }
        Ok(command.with_runtime(runtime, &files))
    }

    fn start(
        &self,
        command: &SubjectCommand,
        line: &SettingsLine,
        cores: &CoreSet,
        log: &str,
    ) -> TrialResult<Vec<Subject>> {
        let start = Start {
            command,
            settings: line,
            cores: Some(cores),
            log: &self.log_path(log),
            ready_timeout: command.ready_timeout.unwrap_or(self.options.ready_timeout),
            end_timeout: command.end_timeout.unwrap_or(self.options.end_timeout),
        };
        Subject::start_parts(&start, self.stop)
    }

    /// Where a subject must listen. `name` is for a Unix socket.
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

    pub(super) fn log_path(&self, name: &str) -> PathBuf {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=.".contains(c);
        let plain = name.replace(|c| !is_plain(c), "_");
        self.options.logs.join(format!("{plain}.log"))
    }
}
