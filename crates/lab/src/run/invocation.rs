//! One fresh start of the subjects: a process for each variant and placement, and an answering half
//! for each floor's transport, started when they are first needed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;

use rpcgauge_load as load;
use rpcgauge_message::contract::{self, Listen};
use rpcgauge_message::{Workload, WorkloadSpec};
use rpcgauge_study::plan::{TrialSpec, Variant};
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::{Callee, Client, Placement, Sample, Schedule, Timing, Transport};

use super::rotation::Planned;
use super::sockets::Sockets;
use super::{Run, Trialled};
use crate::caller::{Caller, Proof, Up};
use crate::error::TrialFailure;
use crate::exchange;
use crate::live::Live;
use crate::machine::placement::CoreSet;
use crate::observer::Event;
use crate::server::{Server, contract_limits, floor_settings, listen, server_settings};
use crate::subject::{Start, Subject, SubjectCommand};
use crate::verify;

/// The processes of one invocation.
///
/// A process belongs to one variant, so that processor time, peak memory and the luck of a start
/// are the variant's own; and to one placement, since many runtimes count their cores only once.
pub(super) struct Invocation {
    number: u32,
    slots: BTreeMap<(u32, Placement), Slot>,
    halves: Halves,
}

/// The answering halves of the floors.
pub(super) type Halves = BTreeMap<(Placement, Transport), Subject>;

/// Where a variant's server, client or codec stands.
struct Slot {
    /// It, or why there is none and never will be in this invocation.
    state: Result<Up, TrialFailure>,
    /// Processes that were started for it.
    starts: u32,
}

impl Invocation {
    pub(super) fn new(number: u32) -> Self {
        Self {
            number,
            slots: BTreeMap::new(),
            halves: Halves::new(),
        }
    }

    /// The subjects of `trials`, or why there is none, and the answering halves of the floors.
    pub(super) fn callees(
        &mut self,
        trials: &[Planned<'_>],
    ) -> (Vec<Trialled<&mut Up>>, &mut Halves) {
        let mut slots: BTreeMap<(u32, Placement), &mut Slot> = self
            .slots
            .iter_mut()
            .map(|(key, slot)| (*key, slot))
            .collect();
        let server = |planned: &Planned<'_>| {
            let slot = slots.remove(&(planned.spec.variant, planned.spec.placement));
            let none = || TrialFailure::new(Fault::Instrument, "the trial has no server slot");
            match &mut slot.ok_or_else(none)?.state {
                Ok(up) => Ok(up),
                Err(failure) => Err(failure.clone()),
            }
        };
        (trials.iter().map(server).collect(), &mut self.halves)
    }

    /// Ends its processes: all are asked before any is waited for.
    pub(super) fn end(mut self) {
        for slot in self.slots.values_mut() {
            if let Ok(server) = &mut slot.state {
                server.ask_to_end();
            }
        }
        for half in self.halves.values_mut() {
            half.ask_to_end();
        }
    }
}

impl<'a> Run<'a> {
    /// Sees to it that there is what a trial is measured with: what is there, or a new one where there
    /// is none yet or a process of it died. Returns what its processes say of their versions.
    pub(super) fn start_callee(
        &mut self,
        invocation: &mut Invocation,
        trial: &TrialSpec,
        variant: &Variant,
    ) -> Vec<BTreeMap<String, String>> {
        let key = (trial.variant, trial.placement);
        let starts = invocation.slots.get(&key).map_or(0, |slot| slot.starts);
        let is_needed = match invocation.slots.get(&key) {
            None => true,
            Some(Slot {
                state: Ok(server), ..
            }) => server.ended().is_some(),
            Some(Slot { state: Err(_), .. }) => false,
        };
        if is_needed {
            // The dead one's socket and log are done with before the next one starts.
            invocation.slots.remove(&key);
            let state = if starts <= self.options.restarts {
                self.new_callee(invocation.number, trial, variant, starts)
            } else {
                Err(gave_up(starts))
            };
            let starts = starts + 1;
            invocation.slots.insert(key, Slot { state, starts });
        }
        let slot = invocation.slots.get(&key);
        let up = slot.and_then(|slot| slot.state.as_ref().ok());
        up.map(Up::versions).unwrap_or_default()
    }

