//! One fresh start of the subjects: an instance for each variant and placement, and an answering half for each
//! kind of floor. All of them are started when first needed.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::atomic::Ordering;

use rpcgauge_link::Network;
use rpcgauge_study::link::NamedLink;
use rpcgauge_study::plan::{SharedProcesses, TrialSpec, Variant};
use rpcgauge_study::record::{Fault, Record, TrialOutcome, TrialRecord};
use rpcgauge_study::settings::{Placement, Transport};
use rpcgauge_trial::Address;

use super::events::{Ended, EventSource};
use super::instance::{Instance, Occasion, Started};
use super::{Planned, Run};
use crate::error::{TrialFailure, TrialResult};
use crate::run::Event;
use crate::subject::Subject;

/// How often a variant's instance is restarted after one of its processes died: often enough to survive bad luck,
/// but not so often that a subject that always dies wastes the run.
const RESTARTS: u32 = 2;

/// The processes of one invocation.
///
/// A process belongs to one variant, or to several that share it, so that processor time, peak memory and the
/// luck of a start are not mixed with those of other variants. It also belongs to one placement, because many
/// runtimes count their cores only once.
pub(super) struct Invocation {
    number: u32,
    slots: BTreeMap<Key, Slot>,
    floors: FloorHalves,
    /// The names of the variants whose subjects have been recorded.
    recorded: BTreeSet<String>,
    /// When trials that watched slow calls were measured, by instance: intervals of CLOCK_MONOTONIC, ns.
    measured: BTreeMap<Key, Vec<[u64; 2]>>,
}

/// An instance's variant and placement.
type Key = (u32, Placement);

/// The answering halves of floors, by placement, transport and the link's name.
pub(super) type FloorHalves = BTreeMap<(Placement, Transport, Option<String>), FloorHalf>;

/// The answering half of a floor, and the link between client and server.
pub(super) struct FloorHalf {
    pub(super) subject: Subject,
    pub(super) link: Option<Rc<Network>>,
}

struct Slot {
    /// The instance, or why it cannot be started in this invocation.
    state: TrialResult<Instance>,
    starts: u32,
    /// The files to which its runtimes write events, including those of processes that died.
    sources: Vec<EventSource>,
}

