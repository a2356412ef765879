//! A plan in the making: from variants and pairs to trials in their order.
//!
//! It adds the A/A pair, the other placements and the seeded order.

use rpcgauge_message::nearest::Nearest;

use super::order::{GroupMember, PlacementGroup, Rounds, trials};
use super::slices::{compared, rotations};
use super::{Claim, Metric, Pair, Plan, Variant};
use crate::settings::Placement;

/// A plan whose trials are still to be made.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    /// What is known before the trials are made; its variants, trials, invocations and blocks are still empty.
    pub(crate) plan: Plan,
    pub(crate) variants: Vec<(Variant, Rounds)>,
    /// How often headline pairs are checked under the plan's placements but the first.
    pub(crate) check_rounds: Rounds,
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
    let mut compared = compared(pairs, claims).flat_map(<[&str; 2]>::from);
    variant.settings.target.codec().is_some() && !compared.any(|name| name == variant.name)
}

/// The variant of a name, with its repetitions.
fn find<'v>(variants: &'v [(Variant, Rounds)], name: &str) -> Option<&'v (Variant, Rounds)> {
    variants.iter().find(|(variant, _)| variant.name == name)
}

impl Draft {
    /// Whether a variant's name contains one of `words`, where there are any.
    pub(crate) fn keeps(words: &[String], name: &str) -> bool {
        words.is_empty() || words.iter().any(|word| name.contains(word.as_str()))
    }

    /// Keeps the variants whose name contains one of `words`, and the pairs and claims that still
    /// have both of theirs.
    pub(crate) fn only(mut self, words: &[String]) -> Result<Self, String> {
        let names = || self.variants.iter().map(|(variant, _)| &*variant.name);
        for word in words {
            if !names().any(|name| name.contains(word.as_str())) {
                let hint = Nearest::or_known(word, names());
                let place = match hint.is_empty() {
                    true => "; rpcgauge plan lists them",
                    false => "",
                };
                return Err(format!(
                    "--only: no variant's name contains \"{word}\"{hint}{place}"
                ));
            }
        }
        let is_kept = |(variant, _): &(Variant, _)| Self::keeps(words, &variant.name);
        self.variants.retain(is_kept);
        let has = |name: &str| find(&self.variants, name).is_some();
        let Plan { pairs, claims, .. } = &mut self.plan;
        pairs.retain(|pair| has(&pair.of) && has(&pair.against));
        claims.retain(|claim| has(&claim.of) && has(&claim.against));
        if matches!(&self.control, Control::Variant(name) if !has(name)) {
            self.control = Control::Headline;
        }
        Ok(self)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        find(&self.variants, name).is_some()
    }

    /// The trials that this will become, without making them; `u64::MAX` for more.
    pub(crate) fn trial_count(&self) -> u64 {
        // An upper bound: not every variant is checked under the other placements.
        let placements = self.plan.placements.len() as u64;
        let variants = self.variants.iter();
        let trials = variants.map(|(_, rounds)| rounds.trials().saturating_mul(placements));
        trials.fold(0, u64::saturating_add)
    }

    /// The same with other repetitions: half of them, with one block, under the placements that check the
    /// headline pairs, which is enough to see a verdict flip. A part of other variants' calls is repeated
    /// at most `parts` times.
    pub(crate) fn repeated(mut self, rounds: Rounds, parts: Rounds) -> Self {
        for (variant, own) in &mut self.variants {
            *own = match is_part(variant, &self.plan.pairs, &self.plan.claims) {
                true => rounds.at_most(parts),
                false => rounds,
            };
        }
        self.check_rounds = Rounds {
            invocations: rounds.invocations.div_ceil(2).max(4),
            blocks: 1,
        };
        self
    }

    /// Adds the A/A pair where there is to be one, and orders the trials.
    pub(crate) fn finish(mut self) -> Result<Plan, DraftError> {
        let pairs = &mut self.plan.pairs;
        if !pairs.iter().any(|pair| pair.headline)
            && let Some(first) = pairs.first_mut()
        {
            first.headline = true;
        }
        self.number_twins();
        if self.variants.is_empty() {
            return Err(DraftError::Empty);
        }
        for name in self.controlled() {
            self.add_a_a(&name)?;
        }
        let trials = trials(self.plan.seed, &self.groups());
        if trials.is_empty() {
            return Err(DraftError::Empty);
        }
        let rounds = || self.variants.iter().map(|(_, rounds)| rounds);
        let invocations = rounds().map(|rounds| rounds.invocations).max();
        let blocks = rounds().map(|rounds| rounds.blocks).max();
        Ok(Plan {
            invocations: invocations.unwrap_or(0),
            blocks: blocks.unwrap_or(0),
            variants: self.variants.into_iter().map(|(one, _)| one).collect(),
            trials,
            ..self.plan
        })
    }