    fn new_callee(
        &mut self,
        invocation: u32,
        trial: &TrialSpec,
        variant: &Variant,
        starts: u32,
    ) -> Trialled<Up> {
        if let Callee::Live { .. } = &variant.settings.callee {
            return self
                .live(variant)
                .map(|live| Up::Server(Box::new(Server::live(live))));
        }
        self.tell(&Event::SubjectStarting {
            variant,
            progress: self.pace.progress(),
        });
        let place = place_word(trial.placement);
        let names = Names {
            log: format!("{invocation}-{}-{place}-{starts}", variant.name),
            file: format!("{invocation}-{}-{place}-{starts}", trial.variant),
        };
        match &variant.settings.callee {
            Callee::Subject { client, .. } => {
                let server = Box::new(self.new_server(trial, variant, &names)?);
                Ok(match client {
                    None => Up::Server(server),
                    Some(client) => {
                        let client = self.new_client(trial, variant, client, &server, &names)?;
                        Up::Client(server, Box::new(client))
                    }
                })
            }
            _ => self
                .new_codec(trial, variant, &names)
                .map(|codec| Up::Codec(Box::new(codec))),
        }
    }

    fn new_server(
        &mut self,
        trial: &TrialSpec,
        variant: &Variant,
        names: &Names,
    ) -> Trialled<Server> {
        let settings = &variant.settings;
        let Callee::Subject {
            server, workload, ..
        } = &settings.callee
        else {
            return Err(no_such_role());
        };
        let (spec, encoding) = (workload, exchange::encoding(settings)?);
        let workload = self.workload(spec)?;
        let command = self.command(server)?;
        let listen = self.listen(settings.transport, &names.file)?;
        let stack = command.stack.clone();
        let asked = server_settings(settings, spec, encoding, listen, stack, self.plan.limits);
        let cores = self.placements.layout(trial.placement)?.server;
        let subject = self.start(command, &asked, &cores, &names.log)?;
        Server::proved(subject, workload, settings, self.plan.limits, self.stop)
    }

    /// The client that calls a server which is up, on the client's cores.
    fn new_client(
        &mut self,
        trial: &TrialSpec,
        variant: &Variant,
        client: &Client,
        server: &Server,
        names: &Names,
    ) -> Trialled<Caller> {
        let settings = &variant.settings;
        let address = server.process().and_then(|it| it.ready().address.clone());
        let (Some(spec), Some(address), Schedule::Closed { in_flight }) =
            (settings.callee.workload(), address, &settings.schedule)
        else {
            return Err(no_such_role());
        };
        let workload = self.workload(spec)?;
        let command = self.command(&client.stack)?;
        let records = self.file(&format!("{}.calls", names.file))?;
        let asked = contract::Settings::Client(Box::new(contract::ClientSettings {
            stack: command.stack.clone(),
            workload: spec.clone(),
            protocol: settings.protocol,
            http: settings.http,
            encoding: exchange::encoding(settings)?,
            address,
            requests: verify::requests(&workload, exchange::REQUESTS)?,
            request_compression: settings.request_compression,
            response_compression: settings.response_compression,
            connection: settings.connection,
            style: Some(client.style),
            in_flight: *in_flight,
            deadline_ms: settings.deadline_ms,
            marks: settings.timing() == Timing::Stages,
            records: records.clone(),
            limits: contract_limits(self.plan.limits),
        }));
        let cores = self.placements.layout(trial.placement)?.client;
        let name = format!("{}-client", names.log);
        let subject = self.start(command, &asked, &cores, &name)?;
        Caller::new(subject, &records, Proof::Answer(workload))
    }

    /// A codec, on the client's cores.
    fn new_codec(
        &mut self,
        trial: &TrialSpec,
        variant: &Variant,
        names: &Names,
    ) -> Trialled<Caller> {
        let settings = &variant.settings;
        let Callee::Codec {
            codec,
            operation,
            sample,
            workload: spec,
        } = &settings.callee
        else {
            return Err(no_such_role());
        };
        let workload = self.workload(spec)?;
        let (message, compression) = match sample {
            Sample::Request => (workload.request(0), settings.request_compression),
            Sample::Response => (workload.expected(0), settings.response_compression),
        };
        let command = self.command(codec)?;
        let encoding = exchange::encoding(settings)?;
        let records = self.file(&format!("{}.calls", names.file))?;
        let asked = contract::Settings::Codec(Box::new(contract::CodecSettings {
            stack: command.stack.clone(),
            workload: spec.clone(),
            sample: *sample,
            message: verify::as_json(&message)?,
            encoding,
            operation: *operation,
            compression,
            records: records.clone(),
            limits: contract_limits(self.plan.limits),
        }));
        let cores = self.placements.layout(trial.placement)?.client;
        let subject = self.start(command, &asked, &cores, &names.log)?;
        let sample = verify::Sample {
            message,
            operation: *operation,
            encoding,
            compression,
            limits: self.plan.limits,
        };
        Caller::new(subject, &records, Proof::Sample(Box::new(sample)))
    }

