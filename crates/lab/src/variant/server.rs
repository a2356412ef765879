//! The server of one variant under one placement, reused for all of its trials: a subject that was started and
//! verified, or a user's service.

use std::io;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_link::{Entered, Network};
use rpcgauge_load as load;
use rpcgauge_message::{Limits, Workload};
use rpcgauge_study::plan::{Plan, TrialSpec, Variant};
use rpcgauge_study::record::{CodeKind, Cold, Fault};
use rpcgauge_study::settings::{AtEnd, SubjectCall, Target};
use rpcgauge_trial::{Address, Timing};

use crate::error::{TrialFailure, TrialResult};
use crate::live::{Live, StartedService};
use crate::machine::process::ProcessMeter;
use crate::subject::Subject;
use crate::variant::call_spec::CallSpec;
use crate::variant::verify;
use crate::variant::warmup;
use crate::variant::workload_calls::{LOCALHOST, WorkloadCalls};

/// How long every call to a live service may fail before the trial gives up. If the service is down for a
/// while and then recovers, its user wants to see that.
const LIVE_PATIENCE: Duration = Duration::from_secs(30);

/// The server that is called.
pub(crate) enum Server {
    /// A process started by the lab.
    Subject(Box<Up>),
    /// A user's service that has answered a first call, and its process if the lab started it.
    Live(Box<Live>, Option<Box<StartedService>>),
}

