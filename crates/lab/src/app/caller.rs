//! Sends one of an application's requests at a fixed rate. rpcgauge's own engine calls the entry in an open
//! loop.
//!
//! The engine runs in its own thread. Meanwhile the calling thread watches the processes, and reads their
//! counters when the engine signals that counting begins or ends.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use rpcgauge_load as load;
use rpcgauge_study::app::{App, AtRate, Check, RequestRecord, SliceFigures};
use rpcgauge_study::record::Fault;
use rpcgauge_study::settings::CallOptions;
use rpcgauge_trial::{Address, Arrivals, Ending, FailureKind, Schedule, Stop};

use super::application::{Application, LOOK_EVERY, Set};
use super::check::{holds, request};
use crate::error::{TrialFailure, TrialResult};
use crate::variant::call_spec::CallSpec;
use crate::variant::verify;

/// The maximum number of connections.
const MAX_CONNECTIONS: u32 = 200;

/// Sends the request of one check to a set at a fixed rate, regardless of whether earlier responses have
/// arrived.
pub(super) struct Caller<'a> {
    app: &'a App,
    check: &'a Check,
    spec: CallSpec,
    body: load::Body,
    rate: f64,
}

impl<'a> Caller<'a> {
    /// Creates a caller that sends the request of `check` at `rate` per second. `kept` contains the values
    /// that the checks of this set have kept.
    ///
    /// # Errors
    /// Fails if a placeholder of the check has no value.
    pub(super) fn new(
        app: &'a App,
        check: &'a Check,
        rate: f64,
        set: &Set,
        kept: &BTreeMap<String, String>,
    ) -> TrialResult<Self> {
        let fetch = request(check, set, kept)?;
        let spec = CallSpec {
            endpoint: load::Endpoint {
                address: Address::Tcp(fetch.address),
                protocol: load::Protocol::Http1,
                more_addresses: Vec::new(),
                tls: None,
            },
            streaming: None,
            pair_by: None,
            request: load::Request {
                style: load::CallStyle::Http {
                    method: fetch.method,
                },
                path: fetch.path,
                authority: fetch.address.to_string(),
                headers: fetch.headers,
            },
            expect: load::Expect {
                status: Some(check.status),
                ..load::Expect::default()
            },
            check: None,
            options: CallOptions::default(),
            keepalive: None,
        };
        Ok(Self {
            app,
            check,
            spec,
            body: load::Body {
                plain_len: fetch.body.len() as u64,
                fields: Vec::new(),
                bytes: fetch.body,
                compressed: false,
            },
            rate,
        })
    }

    /// The number of connections for a rate, each with one request in flight: enough for responses that take
    /// one second, up to a maximum.
    pub(super) fn connections(rate: f64) -> u32 {
        (rate.ceil() as u32).clamp(1, MAX_CONNECTIONS)
    }

    /// Sends requests for `settle`, which are not counted, and then for `time`. Calls `edge(true)` when
    /// counting begins, and `edge(false)` once every counted request has finished. If `stop` is set, returns
    /// the results so far.
    ///
    /// # Errors
    /// Fails if a process exits, `edge` fails, or no request succeeds.
    pub(super) fn call(
        &self,
        application: &Application<'_>,
        set: &Set,
        [settle, time]: [Duration; 2],
        edge: &mut dyn FnMut(bool) -> TrialResult,
        stop: &AtomicBool,
    ) -> TrialResult<SliceFigures> {
        let (edges, told) = mpsc::channel();
        let end = AtomicBool::new(false);
        thread::scope(|scope| {
            let engine = scope.spawn(|| self.measure(settle, time, edges, &end));
            let watched = watch(application, &told, edge, || {
                end.fetch_or(stop.load(Ordering::Relaxed), Ordering::Relaxed);
            });
            end.fetch_or(watched.is_err(), Ordering::Relaxed);
            let measured = engine.join().unwrap_or_else(|panic| resume_unwind(panic));
            watched?;
            self.figures(measured?)
                .map_err(|failure| set.explain(self.app, failure))
        })
    }

