//! What a reader must know beside some verdicts, each thing once.

use std::collections::BTreeMap;

use rpcgauge_study::settings::Placement;

use super::{capital, on};
use crate::findings::verdict::{Comparison, Note};
use crate::units;

/// A part of a variant's trials, answers or calls, of how many.
#[derive(Default, Clone, Copy)]
struct Share {
    part: u64,
    of: u64,
}

/// What is amiss with a part of a variant, in the order in which it is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Amiss {
    ClientBound,
    Uncompressed,
    FailedConnects,
    Reopened,
    LeftOutFailed,
    NeverBegun,
    Retried,
    BodiesLate,
}

/// The notes of some comparisons; none where there are none. Of several placements each is named: a
/// sentence for what is so under every one, and one for what is so under some.
///
/// Drifting trials are told of only where they are most of those the comparisons rest on: the tables
/// mark every variant that has some.
pub(crate) fn notes<'a>(comparisons: impl IntoIterator<Item = &'a Comparison>) -> Option<String> {
    let comparisons: Vec<&Comparison> = comparisons.into_iter().collect();
    let mut told: Vec<(Placement, Vec<String>)> = Vec::new();
    for verdict in comparisons.iter().flat_map(|c| &c.placements) {
        let place = verdict.placement;
        if told.iter().all(|(known, _)| *known != place) {
            told.push((place, under(place, &comparisons)));
        }
    }
    let (_, first) = told.first()?;
    let everywhere: Vec<String> = first
        .iter()
        .filter(|clause| told.iter().all(|(_, clauses)| clauses.contains(clause)))
        .cloned()
        .collect();
    let several = told.len() > 1;
    let label = if several {
        "under every placement: "
    } else {
        ""
    };
    let own = told.iter().map(|(place, clauses)| {
        let own = clauses.iter().filter(|clause| !everywhere.contains(clause));
        (format!("{}: ", on(*place)), own.cloned().collect())
    });
    let sentences: Vec<String> = [(label.to_owned(), everywhere.clone())]
        .into_iter()
        .chain(own)
        .filter(|(_, clauses): &(_, Vec<String>)| !clauses.is_empty())
        .map(|(label, clauses)| capital(&(label + &clauses.join("; "))) + ".")
        .collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// The notes of some comparisons under a placement, each thing once.
fn under(place: Placement, comparisons: &[&Comparison]) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    // By variant: two comparisons of a variant tell the same of it.
    let mut amiss: BTreeMap<(Amiss, &str), Share> = BTreeMap::new();
    let mut drifting: BTreeMap<&str, u64> = BTreeMap::new();
    let mut rests_on: BTreeMap<&str, u64> = BTreeMap::new();
    for comparison in comparisons {
        let verdicts = comparison.placements.iter();
        for verdict in verdicts.filter(|v| v.placement == place) {
            for name in [&comparison.of, &comparison.against] {
                let blocks = verdict.blocks.planned - verdict.blocks.missing;
                rests_on.entry(name).or_insert(blocks);
            }
            for note in &verdict.notes {
                if let Note::Unsettled {
                    variant,
                    trials,
                    of,
                } = note
                {
                    rests_on.insert(variant, *of);
                    drifting.insert(variant, *trials);
                }
                if let Some((what, variant, share)) = counted(note) {
                    amiss.insert((what, variant), share);
                }
                let text = clause(note).map(|text| of_pair(note, comparison, comparisons, text));
                told.extend(text.filter(|text| !told.contains(text)));
            }
        }
    }
    let counted = amiss.into_iter();
    told.extend(counted.map(|((what, variant), share)| what.clause(variant, share)));
    let drifted: u64 = drifting.values().sum();
    let measured: u64 = rests_on.values().sum();
    if drifted * 2 > measured {
        told.push(format!(
            "latency was still drifting when measuring began in {drifted} of {measured} trials"
        ));
    }
    told
}

/// A note's clause, with the pair named where it is about one of several.
fn of_pair(note: &Note, about: &Comparison, all: &[&Comparison], text: String) -> String {
    match note {
        Note::BlocksLeftOut { .. } if all.len() > 1 => {
            format!("{} against {} {text}", about.of, about.against)
        }
        _ => text,
    }
}

