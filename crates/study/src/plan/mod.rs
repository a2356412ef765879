//! A resolved study: explicit trials in their order, no defaults left.

pub(crate) mod check;
pub(crate) mod draft;
pub(crate) mod estimate;
mod metric;
pub(crate) mod order;
mod render;
mod slices;

use std::collections::BTreeMap;

use rpcgauge_message::Encoding;
pub use rpcgauge_message::Limits;
use serde::{Deserialize, Serialize};

pub use crate::capacity::Capacity;
pub use metric::Metric;
pub use slices::{SLICE_US, Slice};

use crate::objective::Objective;
use crate::settings::{Idle, Placement, Settings, Stop, Target};

/// The work of a run. Printed by `rpcgauge plan`, carried out by the lab, kept in the run
/// directory as `plan.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The study's name: the built-in's name or the file's stem.
    pub name: String,
    /// The study's question.
    pub question: String,
    /// The seed of every random choice of this run.
    pub seed: u64,
    /// The variants, each under its own name.
    pub variants: Vec<Variant>,
    /// The variants that are called in the same processes; each variant is in at most one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_processes: Vec<SharedProcesses>,
    /// The variants that were to share processes and have their own, by name, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own_processes: BTreeMap<String, String>,
    /// The pairs to compare.
    pub pairs: Vec<Pair>,
    /// The published figures to test.
    pub claims: Vec<Claim>,
    /// By stack and encoding: the codec in the plan that encodes and decodes as that stack does.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub codecs: BTreeMap<String, BTreeMap<Encoding, String>>,
    /// The objectives that every variant must meet for the run to succeed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<Objective>,
    /// The search for the highest rate that meets all objectives, if there is one. The plan then has as many trials
    /// as the search may take, and each record has its rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// The number of invocations.
    pub invocations: u32,
    /// The number of blocks in each invocation.
    pub blocks: u32,
    /// Where the processes run; the first is the study's own, the others check its headline pairs.
    pub placements: Vec<Placement>,
    /// Whether idle states are disabled.
    pub idle: Idle,
    /// A ratio whose interval lies within `1 ± margin` is no difference.
    pub margin: f64,
    /// The share of intervals that contain the true value.
    pub confidence: f64,
    /// Bounds of the warm-up of each trial.
    pub warmup: Stop,
    /// What stacks need before they can be measured, by SUBJECT/STACK.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stack_needs: BTreeMap<String, StackNeeds>,
    /// How long a slice should last if variants are measured in turn, µs.
    pub slice_us: u64,
    /// Limits of decoding, on both sides.
    pub limits: Limits,
    /// The trials in the order they run.
    pub trials: Vec<TrialSpec>,
}

impl Plan {
    /// Whether a variant goes over an emulated link.
    pub fn has_links(&self) -> bool {
        self.variants
            .iter()
            .any(|variant| variant.settings.target.link().is_some())
    }

    /// The bounds of the warm-up of a trial with these settings: the plan's time, or a longer one that one of its
    /// stacks needs. If the study bounds the calls, or has no warm-up, its stacks do not change that.
    pub fn warmup(&self, settings: &Settings) -> Stop {
        let needed = self.needed(settings).map(|needed| needed.warm_up_ms).max();
        Stop {
            time_ms: self.warmup.time_ms.max(needed),
            ..self.warmup
        }
    }

    /// The minimum number of warm-up calls, as the most demanding of the stacks needs.
    pub fn warmup_least_calls(&self, settings: &Settings) -> u64 {
        let needed = self.needed(settings).map(|needed| needed.warm_up_calls);
        needed.max().unwrap_or(0)
    }

    /// What the stacks of a trial need, if the study leaves that to them.
    fn needed(&self, settings: &Settings) -> impl Iterator<Item = &StackNeeds> {
        let is_left_to_stacks =
            self.warmup.calls.is_none() && self.warmup.time_ms.is_some_and(|ms| ms > 0);
        let stacks = settings.target.stacks().filter(move |_| is_left_to_stacks);
        stacks.filter_map(|stack| self.stack_needs.get(stack))
    }

