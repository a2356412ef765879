//! Measures a server by calling it from the engine: a subject, or a user's service.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use rpcgauge_load as load;
use rpcgauge_study::plan::Variant;
use rpcgauge_study::record::{Fault, TrialFigures};
use rpcgauge_trial::{Cpu, Ending, Slice};

use super::processes::add_processes;
use super::{Carried, LinkMeter, Measurer, Watch, epoch_ms, part_done};
use crate::error::{TrialFailure, TrialResult};
use crate::machine::placement::Layout;
use crate::machine::process::{CpuReading, ProcessMeter};
use crate::run::Observer;
use crate::variant::server::{Opened, OpenedCalls, Running, Server};
use crate::variant::verify;
use crate::variant::warmup::Rule;

/// Measures one variant with the engine.
pub(crate) struct EngineMeasurer<'s, 'o> {
    variant: &'s Variant,
    trial: &'s load::Trial,
    slice: Option<Slice>,
    observer: &'s RefCell<&'o mut dyn Observer>,
    server: Opened<'s>,
    part: Part<'s>,
    server_cpu: Option<Rc<ServerCpu>>,
    /// The emulated link; `None` if calls do not use one.
    link: Option<Rc<LinkMeter>>,
    /// Tracks causes of slow calls; `None` if not requested.
    watch: Option<Watch>,
    client: ProcessMeter,
    measured_from: Option<SystemTime>,
    /// The fraction of the trial that has been measured, from 0 to 1.
    done: f64,
}

/// How the measured part is run.
enum Part<'s> {
    /// In one piece; `None` until it has been measured.
    Whole(Option<Box<load::Measurement>>),
    /// Slice by slice; `None` until the session is open.
    Slices(Option<Box<load::Session<'s, 's, 's>>>),
}

impl<'s, 'o> EngineMeasurer<'s, 'o> {
    /// Creates a measurer of `trial`, which runs in slices if `slice` is set.
    ///
    /// # Errors
    /// Fails if the requests cannot be built or this program's own memory cannot be read.
    pub(crate) fn new(
        variant: &'s Variant,
        server: &'s mut Server,
        trial: &'s load::Trial,
        slice: Option<Slice>,
        layout: &Layout,
        link: Option<Rc<LinkMeter>>,
        observer: &'s RefCell<&'o mut dyn Observer>,
    ) -> TrialResult<Self> {
        let server = server.open(&variant.settings.target, trial.timing)?;
        let meter = server.process.map(Running::meter);
        Ok(Self {
            variant,
            trial,
            slice,
            observer,
            server,
            part: match slice {
                None => Part::Whole(None),
                Some(_) => Part::Slices(None),
            },
            link,
            server_cpu: meter.as_ref().map(|meter| Rc::new(ServerCpu::new(meter))),
            watch: trial
                .keeps_slow
                .then(|| Watch::new(layout, None, meter.as_ref())),
            client: ProcessMeter::of_self().map_err(unmeasured)?,
            measured_from: None,
            done: 0.0,
        })
    }

    /// The engine's callbacks while it measures: after each slice of the warm-up, when measuring begins and
    /// ends, for snapshots, and for responses.
    fn hooks(&self, checks: Vec<Option<load::ResponseCheck<'s>>>) -> load::Hooks<'s> {
        let mut rule = Rule::new();
        let server_cpu = self.server_cpu.clone();
        let link = self.link.clone();
        let (observer, variant) = (self.observer, self.variant);
        let every = observer.borrow_mut().watch().map(|watch| watch.every());
        load::Hooks {
            settling: Box::new(move |median| rule.push(median as f64)),
            measuring: Box::new(move |begins| {
                if begins && let Some(link) = &link {
                    link.begin();
                }
                if let Some(server_cpu) = &server_cpu {
                    server_cpu.note(begins);
                }
            }),
            progress: every.map(|every| load::ProgressHook {
                every,
                sample: Box::new(move |progress| match observer.borrow_mut().watch() {
                    Some(watch) => watch.sample(variant, progress),
                    None => progress.times,
                }),
            }),
            checks,
        }
    }

    fn calls(&mut self) -> TrialResult<OpenedCalls<'s>> {
        let twice = || TrialFailure::new(Fault::Instrument, "a trial was measured twice");
        self.server.calls.take().ok_or_else(twice)
    }

