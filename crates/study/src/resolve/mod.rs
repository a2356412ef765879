//! From a study as written to a plan: the second step, where the whole and other files count.
//!
//! ```text
//! StudyFile ─► layers (study < group < variant < factor) ─► settings ─► variants ─► Draft ─► Plan
//!              combine.rs                                   settings.rs names.rs    plan/draft.rs
//!                                                           service.rs  machine.rs
//! ```

mod budget;
mod capacity;
mod combine;
pub mod inputs;
pub mod loader;
mod machine;
mod names;
mod own;
mod service;
mod settings;
mod workload;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

use rpcgauge_message::{Compression, Encoding, Limits, Workload, WorkloadSpec};
use toml::Spanned;

use crate::error::{Source, StudyError};
use crate::features::Features;
use crate::file::{Layer, Part, ServiceWritten, StudyFile};
use crate::objective::Objective;
use crate::plan::check::MAX_TRIALS;
use crate::plan::draft::{Control, Draft, DraftError};
use crate::plan::order::Rounds;
use crate::plan::{Plan, SLICE_US, StackNeeds, Variant};
use crate::read::Time;
use crate::settings::{Stop, Target};
use inputs::Resolved;
use loader::FileLoader;
use machine::Machine;
use own::OwnCache;

/// What resolving needs to know beside the study.
#[derive(Clone, Copy)]
pub struct ResolveContext<'a> {
    /// The subjects that can be started, by name, with what each can do.
    pub subjects: &'a BTreeMap<String, Features>,
    /// Loads the files that the study names.
    pub loader: &'a FileLoader,
    /// Cores this program may use.
    pub cores: u32,
    /// What the command line changes.
    pub overrides: &'a Overrides,
}

/// What a command line may change of a study.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Only variants whose name contains one of these; empty for all.
    pub only: Vec<String>,
    /// Fresh starts of the subjects. A group that has fewer of its own keeps them.
    pub invocations: Option<u32>,
    /// Blocks in each invocation. A group that has fewer of its own keeps them.
    pub blocks: Option<u32>,
    /// Seed of every random choice.
    pub seed: Option<u64>,
    /// Bounds of what is decoded, on both sides.
    pub limits: Limits,
    /// Whether the plan is only looked at: environment variables of header fields may then be missing, and
    /// standard input is not read for messages.
    pub calls_nothing: bool,
}

/// The seed of a study that says none: fixed, so that a plan printed is the plan run.
pub const DEFAULT_SEED: u64 = 1;
/// Fresh starts of the subjects: fewer make intervals over invocations wide.
pub const DEFAULT_INVOCATIONS: u32 = 8;
/// Blocks in each invocation.
pub const DEFAULT_BLOCKS: u32 = 3;
/// The share either way that counts as no difference (docs/method.md).
pub const DEFAULT_MARGIN: f64 = 0.03;
/// The share of intervals that hold the true value (docs/method.md).
pub const DEFAULT_CONFIDENCE: f64 = 0.95;
/// A trial that has not settled after this is measured as it is, and says so.
pub const DEFAULT_WARMUP: Stop = Stop {
    calls: None,
    time_ms: Some(500),
};
/// Most variants of a plan: more are a slip in the factors, not a study that ends.
pub const MAX_VARIANTS: usize = 1_000;

/// A variant on its way into the plan.
#[derive(Debug, Clone)]
struct Combined {
    variant: Variant,
    /// What the layers say of it.
    layer: Layer,
    /// What they say of the live service that it calls.
    service: Option<ServiceWritten>,
    /// Its name within its group.
    local: String,
    /// The listed variant it was made from, if any.
    listed: Option<String>,
    /// The factors' part of its name, e.g. `n=10`; empty without factors.
    label: String,
    rounds: Rounds,
    /// Where to point when something is wrong with it.
    span: Range<usize>,
}

/// The study's own part (no group) or a group, with its place in the list of variants.
struct Section<'a> {
    group: Option<&'a str>,
    part: &'a Part,
}