impl Invocation {
    pub(super) fn new(number: u32) -> Self {
        Self {
            number,
            slots: BTreeMap::new(),
            floors: FloorHalves::new(),
            recorded: BTreeSet::new(),
            measured: BTreeMap::new(),
        }
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Whether the subjects of a variant have not been recorded yet. Marks them as recorded.
    pub(super) fn is_new(&mut self, variant: &Variant) -> bool {
        self.recorded.insert(variant.name.clone())
    }

    /// The versions reported by the processes of a trial's instance; empty if there is no instance.
    pub(super) fn versions(&self, trial: &TrialSpec) -> Vec<BTreeMap<String, String>> {
        let slot = self.slots.get(&(trial.variant, trial.placement));
        let instance = slot.and_then(|slot| slot.state.as_ref().ok());
        instance.map(Instance::versions).unwrap_or_default()
    }

    /// The instance of each of `trials`, or why it cannot be started, and the answering halves of floors.
    pub(super) fn instances(
        &mut self,
        trials: &[Planned<'_>],
    ) -> (Vec<TrialResult<&mut Instance>>, &mut FloorHalves) {
        let mut slots: BTreeMap<&Key, &mut Slot> = self.slots.iter_mut().collect();
        let instance = |planned: &Planned<'_>| {
            let slot = slots.remove(&(planned.spec.variant, planned.spec.placement));
            let none = || TrialFailure::new(Fault::Instrument, "the trial has no server slot");
            match &mut slot.ok_or_else(none)?.state {
                Ok(instance) => Ok(instance),
                Err(failure) => Err(failure.clone()),
            }
        };
        (trials.iter().map(instance).collect(), &mut self.floors)
    }

    /// Stops the instances that no later trial needs, because they occupy memory and even an idle runtime wakes
    /// up. All are asked to exit before any is waited for. Returns their events files.
    pub(super) fn end_all_but(&mut self, later: &[TrialSpec]) -> Vec<Ended> {
        let needed: BTreeSet<Key> = later.iter().map(|t| (t.variant, t.placement)).collect();
        let slots = std::mem::take(&mut self.slots);
        let (kept, mut ended): (BTreeMap<_, _>, BTreeMap<_, _>) =
            slots.into_iter().partition(|(key, _)| needed.contains(key));
        self.slots = kept;
        for slot in ended.values_mut() {
            if let Ok(instance) = &mut slot.state {
                instance.ask_to_end();
            }
        }
        if later.is_empty() {
            let halves = self.floors.values_mut();
            halves.for_each(|half| half.subject.ask_to_end());
        }
        let ended = ended.into_iter().map(|(key, slot)| Ended {
            variant: key.0,
            placement: key.1,
            measured: self.measured.remove(&key).unwrap_or_default(),
            // The processes exit here, when `slot.state` is dropped.
            sources: slot.sources,
        });
        ended.filter(|ended| !ended.sources.is_empty()).collect()
    }

    /// Records when a trial was measured, if its slow calls were watched.
    pub(super) fn note(&mut self, record: &TrialRecord) {
        if let TrialOutcome::Measured(measured) = &record.outcome
            && let Some(watched) = &measured.watched
        {
            let from = watched.from_ns;
            let span = [from, from.saturating_add(measured.spanned_ns())];
            let key = (record.trial.variant, record.trial.placement);
            self.measured.entry(key).or_default().push(span);
        }
    }
}

impl<'a> Run<'a> {
    /// Starts the instances of trials, unless they exist and all their processes are running. Variants that share
    /// processes are started and restarted together.
    pub(super) fn start_instances(&mut self, invocation: &mut Invocation, trials: &[Planned<'_>]) {
        for planned in trials {
            let key = (planned.spec.variant, planned.spec.placement);
            let has_ended = |slot: &Slot| {
                let instance = slot.state.as_ref();
                instance.is_ok_and(|instance| instance.ended().is_some())
            };
            if invocation.slots.get(&key).is_none_or(has_ended) {
                self.start_variant(invocation, key);
            }
        }
    }

    /// Starts a variant and those that share its processes, whether or not they are measured now.
    fn start_variant(&mut self, invocation: &mut Invocation, (variant, placement): Key) {
        let shared = self.processes_of(variant);
        let variants = shared.map_or(vec![variant], |shared| shared.variants);
        // Removing dead instances releases their sockets and logs before the next ones start.
        let earlier = variants.iter().map(|of| {
            let slot = invocation.slots.remove(&(*of, placement));
            slot.map_or((0, Vec::new()), |slot| (slot.starts, slot.sources))
        });
        let earlier: Vec<(u32, Vec<EventSource>)> = earlier.collect();
        let starts = earlier.iter().map(|(starts, _)| *starts).max().unwrap_or(0);
        let occasion = Occasion {
            invocation: invocation.number,
            placement,
            starts,
            is_training: false,
        };
        let possible = if starts > RESTARTS {
            Err(died_too_often(starts))
        } else {
            self.train(occasion, variant)
        };
        let made = match possible {
            Ok(()) => self.start_processes(occasion, variant),
            Err(failure) => variants.iter().map(|_| Err(failure.clone())).collect(),
        };
        for ((of, made), (_, mut sources)) in variants.into_iter().zip(made).zip(earlier) {
            let state = made.map(|(instance, new)| {
                sources.extend(new);
                instance
            });
            let slot = Slot {
                state,
                starts: starts + 1,
                sources,
            };
            invocation.slots.insert((of, placement), slot);
        }
    }

    /// The processes that a variant shares with others, or was to share.
    pub(super) fn processes_of(&self, variant: u32) -> Option<SharedProcesses> {
        self.actual.processes_of(variant).cloned()
    }

    /// Starts the processes of a variant and of those that share them, in the order of the variants.
    pub(super) fn start_processes(
        &mut self,
        occasion: Occasion,
        variant: u32,
    ) -> Vec<TrialResult<Started>> {
        let Some(shared) = self.processes_of(variant) else {
            return vec![self.new_instance(occasion, variant)];
        };
        let made = self.shared_instances(occasion, &shared);
        if occasion.is_training {
            return made;
        }
        let is_first = self
            .tried_shared
            .is_disjoint(&shared.variants.iter().copied().collect());
        self.tried_shared.extend(&shared.variants);
        if is_first && shared.are_shared() && self.have_failed(&made) {
            self.start_again(occasion, &shared).unwrap_or(made)
        } else {
            made
        }
    }

    /// Whether none of these could be started, and not because the run was stopped.
    fn have_failed(&self, made: &[TrialResult<Started>]) -> bool {
        made.iter().all(Result::is_err) && !self.stop.load(Ordering::Relaxed)
    }

    /// Starts shared processes once more, in case only the first start was slow; then, if that fails, a process for each
    /// variant, which it has from then on. `None` if that fails, too.
    fn start_again(
        &mut self,
        occasion: Occasion,
        shared: &SharedProcesses,
    ) -> Option<Vec<TrialResult<Started>>> {
        let later = |starts| Occasion {
            starts: occasion.starts + starts,
            ..occasion
        };
        let made = self.shared_instances(later(1), shared);
        let failure = match made.first() {
            Some(Err(failure)) if self.have_failed(&made) => failure.reason.clone(),
            Some(_) | None => return Some(made),
        };
        let own = shared.variants.iter().flat_map(|variant| {
            let own = SharedProcesses {
                variants: vec![*variant],
                ..shared.clone()
            };
            self.shared_instances(later(2), &own)
        });
        let own: Vec<TrialResult<Started>> = own.collect();
        if self.have_failed(&own) {
            return None;
        }
        let reason = format!("one process for all of them failed to start: {failure}");
        // The set is one of the plan.
        self.actual.separate(&shared.variants, &reason).ok()?;
        let names = shared.variants.iter();
        let names = names.map(|variant| &*self.plan.variants[*variant as usize].name);
        let names: Vec<&str> = names.collect();
        let text = format!(
            "{} run in separate processes, because {reason}",
            names.join(", ")
        );
        self.notify(&Event::Warning { text: &text });
        self.own_processes.push(Record::OwnProcesses {
            variants: shared.variants.clone(),
            reason,
        });
        Some(own)
    }

    /// Where the answering half of a floor listens, and over which link. Starts the half when first needed.
    pub(super) fn floor_address(
        &self,
        floors: &mut FloorHalves,
        trial: &TrialSpec,
        transport: Transport,
        link: Option<&NamedLink>,
    ) -> TrialResult<(Address, Option<Rc<Network>>)> {
        let name = link.map(|link| link.name.clone());
        let half = match floors.entry((trial.placement, transport, name)) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(empty) => empty.insert(self.new_floor(trial, transport, link)?),
        };
        Ok((half.subject.listening()?, half.link.clone()))
    }
}

fn died_too_often(starts: u32) -> TrialFailure {
    let reason = format!("the subject died {starts} times in this invocation; see its logs");
    TrialFailure::new(Fault::Subject, reason)
}