    /// Measures the trial in one piece.
    fn whole(&mut self, stop: &AtomicBool) -> TrialResult<load::Measurement> {
        let measured = match self.calls()? {
            OpenedCalls::OnOneThread(calls) => {
                let hooks = self.hooks(calls.checks);
                load::measure_with(self.trial, calls.bodies, hooks, stop)
            }
            OpenedCalls::OnThreads(threads, live) => {
                let calls = |shard| live.calls_of(shard).map_err(load::CodecError);
                let hooks = self.hooks(Vec::new());
                load::measure_on_threads(self.trial, threads, calls, hooks, stop)
            }
        };
        self.explained(measured)
    }

    /// If the server's process died, the trial fails with how it ended and its log, regardless of the engine's result.
    fn explained<T>(&self, result: Result<T, load::LoadError>) -> TrialResult<T> {
        self.server.process.map_or(Ok(()), Running::alive)?;
        result.map_err(|error| self.explain(verify::failure(error)))
    }

    /// Fails a trial that was interrupted or in which no call succeeded, because it shows nothing. If the service was
    /// already running, the user wants even those figures.
    fn checked(&self, measurement: &load::Measurement) -> TrialResult {
        let figures = &measurement.figures;
        if self.server.process.is_none() && figures.calls.started > 0 {
            return Ok(());
        }
        if figures.ending == Ending::Interrupted {
            let reason = "interrupted before the first measured call";
            return Err(TrialFailure::new(Fault::User, reason));
        }
        if figures.calls.answered == 0 || figures.ending == Ending::GaveUp {
            return Err(self.explain(verify::unanswered(figures)));
        }
        Ok(())
    }

    fn explain(&self, failure: TrialFailure) -> TrialFailure {
        match self.server.process {
            Some(process) => process.explain(failure),
            None => failure,
        }
    }
}

impl Measurer<TrialFigures> for EngineMeasurer<'_, '_> {
    fn prepare(&mut self, stop: &AtomicBool) -> TrialResult {
        self.client.reset_peak();
        if let Some(process) = self.server.process {
            process.meter().reset_peak();
        }
        if matches!(self.part, Part::Slices(_)) {
            let OpenedCalls::OnOneThread(calls) = self.calls()? else {
                let reason = "a trial in slices was planned for several threads";
                return Err(TrialFailure::new(Fault::Instrument, reason));
            };
            let hooks = self.hooks(calls.checks);
            let session = load::Session::open(self.trial, calls.bodies, hooks, stop);
            self.part = Part::Slices(Some(Box::new(self.explained(session)?)));
        }
        Ok(())
    }

    fn warm_up_slice(&mut self, stop: &AtomicBool) -> TrialResult<bool> {
        match &mut self.part {
            Part::Slices(Some(session)) => {
                let is_over = session.warm_up_turn(stop);
                self.explained(is_over)
            }
            Part::Slices(None) | Part::Whole(_) => Ok(true),
        }
    }

    fn slice(&mut self, stop: &AtomicBool) -> TrialResult<f64> {
        if self.measured_from.is_none() {
            self.measured_from = Some(SystemTime::now());
            if let (Some(process), Some(server_cpu)) = (self.server.process, &self.server_cpu) {
                process.is_warm().map_err(unmeasured)?;
                server_cpu.meter.replace(process.meter());
            }
            let shared = self.server.process.is_some_and(Running::is_shared);
            // From here on, the processor time of a shared process includes that of other variants.
            if let Some(server_cpu) = self.server_cpu.as_ref().filter(|_| !shared) {
                server_cpu.start().map_err(unmeasured)?;
            }
        }
        if let Part::Whole(_) = self.part {
            self.part = Part::Whole(Some(Box::new(self.whole(stop)?)));
            return Ok(1.0);
        }
        let (Part::Slices(Some(session)), Some(slice)) = (&mut self.part, self.slice) else {
            return Err(not_ready());
        };
        let left = self.trial.stop.calls.unwrap_or(u64::MAX) - session.counted().started;
        let slow_before = session.slow().len();
        if let Some(watch) = &mut self.watch {
            watch.begin();
        }
        let sliced = session.slice(&slice, left, stop);
        if let Some(watch) = &mut self.watch {
            watch.end();
            watch.slow(slow_before..session.slow().len());
        }
        let (counted, is_over) = (session.counted(), session.is_over());
        self.explained(sliced)?;
        self.done = if is_over {
            1.0
        } else {
            part_done(self.trial.stop, counted.started, counted.time)
        };
        Ok(self.done)
    }

    fn warms_up_in_slice(&self) -> bool {
        matches!(self.part, Part::Whole(_))
    }