struct Resolver<'a> {
    source: &'a Source,
    context: &'a ResolveContext<'a>,
    own: OwnCache<'a>,
    /// The workloads that were made so far.
    made: Vec<(WorkloadSpec, Workload)>,
    /// The ways of sending a workload that are known to be within the limits.
    within_limits: Vec<Sent>,
    /// Whether the study searches for a rate.
    searches: bool,
    services: inputs::Read,
}

/// How a workload's messages are sent.
type Sent = (WorkloadSpec, Encoding, Compression, Compression);

impl StudyFile {
    /// Resolves the study into a plan: explicit trials in their order, no defaults left.
    ///
    /// # Errors
    ///
    /// The first thing that contradicts, names what is not there, or cannot be loaded, with its
    /// line and column.
    pub fn resolve(&self, context: &ResolveContext<'_>) -> Result<Plan, StudyError> {
        self.resolve_with_inputs(context)
            .map(|resolved| resolved.plan)
    }

    /// As [`StudyFile::resolve`], with what calls to live services are made of.
    ///
    /// # Errors
    ///
    /// As [`StudyFile::resolve`].
    pub fn resolve_with_inputs(
        &self,
        context: &ResolveContext<'_>,
    ) -> Result<Resolved, StudyError> {
        let mut resolver = Resolver {
            source: &self.source,
            context,
            own: OwnCache::new(context.loader),
            made: Vec::new(),
            within_limits: Vec::new(),
            searches: self.top.capacity.is_some(),
            services: inputs::Read::default(),
        };
        let mut combined = resolver.variants(self)?;
        let only = &context.overrides.only;
        let is_kept = |one: &&Combined| Draft::keeps(only, &one.variant.name);
        let kept = combined.iter().filter(is_kept).count();
        let machine = match self.is_live() {
            true => resolver.live(self, &mut combined, kept)?,
            false => resolver.subjects(self)?,
        };
        let (pairs, claims) = resolver.pairs_and_claims(self, &combined)?;
        let control = match &self.top.a_a {
            // A live service alone is compared with nothing, not with itself either.
            None if self.is_live() && kept == 1 => Control::Absent,
            None => Control::Headline,
            Some(name) => Control::Variant(resolver.a_a(self, &combined, name)?),
        };
        let top = &self.top;
        let Machine {
            main,
            checks,
            idle,
            warmup,
            capacity,
        } = machine;
        let draft = Draft {
            name: self.name.clone(),
            question: self.question().to_owned(),
            seed: context.overrides.seed.or(top.seed).unwrap_or(DEFAULT_SEED),
            main,
            checks,
            idle,
            margin: number(&top.margin, DEFAULT_MARGIN),
            confidence: number(&top.confidence, DEFAULT_CONFIDENCE),
            warmup: top
                .warm_up
                .as_ref()
                .and_then(|written| written.get_ref().stop())
                .unwrap_or(warmup),
            stack_needs: self.stack_needs(context, &combined),
            slice_us: top
                .slice
                .map_or(SLICE_US, |Time(ms)| ms.saturating_mul(1_000)),
            limits: context.overrides.limits,
            variants: combined
                .iter()
                .map(|one| (one.variant.clone(), one.rounds))
                .collect(),
            pairs,
            claims,
            objectives: self.objectives().to_vec(),
            capacity,
            control,
        };
        let mut draft = draft.only(only).map_err(|e| self.source.whole(e))?;
        if draft.pairs.is_empty() {
            // Made of what `--only` has left, so that something is always compared.
            draft.pairs = self.default_pairs(&combined, |name| draft.has(name));
        }
        let finish = |draft: Draft| self.finish(draft, &combined);
        let mut plan = match &self.top.budget {
            None => finish(draft)?,
            Some(budget) => resolver.within(self, budget, &draft, &combined, finish)?,
        };
        plan.codecs = codecs(&plan, context.subjects);
        Ok(Resolved {
            plan,
            services: resolver.take_inputs(),
        })
    }

    fn finish(&self, draft: Draft, combined: &[Combined]) -> Result<Plan, StudyError> {
        let trials = draft.trial_count();
        if trials > MAX_TRIALS {
            return Err(self.source.whole(format!(
                "the plan has {trials} trials, more than {MAX_TRIALS}: take fewer values of the \
                 factors, invocations or blocks"
            )));
        }
        draft.finish().map_err(|error| {
            let taken = match &error {
                DraftError::Taken(name) => combined.iter().find(|one| one.variant.name == *name),
                DraftError::Empty => None,
            };
            match taken {
                Some(one) => self.source.error(one.span.clone(), error.to_string()),
                None => self.source.whole(error.to_string()),
            }
        })
    }

