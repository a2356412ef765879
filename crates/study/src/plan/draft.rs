//! A plan under construction: turns variants and pairs into ordered trials.
//!
//! It adds the A/A pair, the other placements and the seeded order.

use std::collections::{BTreeMap, BTreeSet};

use super::order::{GroupMember, PlacementGroup, Rounds, trials};
use super::slices::{compared, rotations};
use super::{Claim, Metric, Pair, Plan, Variant};
use crate::settings::{Placement, Target};
use crate::words::Named as _;

/// A plan whose trials have not been generated yet.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    /// What is known before the trials are generated. Its variants, trials, invocations and blocks are still empty.
    pub(crate) plan: Plan,
    pub(crate) variants: Vec<(Variant, Rounds)>,
    /// How often headline pairs are checked under every placement except the first.
    pub(crate) check_rounds: Rounds,
    pub(crate) control: Control,
    /// The groups whose A/A variant is measured a third time, in processes of its own. They have variants that share
    /// processes and comparisons that do not, and each kind needs its own control.
    pub(crate) own_controls: BTreeSet<Option<String>>,
}

/// Which variants are measured a second time under another name (A/A), one per group, as a control for apparent
/// differences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Control {
    /// The variant that a group's first headline pair, or else its first pair, compares with. A group without pairs
    /// has none; if there are no pairs at all, it is the first variant.
    Headline,
    /// The variant with this name in its own group; in other groups, the same as [`Control::Headline`].
    Variant(String),
    /// None, because nothing is compared.
    Absent,
}

/// Why a draft cannot become a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DraftError {
    /// It has no variants, or no trials.
    #[error("there is nothing to measure; a plan needs a variant, an invocation and a block")]
    Empty,
    /// A variant has the name that the A/A copy needs.
    #[error("the name \"{0}\" is taken by the A/A pair; rename this variant")]
    Taken(String),
    /// A pair or claim is about stages of a unary call that another one compares with streams.
    #[error(
        "{} does not exist for \"{variant}\", which is also compared with streams and so timed as they are; \
         compare the two in different studies, or use another metric", metric.as_str()
    )]
    NoStages {
        /// The name of the variant.
        variant: String,
        /// The metric.
        metric: Metric,
    },
}

impl DraftError {
    /// The variant that it is about, if it is about one.
    pub(crate) fn variant(&self) -> Option<&str> {
        match self {
            Self::Empty => None,
            Self::Taken(variant) | Self::NoStages { variant, .. } => Some(variant),
        }
    }
}

/// The suffix of the name of a variant's second copy.
const AGAIN: &str = "again";
/// The suffix of the name of a third copy, which runs in its own processes while the others share theirs.
const AGAIN_OWN: &str = "again-own";
/// Why the third copy shares no process.
const OWN_CONTROL: &str = "it is the control of comparisons between processes";

/// A variant that is measured a second time.
struct Controlled {
    /// Its index in [`Draft::variants`].
    place: usize,
    /// Whether it is also measured under the other placements, whose verdicts need their own A/A pair.
    headline: bool,
}

/// The names of variants that pairs and claims compare.
pub(crate) struct Compared<'p>(BTreeSet<&'p str>);

impl<'p> Compared<'p> {
    pub(crate) fn of(pairs: &'p [Pair], claims: &'p [Claim]) -> Self {
        Self(
            compared(pairs, claims)
                .flat_map(<[&str; 2]>::from)
                .collect(),
        )
    }

    /// Whether a variant is measured only as part of other variants' calls: a codec that is not compared
    /// with anything.
    pub(crate) fn is_part(&self, variant: &Variant) -> bool {
        let is_codec = matches!(variant.settings.target, Target::Codec(_));
        is_codec && !self.0.contains(&*variant.name)
    }
}

impl Draft {
    /// Keeps only the variants with these names, and the pairs and claims whose variants are both kept.
    pub(crate) fn only(mut self, names: &BTreeSet<String>) -> Self {
        self.variants
            .retain(|(variant, _)| names.contains(&variant.name));
        let has = |name: &str| names.contains(name);
        let Plan { pairs, claims, .. } = &mut self.plan;
        pairs.retain(|pair| has(&pair.of) && has(&pair.against));
        claims.retain(|claim| has(&claim.of) && has(&claim.against));
        if matches!(&self.control, Control::Variant(name) if !has(name)) {
            self.control = Control::Headline;
        }
        self
    }

