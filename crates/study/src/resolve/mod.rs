//! Resolves a study into a plan. After parsing, this is the second step, which considers the whole study and other
//! files.
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
mod mix;
mod names;
mod own;
mod processes;
mod requests;
mod service;
mod settings;
mod workload;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use rpcgauge_message::workload::OwnWorkload;
use rpcgauge_message::{Compression, Encoding, Limits, Schema, Workload, WorkloadSpec};

use crate::error::{Source, StudyError};
use crate::features::Features;
use crate::file::{Layer, Part, ServiceWritten, StudyFile};
use crate::objective::Objective;
use crate::only;
use crate::plan::check::MAX_TRIALS;
use crate::plan::draft::{Control, Draft};
use crate::plan::order::Rounds;
use crate::plan::{Plan, SLICE_US, StackNeeds, Variant};
use crate::read::{Time, value};
use crate::settings::{Stop, Target};
use inputs::{Resolved, ServiceInputs, Template};
use loader::{FileLoader, OwnSource, SchemaSource};

/// What resolving needs besides the study.
#[derive(Clone, Copy)]
pub struct ResolveContext<'a> {
    /// The stacks that can be started, by name, with their features.
    pub subjects: &'a BTreeMap<String, Features>,
    /// Loads the files that the study names.
    pub loader: &'a FileLoader,
    /// The number of cores that this program may use.
    pub cores: u32,
    /// What the command line changes.
    pub overrides: &'a Overrides,
}

/// What a command line can change in a study.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// The variants to keep, by name or part of a name (docs/studies.md); empty for all.
    pub only: Vec<String>,
    /// The number of invocations. A group that sets a smaller number keeps its own.
    pub invocations: Option<u32>,
    /// The number of blocks in each invocation. A group that sets a smaller number keeps its own.
    pub blocks: Option<u32>,
    /// The seed of every random choice.
    pub seed: Option<u64>,
    /// Decoding limits, on both sides.
    pub limits: Limits,
    /// Whether the plan is only shown. Environment variables of header fields may then be missing, and messages are not
    /// read from standard input.
    pub calls_nothing: bool,
}

/// The default seed, fixed so that the plan that was printed is the plan that runs.
pub const DEFAULT_SEED: u64 = 1;
/// The default number of invocations. With fewer, intervals over them are wide.
pub const DEFAULT_INVOCATIONS: u32 = 8;
/// The default number of blocks in each invocation.
pub const DEFAULT_BLOCKS: u32 = 3;
/// The default margin: differences up to this share, in either direction, count as none (docs/method.md).
pub const DEFAULT_MARGIN: f64 = 0.03;
/// The default confidence: the share of intervals that contain the true value (docs/method.md).
pub const DEFAULT_CONFIDENCE: f64 = 0.95;
/// The default bound of the warm-up. A trial that has not settled by then is measured anyway, and recorded as
/// unsettled.
pub const DEFAULT_WARMUP: Stop = Stop::after_ms(500);
/// The maximum number of variants of a plan: more are a mistake in the factors, and would take forever.
pub const MAX_VARIANTS: usize = 1_000;

/// A variant on its way into the plan.
#[derive(Debug, Clone)]
struct Combined {
    variant: Variant,
    /// Its settings, merged from the layers.
    layer: Layer,
    /// The keys of the live service that it calls, merged from the layers.
    service: Option<ServiceWritten>,
    /// Its name within its group.
    local: String,
    /// The listed variant that it was built from, if any.
    listed: Option<String>,
    /// The factors' part of its name, e.g. `n=10`; empty without factors.
    label: String,
    rounds: Rounds,
    /// The position that errors about it point at.
    span: Range<usize>,
}

/// The study's own part (no group) or a group, and its position in the file.
struct Section<'a> {
    group: Option<&'a str>,
    part: &'a Part,
    span: Range<usize>,
}

impl Section<'_> {
    /// The bounds of the warm-up, if a group sets its own.
    fn warm_up(&self) -> Option<Stop> {
        self.group?;
        value(&self.part.warm_up)?.stop()
    }
}

struct Resolver<'a> {
    study: &'a StudyFile,
    source: &'a Source,
    context: &'a ResolveContext<'a>,
    /// Whether the study searches for a rate.
    searches: bool,
    /// The inputs of calls to live services, by variant name.
    services: BTreeMap<String, Vec<ServiceInputs>>,
    // Caches: each value is built, checked or read once for all variants.
    made: Vec<(WorkloadSpec, Workload)>,
    within_limits: Vec<(Sent, ())>,
    own: Vec<(OwnSource, OwnWorkload)>,
    templates: Vec<(String, Arc<Template>)>,
    schemas: Vec<(SchemaSource, Schema)>,
}

