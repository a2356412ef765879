//! A resolved study: an ordered list of explicit trials, with no defaults left.

pub(crate) mod check;
pub(crate) mod draft;
pub(crate) mod estimate;
mod map;
mod metric;
pub(crate) mod order;
mod render;
mod slices;

use std::collections::{BTreeMap, BTreeSet};

use rpcgauge_message::Encoding;
pub use rpcgauge_message::Limits;
use serde::{Deserialize, Serialize};

pub use crate::capacity::Capacity;
pub use map::{MapDraws, MapPoint, MapPointError};
pub use metric::Metric;
pub use slices::{SLICE_US, Slice};

use crate::features::Role;
use crate::objective::Objective;
use crate::settings::{Idle, Placement, Settings, Stop, Target};

/// Everything that a run is going to do: printed by `rpcgauge plan`, carried out by the lab, and stored
/// in the run directory as `plan.json`.
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
    /// The processes that variants share; each variant is in at most one entry.
    #[serde(default, alias = "shared", skip_serializing_if = "Vec::is_empty")]
    pub shared_processes: Vec<SharedProcesses>,
    /// By variant name: why a variant that should share processes has its own.
    #[serde(default, alias = "apart", skip_serializing_if = "BTreeMap::is_empty")]
    pub own_processes: BTreeMap<String, String>,
    /// The pairs to compare.
    pub pairs: Vec<Pair>,
    /// The published figures to test.
    pub claims: Vec<Claim>,
    /// By stack and encoding: the codec in the plan that encodes and decodes the way that stack does.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub codecs: BTreeMap<String, BTreeMap<Encoding, String>>,
    /// The objectives that every variant must meet for the run to succeed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<Objective>,
    /// The search for the highest rate that meets all objectives, if the study has one. The plan then contains the
    /// maximum number of trials of the search, and each record contains the rate of its trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// The number of invocations.
    pub invocations: u32,
    /// The number of blocks in each invocation.
    pub blocks: u32,
    /// Where the processes run. The first placement is the study's own; the others check its headline pairs.
    pub placements: Vec<Placement>,
    /// Whether idle states are disabled.
    pub idle: Idle,
    /// A ratio whose interval lies within `1 ± margin` counts as no difference.
    pub margin: f64,
    /// The share of intervals that contain the true value.
    pub confidence: f64,
    /// Bounds of the warm-up of each trial.
    pub warmup: Stop,
    /// What stacks need before they can be measured, by SUBJECT/STACK.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stack_needs: BTreeMap<String, StackNeeds>,
    /// How long a slice should last when variants take turns, µs.
    pub slice_us: u64,
    /// Decoding limits, on both sides.
    pub limits: Limits,
    /// The trials, in the order in which they run.
    pub trials: Vec<TrialSpec>,
}

impl Plan {
    /// Whether any variant uses an emulated link.
    pub fn has_links(&self) -> bool {
        self.variants
            .iter()
            .any(|variant| variant.settings.target.link().is_some())
    }

    /// The bounds of the warm-up of a variant's trials: those of its group or of the plan, or a longer time if one of
    /// its stacks needs it. If the study bounds the number of calls or disables the warm-up, stacks do not change that.
    /// Two names of one process warm up the same code, so each has half of the time that its stacks need.
    pub fn warmup(&self, variant: &Variant) -> Stop {
        let written = variant.warm_up.unwrap_or(self.warmup);
        let needed = self.needed(variant).map(|needed| needed.warm_up_ms).max();
        let needed = needed.map(|ms| ms.div_ceil(self.names_in_process(variant)));
        Stop {
            time_ms: written.time_ms.max(needed),
            ..written
        }
    }

    /// The minimum number of warm-up calls, from the most demanding stack. Two names of one process share them.
    pub fn warmup_least_calls(&self, variant: &Variant) -> u64 {
        let needed = self.needed(variant).map(|needed| needed.warm_up_calls);
        let needed = needed.max().unwrap_or(0);
        needed.div_ceil(self.names_in_process(variant))
    }

