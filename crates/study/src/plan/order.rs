//! The order of trials: random, but seeded so that it is the same on every machine.

use std::collections::BTreeMap;

use rpcgauge_trial::Random;

use super::TrialSpec;
use crate::settings::Placement;

/// How often something is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rounds {
    /// The number of invocations.
    pub(crate) invocations: u32,
    /// The number of blocks in each.
    pub(crate) blocks: u32,
}

impl Rounds {
    pub(crate) fn at_most(self, other: Self) -> Self {
        Self {
            invocations: self.invocations.min(other.invocations),
            blocks: self.blocks.min(other.blocks),
        }
    }

    pub(super) fn trials(self) -> u64 {
        u64::from(self.invocations) * u64::from(self.blocks)
    }
}

/// A variant under a placement.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupMember {
    /// Its index in the plan.
    pub(super) index: u32,
    pub(super) rounds: Rounds,
    /// The rotation that it belongs to.
    pub(super) rotation: u32,
}

/// The variants that run under a placement, and how often.
pub(super) struct PlacementGroup {
    pub(super) placement: Placement,
    pub(super) variants: Vec<GroupMember>,
}

/// The trials of all groups. In each block of each invocation, the groups are in random order, and so are the
/// rotations of each group and the variants of each rotation.
pub(super) fn trials(seed: u64, groups: &[PlacementGroup]) -> Vec<TrialSpec> {
    let rounds = || {
        groups
            .iter()
            .flat_map(|group| &group.variants)
            .map(|one| one.rounds)
    };
    let invocations = rounds().map(|rounds| rounds.invocations).max();
    let blocks = rounds().map(|rounds| rounds.blocks).max();
    let mut random = Random::new(seed);
    let mut trials = Vec::new();
    for invocation in 0..invocations.unwrap_or(0) {
        for block in 0..blocks.unwrap_or(0) {
            let mut order: Vec<&PlacementGroup> = groups.iter().collect();
            random.shuffle(&mut order);
            for group in order {
                let mut rotations: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
                let takes_part = |one: &&GroupMember| {
                    invocation < one.rounds.invocations && block < one.rounds.blocks
                };
                for variant in group.variants.iter().filter(takes_part) {
                    let rotation = rotations.entry(variant.rotation).or_default();
                    rotation.push(variant.index);
                }
                let mut rotations: Vec<(u32, Vec<u32>)> = rotations.into_iter().collect();
                random.shuffle(&mut rotations);
                for (rotation, mut variants) in rotations {
                    random.shuffle(&mut variants);
                    for variant in variants {
                        trials.push(TrialSpec {
                            index: trials.len() as u32,
                            invocation,
                            block,
                            variant,
                            placement: group.placement,
                            rotation,
                        });
                    }
                }
            }
        }
    }
    trials
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn alone(index: u32, rounds: Rounds) -> GroupMember {
        GroupMember {
            index,
            rounds,
            rotation: index,
        }
    }

    #[test]
    fn a_rotation_stays_together() {
        let rounds = Rounds {
            invocations: 3,
            blocks: 2,
        };
        let variants = (0..9).map(|index| GroupMember {
            rotation: index % 3,
            ..alone(index, rounds)
        });
        let group = PlacementGroup {
            placement: Placement::Free,
            variants: variants.collect(),
        };
        let trials = trials(5, &[group]);
        for together in trials.chunks(3) {
            let rotation = together[0].rotation;
            assert!(together.iter().all(|trial| trial.rotation == rotation));
            assert!(together.iter().all(|trial| trial.variant % 3 == rotation));
        }
    }

    proptest! {
        #[test]
        fn every_block_holds_every_variant_once(
            seed: u64, variants in 1_u32..12, invocations in 1_u32..5, blocks in 1_u32..4,
        ) {
            let rounds = Rounds { invocations, blocks };
            let all = (0..variants).map(|index| alone(index, rounds)).collect();
            let group = PlacementGroup { placement: Placement::Free, variants: all };
            let trials = trials(seed, &[group]);
            prop_assert_eq!(trials.len() as u32, variants * invocations * blocks);
            let distinct: BTreeSet<_> =
                trials.iter().map(|t| (t.invocation, t.block, t.variant)).collect();
            prop_assert_eq!(distinct.len(), trials.len());
            for (place, trial) in trials.iter().enumerate() {
                prop_assert_eq!(trial.index as usize, place);
            }
            prop_assert!(trials.is_sorted_by_key(|t| (t.invocation, t.block)));
        }
    }

    #[test]
    fn blocks_are_in_different_orders() {
        let rounds = Rounds {
            invocations: 4,
            blocks: 4,
        };
        let variants = (0..8).map(|index| alone(index, rounds)).collect();
        let trials = trials(
            1,
            &[PlacementGroup {
                placement: Placement::Free,
                variants,
            }],
        );
        let orders: BTreeSet<Vec<u32>> = trials
            .chunks(8)
            .map(|block| block.iter().map(|t| t.variant).collect())
            .collect();
        assert!(orders.len() > 12, "{orders:?}");
    }

    #[test]
    fn a_variant_with_fewer_rounds_runs_in_the_first() {
        let often = Rounds {
            invocations: 3,
            blocks: 2,
        };
        let once = Rounds {
            invocations: 1,
            blocks: 1,
        };
        let group = PlacementGroup {
            placement: Placement::Free,
            variants: vec![alone(0, often), alone(1, once)],
        };
        let trials = trials(7, &[group]);
        let of_once: Vec<_> = trials.iter().filter(|t| t.variant == 1).collect();
        assert_eq!(of_once.len(), 1);
        assert_eq!((of_once[0].invocation, of_once[0].block), (0, 0));
    }
}
