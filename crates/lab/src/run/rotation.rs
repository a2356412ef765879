//! The trials of a block that are measured in alternation, and the floors under them.

use std::rc::Rc;
use std::time::{Instant, SystemTime};

use rpcgauge_link::Network;
use rpcgauge_load::{self as load, floor::Floor};
use rpcgauge_study::plan::{TrialSpec, Variant};
use rpcgauge_study::record::{
    FloorRecord, Histogram, Record, TrialFigures, TrialOutcome, TrialRecord,
};
use rpcgauge_study::settings::{Idle, Target};
use rpcgauge_trial::{LinkCounts, Random};

use super::instance::Instance;
use super::invocation::{FloorHalves, Invocation};
use super::{Planned, Run};
use crate::environment::Waiting;
use crate::error::{LabError, TrialResult};
use crate::machine::idle::IdleHold;
use crate::machine::placement::{Bound, Layout};
use crate::measurer::{
    CallerMeasurer, EngineMeasurer, FloorKey, FloorMeasurer, FloorUnder, LinkMeter, Measurer,
    OverLink, Rotation, epoch_ms, note,
};
use crate::run::Event;
use crate::variant::caller::Caller;
use crate::variant::server::{Running, Server, Up};
use crate::variant::warmup;

/// The minimum number of slices of a floor, even if its variants need fewer. Lower over a link, where round
/// trips are long and vary little.
const MIN_FLOOR_SLICES: u32 = 10;
const MIN_FLOOR_SLICES_OVER_LINK: u32 = 2;

/// The result of a rotation, not yet recorded.
struct RotationResult {
    idle: Idle,
    /// How long the measuring thread waited for its core; `None` if not tracked.
    waiting: Option<Waiting>,
    /// In the order of the trials.
    started_at: Vec<SystemTime>,
    trials: Vec<TrialResult<Box<TrialFigures>>>,
    floors: Vec<(FloorUnder, TrialResult<Box<Floor>>)>,
}

/// An instance that is ready to be measured.
enum Ready<'i> {
    /// Measured by the engine with this trial.
    Engine(&'i mut Server, Box<load::Trial>),
    /// Measured by a client subject (with the server that it calls) or by a codec.
    Caller(&'i mut Caller, Option<&'i Up>),
}