/// What a note counts of which variant, where it counts something.
fn counted(note: &Note) -> Option<(Amiss, &str, Share)> {
    let share = |part: u64, of: u64| Share { part, of };
    match note {
        Note::ClientBound {
            variant,
            trials,
            of,
        } => Some((Amiss::ClientBound, variant, share(*trials, *of))),
        Note::Uncompressed {
            variant,
            answers,
            of,
        } => Some((Amiss::Uncompressed, variant, share(*answers, *of))),
        Note::FailedConnects { variant, attempts } => {
            Some((Amiss::FailedConnects, variant, share(*attempts, 0)))
        }
        Note::Reopened {
            variant,
            connections,
        } => Some((Amiss::Reopened, variant, share(*connections, 0))),
        Note::LeftOutFailed { variant, calls, of } => {
            Some((Amiss::LeftOutFailed, variant, share(*calls, *of)))
        }
        Note::NeverBegun { variant, calls, of } => {
            Some((Amiss::NeverBegun, variant, share(*calls, *of)))
        }
        Note::Retried { variant, sends } => Some((Amiss::Retried, variant, share(*sends, 0))),
        Note::BodiesLate { variant, calls, of } => {
            Some((Amiss::BodiesLate, variant, share(*calls, *of)))
        }
        Note::RunningInstances
        | Note::Bounded { .. }
        | Note::Unguarded
        | Note::FailedCalls { .. }
        | Note::Unsettled { .. }
        | Note::BlocksLeftOut { .. }
        | Note::FewerInFlight { .. }
        | Note::DynamicCode { .. }
        | Note::MixedIdle { .. } => None,
    }
}

impl Amiss {
    fn clause(self, variant: &str, share: Share) -> String {
        let Share { part, of } = share;
        let (some, all) = (units::count(part), units::count(of));
        match self {
            Self::ClientBound => format!("client-bound in {some} of {all} trials: {variant}"),
            Self::Uncompressed if part >= of => {
                format!("no answer of {variant} was compressed, although it asks for compression")
            }
            Self::Uncompressed => format!(
                "{some} of {all} answers of {variant} came uncompressed, although it asks for \
                 compression"
            ),
            Self::FailedConnects if part == 1 => {
                format!("an attempt of {variant} to open a connection failed")
            }
            Self::FailedConnects => {
                format!("{some} attempts of {variant} to open a connection failed")
            }
            Self::Reopened if part == 1 => format!(
                "the server closed a connection of {variant} between slices, which was opened again \
                 outside the figures"
            ),
            Self::Reopened => format!(
                "the server closed {some} connections of {variant} between slices, which were \
                 opened again outside the figures"
            ),
            Self::LeftOutFailed => format!(
                "{some} of {all} calls of {variant} failed that are left out as the first of their \
                 slices"
            ),
            Self::NeverBegun => {
                format!("{some} of {all} calls of {variant} were due but never begun")
            }
            Self::Retried if part == 1 => format!("a call of {variant} was sent again"),
            Self::Retried => format!("calls of {variant} were sent again {some} times"),
            Self::BodiesLate => format!(
                "{some} of {all} calls of {variant} were begun late, since their bodies were not \
                 made in time"
            ),
        }
    }
}

