//! One variant's server under one placement, kept for its trials: a subject that was started and
//! proved right, or a live service.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_load as load;
use rpcgauge_message::contract::{self, Address, FloorSettings, Listen, ServerSettings};
use rpcgauge_message::{Encoding, Limits, Workload, WorkloadSpec};
use rpcgauge_study::plan::{Plan, TrialSpec};
use rpcgauge_study::record::{Code, Fault};
use rpcgauge_study::settings::{self, AtEnd, HttpVersion, Protocol, Settings, Transport};

use super::warmup;
use crate::calls::{Calls, protocol};
use crate::error::TrialFailure;
use crate::exchange::Exchange;
use crate::live::{Bodies, Live};
use crate::machine::process::ProcessMeter;
use crate::subject::Subject;
use crate::verify;

/// How long nothing but failures may come from a live service: it may be down for a while and come
/// back, which its user wants to see.
const LIVE_PATIENCE: Duration = Duration::from_secs(30);

/// A server, and the calls for it.
pub(crate) struct Server {
    callee: Called,
    calls: Calls,
}

/// Who is called.
enum Called {
    /// A process of the lab's own, that answers rightly.
    Subject {
        process: Box<Subject>,
        exchange: Box<Exchange>,
    },
    /// A service that is there already, with the bodies it is sent.
    Live(Bodies),
}

impl Server {
    /// A live service, which answered when it was looked at.
    pub(crate) fn live(live: Live) -> Self {
        let (calls, bodies) = live.into_parts();
        Self {
            calls,
            callee: Called::Live(bodies),
        }
    }

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
        let address = listening(&subject, settings.transport)?;
        let mut exchange = Exchange::new(workload, settings, limits)?;
        let calls = subject_calls(address, &exchange, settings.http);
        verify::prove(&mut exchange, &calls.trial(settings), stop)
            .map_err(|failure| failure.with_log(subject.log_tail()))?;
        Ok(Self {
            calls,
            callee: Called::Subject {
                process: Box::new(subject),
                exchange: Box::new(exchange),
            },
        })
    }

    /// The process behind it, where it is the lab's own.
    fn process(&self) -> Option<&Subject> {
        match &self.callee {
            Called::Subject { process, .. } => Some(process),
            Called::Live(_) => None,
        }
    }

    /// What its process uses, where there is one to look into.
    pub(crate) fn meter(&self) -> Option<&ProcessMeter> {
        self.process().map(Subject::meter)
    }

    /// What its process said of its versions.
    pub(crate) fn versions(&self) -> Option<&BTreeMap<String, String>> {
        self.process().map(|process| &process.ready().versions)
    }

    /// How its process ended, if it did.
    pub(crate) fn ended(&self) -> Option<String> {
        self.process().and_then(Subject::ended)
    }

    /// The last lines of its log; empty where it has none.
    pub(crate) fn log_tail(&self) -> String {
        self.process().map(Subject::log_tail).unwrap_or_default()
    }

    /// Asks its process to end.
    pub(crate) fn ask_to_end(&mut self) {
        if let Called::Subject { process, .. } = &mut self.callee {
            process.ask_to_end();
        }
    }

    /// Whether figures are kept of a trial that did not reach its end, or in which no call
    /// succeeded: of a live service that is the answer, of a subject nothing is learned.
    pub(crate) fn keeps_what_was_measured(&self) -> bool {
        matches!(self.callee, Called::Live(_))
    }

    /// Whether generated or dynamic code makes and reads the messages, where it is known.
    pub(crate) fn code(&self) -> Option<Code> {
        match &self.callee {
            Called::Subject { exchange, .. } => Some(exchange.code()),
            Called::Live(_) => None,
        }
    }

    /// The mean size of the right answers, encoded and not compressed, bytes, where it is known.
    pub(crate) fn answer_size(&mut self) -> Option<f64> {
        match &mut self.callee {
            Called::Subject { exchange, .. } => Some(exchange.answer_size()),
            Called::Live(_) => None,
        }
    }

    /// The requests' bodies, made ready before the clock starts, or ahead of the calls, where stages
    /// are not timed.
    ///
    /// # Errors
    /// A request cannot be encoded or compressed.
    pub(crate) fn bodies(
        &mut self,
        timing: load::Timing,
    ) -> Result<load::Bodies<'_>, TrialFailure> {
        Ok(match (&mut self.callee, timing) {
            (Called::Subject { exchange, .. }, load::Timing::Stages) => {
                load::Bodies::PerCall(&mut **exchange)
            }
            (Called::Subject { exchange, .. }, load::Timing::Calls) => load::Bodies::Prepared {
                bodies: exchange.prepared()?,
                verifier: Some(&mut **exchange),
            },
            (Called::Live(bodies), _) => bodies
                .for_trial()
                .map_err(|error| TrialFailure::new(Fault::User, error))?,
        })
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
        let calls = self.calls.trial(settings);
        load::Trial {
            schedule: schedule(settings.schedule, plan.seed ^ u64::from(spec.index)),
            connections: settings.connections,
            timing: match settings.timing() {
                settings::Timing::Stages => load::Timing::Stages,
                settings::Timing::Load => load::Timing::Calls,
            },
            warmup: warmup::bounds(plan.warmup),
            stop,
            drain: match settings.callee.live().map(|service| service.at_end) {
                Some(AtEnd::Cancel) => Duration::ZERO,
                Some(AtEnd::Wait) | None => calls.drain,
            },
            patience: match self.callee {
                Called::Subject { .. } => calls.patience,
                Called::Live(_) => LIVE_PATIENCE,
            },
            ..calls
        }
    }
}

fn subject_calls(address: load::Address, exchange: &Exchange, http: HttpVersion) -> Calls {
    let authority = match &address {
        load::Address::Tcp(address) => address.to_string(),
        load::Address::Unix(_) => "localhost".to_owned(),
    };
    Calls {
        target: load::Target {
            address,
            tls: None,
            protocol: protocol(http),
        },
        request: exchange.request(authority),
        expect: exchange.expect(),
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
    workload: &WorkloadSpec,
    encoding: Encoding,
    listen: Listen,
    limits: Limits,
) -> contract::Settings {
    let changed = |given: usize, default: usize| (given != default).then_some(given);
    contract::Settings::Server(Box::new(ServerSettings {
        stack: None,
        workload: workload.clone(),
        protocol: match settings.protocol {
            Protocol::Grpc => contract::Protocol::Grpc,
            Protocol::Rest => contract::Protocol::Rest,
        },
        http: match settings.http {
            HttpVersion::Http1 => contract::HttpVersion::Http1,
            HttpVersion::Http2 => contract::HttpVersion::Http2,
        },
        encoding,
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