impl<'a> Run<'a> {
    /// Measures `trials`, which must have the same placement, in alternation. Records them, except those
    /// interrupted by a stop of the run.
    pub(super) fn rotation(
        &mut self,
        invocation: &mut Invocation,
        trials: &[Planned<'_>],
    ) -> Result<Vec<TrialRecord>, LabError> {
        let Some(first) = trials.first() else {
            return Ok(Vec::new());
        };
        let began = Instant::now();
        self.start_instances(invocation, trials);
        for record in std::mem::take(&mut self.own_processes) {
            self.records.append(&record)?;
        }
        for Planned { spec, variant, .. } in trials {
            let versions = invocation.versions(spec);
            self.keep_subjects(invocation, variant, versions)?;
        }
        let left = self.measure(invocation, first.spec, trials);
        let left = left.unwrap_or_else(|failure| RotationResult {
            idle: Idle::AsIs,
            waiting: None,
            started_at: vec![SystemTime::now(); trials.len()],
            trials: trials.iter().map(|_| Err(failure.clone())).collect(),
            floors: Vec::new(),
        });
        self.disturbances.note(left.waiting);
        self.warn_of_uncounted(invocation, trials)?;
        let took = began.elapsed() / u32::try_from(trials.len()).unwrap_or(u32::MAX);
        let mut records = Vec::new();
        let ended = trials.iter().zip(&left.trials);
        for text in
            ended.filter_map(|(planned, ended)| stall_warning(planned, ended.as_ref().ok()?))
        {
            self.keep_warning(text)?;
        }
        for ((planned, started_at), ended) in trials.iter().zip(left.started_at).zip(left.trials) {
            let is_live = matches!(planned.variant.settings.target, Target::Live(_));
            let (idle, outcome) = match ended {
                Ok(measured) => (left.idle, TrialOutcome::Measured(measured)),
                // Interrupted by a stop, so `--resume` will run it again. A trial of a live service cannot be
                // resumed, so it is recorded if it has sent requests.
                Err(failure)
                    if self.is_stopped() && (!is_live || failure.requests_sent == Some(0)) =>
                {
                    continue;
                }
                Err(failure) => (Idle::AsIs, failure.into_outcome()),
            };
            let record = TrialRecord {
                trial: planned.spec.clone(),
                variant: planned.variant.name.clone(),
                timing: planned.variant.settings.timing(),
                idle,
                started_at_ms: epoch_ms(started_at),
                rate: planned.rate,
                outcome,
            };
            invocation.note(&record);
            records.push(self.keep_trial(record, took)?);
        }
        if !records.is_empty() {
            for (under, ended) in left.floors {
                self.keep_floor(first.spec, left.idle, under, ended)?;
            }
        }
        Ok(records)
    }

    /// Warns about servers that started processes after they were ready: no figure includes what those use.
    fn warn_of_uncounted(
        &mut self,
        invocation: &mut Invocation,
        trials: &[Planned<'_>],
    ) -> Result<(), LabError> {
        let (instances, _) = invocation.instances(trials);
        for (planned, instance) in trials.iter().zip(instances) {
            let server = match &instance {
                Ok(Instance::Server(server)) => server.process(),
                Ok(Instance::Client(server, _)) => Some(Running::Subject(&server.subject)),
                Ok(Instance::Codec(_)) | Err(_) => None,
            };
            if server.is_some_and(|server| server.meter().misses_any()) {
                let text = format!(
                    "the server of \"{}\" started a process after it was ready: server CPU and memory do not \
                     count it",
                    planned.variant.name
                );
                if !self.environment.warnings.contains(&text) {
                    self.keep_warning(text)?;
                }
            }
        }
        Ok(())
    }

    /// Measures the trials in alternation until all are done. Trials whose subjects did not start fail.
    fn measure(
        &self,
        invocation: &mut Invocation,
        first: &TrialSpec,
        trials: &[Planned<'_>],
    ) -> TrialResult<RotationResult> {
        let layout = self.placements.layout(first.placement)?;
        let (instances, halves) = invocation.instances(trials);
        let ready = trials.iter().zip(instances);
        let mut ready: Vec<TrialResult<Ready<'_>>> = ready
            .map(|(planned, instance)| Ok(self.ready(planned, instance?)))
            .collect();
        let bound = Bound::to(&layout.client)?;
        let idle = IdleHold::ask(self.plan.idle);
        let waiting = Waiting::start(&layout);
        let mut rotation = Rotation::new(self.plan.seed ^ u64::from(first.index));
        let mut started_at = Vec::new();
        for (planned, ready) in trials.iter().zip(&mut ready) {
            if self.is_stopped() {
                break;
            }
            self.notify(&Event::TrialStarted {
                trial: planned.spec,
                variant: planned.variant,
                progress: self.pace.progress(),
            });
            started_at.push(SystemTime::now());
            let measurer = match ready {
                Ok(ready) => self.measurer(planned.variant, ready, (first, &layout)),
                Err(failure) => Err(failure.clone()),
            };
            rotation.add(measurer, self.stop);
        }
        rotation.warm_up(self.stop);
        let mut floors = Vec::new();
        let targets = trials.iter().map(|it| &it.variant.settings.target);
        let all_linked = targets.map(Target::link).all(|link| link.is_some());
        let least = if all_linked {
            MIN_FLOOR_SLICES_OVER_LINK
        } else {
            MIN_FLOOR_SLICES
        };
        let mut rounds = 0;
        while !self.is_stopped() && (rotation.goes_on() || rounds < least) {
            rotation.round(self.stop);
            rounds += 1;
            if rounds == 1 {
                floors = self.add_floors(&mut rotation, first, trials, halves);
            }
        }
        let (ended, of_floors) = rotation.finish();
        let left = RotationResult {
            idle: idle.got(),
            waiting,
            started_at,
            trials: ended,
            floors: floors.into_iter().zip(of_floors).collect(),
        };
        drop((idle, bound));
        Ok(left)
    }

    /// The seed for the links of a rotation. Plans with adjacent seeds use unrelated seeds for their links.
    fn link_seed(&self, first: &TrialSpec) -> u64 {
        let of_plan = Random::new(self.plan.seed).seed();
        of_plan.wrapping_add(first.index.into())
    }

    /// Pairs an instance with the trial that is measured on it.
    fn ready<'i>(&self, planned: &Planned<'_>, instance: &'i mut Instance) -> Ready<'i> {
        match instance {
            Instance::Server(server) => {
                let settings = &planned.variant.settings;
                let mut trial = server.planned(&self.actual, planned.spec, planned.variant);
                if self.plan.slice(settings).is_some() {
                    // No call may be in flight while other variants are measured.
                    trial.drain = trial.deadline;
                }
                Ready::Engine(server, Box::new(trial))
            }
            Instance::Client(server, client) => Ready::Caller(client, Some(&**server)),
            Instance::Codec(codec) => Ready::Caller(codec, None),
        }
    }

    fn measurer<'m>(
        &'m self,
        variant: &'m Variant,
        ready: &'m mut Ready<'_>,
        (first, layout): (&TrialSpec, &Layout),
    ) -> TrialResult<Box<dyn Measurer<TrialFigures> + 'm>>
    where
        'a: 'm,
    {
        let seed = self.link_seed(first);
        let slice = self.plan.slice(&variant.settings);
        let note = |measured: &mut TrialFigures, counts| measured.link = Some(counts);
        let (caller, server) = match ready {
            Ready::Engine(server, trial) => {
                let observer = &self.observer;
                let link = meter(server.link());
                let measurer = EngineMeasurer::new(
                    variant,
                    server,
                    trial,
                    slice,
                    layout,
                    link.clone(),
                    observer,
                )?;
                return Ok(over(link, seed, Box::new(measurer), note));
            }
            Ready::Caller(caller, server) => (caller, *server),
        };
        let measurer = CallerMeasurer::new(
            caller,
            server,
            &variant.settings,
            warmup::bounds(&self.actual, variant),
            slice,
            layout,
            self.options.answer_timeout,
        )?;
        let link = meter(server.and_then(|server| server.link.as_ref()));
        Ok(over(link, seed, Box::new(measurer), note))
    }

    /// Adds the floors under the trials to the rotation, once the sizes of their calls are known. A live
    /// service has no floor: bare loops on this machine say nothing about the network to the service.
    fn add_floors<'m>(
        &'m self,
        rotation: &mut Rotation<'m>,
        first: &TrialSpec,
        trials: &[Planned<'_>],
        halves: &mut FloorHalves,
    ) -> Vec<FloorUnder> {
        let seed = self.link_seed(first);
        let mut floors = Vec::new();
        for (planned, carried) in trials.iter().zip(rotation.carried()) {
            if let Target::Call(call) = &planned.variant.settings.target
                && let Some(key) = carried.and_then(|carried| FloorKey::of(call, &carried))
            {
                note(&mut floors, &planned.variant.name, key);
            }
        }
        for (key, _) in &floors {
            let half = self.floor_address(halves, first, key.transport, key.link.as_deref());
            let measurer = half.map(|(address, link)| {
                let floor = FloorMeasurer::new(address, key.clone());
                // The variants' records already include what the link did.
                over(meter(link.as_ref()), seed, Box::new(floor), |_, _| {})
            });
            rotation.add_floor(measurer, self.stop);
        }
        floors
    }

    fn keep_floor(
        &mut self,
        first: &TrialSpec,
        idle: Idle,
        (key, variants): FloorUnder,
        ended: TrialResult<Box<Floor>>,
    ) -> Result<(), LabError> {
        let floor = match ended {
            Ok(floor) => floor,
            Err(failure) => return self.keep_warning(failure.reason),
        };
        let record = FloorRecord {
            invocation: first.invocation,
            block: first.block,
            placement: first.placement,
            idle,
            transport: key.transport,
            link: key.link.map(|link| link.name),
            request_bytes: key.request_bytes,
            response_bytes: key.response_bytes,
            latency: Histogram::from(floor.latency),
            client_cpu_ns: floor.client_cpu_ns,
            variants,
        };
        let record = Record::Floor(record);
        Ok(self.records.append(&record)?)
    }
}

fn meter(link: Option<&Rc<Network>>) -> Option<Rc<LinkMeter>> {
    link.cloned().map(LinkMeter::new)
}

/// Wraps a measurer so that it runs over the link, if there is one.
fn over<'m, T: 'm>(
    link: Option<Rc<LinkMeter>>,
    seed: u64,
    measurer: Box<dyn Measurer<T> + 'm>,
    note: fn(&mut T, LinkCounts),
) -> Box<dyn Measurer<T> + 'm> {
    match link {
        Some(link) => Box::new(OverLink::new(link, seed, measurer, note)),
        None => measurer,
    }
}

/// The warning for a trial during which this program was stalled; `None` if it was not.
fn stall_warning(planned: &Planned<'_>, measured: &TrialFigures) -> Option<String> {
    let (stalls, calls) = (measured.stalls, measured.calls.stalled());
    let seconds = |ns: u64| format!("{:.1} s", ns as f64 / 1e9);
    let how_long = match stalls.count {
        0 => return None,
        1 => format!("for {}", seconds(stalls.total_ns)),
        count => format!(
            "{count} times, for {} in total and at most {} at a time",
            seconds(stalls.total_ns),
            seconds(stalls.longest_ns)
        ),
    };
    Some(format!(
        "rpcgauge itself did not run {how_long}, {} after the first measured call of \"{}\" (trial {}): it was \
         stopped, the machine was suspended, or nothing gave it a core. The {calls} calls due in that time count as \
         client-stalled, not against the service",
        seconds(stalls.longest_at_ns),
        planned.variant.name,
        planned.spec.index,
    ))
}

/// Whether two trials belong to the same rotation. Such trials are consecutive in the plan.
pub(super) fn share_rotation(a: &TrialSpec, b: &TrialSpec) -> bool {
    let place = |of: &TrialSpec| (of.invocation, of.block, of.placement, of.rotation);
    place(a) == place(b)
}