    /// The programs that a variant is measured with, as `SUBJECT/STACK` or `SUBJECT/PROGRAM`, each after its stack.
    pub fn programs_of<'p>(
        &'p self,
        variant: &'p Variant,
    ) -> impl Iterator<Item = (&'p str, &'p str)> {
        let place = self.place(&variant.name);
        let shared = place.and_then(|place| self.processes_of(place));
        let shared = shared.map(|shared| [&shared.server, &shared.client]);
        let stacks = variant.settings.target.stacks().enumerate();
        stacks.map(move |(role, stack)| {
            let program = shared.and_then(|programs| programs[role].as_deref());
            (stack, program.unwrap_or(stack))
        })
    }

    /// Whether a variant shares a process with others.
    pub fn shares_processes(&self, variant: &Variant) -> bool {
        self.place(&variant.name)
            .is_some_and(|place| self.processes_of(place).is_some())
    }

    /// Whether two variants have their server and their client, if there is one, in the same processes.
    pub fn are_in_one_process(&self, of: &str, against: &str) -> bool {
        let both = self.place(of).zip(self.place(against));
        both.is_some_and(|(of, against)| {
            self.processes_of(of).is_some_and(|shared| {
                let programs = [&shared.server, &shared.client].into_iter().flatten();
                let programs = programs.count();
                let stacks = |place: u32| {
                    self.variants[place as usize]
                        .settings
                        .target
                        .stacks()
                        .count()
                };
                shared.variants.contains(&against) && [stacks(of), stacks(against)] == [programs; 2]
            })
        })
    }

    /// The processes that a variant shares with others.
    pub fn processes_of(&self, variant: u32) -> Option<&SharedProcesses> {
        let mut shared = self.shared_processes.iter();
        shared.find(|shared| shared.variants.contains(&variant))
    }

    /// The index of the variant of that name.
    pub fn place(&self, name: &str) -> Option<u32> {
        let place = self.variants.iter().position(|one| one.name == name)?;
        u32::try_from(place).ok()
    }

    /// The variant of that name.
    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// Whether the plan calls a service that already runs, not a subject that the lab starts.
    pub fn is_live(&self) -> bool {
        let mut variants = self.variants.iter();
        variants.any(|variant| matches!(variant.settings.target, Target::Live(_)))
    }
}

/// Processes in which several variants are called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedProcesses {
    /// The variants, by their place in the plan.
    pub variants: Vec<u32>,
    /// The server's program, as `SUBJECT/PROGRAM`; absent where each variant has a server process of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The client's program, as `SUBJECT/PROGRAM`; absent where each variant has a client process of its own, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// What a stack needs before it can be measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackNeeds {
    /// About how long its process takes to start, ms; 0 if unknown.
    pub start_up_ms: u64,
    /// The maximum warm-up, ms.
    pub warm_up_ms: u64,
    /// The minimum number of calls of the warm-up, unless half of that time is over first.
    pub warm_up_calls: u64,
}

/// One way to call, under its own name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Unique in the plan: lower-case words joined by `-`, with `name=value` parts for factors.
    pub name: String,
    /// The group of the study that it belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The variant that this one repeats under a second name (A/A).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
    /// The factor by which the response is longer than its sample, if the study gives one for a user's own method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<u32>,
    /// Everything that decides how it calls.
    pub settings: Settings,
}

/// Two variants to compare on one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Unique in the plan.
    pub name: String,
    /// The question, in words.
    pub question: String,
    /// The variant that the verdict is about.
    pub of: String,
    /// The variant it is compared with.
    pub against: String,
    /// The metric that is compared.
    pub metric: Metric,
    /// Whether it is measured under every placement of the plan, not only the first.
    pub headline: bool,
    /// Whether it compares a variant with itself under a second name.
    pub a_a: bool,
}

/// A published figure or sentence, to be tested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Unique in the plan.
    pub name: String,
    /// Where it was published, and when.
    pub source: String,
    /// What was published, in the study's words.
    pub says: String,
    /// The variant the claim is about.
    pub of: String,
    /// The variant it was compared with.
    pub against: String,
    /// The metric that was compared.
    pub metric: Metric,
    /// The two published figures.
    pub published: Published,
    /// The stacks that the publication measured, if rpcgauge has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<String>,
}

/// Two published figures in one unit. Only their ratio is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The figure of `of`.
    pub of: f64,
    /// The figure of `against`.
    pub against: f64,
    /// Their unit, as published: `ms`, `µs`, `bytes`, `requests/s`.
    pub unit: String,
}

impl Published {
    /// What is wrong with figures that cannot be compared.
    pub(crate) const UNSOUND: &str = "the published figures must be more than 0, and have a unit";

    /// Whether they can be compared.
    pub(crate) fn is_sound(&self) -> bool {
        let is_figure = |figure: f64| figure > 0.0 && figure.is_finite();
        is_figure(self.of) && is_figure(self.against) && !self.unit.trim().is_empty()
    }
}

/// One trial of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialSpec {
    /// Its place in the plan, from 0; the key by which `--resume` knows what is done.
    pub index: u32,
    /// The invocation, from 0.
    pub invocation: u32,
    /// The block in that invocation, from 0.
    pub block: u32,
    /// The variant's index in [`Plan::variants`].
    pub variant: u32,
    /// Where client and server run.
    pub placement: Placement,
    /// The trials of a block under one placement with the same number here are measured in turn, slice
    /// by slice; they follow each other in the plan.
    pub rotation: u32,
}