    /// The names of its variants.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let variants = self.variants.iter();
        variants.map(|(variant, _)| variant.name.clone()).collect()
    }

    /// An upper bound of the number of trials, without generating them; saturates at `u64::MAX`.
    pub(crate) fn trial_count(&self) -> u64 {
        // Not every variant is checked under the other placements.
        let placements = self.plan.placements.len() as u64;
        let variants = self.variants.iter();
        let trials = variants.map(|(_, rounds)| rounds.trials().saturating_mul(placements));
        trials.fold(0, u64::saturating_add)
    }

    /// Returns the draft with different repetitions. The placements that check the headline pairs get half of the
    /// invocations, at least 4, with one block each: enough to notice that a verdict flips. A variant that only
    /// measures part of other variants' calls is repeated at most `parts` times.
    pub(crate) fn repeated(mut self, rounds: Rounds, parts: Rounds) -> Self {
        let compared = Compared::of(&self.plan.pairs, &self.plan.claims);
        for (variant, own) in &mut self.variants {
            *own = if compared.is_part(variant) {
                rounds.at_most(parts)
            } else {
                rounds
            };
        }
        self.check_rounds = Rounds {
            invocations: rounds.invocations.div_ceil(2).max(4),
            blocks: 1,
        };
        self
    }

    /// Adds the A/A pairs, unless [`Control::Absent`], and orders the trials.
    pub(crate) fn finish(mut self) -> Result<Plan, DraftError> {
        let pairs = &mut self.plan.pairs;
        if !pairs.iter().any(|pair| pair.headline)
            && let Some(first) = pairs.first_mut()
        {
            first.headline = true;
        }
        self.number_twins();
        self.mark_beside_streams();
        self.check_stages()?;
        if self.variants.is_empty() {
            return Err(DraftError::Empty);
        }
        self.add_controls()?;
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

    /// Marks the unary calls that are compared with streams, directly or by way of other unary calls.
    fn mark_beside_streams(&mut self) {
        let Plan { pairs, claims, .. } = &self.plan;
        let call = |variant: &Variant| match &variant.settings.target {
            Target::Call(call) => call.is_beside_or_stream(),
            Target::Codec(_) | Target::Live(_) => false,
        };
        let streams = self.variants.iter().filter(|(variant, _)| call(variant));
        let mut beside: BTreeSet<String> =
            streams.map(|(variant, _)| variant.name.clone()).collect();
        let mut before = 0;
        while beside.len() > before {
            before = beside.len();
            for names in compared(pairs, claims) {
                let names = <[&str; 2]>::from(names);
                if names.iter().any(|name| beside.contains(*name)) {
                    beside.extend(names.map(str::to_owned));
                }
            }
        }
        for (variant, _) in &mut self.variants {
            if let Target::Call(call) = &mut variant.settings.target {
                call.beside_streams = call.stream.is_none() && beside.contains(&variant.name);
            }
        }
    }

    /// Refuses metrics of stages for the calls that are not timed in stages because of another comparison.
    fn check_stages(&self) -> Result<(), DraftError> {
        let Plan { pairs, claims, .. } = &self.plan;
        let pairs = pairs
            .iter()
            .map(|pair| (pair.metric, [&pair.of, &pair.against]));
        let claims = claims
            .iter()
            .map(|claim| (claim.metric, [&claim.of, &claim.against]));
        let stages = pairs
            .chain(claims)
            .filter(|(metric, _)| metric.needs_stages());
        for (metric, names) in stages {
            let beside = self.variants.iter().find(|(variant, _)| {
                let call =
                    matches!(&variant.settings.target, Target::Call(call) if call.beside_streams);
                call && names.contains(&&variant.name)
            });
            if let Some((variant, _)) = beside {
                let variant = variant.name.clone();
                return Err(DraftError::NoStages { variant, metric });
            }
        }
        Ok(())
    }

    /// Numbers pairs that would otherwise have the same name: two questions may be about the same two variants.
    fn number_twins(&mut self) {
        let mut taken = BTreeSet::new();
        // The next number to try for each name.
        let mut next: BTreeMap<String, u32> = BTreeMap::new();
        for pair in &mut self.plan.pairs {
            let plain = pair.name.clone();
            while !taken.insert(pair.name.clone()) {
                let number = next.entry(plain.clone()).or_insert(2);
                pair.name = format!("{plain}-{number}");
                *number += 1;
            }
        }
    }

    /// The variants that are measured twice.
    fn controlled(&self) -> Vec<Controlled> {
        let chosen = match &self.control {
            Control::Absent => return Vec::new(),
            Control::Variant(name) => Some(name.as_str()),
            Control::Headline => None,
        };
        let names = self.variants.iter().map(|(variant, _)| &*variant.name);
        let places: BTreeMap<&str, usize> = names.zip(0..).collect();
        let group = |place: usize| self.variants[place].0.group.as_deref();
        // In each group, its first headline pair, or else its first pair.
        let mut leading: BTreeMap<Option<&str>, &Pair> = BTreeMap::new();
        for pair in &self.plan.pairs {
            if let Some(place) = places.get(&*pair.of) {
                let known = leading.entry(group(*place)).or_insert(pair);
                if pair.headline && !known.headline {
                    *known = pair;
                }
            }
        }
        let mut seen = BTreeSet::new();
        let groups = (0..self.variants.len()).map(group);
        let groups = groups.filter(|group| seen.insert(*group));
        let of_group = groups.filter_map(|here| {
            let place = |name: &str| places.get(name).copied();
            let is_here = |place: &usize| group(*place) == here;
            let pair = leading.get(&here);
            let of_pair = pair.and_then(|pair| {
                // If the pair compares with a variant of another group, this group's own variant is repeated.
                let against = place(&pair.against).filter(is_here);
                against.or_else(|| place(&pair.of))
            });
            let chosen = chosen.and_then(place).filter(is_here);
            Some(Controlled {
                place: chosen.or(of_pair)?,
                headline: pair.is_some_and(|pair| pair.headline),
            })
        });
        let mut controlled: Vec<Controlled> = of_group.collect();
        if controlled.is_empty() {
            controlled.push(Controlled {
                place: 0,
                headline: false,
            });
        }
        controlled
    }

    /// Adds the second copy of each variant that is measured twice, and the pair that compares the two.
    fn add_controls(&mut self) -> Result<(), DraftError> {
        let mut names = self.names();
        for controlled in self.controlled() {
            self.add_control(&controlled, AGAIN, &mut names)?;
            let group = &self.variants[controlled.place].0.group;
            if self.own_controls.contains(group) {
                let own = self.add_control(&controlled, AGAIN_OWN, &mut names)?;
                let own_processes = &mut self.plan.own_processes;
                own_processes.insert(own, OWN_CONTROL.to_owned());
            }
        }
        Ok(())
    }

    /// Adds a copy of a variant and the pair that compares it with the original. Returns the copy's name.
    fn add_control(
        &mut self,
        controlled: &Controlled,
        suffix: &str,
        names: &mut BTreeSet<String>,
    ) -> Result<String, DraftError> {
        let (variant, rounds) = self.variants[controlled.place].clone();
        let name = variant.name.clone();
        let again = format!("{name}-{suffix}");
        if !names.insert(again.clone()) {
            return Err(DraftError::Taken(again));
        }
        let pair = match suffix {
            AGAIN => format!("{name}-a-a"),
            _ => format!("{name}-a-a-own"),
        };
        self.plan.pairs.push(Pair {
            name: pair,
            question: format!("Is {name} as fast as itself?"),
            of: again.clone(),
            against: name.clone(),
            metric: Metric::LatencyP50,
            headline: controlled.headline || self.plan.pairs.is_empty(),
            a_a: true,
        });
        let copy = Variant {
            name: again.clone(),
            repeats: Some(name),
            ..variant
        };
        self.variants.push((copy, rounds));
        Ok(again)
    }

    /// The variants that run under each placement: all of them under the study's own, which is the first,
    /// and the variants of headline pairs under the others.
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
        let headline = pairs.iter().filter(|pair| pair.headline);
        let headline: BTreeSet<&str> = headline.flat_map(|p| [&*p.of, &*p.against]).collect();
        let is_checked =
            |one: &&GroupMember| headline.contains(&*variants[one.index as usize].name);
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