    /// What the variants' stacks need before they can be measured, where they say so.
    fn stack_needs(
        &self,
        context: &ResolveContext<'_>,
        combined: &[Combined],
    ) -> BTreeMap<String, StackNeeds> {
        let targets = combined.iter().map(|one| &one.variant.settings.target);
        let needs = |stack: &str| {
            let features = context.subjects.get(stack)?;
            let needs = StackNeeds {
                start_up_ms: features.start_up_ms,
                warm_up_ms: features.warm_up_ms,
                warm_up_calls: features.warm_up_calls,
            };
            (needs != StackNeeds::default()).then(|| (stack.to_owned(), needs))
        };
        targets.flat_map(Target::stacks).filter_map(needs).collect()
    }

    /// What every live service must reach.
    fn objectives(&self) -> &[Objective] {
        let written = self.top.objectives.as_ref();
        written.map_or(&[], |written| written.get_ref())
    }
}

impl Resolver<'_> {
    fn variants(&mut self, study: &StudyFile) -> Result<Vec<Combined>, StudyError> {
        let mut combined = Vec::new();
        let Part {
            variants, factors, ..
        } = &study.part;
        // Beside groups, the study's own part may only say what they share.
        let is_shared = !study.groups.is_empty() && variants.is_empty() && factors.is_empty();
        for section in study.sections().skip(usize::from(is_shared)) {
            let rounds = self.rounds(&study.part, section.group.map(|_| section.part));
            combined.extend(self.combine(study, &section, rounds)?);
            if combined.len() > MAX_VARIANTS {
                let message = format!(
                    "the factors make more than {MAX_VARIANTS} variants; take fewer values, or exclude some"
                );
                return Err(self.source.whole(message));
            }
        }
        for (place, one) in combined.iter().enumerate() {
            if combined[..place]
                .iter()
                .any(|other| other.variant.name == one.variant.name)
            {
                return Err(self.source.error(
                    one.span.clone(),
                    format!(
                        "the variant \"{}\" is there twice; give one another name",
                        one.variant.name
                    ),
                ));
            }
        }
        Ok(combined)
    }
}

fn number(written: &Option<Spanned<f64>>, default: f64) -> f64 {
    written.as_ref().map_or(default, |number| *number.get_ref())
}

/// The codecs of a plan that do what stacks that are called, or call, do to their messages.
fn codecs(
    plan: &Plan,
    stacks: &BTreeMap<String, Features>,
) -> BTreeMap<String, BTreeMap<Encoding, String>> {
    let is_there = |codec: &str, encoding| {
        let mut all = plan.variants.iter().map(|variant| &variant.settings);
        all.any(|s| {
            s.encoding == Some(encoding) && s.target.codec().is_some_and(|(name, ..)| name == codec)
        })
    };
    let mut codecs: BTreeMap<String, BTreeMap<Encoding, String>> = BTreeMap::new();
    for settings in plan.variants.iter().map(|variant| &variant.settings) {
        let calls = settings.target.server().is_some();
        for stack in settings.target.stacks().filter(|_| calls) {
            let declared = stacks.get(stack).zip(settings.encoding);
            let declared = declared.and_then(|(features, encoding)| {
                let codec = features.codecs.get(&encoding)?;
                is_there(codec, encoding).then_some((encoding, codec.clone()))
            });
            if let Some((encoding, codec)) = declared {
                codecs
                    .entry(stack.to_owned())
                    .or_default()
                    .insert(encoding, codec);
            }
        }
    }
    codecs
}

impl StudyFile {
    /// The study's own part, then the groups.
    fn sections(&self) -> impl Iterator<Item = Section<'_>> {
        let own = Section {
            group: None,
            part: &self.part,
        };
        let groups = self.groups.iter().map(|group| Section {
            group: Some(group.name.get_ref()),
            part: &group.part,
        });
        std::iter::once(own).chain(groups)
    }
}
