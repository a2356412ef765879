//! A plan in the making: from variants and pairs to trials in their order.
//!
//! It adds the A/A pair, the other placements and the seeded order.

use std::collections::BTreeMap;

use rpcgauge_message::nearest::Nearest;

use super::order::{GroupMember, PlacementGroup, Rounds, trials};
use super::slices::{names, rotations};
use super::{Capacity, Claim, Limits, Metric, Pair, Plan, StackNeeds, Variant};
use crate::objective::Objective;
use crate::settings::{Idle, Placement, Stop};

/// The placements that headline pairs are measured under besides the main one.
#[derive(Debug, Clone)]
pub(crate) struct Checks {
    pub(crate) placements: Vec<Placement>,
    pub(crate) rounds: Rounds,
}

/// Everything a plan needs but its trials.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) question: String,
    pub(crate) seed: u64,
    pub(crate) main: Placement,
    pub(crate) checks: Checks,
    pub(crate) idle: Idle,
    pub(crate) margin: f64,
    pub(crate) confidence: f64,
    pub(crate) warmup: Stop,
    pub(crate) stack_needs: BTreeMap<String, StackNeeds>,
    pub(crate) slice_us: u64,
    pub(crate) limits: Limits,
    pub(crate) variants: Vec<(Variant, Rounds)>,
    pub(crate) pairs: Vec<Pair>,
    pub(crate) claims: Vec<Claim>,
    pub(crate) objectives: Vec<Objective>,
    pub(crate) capacity: Option<Capacity>,
    pub(crate) control: Control,
}

/// The variants that are measured a second time under another name (A/A), one in each group, as a
/// control against differences that are not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Control {
    /// The one that a group's first headline pair is against, or else its first pair. A group in which
    /// nothing is compared has none; where there are no pairs at all it is the first variant.
    Headline,
    /// The one of this name in its group, and the others as by [`Control::Headline`].
    Variant(String),
    /// None: nothing is compared.
    Absent,
}

/// Why a draft is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DraftError {
    /// It has no variants, or no trials of them.
    #[error("there is nothing to measure; a plan needs a variant, an invocation and a block")]
    Empty,
    /// A variant has the name that the A/A pair needs.
    #[error("the name \"{0}\" is taken by the A/A pair; give this variant another one")]
    Taken(String),
}

/// What the second name of the variant that is measured twice ends with.
const AGAIN: &str = "again";

/// Whether a variant is measured for the sake of others' calls alone: a codec that is compared with nothing.
pub(crate) fn is_part(variant: &Variant, pairs: &[Pair], claims: &[Claim]) -> bool {
    let pairs = pairs.iter().flat_map(|pair| [&pair.of, &pair.against]);
    let claims = claims.iter().flat_map(|claim| [&claim.of, &claim.against]);
    let is_compared = pairs.chain(claims).any(|name| *name == variant.name);
    variant.settings.target.codec().is_some() && !is_compared
}

impl Draft {
    /// Whether a variant's name contains one of `words`, where there are any.
    pub(crate) fn keeps(words: &[String], name: &str) -> bool {
        words.is_empty() || words.iter().any(|word| name.contains(word.as_str()))
    }

    /// Keeps the variants whose name contains one of `words`, and the pairs and claims that still
    /// have both of theirs.
    pub(crate) fn only(mut self, words: &[String]) -> Result<Self, String> {
        if words.is_empty() {
            return Ok(self);
        }
        let names = || {
            self.variants
                .iter()
                .map(|(variant, _)| variant.name.as_str())
        };
        for word in words {
            if !names().any(|name| name.contains(word.as_str())) {
                let hint = Nearest::or_known(word, names());
                let place = if hint.is_empty() {
                    "; rpcgauge plan lists them"
                } else {
                    ""
                };
                return Err(format!(
                    "--only: no variant's name contains \"{word}\"{hint}{place}"
                ));
            }
        }
        self.variants
            .retain(|(variant, _)| Self::keeps(words, &variant.name));
        let has = |name: &String| {
            self.variants
                .iter()
                .any(|(variant, _)| variant.name == *name)
        };
        self.pairs
            .retain(|pair| has(&pair.of) && has(&pair.against));
        self.claims
            .retain(|claim| has(&claim.of) && has(&claim.against));
        if matches!(&self.control, Control::Variant(name) if !has(name)) {
            self.control = Control::Headline;
        }
        Ok(self)
    }