/// A process that serves.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Running<'s> {
    Subject(&'s Subject),
    Service(&'s StartedService),
}

impl<'s> Running<'s> {
    pub(crate) fn meter(self) -> ProcessMeter {
        match self {
            Self::Subject(subject) => subject.meter().clone(),
            Self::Service(service) => service.meter(),
        }
    }

    /// Called when its warm-up is over, when it has started all its workers.
    pub(crate) fn is_warm(self) -> io::Result<()> {
        match self {
            Self::Subject(_) => Ok(()),
            Self::Service(service) => service.meter_again(),
        }
    }

    /// How it ended, in words; `None` while it is running.
    pub(crate) fn ended(self) -> Option<String> {
        match self {
            Self::Subject(subject) => subject.ended(),
            Self::Service(service) => service.ended(),
        }
    }

    /// Fails if the process has ended, with its log.
    pub(crate) fn alive(self) -> TrialResult {
        match self {
            Self::Subject(subject) => subject.alive(),
            Self::Service(service) => service.alive(),
        }
    }

    /// Why calls to it failed: that it has exited, or else `failure` with its log.
    pub(crate) fn explain(self, failure: TrialFailure) -> TrialFailure {
        match self {
            Self::Subject(subject) => subject.explain(failure),
            Self::Service(service) => service.explain(failure),
        }
    }

    /// Whether the process also serves other variants.
    pub(crate) fn is_shared(self) -> bool {
        match self {
            Self::Subject(subject) => subject.has_other_parts(),
            Self::Service(_) => false,
        }
    }

    /// The time from its start until it was ready.
    pub(crate) fn startup(self) -> Duration {
        match self {
            Self::Subject(subject) => subject.startup,
            Self::Service(service) => service.startup(),
        }
    }

    /// The latency of the first calls to it, if measured.
    pub(crate) fn cold(self) -> Option<Cold> {
        match self {
            Self::Subject(subject) => subject.cold,
            Self::Service(_) => None,
        }
    }
}

/// A running server subject and the calls to it.
pub(crate) struct Up {
    pub(crate) subject: Subject,
    pub(crate) workload_calls: WorkloadCalls,
    pub(crate) calls: CallSpec,
    /// The emulated link between client and server; `None` for loopback.
    pub(crate) link: Option<Rc<Network>>,
    /// The mean size of the responses that verified the server, as sent (compressed), bytes.
    pub(crate) response_bytes: Option<f64>,
}

impl Up {
    /// Fails if the subject does not listen where it was told to.
    pub(crate) fn new(
        subject: Subject,
        workload: Workload,
        call: &SubjectCall,
        limits: Limits,
        link: Option<Rc<Network>>,
    ) -> TrialResult<Self> {
        let address = subject.listening()?;
        let workload_calls = WorkloadCalls::new(workload, call, limits)?;
        let tls = call.tls.then(|| tls(&subject, &address)).transpose()?;
        Ok(Self {
            calls: workload_calls.calls(address, tls),
            subject,
            workload_calls,
            link,
            response_bytes: None,
        })
    }

    /// Verifies the server. If `cold_calls` is not 0, also records the latency of its first calls.
    pub(crate) fn prove(&mut self, cold_calls: u32, stop: &AtomicBool) -> TrialResult {
        let trial = self.calls.trial();
        let _entered = enter_client(self.link.as_deref())?;
        let mut prove = || verify::prove(&mut self.workload_calls, &trial, cold_calls.into(), stop);
        let proof = match &self.link {
            // No calls are timed, so the link need not add its delay.
            Some(link) if cold_calls == 0 => link.at_once(prove)?,
            _ => prove(),
        };
        let (proof, latencies_ns) = proof.map_err(|failure| self.subject.explain(failure))?;
        self.response_bytes = proof.figures.payload.response_compressed;
        if cold_calls > 0 {
            self.subject.cold = Cold::of(&latencies_ns);
        }
        Ok(())
    }
}

/// TLS settings that trust only the server's own certificate. Every connection does a full handshake: if
/// sessions were resumed, the first call of a trial would differ from the others.
fn tls(subject: &Subject, address: &Address) -> TrialResult<load::Tls> {
    let certificate = subject.said().certificate.clone();
    let none = || subject.wrong("the subject was started with TLS but reported no certificate");
    let tls = load::Tls::new(load::TlsSettings {
        roots: load::Roots::Certificate(certificate.ok_or_else(none)?),
        identity: None,
        server_name: match address {
            Address::Tcp(address) => address.ip().to_string(),
            Address::Unix(_) => LOCALHOST.to_owned(),
        },
        insecure: false,
        allow_missing_alpn: false,
        resumption: false,
    });
    tls.map_err(|error| subject.wrong(error.to_string()))
}

/// The request bodies and the checks of responses.
pub(crate) enum OpenedCalls<'s> {
    OnOneThread(load::ShardCalls<'s>),
    /// Each thread creates its own.
    OnThreads(u32, &'s Live),
}

/// A server that is ready to be called.
pub(crate) struct Opened<'s> {
    /// Its process; `None` for a service that was already running.
    pub(crate) process: Option<Running<'s>>,
    /// What calls send. The trial takes it when measuring begins.
    pub(crate) calls: Option<OpenedCalls<'s>>,
    /// Whether the messages are encoded and decoded by generated or dynamic code; `None` if unknown.
    pub(crate) code: Option<CodeKind>,
    /// The mean size of the expected responses, encoded but not compressed, bytes. `None` if unknown, or if
    /// stages are timed, because the engine then decodes the responses itself.
    pub(crate) response_size: Option<f64>,
}

impl Server {
    /// The emulated link between client and server.
    pub(crate) fn link(&self) -> Option<&Rc<Network>> {
        match self {
            Self::Subject(up) => up.link.as_ref(),
            Self::Live(..) => None,
        }
    }

    /// The server's process, if the lab started it.
    pub(crate) fn process(&self) -> Option<Running<'_>> {
        match self {
            Self::Subject(up) => Some(Running::Subject(&up.subject)),
            Self::Live(_, service) => service.as_deref().map(Running::Service),
        }
    }

    pub(crate) fn ask_to_end(&mut self) {
        match self {
            Self::Subject(up) => up.subject.ask_to_end(),
            Self::Live(_, Some(service)) => service.ask_to_end(),
            Self::Live(_, None) => {}
        }
    }

    /// Prepares the server for a trial. Unless stages are timed, request bodies are built before the clock
    /// starts or ahead of the calls.
    pub(crate) fn open(&mut self, target: &Target, timing: Timing) -> TrialResult<Opened<'_>> {
        let unready = |error: String| TrialFailure::new(Fault::User, error);
        Ok(match self {
            Self::Subject(up) => {
                let Up {
                    subject,
                    workload_calls,
                    ..
                } = &mut **up;
                let code = Some(workload_calls.workload.code());
                let decodes = match target {
                    Target::Call(call) => call.is_beside_or_stream(),
                    Target::Codec(_) | Target::Live(_) => false,
                };
                let (response_size, bodies) = match timing {
                    Timing::Stages => (None, load::Bodies::PerCall(workload_calls)),
                    // As if stages were timed, the engine does the work of an application's client.
                    Timing::Load if decodes => (None, load::Bodies::PerCall(workload_calls)),
                    Timing::Load => {
                        let size = workload_calls.response_size();
                        let bodies = load::Bodies::Prepared {
                            bodies: workload_calls.prepared()?,
                            verifier: Some(workload_calls),
                        };
                        (size, bodies)
                    }
                };
                Opened {
                    process: Some(Running::Subject(subject)),
                    calls: Some(OpenedCalls::OnOneThread(load::ShardCalls {
                        bodies,
                        checks: Vec::new(),
                    })),
                    code,
                    response_size,
                }
            }
            Self::Live(live, service) => Opened {
                process: service.as_deref().map(Running::Service),
                calls: Some(match target {
                    Target::Live(call) if call.threads > 1 => {
                        OpenedCalls::OnThreads(call.threads, live)
                    }
                    _ => {
                        let calls = live.calls_of(load::Shard::WHOLE);
                        OpenedCalls::OnOneThread(calls.map_err(unready)?)
                    }
                }),
                code: None,
                response_size: None,
            },
        })
    }

    /// Builds the engine's trial for a trial of the plan.
    pub(crate) fn planned(&self, plan: &Plan, spec: &TrialSpec, variant: &Variant) -> load::Trial {
        let settings = &variant.settings;
        let (calls, one_call) = match self {
            Self::Subject(up) => (&up.calls, up.calls.trial()),
            Self::Live(live, _) => (&live.calls, live.trial()),
        };
        let target = &settings.target;
        // In a rate search, each trial has its own rate.
        let options = target.options().unwrap_or(&calls.options);
        let trial = load::Trial {
            schedule: options.schedule.clone(),
            seed: plan.seed ^ u64::from(spec.index),
            connections: options.connections,
            timing: settings.timing(),
            keeps_slow: target.runtime().is_some_and(|runtime| runtime.events),
            warmup: warmup::bounds(plan, variant),
            stop: settings.stop,
            ..one_call
        };
        match target {
            Target::Call(_) | Target::Codec(_) => trial,
            Target::Live(live) => load::Trial {
                keeps_detail: true,
                max_requests: live.service.max_requests,
                drain: match live.service.at_end {
                    AtEnd::Cancel => Duration::ZERO,
                    AtEnd::Wait => trial.drain,
                },
                // A streaming call may take long, and the measured part waits for those of the warm-up.
                patience: match trial.streaming {
                    Some(_) => LIVE_PATIENCE.max(trial.deadline),
                    None => LIVE_PATIENCE,
                },
                ..trial
            },
        }
    }
}

/// Moves the calling thread to the client's end of the link, if there is one, until the guard is dropped.
pub(crate) fn enter_client(link: Option<&Network>) -> TrialResult<Option<Entered>> {
    Ok(link.map(|link| link.client().enter()).transpose()?)
}

/// Like [`enter_client`], for the server's end.
pub(crate) fn enter_server(link: Option<&Network>) -> TrialResult<Option<Entered>> {
    Ok(link.map(|link| link.server().enter()).transpose()?)
}
