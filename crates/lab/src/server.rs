//! One variant's server under one placement, kept for its trials: a subject that was started and
//! proved right, or a live service.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rpcgauge_load as load;
use rpcgauge_message::{Limits, Workload};
use rpcgauge_study::plan::{Plan, TrialSpec};
use rpcgauge_study::record::{Code, Cold, Fault};
use rpcgauge_study::settings::{AtEnd, Settings};
use rpcgauge_trial::Timing;

use crate::calls::{CallSpec, Check};
use crate::error::{TrialFailure, TrialResult};
use crate::exchange::Exchange;
use crate::live::{Live, LiveBodies};
use crate::subject::Subject;
use crate::verify;
use crate::warmup;

/// For how long a live service may only fail: it may be down for a while and come back, which its user
/// wants to see.
const LIVE_PATIENCE: Duration = Duration::from_secs(30);

/// A server, and the calls for it.
pub(crate) struct Server {
    reached: Reached,
    calls: CallSpec,
}

enum Reached {
    /// A process of the lab, proved right.
    Subject {
        process: Box<Subject>,
        exchange: Box<Exchange>,
    },
    /// A service that is there already, with the bodies of its requests.
    Live(LiveBodies),
}

/// A server that is about to be called.
pub(crate) struct Opened<'s> {
    /// The process behind it; none of a live service.
    pub(crate) subject: Option<&'s Subject>,
    /// Taken when the measuring begins.
    pub(crate) bodies: Option<load::Bodies<'s>>,
    /// What checks its compressed responses.
    pub(crate) check: Option<load::ResponseCheck<'s>>,
    /// Whether generated or dynamic code makes and reads the messages, where it is known.
    pub(crate) code: Option<Code>,
    /// The mean size of the right responses, encoded and not compressed, bytes: where it is known, and
    /// the engine does not read the responses, as it does where stages are timed.
    pub(crate) response_size: Option<f64>,
}

impl Server {
    /// A live service, which took its first call.
    pub(crate) fn live(live: Live) -> Self {
        let (calls, bodies) = live.into_parts();
        Self {
            calls,
            reached: Reached::Live(bodies),
        }
    }

    /// Takes a subject that is up.
    pub(crate) fn subject(
        subject: Subject,
        workload: Workload,
        settings: &Settings,
        limits: Limits,
    ) -> TrialResult<Self> {
        let address = subject.listening(settings.transport)?;
        let exchange = Exchange::new(workload, settings, limits)?;
        let calls = exchange.calls(address);
        Ok(Self {
            calls,
            reached: Reached::Subject {
                process: Box::new(subject),
                exchange: Box::new(exchange),
            },
        })
    }

    /// Proves a subject right, and notes the latency of its first calls where that is asked for.
    pub(crate) fn prove(&mut self, settings: &Settings, stop: &AtomicBool) -> TrialResult {
        let Reached::Subject { process, exchange } = &mut self.reached else {
            return Ok(());
        };
        let trial = self.calls.trial(settings);
        let cold_calls = settings.cold_calls;
        let (_, latencies_ns) = verify::prove(exchange, &trial, cold_calls.into(), stop)
            .map_err(|failure| process.explain(failure))?;
        if cold_calls > 0 {
            process.cold = Cold::of(&latencies_ns);
        }
        Ok(())
    }

    /// The process behind it, where the lab started it.
    pub(crate) fn process(&self) -> Option<&Subject> {
        match &self.reached {
            Reached::Subject { process, .. } => Some(process),
            Reached::Live(_) => None,
        }
    }

    pub(crate) fn ask_to_end(&mut self) {
        if let Reached::Subject { process, .. } = &mut self.reached {
            process.ask_to_end();
        }
    }

    /// What a trial needs of it. Where stages are not timed, the requests' bodies are made before the
    /// clock starts, or ahead of the calls.
    pub(crate) fn open(&mut self, timing: Timing) -> TrialResult<Opened<'_>> {
        let unready = |error: String| TrialFailure::new(Fault::User, error);
        Ok(match &mut self.reached {
            Reached::Subject { exchange, process } => {
                let code = Some(exchange.workload.code());
                let (response_size, bodies) = match timing {
                    Timing::Stages => (None, load::Bodies::PerCall(&mut **exchange)),
                    Timing::Load => {
                        let size = exchange.response_size();
                        let bodies = load::Bodies::Prepared {
                            bodies: exchange.prepared()?,
                            verifier: Some(&mut **exchange),
                        };
                        (Some(size), bodies)
                    }
                };
                Opened {
                    subject: Some(process),
                    bodies: Some(bodies),
                    check: None,
                    code,
                    response_size,
                }
            }
            Reached::Live(bodies) => {
                let check = self.calls.check.map(Check::start).transpose();
                Opened {
                    subject: None,
                    bodies: Some(bodies.for_trial().map_err(unready)?),
                    check: check.map_err(unready)?,
                    code: None,
                    response_size: None,
                }
            }
        })
    }

    /// The engine's trial for one of the plan.
    pub(crate) fn planned(
        &self,
        plan: &Plan,
        spec: &TrialSpec,
        settings: &Settings,
    ) -> load::Trial {
        let calls = self.calls.trial(settings);
        load::Trial {
            schedule: settings.schedule.clone(),
            seed: plan.seed ^ u64::from(spec.index),
            connections: settings.connections,
            timing: settings.timing(),
            keeps_slow: settings.runtime.events,
            warmup: warmup::bounds(plan, settings),
            stop: settings.stop,
            drain: match settings.target.live().map(|service| service.at_end) {
                Some(AtEnd::Cancel) => Duration::ZERO,
                Some(AtEnd::Wait) | None => calls.drain,
            },
            patience: match self.reached {
                Reached::Subject { .. } => calls.patience,
                Reached::Live(_) => LIVE_PATIENCE,
            },
            ..calls
        }
    }
}
