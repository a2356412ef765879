//! One variant's server under one placement, kept for its trials: a subject that was started and
//! proved right, or a live service.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_load as load;
use rpcgauge_message::contract::{self, FloorSettings, Listen, ServerSettings};
use rpcgauge_message::{Encoding, Limits, Workload, WorkloadSpec};
use rpcgauge_study::plan::{Plan, TrialSpec};
use rpcgauge_study::ramp;
use rpcgauge_study::record::{Code, Fault};
use rpcgauge_study::settings::{self, AtEnd, HttpVersion, Protocol, Settings, Transport};

use crate::calls::{Calls, Check};
use crate::error::TrialFailure;
use crate::exchange::Exchange;
use crate::live::{Bodies, Live};
use crate::measurer::warmup_bounds;
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

/// A server that is about to be called.
pub(crate) struct Opened<'s> {
    /// The process behind it, where it is the lab's own.
    pub(crate) subject: Option<&'s Subject>,
    /// What it is sent.
    pub(crate) bodies: load::Bodies<'s>,
    /// What checks its compressed answers.
    pub(crate) check: Option<load::AnswerCheck<'s>>,
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
        let address = subject.listening(settings.transport)?;
        let mut exchange = Exchange::new(workload, settings, limits)?;
        let calls = Calls::of_subject(address, &exchange, settings.http);
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
    pub(crate) fn process(&self) -> Option<&Subject> {
        match &self.callee {
            Called::Subject { process, .. } => Some(process),
            Called::Live(_) => None,
        }
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

    /// What a trial needs of it. The requests' bodies are made ready before the clock starts, or ahead
    /// of the calls, where stages are not timed.
    ///
    /// # Errors
    /// A request cannot be encoded or compressed.
    pub(crate) fn open(&mut self, timing: load::Timing) -> Result<Opened<'_>, TrialFailure> {
        let unready = |error: String| TrialFailure::new(Fault::User, error);
        Ok(match &mut self.callee {
            Called::Subject { exchange, process } => Opened {
                subject: Some(process),
                bodies: match timing {
                    load::Timing::Stages => load::Bodies::PerCall(&mut **exchange),
                    load::Timing::Calls => load::Bodies::Prepared {
                        bodies: exchange.prepared()?,
                        verifier: Some(&mut **exchange),
                    },
                },
                check: None,
            },
            Called::Live(bodies) => Opened {
                subject: None,
                bodies: bodies.for_trial().map_err(unready)?,
                check: self
                    .calls
                    .check
                    .map(Check::start)
                    .transpose()
                    .map_err(unready)?,
            },
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
            schedule: schedule(&settings.schedule, plan.seed ^ u64::from(spec.index)),
            connections: settings.connections,
            timing: match settings.timing() {
                settings::Timing::Stages => load::Timing::Stages,
                settings::Timing::Load => load::Timing::Calls,
            },
            warmup: warmup_bounds(plan.warmup),
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

fn schedule(schedule: &settings::Schedule, seed: u64) -> load::Schedule {
    let spaced = |arrivals: &settings::Arrivals| match arrivals {
        settings::Arrivals::Constant => load::Arrivals::Constant,
        settings::Arrivals::Poisson => load::Arrivals::Poisson { seed },
    };
    match schedule {
        settings::Schedule::Closed { in_flight } => load::Schedule::Closed {
            in_flight: *in_flight,
        },
        settings::Schedule::Rate {
            per_second,
            arrivals,
        } => load::Schedule::Rate {
            per_second: *per_second,
            arrivals: spaced(arrivals),
        },
        settings::Schedule::Ramp { parts, arrivals } => load::Schedule::Ramp {
            segments: ramp::steps(parts).into_iter().map(segment).collect(),
            arrivals: spaced(arrivals),
        },
    }
}

/// The engine tells its figures segment by segment.
fn segment(step: ramp::RampStep) -> load::Segment {
    load::Segment {
        from: step.from,
        to: step.to,
        duration: step.time,
    }
}

/// The contract's settings of a variant's server.
pub(crate) fn server_settings(
    settings: &Settings,
    workload: &WorkloadSpec,
    encoding: Encoding,
    listen: Listen,
    stack: Option<String>,
    limits: Limits,
) -> contract::Settings {
    contract::Settings::Server(Box::new(ServerSettings {
        stack,
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
        limits: contract_limits(limits),
    }))
}

/// Bounds as the contract has them: those that are not the default.
pub(crate) fn contract_limits(limits: Limits) -> contract::Limits {
    let changed = |given: usize, default: usize| (given != default).then_some(given);
    contract::Limits {
        max_message_bytes: changed(limits.max_message_bytes, Limits::DEFAULT.max_message_bytes),
        max_depth: changed(limits.max_depth, Limits::DEFAULT.max_depth),
        max_inflation: changed(limits.max_inflation, Limits::DEFAULT.max_inflation),
    }
}

/// The contract's settings of the floor's answering half.
pub(crate) fn floor_settings(listen: Listen) -> contract::Settings {
    contract::Settings::Floor(FloorSettings { listen })
}

/// Where a subject is to listen; `path` is for a Unix socket.
pub(crate) fn listen(transport: Transport, path: PathBuf) -> Listen {
    match transport {
        Transport::Tcp => Listen::Tcp {
            host: contract::LOOPBACK.to_owned(),
        },
        Transport::Unix => Listen::Unix { path },
    }
}