    /// The number of names by which a process is called in the same way as by `variant`: 2 for an A/A pair in one
    /// process.
    fn names_in_process(&self, variant: &Variant) -> u64 {
        let others = self.variants.iter().filter(|other| {
            other.name != variant.name
                && other.original() == variant.original()
                && self.are_in_one_process(&variant.name, &other.name)
        });
        1 + others.count() as u64
    }

    /// What the stacks of a trial need, if the study leaves the warm-up to them.
    fn needed(&self, variant: &Variant) -> impl Iterator<Item = &StackNeeds> {
        let written = variant.warm_up.unwrap_or(self.warmup);
        let is_left_to_stacks = written.calls.is_none() && written.time_ms.is_some_and(|ms| ms > 0);
        let stacks = variant
            .settings
            .target
            .stacks()
            .filter(move |_| is_left_to_stacks);
        stacks.filter_map(|stack| self.stack_needs.get(stack))
    }

    /// Each stack of a variant with the program that runs it, as `SUBJECT/STACK` or `SUBJECT/PROGRAM`.
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
            .and_then(|place| self.processes_of(place))
            .is_some_and(SharedProcesses::are_shared)
    }

    /// Whether two variants share all their processes: the server's and, if they have one, the client's.
    pub fn are_in_one_process(&self, of: &str, against: &str) -> bool {
        let (Some(of), Some(against)) = (self.place(of), self.place(against)) else {
            return false;
        };
        let shared = self.shared_roles(of, against).len();
        [of, against].iter().all(|place| {
            let target = &self.variants[*place as usize].settings.target;
            shared > 0 && target.stacks().count() == shared
        })
    }

    /// The roles in which two variants have one process.
    pub fn shared_roles(&self, of: u32, against: u32) -> BTreeSet<Role> {
        let shared = self.processes_of(of);
        let shared = shared.filter(|shared| shared.variants.contains(&against));
        let roles = shared.into_iter().flat_map(|shared| {
            [
                shared.server.as_ref().map(|_| Role::Server),
                shared.client.as_ref().map(|_| Role::Client),
            ]
        });
        roles.flatten().collect()
    }

    /// The groups with an A/A pair, but none that can be the control of all their comparisons: it shares a process that
    /// the variants of some comparison do not share.
    pub(crate) fn groups_without_control(&self) -> BTreeSet<Option<String>> {
        if self.shared_processes.is_empty() {
            return BTreeSet::new();
        }
        let roles = |(of, against): (&str, &str)| match (self.place(of), self.place(against)) {
            (Some(of), Some(against)) => self.shared_roles(of, against),
            _ => BTreeSet::new(),
        };
        let group = |name: &str| self.variant(name).and_then(|one| one.group.clone());
        let (controls, pairs): (Vec<&Pair>, Vec<&Pair>) =
            self.pairs.iter().partition(|pair| pair.a_a);
        let mut by_group: BTreeMap<Option<String>, Vec<BTreeSet<Role>>> = BTreeMap::new();
        for control in controls {
            let shared = roles((&control.of, &control.against));
            by_group.entry(group(&control.of)).or_default().push(shared);
        }
        let pairs = pairs.iter().map(|pair| (&*pair.of, &*pair.against));
        let claims = self.claims.iter();
        let claims = claims.map(|claim| (&*claim.of, &*claim.against));
        let without = pairs.chain(claims).filter_map(|compared| {
            let group = group(compared.0);
            let (controls, judged) = (by_group.get(&group)?, roles(compared));
            let mut controls = controls.iter();
            (!controls.any(|shared| shared.is_subset(&judged))).then_some(group)
        });
        without.collect()
    }

    /// The processes that a variant shares with others, or was to share.
    pub fn processes_of(&self, variant: u32) -> Option<&SharedProcesses> {
        let mut shared = self.shared_processes.iter();
        shared.find(|shared| shared.variants.contains(&variant))
    }

    /// Gives variants that were to share processes their own, of the same programs, for this reason.
    ///
    /// # Errors
    /// They do not share processes in the plan.
    pub fn separate(&mut self, variants: &[u32], reason: &str) -> Result<(), &'static str> {
        let mut shared = self.shared_processes.iter();
        let place = shared.position(|shared| shared.variants == variants);
        let place =
            place.ok_or("the variants with their own processes do not share any in the plan")?;
        let shared = self.shared_processes.remove(place);
        let own = variants.iter().map(|variant| SharedProcesses {
            variants: vec![*variant],
            ..shared.clone()
        });
        self.shared_processes.extend(own);
        let names = variants.iter();
        let names =
            names.filter_map(|place| Some(self.variants.get(*place as usize)?.name.clone()));
        self.own_processes
            .extend(names.map(|name| (name, reason.to_owned())));
        Ok(())
    }

    /// The index of the variant of that name.
    pub fn place(&self, name: &str) -> Option<u32> {
        let place = self.variants.iter().position(|one| one.name == name)?;
        u32::try_from(place).ok()
    }

    /// The variant with this name.
    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// Whether the plan calls services of the user, not subjects.
    pub fn is_live(&self) -> bool {
        let mut variants = self.variants.iter();
        variants.any(|variant| matches!(variant.settings.target, Target::Live(_)))
    }

    /// Whether each invocation starts new processes. If not, because the services were already running, blocks are the
    /// independent units of intervals.
    pub fn has_fresh_starts(&self) -> bool {
        let mut variants = self.variants.iter();
        variants.all(|variant| match &variant.settings.target {
            Target::Call(_) | Target::Codec(_) => true,
            Target::Live(live) => live.service.start.is_some(),
        })
    }
}