    fn measure(
        &self,
        settle: Duration,
        time: Duration,
        edges: Sender<bool>,
        end: &AtomicBool,
    ) -> TrialResult<load::Measurement> {
        let trial = load::Trial {
            schedule: Schedule::Rate {
                per_second: self.rate,
                arrivals: Arrivals::Constant,
            },
            connections: Self::connections(self.rate),
            warmup: (!settle.is_zero()).then_some(load::WarmupBounds {
                max_calls: u64::MAX,
                max_time: settle,
                least_calls: u64::MAX,
                slice_calls: u64::MAX,
                slice_time: settle,
            }),
            // Even a trial of 0 ms sends one request.
            stop: Stop::after_ms((time.as_millis() as u64).max(1)),
            ..self.spec.trial()
        };
        let check = |response: load::ToCheck<'_>| {
            let held = holds(self.check, response.carried).map(drop);
            held.map_err(|error| (FailureKind::Check, load::CodecError(error)))
        };
        let check = (!self.check.holds.is_empty()).then(|| load::ResponseCheck {
            of: load::Checked::All,
            check: Box::new(check),
        });
        let hooks = load::Hooks {
            settling: Box::new(|_| load::Settling::GoOn),
            // If watching has failed, nobody receives this, and the trial is stopped as well.
            measuring: Box::new(move |begins| {
                let _ = edges.send(begins);
            }),
            progress: None,
            checks: check.map(Some).into_iter().collect(),
        };
        let bodies = load::Bodies::Prepared {
            bodies: vec![self.body.clone()],
            verifier: None,
        };
        load::measure_with(&trial, bodies, hooks, end).map_err(verify::failure)
    }

    fn figures(&self, mut measured: load::Measurement) -> TrialResult<SliceFigures> {
        measured.hide_values(&self.spec.request.headers);
        let figures = measured.figures;
        let calls = &figures.calls;
        if calls.answered == 0 || figures.ending == Ending::GaveUp {
            return Err(match figures.ending {
                Ending::Interrupted => TrialFailure::new(
                    Fault::Instrument,
                    "interrupted before the first counted response",
                ),
                _ => verify::unanswered(&figures),
            });
        }
        let failed = figures
            .error_samples
            .iter()
            .find(|sample| sample.kind != FailureKind::ClientStalled);
        let slices = figures.timeline.slices.iter();
        let sum_ns: u64 = slices.map(|slice| slice.latency_sum_ns).sum();
        let request = RequestRecord {
            name: self.check.name.clone(),
            method: self.check.method.clone(),
            times: figures.latency,
            sum_us: sum_ns as f64 / 1e3,
            failures: calls.attributable() - calls.answered,
            error: failed.map_or_else(String::new, |sample| sample.text.clone()),
        };
        Ok(SliceFigures {
            seconds: Duration::from_nanos(figures.elapsed_ns).as_secs_f64(),
            requests: vec![request],
            metrics: BTreeMap::new(),
            processes: Vec::new(),
            load_generator_cpu_seconds: figures.cpu.client.map_or(0, |cpu| cpu.total_ns) as f64
                / 1e9,
            task_errors: 0,
            task_error: String::new(),
            at_rate: Some(Box::new(AtRate {
                answered: calls.answered - calls.answered_late + measured.late_answered,
                spent_seconds: measured.spent_over.as_secs_f64(),
                send_delay: figures.send_delay,
                stalled: calls.stalled(),
            })),
        })
    }
}

/// Watches the processes until the engine has finished, and calls `edge` at each of its signals.
fn watch(
    application: &Application<'_>,
    told: &Receiver<bool>,
    edge: &mut dyn FnMut(bool) -> TrialResult,
    look: impl Fn(),
) -> TrialResult {
    loop {
        match told.recv_timeout(LOOK_EVERY) {
            Ok(begins) => edge(begins)?,
            Err(RecvTimeoutError::Timeout) => application.check_ended()?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        look();
    }
}
