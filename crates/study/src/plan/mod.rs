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
    /// The question in the study's first line.
    pub question: String,
    /// The seed of every random choice of this run.
    pub seed: u64,
    /// The variants, each under its own name.
    pub variants: Vec<Variant>,
    /// The pairs to compare.
    pub pairs: Vec<Pair>,
    /// The published figures to test.
    pub claims: Vec<Claim>,
    /// Of the plan's codecs, the one that makes and reads a stack's messages, by stack and encoding.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub codecs: BTreeMap<String, BTreeMap<Encoding, String>>,
    /// What every variant must reach for the run to succeed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<Objective>,
    /// The search for the highest rate that holds all objectives. The trials are then as many as it may
    /// take, and each record tells at which rate it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// Fresh starts of the subjects.
    pub invocations: u32,
    /// Blocks in each invocation.
    pub blocks: u32,
    /// Where the processes run; the first is the study's own, the others check its headline pairs.
    pub placements: Vec<Placement>,
    /// Whether idle states are disabled.
    pub idle: Idle,
    /// A difference whose interval lies within `1 ± margin` is no difference.
    pub margin: f64,
    /// The share of intervals that hold the true value.
    pub confidence: f64,
    /// Bounds of the warm-up of each trial.
    pub warmup: Stop,
    /// What stacks need before they can be measured, by SUBJECT/STACK.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stack_needs: BTreeMap<String, StackNeeds>,
    /// How long a slice should last where variants are measured in turn, µs.
    pub slice_us: u64,
    /// Bounds of what is decoded, on both sides.
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

    /// The longest warm-up of a trial with these settings: the plan's time, or a longer one that one of
    /// its stacks needs. A bound of calls, and no warm-up at all, are the study's own.
    pub fn warmup(&self, settings: &Settings) -> Stop {
        let needed = self.needed(settings).map(|needed| needed.warm_up_ms).max();
        Stop {
            time_ms: self.warmup.time_ms.max(needed),
            ..self.warmup
        }
    }

    /// The calls after which the warm-up may end, as one of its stacks needs.
    pub fn warmup_least_calls(&self, settings: &Settings) -> u64 {
        let needed = self.needed(settings).map(|needed| needed.warm_up_calls);
        needed.max().unwrap_or(0)
    }

    /// What the stacks of a trial need, where the study leaves that to them.
    fn needed(&self, settings: &Settings) -> impl Iterator<Item = &StackNeeds> {
        let is_left_to_stacks =
            self.warmup.calls.is_none() && self.warmup.time_ms.is_some_and(|ms| ms > 0);
        let stacks = settings.target.stacks().filter(move |_| is_left_to_stacks);
        stacks.filter_map(|stack| self.stack_needs.get(stack))
    }

    /// The variant of that name.
    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// Whether a service is called that was there before the run, and not a subject of the lab's own.
    pub fn is_live(&self) -> bool {
        let mut variants = self.variants.iter();
        variants.any(|variant| matches!(variant.settings.target, Target::Live(_)))
    }
}

/// What a stack needs before it can be measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackNeeds {
    /// About how long a process of it takes to start, ms; 0 if that is not known.
    pub start_up_ms: u64,
    /// The longest warm-up, ms.
    pub warm_up_ms: u64,
    /// The fewest calls of the warm-up, unless half of that time is over first.
    pub warm_up_calls: u64,
}

/// One way to call, under its own name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Unique in the plan: lower-case words joined by `-`, with `name=value` parts for factors.
    pub name: String,
    /// The part of the study it belongs to, when a study asks several questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The variant that this one repeats under a second name (A/A).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
    /// How many times as long the response is as its sample, where a study says so of a user's own.
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
    /// What is asked, in words.
    pub question: String,
    /// The variant that the verdict is about.
    pub of: String,
    /// The variant it is compared with.
    pub against: String,
    /// What is compared.
    pub metric: Metric,
    /// Measured under every placement of the plan, not only the first.
    pub headline: bool,
    /// This pair compares a variant with itself under a second name.
    pub a_a: bool,
}

/// A published figure or sentence, to be tested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Unique in the plan.
    pub name: String,
    /// Where it was published, and when.
    pub source: String,
    /// The published sentence, in our words.
    pub says: String,
    /// The variant the claim is about.
    pub of: String,
    /// The variant it was compared with.
    pub against: String,
    /// What was compared.
    pub metric: Metric,
    /// The two published figures.
    pub published: Published,
    /// The stacks that the publication measured, where rpcgauge has them.
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
    /// Which fresh start of the subjects, from 0.
    pub invocation: u32,
    /// Which block of the invocation, from 0.
    pub block: u32,
    /// The variant's index in [`Plan::variants`].
    pub variant: u32,
    /// Where client and server run.
    pub placement: Placement,
    /// The trials of a block under one placement with the same number here are measured in turn, slice
    /// by slice; they follow each other in the plan.
    pub rotation: u32,
}