    /// Pairs that would have the same name get a number: the same two variants may be asked about
    /// twice in different words.
    fn number_twins(&mut self) {
        let pairs = &mut self.plan.pairs;
        for place in 1..pairs.len() {
            let plain = pairs[place].name.clone();
            let mut number = 2;
            while pairs[..place].iter().any(|p| p.name == pairs[place].name) {
                pairs[place].name = format!("{plain}-{number}");
                number += 1;
            }
        }
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
            let pairs = || self.plan.pairs.iter().filter(|pair| is_here(&pair.of));
            let pair = pairs().find(|pair| pair.headline).or(pairs().next());
            let of_pair = pair.map(|pair| {
                // A variant that is compared with one of another group has a control of its own.
                match is_here(&pair.against) {
                    true => pair.against.as_str(),
                    false => pair.of.as_str(),
                }
            });
            chosen.filter(|name| is_here(name)).or(of_pair)
        });
        let names: Vec<String> = of_group.map(str::to_owned).collect();
        match (names.is_empty(), self.variants.first()) {
            (true, Some((first, _))) => vec![first.name.clone()],
            _ => names,
        }
    }

    fn group_of(&self, name: &str) -> Option<Option<&str>> {
        let (variant, _) = find(&self.variants, name)?;
        Some(variant.group.as_deref())
    }

    /// Adds a second name of a variant, and the pair of the two.
    fn add_a_a(&mut self, name: &str) -> Result<(), DraftError> {
        let found = find(&self.variants, name).cloned();
        let (variant, rounds) = found.ok_or(DraftError::Empty)?;
        let again = format!("{name}-{AGAIN}");
        if self.has(&again) {
            return Err(DraftError::Taken(again));
        }
        // Verdicts under the other placements need their own A/A pair.
        let is_here = |pair: &Pair| self.group_of(&pair.of) == Some(variant.group.as_deref());
        let mut pairs = self.plan.pairs.iter();
        let headline = pairs.any(|pair| pair.headline && is_here(pair));
        self.plan.pairs.push(Pair {
            name: format!("{name}-a-a"),
            question: format!("Is {name} as fast as itself?"),
            of: again.clone(),
            against: name.to_owned(),
            metric: Metric::LatencyP50,
            headline: headline || self.plan.pairs.is_empty(),
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

    /// Which variants run under each placement: all under the study's own, which is the first, and those
    /// of headline pairs under the others.
    fn groups(&self) -> Vec<PlacementGroup> {
        let Plan { pairs, claims, .. } = &self.plan;
        let variants: Vec<&Variant> = self.variants.iter().map(|(variant, _)| variant).collect();
        let rotations = rotations(&variants, compared(pairs, claims));
        let members = (0_u32..).zip(&self.variants).zip(&rotations);
        let members = members.map(|((index, (_, rounds)), rotation)| GroupMember {
            index,
            rounds: *rounds,
            rotation: *rotation,
        });
        let all: Vec<GroupMember> = members.collect();
        let is_checked = |one: &&GroupMember| {
            let name = &variants[one.index as usize].name;
            let mut pairs = pairs.iter().filter(|pair| pair.headline);
            pairs.any(|pair| pair.of == *name || pair.against == *name)
        };
        let checked = all.iter().filter(is_checked).map(|one| GroupMember {
            rounds: one.rounds.at_most(self.check_rounds),
            ..*one
        });
        let checked: Vec<GroupMember> = checked.collect();
        let placements = self.plan.placements.iter().enumerate();
        let group = |(number, placement): (usize, &Placement)| PlacementGroup {
            placement: *placement,
            variants: match number {
                0 => all.clone(),
                _ => checked.clone(),
            },
        };
        placements.map(group).collect()
    }
}
