//! One variant's server under one placement, kept for its trials: a subject that was started and
//! verified, or a live service.

use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_link::{Entered, Network};
use rpcgauge_load as load;
use rpcgauge_message::{Limits, Workload};
use rpcgauge_study::plan::{Plan, TrialSpec};
use rpcgauge_study::record::{CodeKind, Cold, Fault};
use rpcgauge_study::settings::{AtEnd, Settings, SubjectCall, Target};
use rpcgauge_trial::{Address, Timing};

use crate::error::{TrialFailure, TrialResult};
use crate::live::Live;
use crate::subject::Subject;
use crate::variant::call_spec::{CallSpec, Check};
use crate::variant::verify;
use crate::variant::warmup;
use crate::variant::workload_calls::{LOCALHOST, WorkloadCalls};

/// How long all calls to a live service may fail before its trial ends: if it is down for a while and comes
/// back, its user wants to see that.
const LIVE_PATIENCE: Duration = Duration::from_secs(30);

/// The server that is called.
pub(crate) enum Server {
    /// A process of the lab.
    Subject(Box<Up>),
    /// A service that was already running, and has answered a first call.
    Live(Box<Live>),
}

/// A server subject that is up, and the calls for it.
pub(crate) struct Up {
    pub(crate) subject: Subject,
    pub(crate) workload_calls: WorkloadCalls,
    pub(crate) calls: CallSpec,
    /// The emulated link over which it is called; `None` for loopback.
    pub(crate) link: Option<Rc<Network>>,
    /// The mean size of the responses that verified it, with their compression, bytes.
    pub(crate) response_bytes: Option<f64>,
}

impl Up {
    /// Fails if it does not listen where it was asked to.
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

    /// Verifies it, and notes the latency of its first calls if that is asked for.
    pub(crate) fn prove(&mut self, cold_calls: u32, stop: &AtomicBool) -> TrialResult {
        let trial = self.calls.trial();
        let _entered = enter_client(self.link.as_deref())?;
        let mut prove = || verify::prove(&mut self.workload_calls, &trial, cold_calls.into(), stop);
        let proof = match &self.link {
            // Nothing here is timed, so the link need not delay.
            Some(link) if cold_calls == 0 => link.at_once(prove)?,
            _ => prove(),
        };
        let (proof, latencies_ns) = proof.map_err(|failure| self.subject.explain(failure))?;
        self.response_bytes = proof.payload.response_compressed;
        if cold_calls > 0 {
            self.subject.cold = Cold::of(&latencies_ns);
        }
        Ok(())
    }
}

/// TLS that trusts only the server's own certificate. Each connection makes a full handshake: if sessions were
/// resumed, the first call of a trial would differ from the rest.
fn tls(subject: &Subject, address: &Address) -> TrialResult<load::Tls> {
    let certificate = subject.said().certificate.clone();
    let none = || subject.wrong("the subject was to use TLS but gave no certificate");
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

/// A server that is about to be called.
pub(crate) struct Opened<'s> {
    /// Its process; `None` for a live service.
    pub(crate) subject: Option<&'s Subject>,
    /// The requests' bodies, taken when measuring begins.
    pub(crate) bodies: Option<load::Bodies<'s>>,
    /// What checks its compressed responses.
    pub(crate) check: Option<load::ResponseCheck<'s>>,
    /// Whether generated or dynamic code makes and reads the messages; `None` if unknown.
    pub(crate) code: Option<CodeKind>,
    /// The mean size of the right responses, encoded and not compressed, bytes. `None` if it is unknown, or if
    /// stages are timed: then the engine itself reads the responses.
    pub(crate) response_size: Option<f64>,
}

impl Server {
    /// The link over which it is called.
    pub(crate) fn link(&self) -> Option<&Rc<Network>> {
        match self {
            Self::Subject(up) => up.link.as_ref(),
            Self::Live(_) => None,
        }
    }

    /// Its process, if the lab started it.
    pub(crate) fn process(&self) -> Option<&Subject> {
        match self {
            Self::Subject(up) => Some(&up.subject),
            Self::Live(_) => None,
        }
    }

    pub(crate) fn ask_to_end(&mut self) {
        if let Self::Subject(up) = self {
            up.subject.ask_to_end();
        }
    }

    /// What a trial needs of it. Unless stages are timed, the requests' bodies are made before the clock
    /// starts, or ahead of the calls.
    pub(crate) fn open(&mut self, timing: Timing) -> TrialResult<Opened<'_>> {
        let unready = |error: String| TrialFailure::new(Fault::User, error);
        Ok(match self {
            Self::Subject(up) => {
                let Up {
                    subject,
                    workload_calls,
                    ..
                } = &mut **up;
                let code = Some(workload_calls.workload.code());
                let (response_size, bodies) = match timing {
                    Timing::Stages => (None, load::Bodies::PerCall(workload_calls)),
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
                    subject: Some(subject),
                    bodies: Some(bodies),
                    check: None,
                    code,
                    response_size,
                }
            }
            Self::Live(live) => {
                let check = live.calls.check.map(Check::start).transpose();
                Opened {
                    subject: None,
                    bodies: Some(live.bodies.for_trial().map_err(unready)?),
                    check: check.map_err(unready)?,
                    code: None,
                    response_size: None,
                }
            }
        })
    }

    /// The engine's trial for a trial of the plan.
    pub(crate) fn planned(
        &self,
        plan: &Plan,
        spec: &TrialSpec,
        settings: &Settings,
    ) -> load::Trial {
        let calls = match self {
            Self::Subject(up) => &up.calls,
            Self::Live(live) => &live.calls,
        };
        let target = &settings.target;
        // In a search each trial has its own rate.
        let options = target.options().unwrap_or(&calls.options);
        let trial = load::Trial {
            schedule: options.schedule.clone(),
            seed: plan.seed ^ u64::from(spec.index),
            connections: options.connections,
            timing: settings.timing(),
            keeps_slow: target.runtime().is_some_and(|runtime| runtime.events),
            warmup: warmup::bounds(plan, settings),
            stop: settings.stop,
            ..calls.trial()
        };
        match target {
            Target::Call(_) | Target::Codec(_) => trial,
            Target::Live(live) => load::Trial {
                max_requests: live.service.max_requests,
                drain: match live.service.at_end {
                    AtEnd::Cancel => Duration::ZERO,
                    AtEnd::Wait => trial.drain,
                },
                patience: LIVE_PATIENCE,
                ..trial
            },
        }
    }
}

/// Moves the calling thread to the client's end of a link, if there is one, until the guard is dropped.
pub(crate) fn enter_client(link: Option<&Network>) -> TrialResult<Option<Entered>> {
    Ok(link.map(|link| link.client().enter()).transpose()?)
}

/// The same for the server's end.
pub(crate) fn enter_server(link: Option<&Network>) -> TrialResult<Option<Entered>> {
    Ok(link.map(|link| link.server().enter()).transpose()?)
}
