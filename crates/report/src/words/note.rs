//! What a reader must know beside some verdicts, each thing once.

use std::collections::{BTreeMap, BTreeSet};

use rpcgauge_study::settings::Placement;

use super::capital;
use crate::findings::verdict::{Comparison, Note};
use crate::units;

/// Trials with something amiss, of how many.
#[derive(Default, Clone, Copy)]
struct Share {
    trials: u64,
    of: u64,
}

/// The notes of some comparisons under all placements as one sentence; none where there are none.
///
/// A variant's trials under several placements are counted together. Drifting trials are told of
/// only where they are most of those the comparisons rest on: the tables mark every variant that
/// has some.
pub(crate) fn notes<'a>(comparisons: impl IntoIterator<Item = &'a Comparison>) -> Option<String> {
    let mut seen = BTreeSet::new();
    let mut plain: Vec<String> = Vec::new();
    let mut drifting: BTreeMap<(&str, Placement), Share> = BTreeMap::new();
    let mut bound: BTreeMap<(&str, Placement), Share> = BTreeMap::new();
    let mut rests_on: BTreeMap<(&str, Placement), u64> = BTreeMap::new();
    for comparison in comparisons {
        for verdict in &comparison.placements {
            let place = verdict.placement;
            for name in [&comparison.of, &comparison.against] {
                let blocks = verdict.blocks.planned - verdict.blocks.missing;
                rests_on.entry((name, place)).or_insert(blocks);
            }
            for note in &verdict.notes {
                match note {
                    Note::Unsettled {
                        variant,
                        trials,
                        of,
                    } => {
                        let share = Share {
                            trials: *trials,
                            of: *of,
                        };
                        rests_on.insert((variant, place), *of);
                        drifting.insert((variant, place), share);
                    }
                    Note::ClientBound {
                        variant,
                        trials,
                        of,
                    } => {
                        let share = Share {
                            trials: *trials,
                            of: *of,
                        };
                        bound.insert((variant, place), share);
                    }
                    other => plain.extend(clause(other).filter(|text| seen.insert(text.clone()))),
                }
            }
        }
    }
    for (variant, share) in by_variant(&bound) {
        let Share { trials, of } = share;
        plain.push(format!(
            "client-bound in {trials} of {of} trials: {variant}"
        ));
    }
    let drifted: u64 = drifting.values().map(|share| share.trials).sum();
    let measured: u64 = rests_on.values().sum();
    if drifted * 2 > measured {
        plain.push(format!(
            "latency was still drifting when measuring began in {drifted} of {measured} trials"
        ));
    }
    (!plain.is_empty()).then(|| capital(&plain.join("; ")) + ".")
}

/// Each variant's trials, those of all placements together.
fn by_variant<'a>(shares: &BTreeMap<(&'a str, Placement), Share>) -> BTreeMap<&'a str, Share> {
    let mut sums: BTreeMap<&str, Share> = BTreeMap::new();
    for ((variant, _), share) in shares {
        let sum = sums.entry(variant).or_default();
        sum.trials += share.trials;
        sum.of += share.of;
    }
    sums
}

/// A note that stands alone; none where it is counted with others.
fn clause(note: &Note) -> Option<String> {
    match note {
        Note::Unguarded => Some("no A/A pair guards this".to_owned()),
        Note::FailedCalls { variant, share } => Some(format!(
            "{} of the calls of {variant} failed; latency counts those that succeeded",
            units::percent(*share)
        )),
        Note::BlocksLeftOut { left_out, planned } => Some(format!(
            "rests on {} of {planned} blocks",
            planned - left_out
        )),
        Note::MixedIdle { variant } => Some(format!(
            "idle states were held off in some trials of {variant} only"
        )),
        Note::Unsettled { .. } | Note::ClientBound { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Builder, findings, two};

    fn of_first(builder: &Builder) -> Option<String> {
        notes(&findings(&builder.build()).comparisons[..1])
    }

    #[test]
    fn drifting_is_told_once_and_only_where_it_is_most_trials() {
        let mut builder = two(2.0);
        assert_eq!(of_first(&builder), None);
        builder.specs[0].unsettled = true;
        assert_eq!(of_first(&builder), None, "half of the pair's trials");
        builder.specs[1].unsettled = true;
        assert_eq!(
            of_first(&builder).unwrap(),
            "Latency was still drifting when measuring began in 24 of 24 trials."
        );
    }

    #[test]
    fn a_variants_trials_under_several_placements_are_one_note() {
        let mut builder = two(2.0);
        builder
            .placements
            .push(rpcgauge_study::settings::Placement::OneCore);
        for spec in &mut builder.specs {
            spec.everywhere = true;
        }
        builder.specs[0].client_share = 0.9;
        assert_eq!(
            of_first(&builder).unwrap(),
            "Client-bound in 24 of 24 trials: grpc."
        );
    }
}