    /// How a subject is started.
    fn command(&self, subject: &str) -> Trialled<&'a SubjectCommand> {
        let options = self.options;
        options.subjects.get(subject).ok_or_else(|| {
            let known: Vec<&str> = options.subjects.keys().map(String::as_str).collect();
            let reason = format!(
                "there is no subject \"{subject}\"; there is {}",
                known.join(", ")
            );
            TrialFailure::new(Fault::User, reason)
        })
    }

    /// The live service of a variant, or of the one that it repeats.
    fn live(&self, variant: &Variant) -> Trialled<Live> {
        let name = variant.repeats.as_ref().unwrap_or(&variant.name);
        let live = self.options.live.get(name).cloned();
        live.ok_or_else(|| {
            let reason = format!(
                "what the live service of \"{name}\" is called with is not kept with the plan; \
                 call it anew with rpcgauge load"
            );
            TrialFailure::new(Fault::User, reason)
        })
    }

    /// A workload's messages, made once for all variants that call it: they can be large.
    fn workload(&mut self, spec: &WorkloadSpec) -> Trialled<Workload> {
        if let Some((_, workload)) = self.workloads.iter().find(|(known, _)| known == spec) {
            return Ok(workload.clone());
        }
        let workload = Workload::new(spec)
            .map_err(|error| TrialFailure::new(Fault::User, error.to_string()))?;
        self.workloads.push((spec.clone(), workload.clone()));
        Ok(workload)
    }

    /// Starts a process on `cores`.
    fn start(
        &self,
        command: &SubjectCommand,
        settings: &contract::Settings,
        cores: &CoreSet,
        name: &str,
    ) -> Trialled<Subject> {
        let start = Start {
            command,
            settings,
            cores: Some(cores),
            log: &self.log_path(name),
            ready_timeout: command.ready_timeout.unwrap_or(self.options.ready_timeout),
            end_timeout: self.options.end_timeout,
        };
        Subject::start(&start, self.stop)
    }

    /// Where the answering half of a floor listens, which is started when it is first needed.
    pub(super) fn floor_half(
        &self,
        halves: &mut Halves,
        trial: &TrialSpec,
        transport: Transport,
    ) -> Trialled<load::Address> {
        let half = match halves.entry((trial.placement, transport)) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(empty) => empty.insert(self.start_half(trial, transport)?),
        };
        half.listening(transport)
    }

    fn start_half(&self, trial: &TrialSpec, transport: Transport) -> Trialled<Subject> {
        let (invocation, place) = (trial.invocation, place_word(trial.placement));
        let name = format!("{invocation}-floor-{place}-{}", transport_word(transport));
        let listen = self.listen(transport, &format!("{invocation}-floor-{place}"))?;
        let settings = floor_settings(listen);
        let cores = self.placements.layout(trial.placement)?.server;
        self.start(&self.options.floor, &settings, &cores, &name)
    }

    /// Where a subject is to listen; `name` is for a Unix socket.
    fn listen(&self, transport: Transport, name: &str) -> Trialled<Listen> {
        let path = match transport {
            Transport::Tcp => PathBuf::new(),
            Transport::Unix => self.file(&format!("{name}.sock"))?,
        };
        Ok(listen(transport, path))
    }

    /// The path of a socket or of records, in a folder that is made when the first is needed: where
    /// none is, a program that is killed leaves no folder behind.
    fn file(&self, name: &str) -> Trialled<PathBuf> {
        let sockets = match self.sockets.get() {
            Some(made) => made,
            None => {
                let made = Sockets::make(&std::env::temp_dir())
                    .map_err(|error| TrialFailure::new(Fault::Machine, error.to_string()))?;
                self.sockets.get_or_init(|| made)
            }
        };
        Ok(sockets.path(name))
    }

    fn log_path(&self, name: &str) -> PathBuf {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=.".contains(c);
        let plain: String = name
            .chars()
            .map(|c| if is_plain(c) { c } else { '_' })
            .collect();
        self.options.logs.join(format!("{plain}.log"))
    }
}

/// Where what one start of a variant's subjects leaves goes.
struct Names {
    /// The log's name.
    log: String,
    /// That of its socket or its records, without what it ends in.
    file: String,
}

fn no_such_role() -> TrialFailure {
    let reason = "the variant's subject and its settings were mixed up";
    TrialFailure::new(Fault::Instrument, reason)
}

fn gave_up(starts: u32) -> TrialFailure {
    let reason = format!("the subject died {starts} times in this invocation; see its logs");
    TrialFailure::new(Fault::Subject, reason)
}

fn place_word(placement: Placement) -> &'static str {
    match placement {
        Placement::OneCore => "one-core",
        Placement::TwoCores => "two-cores",
        Placement::Free => "free",
    }
}

fn transport_word(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "tcp",
        Transport::Unix => "unix",
    }
}