/// A note that stands alone; none where it counts something.
fn clause(note: &Note) -> Option<String> {
    match note {
        Note::Bounded { variant, most } => Some(format!(
            "{variant} can have {} calls in flight, one on each connection, and the other any number",
            units::count(u64::from(*most))
        )),
        Note::Unguarded => Some("no A/A pair guards this".to_owned()),
        Note::FailedCalls { variant, share } => Some(format!(
            "{} of the calls of {variant} failed; latency counts those that succeeded",
            units::percent(*share)
        )),
        Note::BlocksLeftOut { left_out, planned } => Some(format!(
            "rests on {} of {planned} blocks",
            planned - left_out
        )),
        Note::FewerInFlight {
            variant,
            reached,
            asked,
        } => Some(format!(
            "a trial of {variant} had at most {} calls in flight, not the {} asked for",
            units::count(*reached),
            units::count(*asked)
        )),
        Note::MixedIdle { variant } => Some(format!(
            "idle states were held off in some trials of {variant} only"
        )),
        // It stands in the verdict's own line.
        Note::RunningInstances
        | Note::Unsettled { .. }
        | Note::ClientBound { .. }
        | Note::Uncompressed { .. }
        | Note::FailedConnects { .. }
        | Note::Reopened { .. }
        | Note::LeftOutFailed { .. }
        | Note::NeverBegun { .. }
        | Note::Retried { .. }
        | Note::BodiesLate { .. }
        // It stands in the verdict's own line.
        | Note::DynamicCode { .. } => None,
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
    fn what_did_not_go_as_asked_is_told_with_its_count() {
        let mut builder = two(2.0);
        builder.specs[0].uncompressed = 200;
        builder.specs[1].uncompressed = 3;
        builder.specs[1].failed_connects = 1;
        builder.specs[1].reopened = 2;
        builder.specs[1].left_out_failed = 5;
        builder.specs[1].never_begun = 7;
        builder.specs[1].retried = 3;
        builder.specs[1].bodies_late = 2;
        assert_eq!(
            of_first(&builder).unwrap(),
            "No answer of grpc was compressed, although it asks for compression; 36 of 2,400 \
             answers of rest came uncompressed, although it asks for compression; 12 attempts of \
             rest to open a connection failed; the server closed 24 connections of rest between slices, \
             which were opened again outside the figures; 60 of 960 calls of rest failed that are left \
             out as the first of their slices; 84 of 2,484 calls of rest were due but never begun; calls of \
             rest were sent again 36 times; 24 of 2,484 calls of rest were begun late, since their \
             bodies were not made in time."
        );
    }

    #[test]
    fn fewer_calls_in_flight_than_asked_for_are_told() {
        let mut builder = two(2.0);
        builder.specs[0].in_flight = 16;
        builder.specs[1].in_flight = 16;
        assert_eq!(of_first(&builder), None);
        builder.specs[1].most_in_flight = Some(10);
        assert_eq!(
            of_first(&builder).unwrap(),
            "A trial of rest had at most 10 calls in flight, not the 16 asked for."
        );
    }

    /// A pair that is measured on two cores and on one.
    fn placed() -> Builder {
        let mut builder = two(2.0);
        builder
            .placements
            .push(rpcgauge_study::settings::Placement::OneCore);
        for spec in &mut builder.specs {
            spec.everywhere = true;
        }
        builder
    }

    #[test]
    fn what_is_so_under_every_placement_is_told_once_and_as_such() {
        let mut builder = placed();
        builder.specs[0].client_share = 0.9;
        assert_eq!(
            of_first(&builder).unwrap(),
            "Under every placement: client-bound in 12 of 12 trials: grpc."
        );
    }

    #[test]
    fn a_note_names_the_placement_that_it_is_about() {
        let mut sample = placed().build();
        sample
            .trials
            .retain(|t| t.trial.placement == Placement::TwoCores || t.trial.invocation < 2);
        assert_eq!(
            notes(&findings(&sample).comparisons[..1]).unwrap(),
            "On one core: rests on 6 of 12 blocks."
        );
    }

    #[test]
    fn blocks_that_are_left_out_are_those_of_a_pair() {
        let mut sample = two(2.0).build();
        sample.trials.truncate(20);
        let mut comparisons = findings(&sample).comparisons;
        comparisons.truncate(1);
        let mut other = comparisons[0].clone();
        other.of = "thrift".to_owned();
        other.placements[0].notes = vec![Note::BlocksLeftOut {
            left_out: 9,
            planned: 12,
        }];
        comparisons.push(other);
        let told = notes(&comparisons).unwrap();
        assert!(told.starts_with("Grpc against rest rests on "), "{told}");
        assert!(
            told.ends_with("; thrift against rest rests on 3 of 12 blocks."),
            "{told}"
        );
    }
}
