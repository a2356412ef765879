//! One variant's server under one placement: started, proved right, kept for its trials.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_load as load;
use rpcgauge_message::contract::{self, Address, FloorSettings, Listen, ServerSettings};
use rpcgauge_message::{Limits, Workload};
use rpcgauge_study::plan::{Plan, TrialSpec};
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::{self, HttpVersion, Protocol, Settings, Transport};

use super::warmup;
use crate::error::TrialFailure;
use crate::exchange::Exchange;
use crate::subject::Subject;
use crate::verify;

/// A trial in which nothing but failures came for this long is over: more of them tell nothing new.
const PATIENCE: Duration = Duration::from_secs(2);

/// A server that answers rightly, and the calls for it.
pub(crate) struct Server {
    pub(crate) subject: Subject,
    pub(crate) exchange: Exchange,
    address: load::Address,
}

impl Server {
    /// Takes a subject that is up and proves it right.
    ///
    /// # Errors
    /// It does not listen where it was asked to, does not answer, or answers wrongly.
    pub(crate) fn proved(
        subject: Subject,
        workload: Workload,
        settings: &Settings,
        limits: Limits,
        stop: &AtomicBool,
    ) -> Result<Self, TrialFailure> {
        let mut server = Self {
            address: listening(&subject, settings.transport)?,
            exchange: Exchange::new(workload, settings, limits)?,
            subject,
        };
        let trial = server.trial(
            settings,
            load::Stop {
                calls: Some(1),
                time: None,
            },
        );
        match verify::prove(&mut server.exchange, &trial, stop) {
            Ok(()) => Ok(server),
            Err(failure) => Err(failure.with_log(server.subject.log_tail())),
        }
    }

    /// What it said of its versions.
    pub(crate) fn versions(&self) -> &BTreeMap<String, String> {
        &self.subject.ready().versions
    }

    /// The engine's trial for one of the plan.
    pub(crate) fn planned(
        &self,
        plan: &Plan,
        spec: &TrialSpec,
        settings: &Settings,
    ) -> load::Trial {
        let stop = load::Stop {
            calls: settings.stop.calls,
            time: settings.stop.time_ms.map(Duration::from_millis),
        };
        load::Trial {
            schedule: schedule(settings.schedule, plan.seed ^ u64::from(spec.index)),
            connections: settings.connections,
            timing: match settings.timing() {
                settings::Timing::Stages => load::Timing::Stages,
                settings::Timing::Load => load::Timing::Calls,
            },
            warmup: warmup::bounds(plan.warmup),
            ..self.trial(settings, stop)
        }
    }

    fn trial(&self, settings: &Settings, stop: load::Stop) -> load::Trial {
        let authority = match &self.address {
            load::Address::Tcp(address) => address.to_string(),
            load::Address::Unix(_) => "localhost".to_owned(),
        };
        let deadline = Duration::from_millis(settings.deadline_ms);
        load::Trial {
            target: load::Target {
                address: self.address.clone(),
                tls: None,
                protocol: match settings.http {
                    HttpVersion::Http1 => load::Protocol::Http1,
                    HttpVersion::Http2 => load::Protocol::Http2,
                },
            },
            request: self.exchange.request(authority),
            expect: self.exchange.expect(),
            schedule: load::Schedule::Closed { in_flight: 1 },
            connections: 1,
            connection_use: match settings.connection {
                settings::ConnectionUse::Reuse => load::ConnectionUse::Reuse,
                settings::ConnectionUse::PerCall => load::ConnectionUse::PerCall,
            },
            timing: load::Timing::Calls,
            warmup: None,
            stop,
            deadline,
            // Every call in flight has ended by its deadline.
            drain: deadline,
            patience: PATIENCE,
            limits: load::Limits::default(),
        }
    }
}

fn schedule(schedule: settings::Schedule, seed: u64) -> load::Schedule {
    match schedule {
        settings::Schedule::Closed { in_flight } => load::Schedule::Closed { in_flight },
        settings::Schedule::Rate {
            per_second,
            arrivals,
        } => load::Schedule::Rate {
            per_second,
            arrivals: match arrivals {
                settings::Arrivals::Constant => load::Arrivals::Constant,
                settings::Arrivals::Poisson => load::Arrivals::Poisson { seed },
            },
        },
    }
}

/// Where a subject listens, if that is on the transport that was asked for.
pub(super) fn listening(
    subject: &Subject,
    transport: Transport,
) -> Result<load::Address, TrialFailure> {
    match (&subject.ready().address, transport) {
        (Some(Address::Tcp(address)), Transport::Tcp) => Ok(load::Address::Tcp(*address)),
        (Some(Address::Unix(path)), Transport::Unix) => Ok(load::Address::Unix(path.clone())),
        (address, _) => {
            let address = address
                .as_ref()
                .map_or("nowhere".to_owned(), Address::to_string);
            let asked = match transport {
                Transport::Tcp => "TCP",
                Transport::Unix => "a Unix socket",
            };
            let reason = format!("the subject was to listen on {asked} and says {address}");
            Err(TrialFailure::new(Fault::Subject, reason).with_log(subject.log_tail()))
        }
    }
}

/// The contract's settings of a variant's server.
pub(super) fn server_settings(
    settings: &Settings,
    listen: Listen,
    limits: Limits,
) -> contract::Settings {
    let changed = |given: usize, default: usize| (given != default).then_some(given);
    contract::Settings::Server(Box::new(ServerSettings {
        stack: None,
        workload: settings.workload.clone(),
        protocol: match settings.protocol {
            Protocol::Grpc => contract::Protocol::Grpc,
            Protocol::Rest => contract::Protocol::Rest,
        },
        http: match settings.http {
            HttpVersion::Http1 => contract::HttpVersion::Http1,
            HttpVersion::Http2 => contract::HttpVersion::Http2,
        },
        encoding: settings.encoding,
        listen,
        response_compression: settings.response_compression,
        threads: 1,
        // A process belongs to one variant, whose trials are all timed in the same way. Where that
        // is under load, nothing reads the marks, and they would only make answers larger.
        marks: settings.timing() == settings::Timing::Stages,
        limits: contract::Limits {
            max_message_bytes: changed(limits.max_message_bytes, Limits::DEFAULT.max_message_bytes),
            max_depth: changed(limits.max_depth, Limits::DEFAULT.max_depth),
            max_inflation: changed(limits.max_inflation, Limits::DEFAULT.max_inflation),
        },
    }))
}

/// The contract's settings of the floor's answering half.
pub(super) fn floor_settings(listen: Listen) -> contract::Settings {
    contract::Settings::Floor(FloorSettings { listen })
}

/// Where a subject is to listen; `path` is for a Unix socket.
pub(super) fn listen(transport: Transport, path: PathBuf) -> Listen {
    match transport {
        Transport::Tcp => Listen::Tcp {
            host: contract::LOOPBACK.to_owned(),
        },
        Transport::Unix => Listen::Unix { path },
    }
}
