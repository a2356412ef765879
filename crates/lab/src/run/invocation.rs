//! One fresh start of the subjects: a process for each variant and placement, started when it is
//! first needed, and the floors at its end.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rpcgauge_message::{Workload, WorkloadSpec, contract};
use rpcgauge_study::plan::{Plan, TrialSpec, Variant};
use rpcgauge_study::record::{Fault, FloorRecord, Histogram, Measured, Record};
use rpcgauge_study::settings::{Callee, Placement, Transport};

use super::server::{self, Server, floor_settings, listen, server_settings};
use super::{Run, Trialled};
use crate::error::{LabError, TrialFailure};
use crate::exchange;
use crate::floor::{FloorKey, Floors, calibrate};
use crate::live::Live;
use crate::machine::idle::IdleHold;
use crate::machine::placement::Bound;
use crate::observer::Event;
use crate::subject::{Start, Subject, SubjectCommand};

/// The processes of one invocation.
///
/// A process belongs to one variant, so that processor time, peak memory and the luck of a start
/// are the variant's own; and to one placement, since many runtimes count their cores only once.
pub(super) struct Invocation {
    number: u32,
    slots: BTreeMap<(u32, Placement), Slot>,
    floors: Floors,
}

/// Where one variant's server stands.
struct Slot {
    /// The server, or why there is none and never will be in this invocation.
    state: Result<Box<Server>, TrialFailure>,
    /// Processes that were started for it.
    starts: u32,
}

impl Invocation {
    pub(super) fn new(number: u32) -> Self {
        Self {
            number,
            slots: BTreeMap::new(),
            floors: Floors::default(),
        }
    }

    /// Notes what a trial carried, for the floor under its variant. There is none under a live
    /// service: what lies between here and there cannot be played by two bare loops on this machine.
    pub(super) fn note(&mut self, plan: &Plan, trial: &TrialSpec, measured: &Measured) {
        let Some(variant) = plan.variants.get(trial.variant as usize) else {
            return;
        };
        if variant.settings.callee.live().is_some() {
            return;
        }
        let transport = variant.settings.transport;
        let key = FloorKey::of(trial.placement, transport, measured);
        if let Some(key) = key {
            self.floors.note(&variant.name, key);
        }
    }

    /// Ends its processes: all are asked before any is waited for.
    fn end(mut self) {
        for slot in self.slots.values_mut() {
            if let Ok(server) = &mut slot.state {
                server.ask_to_end();
            }
        }
    }
}