/// How a workload's messages are sent.
type Sent = (WorkloadSpec, Encoding, Compression, Compression);

/// Returns the cached value for a key, or makes and caches it.
fn once<K: PartialEq, V: Clone, E>(
    kept: &mut Vec<(K, V)>,
    key: K,
    make: impl FnOnce(&K) -> Result<V, E>,
) -> Result<V, E> {
    if let Some((_, value)) = kept.iter().find(|(known, _)| *known == key) {
        return Ok(value.clone());
    }
    let value = make(&key)?;
    kept.push((key, value.clone()));
    Ok(value)
}

impl StudyFile {
    /// Resolves the study into a plan: an ordered list of explicit trials, with no defaults left.
    ///
    /// # Errors
    /// The first contradiction, unknown name, or file that cannot be loaded, with its line and column.
    pub fn resolve(&self, context: &ResolveContext<'_>) -> Result<Plan, StudyError> {
        self.resolve_with_inputs(context)
            .map(|resolved| resolved.plan)
    }

    /// Like [`StudyFile::resolve`], but also returns the inputs of calls to live services.
    pub fn resolve_with_inputs(
        &self,
        context: &ResolveContext<'_>,
    ) -> Result<Resolved, StudyError> {
        let resolver = Resolver {
            study: self,
            source: &self.source,
            context,
            searches: self.top.capacity.is_some(),
            services: BTreeMap::new(),
            made: Vec::new(),
            within_limits: Vec::new(),
            own: Vec::new(),
            templates: Vec::new(),
            schemas: Vec::new(),
        };
        resolver.resolve()
    }

    /// The objectives that every live service must meet.
    fn objectives(&self) -> &[Objective] {
        let written = self.top.objectives.as_ref();
        written.map_or(&[], |written| written.get_ref())
    }

    /// The study's own part, then the groups.
    fn sections(&self) -> impl Iterator<Item = Section<'_>> {
        let own = Section {
            group: None,
            part: &self.part,
            span: 0..0,
        };
        let groups = self.groups.iter().map(|group| Section {
            group: Some(group.name.get_ref()),
            part: &group.part,
            span: group.name.span(),
        });
        std::iter::once(own).chain(groups)
    }
}