    /// Whether it has a variant of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.variants
            .iter()
            .any(|(variant, _)| variant.name == name)
    }

    /// The trials that this will become, without making them; `u64::MAX` for more.
    pub(crate) fn trial_count(&self) -> u64 {
        let groups = 1 + self.checks.placements.len() as u64;
        // An upper bound: not every variant is checked under the other placements.
        self.variants
            .iter()
            .map(|(_, rounds)| rounds.trials().saturating_mul(groups))
            .fold(0, u64::saturating_add)
    }

    /// The same with other repetitions: half of them, with one block, under the placements that check the
    /// headline pairs, which is enough to see a verdict flip. A part of other variants' calls is repeated
    /// at most `parts` times.
    pub(crate) fn repeated(mut self, rounds: Rounds, parts: Rounds) -> Self {
        for (variant, own) in &mut self.variants {
            *own = match is_part(variant, &self.pairs, &self.claims) {
                true => rounds.at_most(parts),
                false => rounds,
            };
        }
        self.checks.rounds = Rounds {
            invocations: rounds.invocations.div_ceil(2).max(4),
            blocks: 1,
        };
        self
    }

    /// Adds the A/A pair where there is to be one, and orders the trials.
    ///
    /// # Errors
    ///
    /// When there is no variant or no trial, or the second name of the A/A pair is taken.
    pub(crate) fn finish(mut self) -> Result<Plan, DraftError> {
        if !self.pairs.iter().any(|pair| pair.headline)
            && let Some(first) = self.pairs.first_mut()
        {
            first.headline = true;
        }
        self.number_twins();
        self.add_a_a()?;
        let groups = self.groups();
        let trials = trials(self.seed, &groups);
        if trials.is_empty() {
            return Err(DraftError::Empty);
        }
        let most = |count: fn(&Rounds) -> u32| {
            self.variants
                .iter()
                .map(|(_, rounds)| count(rounds))
                .max()
                .unwrap_or(0)
        };
        Ok(Plan {
            invocations: most(|rounds| rounds.invocations),
            blocks: most(|rounds| rounds.blocks),
            placements: groups.iter().map(|group| group.placement).collect(),
            trials,
            name: self.name,
            question: self.question,
            seed: self.seed,
            variants: self
                .variants
                .into_iter()
                .map(|(variant, _)| variant)
                .collect(),
            pairs: self.pairs,
            claims: self.claims,
            codecs: BTreeMap::new(),
            objectives: self.objectives,
            capacity: self.capacity,
            idle: self.idle,
            margin: self.margin,
            confidence: self.confidence,
            warmup: self.warmup,
            stack_needs: self.stack_needs,
            slice_us: self.slice_us,
            limits: self.limits,
        })
    }

    /// Pairs that would have the same name get a number: the same two variants may be asked about
    /// twice in different words.
    fn number_twins(&mut self) {
        for place in 1..self.pairs.len() {
            let plain = self.pairs[place].name.clone();
            let mut number = 2;
            while self.pairs[..place]
                .iter()
                .any(|pair| pair.name == self.pairs[place].name)
            {
                self.pairs[place].name = format!("{plain}-{number}");
                number += 1;
            }
        }
    }

    fn add_a_a(&mut self) -> Result<(), DraftError> {
        if self.variants.is_empty() {
            return Err(DraftError::Empty);
        }
        for name in self.controlled() {
            self.add_a_a_of(&name)?;
        }
        Ok(())
    }

    /// The variants that are measured twice.
    fn controlled(&self) -> Vec<String> {
        let chosen = match &self.control {
            Control::Absent => return Vec::new(),
            Control::Variant(name) => Some(name.as_str()),
            Control::Headline => None,
        };
        let mut groups: Vec<Option<&str>> = Vec::new();
        for (variant, _) in &self.variants {
            if !groups.contains(&variant.group.as_deref()) {
                groups.push(variant.group.as_deref());
            }
        }
        let of_group = groups.into_iter().filter_map(|group| {
            let is_here = |name: &str| self.group_of(name) == Some(group);
            let mut pairs = self.pairs.iter().filter(|pair| is_here(&pair.of));
            let headline = self.pairs.iter().find(|p| p.headline && is_here(&p.of));
            let of_pairs = headline.or(pairs.next()).map(|pair| {
                // A variant that is compared with one of another group has a control of its own.
                match is_here(&pair.against) {
                    true => pair.against.as_str(),
                    false => pair.of.as_str(),
                }
            });
            chosen.filter(|name| is_here(name)).or(of_pairs)
        });
        let names: Vec<String> = of_group.map(str::to_owned).collect();
        match (names.is_empty(), self.variants.first()) {
            (true, Some((first, _))) => vec![first.name.clone()],
            _ => names,
        }
    }

    /// The group of the variant of this name.
    fn group_of(&self, name: &str) -> Option<Option<&str>> {
        let variant = self
            .variants
            .iter()
            .find(|(variant, _)| variant.name == name);
        variant.map(|(variant, _)| variant.group.as_deref())
    }

    fn add_a_a_of(&mut self, name: &str) -> Result<(), DraftError> {
        let found = self
            .variants
            .iter()
            .find(|(variant, _)| variant.name == name);
        let (variant, rounds) = found.cloned().ok_or(DraftError::Empty)?;
        let again = format!("{name}-{AGAIN}");
        if self.has(&again) {
            return Err(DraftError::Taken(again));
        }
        // Verdicts under the other placements need their own A/A pair.
        let headline = self
            .pairs
            .iter()
            .any(|pair| pair.headline && self.group_of(&pair.of) == Some(variant.group.as_deref()));
        self.pairs.push(Pair {
            name: format!("{name}-a-a"),
            question: format!("Is {name} as fast as itself?"),
            of: again.clone(),
            against: name.to_owned(),
            metric: Metric::LatencyP50,
            headline: headline || self.pairs.is_empty(),
            a_a: true,
        });
        let twin = Variant {
            name: again,
            repeats: Some(variant.name.clone()),
            ..variant
        };
        self.variants.push((twin, rounds));
        Ok(())
    }

    fn groups(&self) -> Vec<PlacementGroup> {
        let headline = |name: &str| {
            self.pairs
                .iter()
                .any(|pair| pair.headline && (pair.of == name || pair.against == name))
        };
        let variants: Vec<&Variant> = self.variants.iter().map(|(variant, _)| variant).collect();
        let claimed = self
            .claims
            .iter()
            .map(|claim| (claim.of.as_str(), claim.against.as_str()));
        let rotations = rotations(&variants, self.pairs.iter().map(names).chain(claimed));
        let indexed = || {
            let rounds = self.variants.iter().map(|(_, rounds)| *rounds);
            (0_u32..)
                .zip(rounds)
                .zip(&rotations)
                .map(|((index, rounds), rotation)| GroupMember {
                    index,
                    rounds,
                    rotation: *rotation,
                })
        };
        let name = |one: &GroupMember| &variants[one.index as usize].name;
        let main = PlacementGroup {
            placement: self.main,
            variants: indexed().collect(),
        };
        let others = self
            .checks
            .placements
            .iter()
            .map(|placement| PlacementGroup {
                placement: *placement,
                variants: indexed()
                    .filter(|one| headline(name(one)))
                    .map(|one| GroupMember {
                        rounds: one.rounds.at_most(self.checks.rounds),
                        ..one
                    })
                    .collect(),
            });
        std::iter::once(main).chain(others).collect()
    }
}