impl Run<'_> {
    /// The server for a trial: the one that is there, or a new one where there is none yet or the
    /// last one died.
    pub(super) fn server<'i>(
        &mut self,
        invocation: &'i mut Invocation,
        trial: &TrialSpec,
        variant: &Variant,
    ) -> Trialled<&'i mut Server> {
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
                self.start_server(invocation.number, trial, variant, starts)
                    .map(Box::new)
            } else {
                Err(gave_up(starts))
            };
            invocation.slots.insert(
                key,
                Slot {
                    state,
                    starts: starts + 1,
                },
            );
        }
        match invocation
            .slots
            .get_mut(&key)
            .map(|slot| slot.state.as_mut())
        {
            Some(Ok(server)) => Ok(server),
            Some(Err(failure)) => Err(failure.clone()),
            None => Err(TrialFailure::new(
                Fault::Instrument,
                "the trial has no server slot",
            )),
        }
    }

    fn start_server(
        &mut self,
        invocation: u32,
        trial: &TrialSpec,
        variant: &Variant,
        starts: u32,
    ) -> Trialled<Server> {
        let settings = &variant.settings;
        let Callee::Subject { subject, workload } = &settings.callee else {
            return self.live(variant).map(Server::live);
        };
        self.tell(&Event::SubjectStarting {
            variant,
            progress: self.pace.progress(),
        });
        let (spec, encoding) = (workload, exchange::encoding(settings)?);
        let workload = self.workload(spec)?;
        let options = self.options;
        let command = options.subjects.get(subject).ok_or_else(|| {
            let known: Vec<&str> = options.subjects.keys().map(String::as_str).collect();
            let reason = format!(
                "there is no subject \"{subject}\"; there is {}",
                known.join(", ")
            );
            TrialFailure::new(Fault::User, reason)
        })?;
        let place = place_word(trial.placement);
        let name = format!("{invocation}-{}-{place}-{starts}", variant.name);
        let socket = format!("{}-{place}-{starts}", trial.variant);
        let listen = listen(settings.transport, self.socket(invocation, &socket)?);
        let asked = server_settings(settings, spec, encoding, listen, self.plan.limits);
        let subject = self.start(command, &asked, trial.placement, &name)?;
        Server::proved(subject, workload, settings, self.plan.limits, self.stop)
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

    /// Starts a process on the server's cores under `placement`.
    fn start(
        &self,
        command: &SubjectCommand,
        settings: &contract::Settings,
        placement: Placement,
        name: &str,
    ) -> Trialled<Subject> {
        let layout = self.placements.layout(placement)?;
        let start = Start {
            command,
            settings,
            cores: Some(&layout.server),
            log: &self.log_path(name),
            ready_timeout: self.options.ready_timeout,
            end_timeout: self.options.end_timeout,
        };
        Subject::start(&start, self.stop)
    }

    /// Ends the invocation's processes, and measures a window of each floor under its variants.
    pub(super) fn finish(&mut self, mut invocation: Invocation) -> Result<(), LabError> {
        let number = invocation.number;
        let floors = invocation.floors.take();
        // Nothing else of the run is there while two bare loops play.
        invocation.end();
        let mut halves = BTreeMap::new();
        for (key, variants) in floors {
            if self.is_stopped() {
                break;
            }
            self.tell(&Event::FloorStarted {
                variants: &variants,
                progress: self.pace.progress(),
            });
            match self.floor(number, &mut halves, &key, variants) {
                Ok(Some(record)) => self.keep_floor(record)?,
                Ok(None) => break,
                Err(failure) => self.keep_warning(failure.reason)?,
            }
        }
        Ok(())
    }

    fn floor(
        &self,
        invocation: u32,
        halves: &mut BTreeMap<(Placement, Transport), Subject>,
        key: &FloorKey,
        variants: Vec<String>,
    ) -> Trialled<Option<FloorRecord>> {
        let half = match halves.entry((key.placement, key.transport)) {
            std::collections::btree_map::Entry::Occupied(there) => there.into_mut(),
            std::collections::btree_map::Entry::Vacant(empty) => {
                empty.insert(self.start_floor(invocation, key)?)
            }
        };
        let address = server::listening(half, key.transport)?;
        let layout = self.placements.layout(key.placement)?;
        let bound = Bound::to(&layout.client)?;
        let idle = IdleHold::ask(self.plan.idle);
        let floor = calibrate(&address, key, self.stop)?;
        let got = idle.got();
        drop((idle, bound));
        Ok(floor.map(|floor| FloorRecord {
            invocation,
            placement: key.placement,
            idle: got,
            transport: key.transport,
            request_bytes: key.request_bytes,
            response_bytes: key.response_bytes,
            latency: Histogram::from(floor.latency),
            client_cpu_ns: floor.client_cpu_ns,
            variants,
        }))
    }

    fn start_floor(&self, invocation: u32, key: &FloorKey) -> Trialled<Subject> {
        let place = place_word(key.placement);
        let name = format!(
            "{invocation}-floor-{place}-{}",
            transport_word(key.transport)
        );
        let socket = self.socket(invocation, &format!("floor-{place}"))?;
        let settings = floor_settings(listen(key.transport, socket));
        self.start(&self.options.floor, &settings, key.placement, &name)
    }

    /// A path for a socket of the run.
    fn socket(&self, invocation: u32, name: &str) -> Trialled<PathBuf> {
        let sockets = self.sockets.as_ref();
        let path = sockets.map(|sockets| sockets.path(invocation, name));
        path.ok_or_else(|| {
            let reason = "a plan that calls a live service has a server to start as well";
            TrialFailure::new(Fault::User, reason)
        })
    }

    fn keep_floor(&mut self, record: FloorRecord) -> Result<(), LabError> {
        let record = Record::Floor(record);
        self.records.append(&record)?;
        if let Record::Floor(record) = &record {
            self.tell(&Event::FloorEnded {
                record,
                progress: self.pace.progress(),
            });
        }
        Ok(())
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