impl Resolver<'_> {
    fn resolve(mut self) -> Result<Resolved, StudyError> {
        let mut combined = self.variants()?;
        let (study, top, overrides) = (self.study, &self.study.top, self.context.overrides);
        let names: Vec<&str> = combined.iter().map(|one| &*one.variant.name).collect();
        let kept = only::chosen(&overrides.only, &names).map_err(|e| self.source.whole(e))?;
        let is_live = study.is_live();
        let machine = if is_live {
            self.live(&mut combined, kept.len())?
        } else {
            self.subjects()?
        };
        let (pairs, claims) = self.pairs_and_claims(&combined)?;
        let control = match &top.a_a {
            // A single live service is compared with nothing, not even with itself.
            None if is_live && kept.len() == 1 => Control::Absent,
            None => Control::Headline,
            Some(name) => Control::Variant(self.a_a(&combined, name)?),
        };
        let warmup = value(&study.part.warm_up).and_then(|written| written.stop());
        let slice_us = top.slice.map(|Time(ms)| ms.saturating_mul(1_000));
        let plan = Plan {
            name: study.name.clone(),
            question: study.question().to_owned(),
            seed: overrides.seed.or(top.seed).unwrap_or(DEFAULT_SEED),
            variants: Vec::new(),
            shared_processes: Vec::new(),
            own_processes: BTreeMap::new(),
            pairs,
            claims,
            codecs: BTreeMap::new(),
            objectives: study.objectives().to_vec(),
            capacity: machine.capacity,
            invocations: 0,
            blocks: 0,
            placements: machine.placements,
            idle: machine.idle,
            margin: value(&top.margin).unwrap_or(DEFAULT_MARGIN),
            confidence: value(&top.confidence).unwrap_or(DEFAULT_CONFIDENCE),
            warmup: warmup.unwrap_or(machine.warmup),
            stack_needs: self.stack_needs(&combined),
            slice_us: slice_us.unwrap_or(SLICE_US),
            limits: overrides.limits,
            trials: Vec::new(),
        };
        let variants = combined.iter();
        let draft = Draft {
            plan,
            variants: variants
                .map(|one| (one.variant.clone(), one.rounds))
                .collect(),
            check_rounds: machine.check_rounds,
            control,
            own_controls: BTreeSet::new(),
        };
        let mut draft = draft.only(&kept);
        if draft.plan.pairs.is_empty() {
            // Built from the variants that `--only` keeps, so that something is always compared.
            draft.plan.pairs = study.default_pairs(&combined, &draft.names());
        }
        let mut plan = match &top.budget {
            None => self.finish(draft, &combined)?,
            Some(budget) => self.within(budget, &draft, &combined)?,
        };
        plan.codecs = codecs(&plan, self.context.subjects);
        requests::share(&mut plan, &combined).map_err(|(place, error)| self.at(place, error))?;
        Ok(Resolved {
            plan,
            services: self.services,
        })
    }

    /// Orders the draft's trials and decides which variants share processes.
    fn finish(&self, mut draft: Draft, combined: &[Combined]) -> Result<Plan, StudyError> {
        let plan = self.finish_once(draft.clone(), combined)?;
        // Which variants share processes depends on the trials, and which A/A pairs are needed depends on that.
        draft.own_controls = plan.groups_without_control();
        if draft.own_controls.is_empty() {
            return Ok(plan);
        }
        self.finish_once(draft, combined)
    }

    fn finish_once(&self, draft: Draft, combined: &[Combined]) -> Result<Plan, StudyError> {
        let trials = draft.trial_count();
        if trials > MAX_TRIALS {
            return Err(self.source.whole(format!(
                "the plan has {trials} trials, more than {MAX_TRIALS}: use fewer values of the \
                 factors, invocations or blocks"
            )));
        }
        let plan = draft.finish().map_err(|error| {
            let variant = combined
                .iter()
                .find(|one| error.variant() == Some(&*one.variant.name));
            let place = variant.map(|one| one.span.clone());
            self.at(place, error.to_string())
        });
        plan.map(|mut plan| {
            self.study
                .assign_processes(&mut plan, self.context.subjects);
            plan
        })
    }

    /// What the variants' stacks need before they can be measured, if they declare it.
    fn stack_needs(&self, combined: &[Combined]) -> BTreeMap<String, StackNeeds> {
        let targets = combined.iter().map(|one| &one.variant.settings.target);
        let needs = |stack: &str| {
            let features = self.context.subjects.get(stack)?;
            let needs = StackNeeds {
                start_up_ms: features.start_up_ms,
                warm_up_ms: features.warm_up_ms,
                warm_up_calls: features.warm_up_calls,
            };
            (needs != StackNeeds::default()).then(|| (stack.to_owned(), needs))
        };
        targets.flat_map(Target::stacks).filter_map(needs).collect()
    }

    fn variants(&mut self) -> Result<Vec<Combined>, StudyError> {
        let study = self.study;
        let own = &study.part;
        // In a study with groups, the study's own part may contain only what the groups share. It is then not a section
        // of its own.
        let is_shared =
            !study.groups.is_empty() && own.variants.is_empty() && own.factors.is_empty();
        let mut combined: Vec<Combined> = Vec::new();
        for section in study.sections().skip(usize::from(is_shared)) {
            combined.extend(self.combine(&section)?);
            if combined.len() > MAX_VARIANTS {
                let message = format!(
                    "the factors make more than {MAX_VARIANTS} variants; use fewer values, or exclude some"
                );
                return Err(self.source.whole(message));
            }
        }
        let mut names = BTreeSet::new();
        for one in &combined {
            let name = &one.variant.name;
            if !names.insert(name) {
                let message = format!("duplicate variant \"{name}\"; rename one of them");
                return Err(self.source.error(one.span.clone(), message));
            }
        }
        Ok(combined)
    }

    /// An error at a position in the study, or about the whole study if `place` is `None`.
    fn at(&self, place: Option<Range<usize>>, message: impl Into<String>) -> StudyError {
        match place {
            Some(place) => self.source.error(place, message),
            None => self.source.whole(message),
        }
    }
}

/// By stack and encoding: the codec in the plan that encodes and decodes the way that stack does.
fn codecs(
    plan: &Plan,
    stacks: &BTreeMap<String, Features>,
) -> BTreeMap<String, BTreeMap<Encoding, String>> {
    let all = || plan.variants.iter().map(|variant| &variant.settings);
    let is_there = |codec: &str, encoding| {
        all().any(|settings| match &settings.target {
            Target::Codec(work) => work.codec == codec && work.encoding == encoding,
            Target::Call(_) | Target::Live(_) => false,
        })
    };
    let mut codecs: BTreeMap<String, BTreeMap<Encoding, String>> = BTreeMap::new();
    for settings in all() {
        let Target::Call(call) = &settings.target else {
            continue;
        };
        let encoding = call.wire.encoding();
        for stack in settings.target.stacks() {
            if let Some(features) = stacks.get(stack)
                && let Some(codec) = features.codecs.get(&encoding)
                && is_there(codec, encoding)
            {
                let of_stack = codecs.entry(stack.to_owned()).or_default();
                of_stack.insert(encoding, codec.clone());
            }
        }
    }
    codecs
}