/// Processes that several variants share or, if they could not be started for all of them, that one has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedProcesses {
    /// The variants' indices in [`Plan::variants`].
    pub variants: Vec<u32>,
    /// The server's program, as `SUBJECT/PROGRAM`; `None` if each variant has its own server process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The client's program, as `SUBJECT/PROGRAM`; `None` if each variant has its own client process, or none at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

impl SharedProcesses {
    /// Whether several variants share them.
    pub fn are_shared(&self) -> bool {
        self.variants.len() > 1
    }
}

/// What a stack needs before it can be measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackNeeds {
    /// The approximate start-up time of its process, ms; 0 if unknown.
    pub start_up_ms: u64,
    /// The maximum warm-up, ms.
    pub warm_up_ms: u64,
    /// The minimum number of warm-up calls, unless half of the warm-up time passes first.
    pub warm_up_calls: u64,
}

/// One way to call, with its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Unique in the plan: lower-case words joined by `-`, with `name=value` parts for factors.
    pub name: String,
    /// The study's group that it belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The variant that this one repeats under a second name (A/A).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
    /// The factor by which the response is longer than its sample, if the study gives one for a user's own method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<u32>,
    /// The bounds of the warm-up, if its group sets its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<Stop>,
    /// Everything that decides how it calls.
    pub settings: Settings,
}

impl Variant {
    /// Its name, or for the second name of an A/A pair the first one.
    pub fn original(&self) -> &str {
        self.repeats.as_ref().unwrap_or(&self.name)
    }
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
    /// The variant that `of` is compared with.
    pub against: String,
    /// The metric that is compared.
    pub metric: Metric,
    /// Whether its variants are measured under every placement of the plan, not only the first.
    pub headline: bool,
    /// Whether it compares a variant with itself under another name.
    pub a_a: bool,
}

/// A published claim, to be tested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Unique in the plan.
    pub name: String,
    /// Where it was published, and when.
    pub source: String,
    /// What was published, in the study's words.
    pub says: String,
    /// The variant that the claim is about.
    pub of: String,
    /// The variant that `of` was compared with.
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
    /// The message for figures that cannot be compared.
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
    /// Its index in the plan, from 0. `--resume` identifies completed trials by it.
    pub index: u32,
    /// The invocation, from 0.
    pub invocation: u32,
    /// The block in that invocation, from 0.
    pub block: u32,
    /// The variant's index in [`Plan::variants`].
    pub variant: u32,
    /// Where client and server run.
    pub placement: Placement,
    /// Trials of one block and placement with the same rotation take turns, slice by slice. They are
    /// consecutive in the plan.
    pub rotation: u32,
}