    fn requests_sent(&self) -> Option<u64> {
        match &self.part {
            Part::Whole(measurement) => measurement.as_ref()?.figures.requests_sent,
            Part::Slices(session) => Some(session.as_ref()?.requests_sent()),
        }
    }

    fn carried(&self) -> Option<Carried> {
        let (calls, bytes) = match &self.part {
            Part::Whole(measurement) => {
                let figures = &measurement.as_ref()?.figures;
                (figures.calls.started, figures.bytes?)
            }
            Part::Slices(session) => {
                let counted = session.as_ref()?.counted();
                let bytes = load::bytes_of(&counted.traffic);
                (counted.started + counted.skipped, bytes)
            }
        };
        Some(Carried {
            calls,
            sent: bytes.sent.total(),
            received: bytes.received.total(),
        })
    }

    fn finish(mut self: Box<Self>) -> TrialResult<Box<TrialFigures>> {
        let mut measurement = match std::mem::replace(&mut self.part, Part::Whole(None)) {
            Part::Whole(measurement) => *measurement.ok_or_else(not_ready)?,
            Part::Slices(session) => {
                let finished = session.ok_or_else(not_ready)?.finish();
                let mut measurement = self.explained(finished)?;
                // The run was stopped during another variant's slice.
                let ending = &mut measurement.figures.ending;
                if self.done < 1.0 && *ending == Ending::Complete {
                    *ending = Ending::Interrupted;
                }
                measurement
            }
        };
        self.checked(&measurement)?;
        for request in self.trial.all_requests() {
            measurement.hide_values(&request.headers);
        }
        let from_ns = measurement.began.unwrap_or(0);
        let mut figures = measurement.figures;
        figures.watched = self
            .watch
            .take()
            .map(|watch| watch.finish(from_ns, &measurement.slow));
        figures.cpu.server = match &self.server_cpu {
            Some(server_cpu) => Some(server_cpu.total().map_err(unmeasured)?),
            None => None,
        };
        figures.code = self.server.code;
        figures.payload.response = figures.payload.response.or(self.server.response_size);
        figures.measured_from_ms = self.measured_from.map(epoch_ms);
        add_processes(&mut figures, &self.client, None, self.server.process).map_err(unmeasured)?;
        Ok(Box::new(figures))
    }
}

fn not_ready() -> TrialFailure {
    TrialFailure::new(
        Fault::Instrument,
        "a trial was measured before it was prepared",
    )
}

pub(super) fn unmeasured(error: std::io::Error) -> TrialFailure {
    let reason = format!("processor time and memory could not be read from /proc: {error}");
    TrialFailure::new(Fault::Machine, reason)
}

/// The processor time of a server while calls are measured. It is read at the edges of each slice, where only
/// the process's clock is fast enough. Its split into user and system time is that of the whole trial.
struct ServerCpu {
    meter: RefCell<ProcessMeter>,
    at_start: Cell<Option<CpuReading>>,
    counted_ns: Cell<u64>,
    began_ns: Cell<Option<u64>>,
}

impl ServerCpu {
    fn new(meter: &ProcessMeter) -> Self {
        Self {
            meter: RefCell::new(meter.clone()),
            at_start: Cell::new(None),
            counted_ns: Cell::new(0),
            began_ns: Cell::new(None),
        }
    }

    fn start(&self) -> std::io::Result<()> {
        self.at_start.set(Some(self.meter.borrow().cpu()?));
        Ok(())
    }

    /// Called when measuring begins or ends. If the process is gone, [`EngineMeasurer::explained`] fails the
    /// trial later.
    fn note(&self, begins: bool) {
        let now = self.meter.borrow().total_ns().ok();
        if begins {
            self.began_ns.set(now);
        } else if let (Some(now), Some(began)) = (now, self.began_ns.take()) {
            let counted = self.counted_ns.get();
            self.counted_ns.set(counted + now.saturating_sub(began));
        }
    }

    fn total(&self) -> std::io::Result<Cpu> {
        let now = self.meter.borrow().cpu()?;
        let whole = self.at_start.get().map(|earlier| now.since(&earlier));
        let total_ns = self.counted_ns.get();
        let part =
            |ns: u64, of: u64| (u128::from(total_ns) * u128::from(ns) / u128::from(of)) as u64;
        let user_ns = whole
            .filter(|whole| whole.total_ns > 0)
            .and_then(|whole| Some(part(whole.user_ns?, whole.total_ns)));
        Ok(Cpu {
            total_ns,
            user_ns,
            system_ns: user_ns.map(|user_ns| total_ns - user_ns),
        })
    }
}
