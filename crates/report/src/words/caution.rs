//! Cautions in words. Only this module has the letter, name and sentence of each kind.

use std::collections::BTreeMap;

use rpcgauge_study::record::Environment;
use rpcgauge_study::settings::Placement;

use super::{About, capital, joined, on};
use crate::findings::caution::{Caution, CautionKind as Kind};
use crate::findings::verdict::{Comparison, Outcome, PlacementVerdict};
use crate::units;
use crate::words::NOT_HELD;
use crate::{by_key, distinct};

/// The kinds that are shown beside a variant's figures, each with a letter, a name and its meaning.
const LABELS: [(Kind, char, &str, &str); 9] = [
    (
        Kind::ClientBound,
        'C',
        "client-bound",
        "the client used more than 80% of its core",
    ),
    (Kind::LinkNotHeld, 'L', "link not held", NOT_HELD),
    (
        Kind::Unsettled,
        'U',
        "unsettled",
        "the warm-up reached its limit before latency had settled",
    ),
    (
        Kind::FailedCalls,
        'F',
        "failed calls",
        "some calls failed; latency and calls/s cover the rest",
    ),
    (
        Kind::FailedConnects,
        'X',
        "failed connects",
        "attempts to open a connection failed",
    ),
    (
        Kind::NeverBegun,
        'N',
        "calls never begun",
        "calls were due but not begun before the trial ended",
    ),
    (
        Kind::Uncompressed,
        'P',
        "plain responses",
        "responses were uncompressed although compression was requested",
    ),
    (
        Kind::Incomplete,
        'I',
        "incomplete",
        "trials failed or did not run",
    ),
    (
        Kind::DynamicCode,
        'D',
        "dynamic code",
        "rpcgauge's own code interpreted a descriptor, instead of generated code",
    ),
];

/// A placeholder for the subject of a clause.
const SUBJECT: &str = "\u{fffc}";

/// The cautions about a variant's figures, as labels.
pub(crate) struct Labels {
    /// A letter for each caution, in lower case if it is about at most half of the trials.
    pub(crate) letters: String,
    /// The names of all cautions except dynamic code, each with its count.
    pub(crate) names: String,
    /// The names of the cautions about more than half of the trials, without counts and without dynamic code.
    pub(crate) main: String,
}

impl Labels {
    pub(crate) fn of(cautions: &[Caution]) -> Self {
        let all = || {
            LABELS.into_iter().filter_map(|(kind, letter, name, _)| {
                let caution = cautions.iter().find(|caution| caution.kind == kind)?;
                Some((caution, letter, name))
            })
        };
        let named = || all().filter(|(caution, ..)| caution.kind != Kind::DynamicCode);
        let counted = |(caution, _, name): (&Caution, char, &str)| match caution.of {
            0 => name.to_owned(),
            of => format!(
                "{name} {}/{}",
                units::count(caution.count),
                units::count(of)
            ),
        };
        let letter = |(caution, letter, _): (&Caution, char, &str)| {
            if caution.is_minor() {
                letter.to_ascii_lowercase()
            } else {
                letter
            }
        };
        let main = named().filter(|(caution, ..)| !caution.is_minor());
        Self {
            letters: all().map(letter).collect(),
            names: joined(named().map(counted), ", "),
            main: joined(main.map(|(.., name)| name), ", "),
        }
    }
}

/// A line with the meaning of each of these letters.
pub(crate) fn legend(letters: &str) -> Vec<String> {
    let meaning = |(_, letter, name, meaning): (Kind, char, &str, &str)| {
        let small = letter.to_ascii_lowercase();
        let is_small = letters.contains(small);
        (is_small || letters.contains(letter)).then(|| {
            let small = if is_small {
                format!(" ({small}: in at most half of the trials)")
            } else {
                String::new()
            };
            format!("{letter} {name}: {meaning}{small}")
        })
    };
    LABELS.into_iter().filter_map(meaning).collect()
}

/// The name and meaning of every label, for a text that explains them.
pub(crate) fn meanings() -> impl Iterator<Item = (&'static str, &'static str)> {
    LABELS
        .into_iter()
        .map(|(.., name, meaning)| (name, meaning))
}

/// A caution as a clause, without a full stop. `named` is whether the clause names the variant.
pub(crate) fn clause(caution: &Caution, named: bool) -> String {
    let (count, of) = (units::count(caution.count), units::count(caution.of));
    let variant = caution.variant.as_deref().unwrap_or_default();
    let of_it = if named {
        format!(" of {variant}")
    } else {
        String::new()
    };
    let one = caution.count == 1;
    let time = |ns: u64| units::time(ns as f64);
    let late = |name: &str| {
        format!(
            "{name} is mostly send delay ({} of {}): calls waited for a connection or for this \
             client, so it says little about the service",
            time(caution.count),
            time(caution.of)
        )
    };
    let prefix = |text: String| {
        if named {
            format!("{variant}: {text}")
        } else {
            text
        }
    };
    match caution.kind {
        Kind::IdleNotHeld => "idle states could not be disabled: cores go to sleep between calls, which \
                              makes small local calls several times slower and noisier; the A/A check \
                              shows how much is lost"
            .to_owned(),
        Kind::Unverified => format!(
            "the certificate of {variant} was not verified (--insecure): it may be another service's"
        ),
        Kind::Stalls => prefix(format!(
            "spikes in most of the run: in half of its slices a call took {} or longer, {}× the median \
             ({}); look for something periodic, such as garbage collection, a timer or another \
             program",
            time(caution.count),
            units::ratio(caution.count as f64 / caution.of as f64),
            time(caution.of)
        )),
        Kind::LateP99 => prefix(late("p99")),
        Kind::LateP999 => prefix(late("p99.9")),
        Kind::TooFewConnections => prefix(format!(
            "limited by --connections {count}: calls waited {} (median) for a connection before they were sent; use more \
             --connections or a lower rate (a --deadline runs from the due time, a --timeout from the send)",
            time(caution.of)
        )),
        Kind::RunningInstances => "this result is only about these two running instances, which were \
                                   not restarted"
            .to_owned(),
        Kind::Bounded => format!(
            "{variant} can have at most {count} calls in flight, one per connection; the other variant has no \
             such limit"
        ),
        Kind::NoControl => "no A/A pair covers this comparison".to_owned(),
        Kind::BlocksLeftOut => format!(
            "{variant} rests on {} of {of} blocks",
            units::count(caution.of - caution.count)
        )
        .trim_start()
        .to_owned(),
        Kind::Interrupted => "interrupted; the figures cover the part before that".to_owned(),
        Kind::GaveUp => format!(
            "all calls{of_it} failed for so long that a trial was ended early"
        ),
        Kind::MaxRequests => format!(
            "{count} of {of} trials{of_it} ended early because max-requests did not allow more requests"
        ),
        Kind::Backlog => format!(
            "{count} calls{of_it} that were due in the warm-up had not been sent when it ended: the {of} measured \
             calls waited behind them, and their late responses are part of no rate; lower the rate or use \
             a longer warm-up"
        ),
        Kind::FailedCalls => format!(
            "{count} of {of} calls{of_it} failed ({}); latency covers the rest",
            units::percent(caution.count as f64 / caution.of as f64)
        ),
        Kind::FewerInFlight => {
            format!("a trial{of_it} had at most {count} calls in flight, not the requested {of}")
        }
        Kind::MixedIdle => format!("idle states were disabled in some trials{of_it} only"),
        Kind::ClientBound => format!(
            "the client used more than 80% of its core in {count} of {of} trials{of_it}"
        ),
        Kind::LinkNotHeld => format!(
            "the link was not held in {count} of {of} trials{of_it}: {NOT_HELD}"
        ),
        Kind::Unsettled => format!(
            "the warm-up{of_it} reached its limit before latency had settled in {count} of {of} trials"
        ),
        Kind::Uncompressed if caution.count >= caution.of => {
            format!("no response{of_it} was compressed although compression was requested")
        }
        Kind::Uncompressed => format!(
            "{count} of {of} responses{of_it} were uncompressed although compression was requested"
        ),
        Kind::FailedConnects if one => format!("an attempt{of_it} to open a connection failed"),
        Kind::FailedConnects => format!("{count} attempts{of_it} to open a connection failed"),
        Kind::Reopened if one => format!(
            "the server closed a connection{of_it} between slices, which the client reopened outside the \
             measured time"
        ),
        Kind::Reopened => format!(
            "the server closed {count} connections{of_it} between slices, which the client reopened \
             outside the measured time"
        ),
        Kind::LeftOutFailed => format!(
            "{count} of the {of} calls{of_it} that begin a slice (left out of the figures) failed"
        ),
        Kind::NeverBegun => format!("{count} of {of} calls{of_it} were due but never begun"),
        Kind::Retried if one => format!("a call{of_it} was sent again"),
        Kind::Retried => format!("calls{of_it} were sent again {count} times"),
        Kind::BodiesLate => format!(
            "{count} of {of} calls{of_it} started late because their messages were not built in time"
        ),
        Kind::Incomplete => format!("{count} of {of} trials{of_it} failed or did not run"),
        Kind::DynamicCode => format!("dynamic code encoded and decoded the messages{of_it}"),
    }
}

/// The clauses of cautions about the whole run.
pub(crate) fn of_run(
    cautions: &[Caution],
    environment: Option<&Environment>,
    named: bool,
) -> Vec<String> {
    let reason = environment.and_then(|environment| environment.idle.reason.as_ref());
    let sentence = |caution: &Caution| {
        let text = clause(caution, named);
        match reason.filter(|_| caution.kind == Kind::IdleNotHeld) {
            Some(reason) => text.replacen("disabled", &format!("disabled ({reason})"), 1),
            None => text,
        }
    };
    cautions.iter().map(sentence).collect()
}

/// The cautions of comparisons, without duplicates; `None` if there are none. With several placements, each set of
/// placements that share cautions has its own sentence. A caution about several variants is one clause.
pub(crate) fn of_comparisons(comparisons: &[&Comparison]) -> Option<String> {
    let all = comparisons.iter();
    let all = all.map(|one| (About::from(*one), &one.placements[..]));
    of_verdicts(&all.collect::<Vec<_>>())
}

/// [`of_comparisons`] for the verdicts on several pairs.
pub(crate) fn of_verdicts(pairs: &[(About<'_>, &[PlacementVerdict])]) -> Option<String> {
    let verdicts = pairs.iter().flat_map(|(_, verdicts)| *verdicts);
    let placements = distinct(verdicts.map(|verdict| verdict.placement));
    // The placements of each kind of caution, clause (with a placeholder) and subject; in the order of kinds.
    let mut about: BTreeMap<(Kind, String, String), Vec<Placement>> = BTreeMap::new();
    for (pair, verdicts) in pairs {
        for verdict in *verdicts {
            for caution in verdict.cautions.iter().filter(|c| stands_apart(c, verdict)) {
                let subject = match caution.kind {
                    Kind::BlocksLeftOut if pairs.len() > 1 => {
                        Some(format!("{} against {}", pair.of, pair.against))
                    }
                    _ => caution.variant.clone(),
                };
                let text = clause(
                    &Caution {
                        variant: subject.clone().map(|subject| match caution.kind {
                            // This clause also mentions the other variant, so it cannot be shared by several pairs.
                            Kind::Bounded => subject,
                            _ => SUBJECT.to_owned(),
                        }),
                        ..caution.clone()
                    },
                    true,
                );
                let subject = subject.filter(|_| text.contains(SUBJECT));
                let key = (caution.kind, text, subject.unwrap_or_default());
                let places = about.entry(key).or_default();
                if !places.contains(&verdict.placement) {
                    places.push(verdict.placement);
                }
            }
        }
    }
    let about = about.into_iter();
    let alike =
        by_key(about.map(|((kind, text, subject), places)| ((places, kind, text), subject)));
    let clauses = alike.into_iter().map(|((places, kind, text), subjects)| {
        let text = text.replace(SUBJECT, &each_of(kind, &subjects));
        (places, text)
    });
    let mut sentences = by_key(clauses);
    sentences.sort_by_key(|(places, _)| std::cmp::Reverse(places.len()));
    let label = |places: &[Placement]| match places.len() {
        _ if placements.len() == 1 => String::new(),
        count if count == placements.len() => "under every placement: ".to_owned(),
        _ => joined(places.iter().map(|place| on(*place)), " and ") + ": ",
    };
    let sentences = sentences.iter();
    let sentences = sentences.map(|(places, texts)| label(places) + &texts.join("; "));
    let text = joined(sentences.map(|clauses| capital(&clauses) + "."), " ");
    Some(text).filter(|text| !text.is_empty())
}

/// The subjects of a clause: only their number if there are many and the tables mark each of them.
fn each_of(kind: Kind, subjects: &[String]) -> String {
    let is_marked = LABELS.iter().any(|(marked, ..)| *marked == kind);
    match subjects {
        [one] => one.clone(),
        all if is_marked && all.len() > 3 => format!("each of {} variants", all.len()),
        [others @ .., last] => format!("each of {} and {last}", joined(others, ", ")),
        [] => String::new(),
    }
}

/// Whether a caution is shown as text beside a verdict. Dynamic code is mentioned in the verdict's own line, and
/// the tables mark every variant with a trial that did not settle.
fn stands_apart(caution: &Caution, verdict: &PlacementVerdict) -> bool {
    match caution.kind {
        Kind::RunningInstances => !matches!(verdict.outcome, Outcome::NoVerdict { .. }),
        Kind::DynamicCode => false,
        Kind::Unsettled => !caution.is_minor(),
        _ => true,
    }
}

/// The cautions of a cell that are about its calls and connections.
pub(crate) fn is_of_calls(caution: &Caution) -> bool {
    matches!(
        caution.kind,
        Kind::Backlog
            | Kind::FailedCalls
            | Kind::NeverBegun
            | Kind::FailedConnects
            | Kind::Retried
            | Kind::BodiesLate
            | Kind::Uncompressed
            | Kind::LeftOutFailed
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Findings;
    use crate::fixture::{Builder, findings, two};

    fn of_first(builder: &Builder) -> Option<String> {
        of_comparisons(&[&findings(&builder.build()).comparisons[0]])
    }

    #[test]
    fn unsettled_is_said_if_most_trials_of_a_variant_are() {
        let mut builder = two(2.0);
        assert_eq!(of_first(&builder), None);
        builder.specs[0].unsettled = true;
        assert_eq!(
            of_first(&builder).unwrap(),
            "The warm-up of grpc reached its limit before latency had settled in 12 of 12 trials."
        );
        let mut sample = two(2.0).build();
        for trial in sample.trials.iter_mut().filter(|t| t.trial.invocation == 0) {
            if let rpcgauge_study::record::TrialOutcome::Measured(measured) = &mut trial.outcome {
                measured.warmup.settled = false;
            }
        }
        let some = findings(&sample);
        assert_eq!(of_comparisons(&[&some.comparisons[0]]), None);
        // A trial without a warm-up cannot be unsettled.
        sample.plan.warmup.time_ms = Some(0);
        assert_eq!(findings(&sample).variants[0].cells[0].cautions, []);
    }

    #[test]
    fn what_did_not_go_as_asked_is_said_with_its_count() {
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
            "36 of 2,400 responses of rest were uncompressed although compression was requested; no \
             response of grpc was compressed although compression was requested; 12 attempts of rest to \
             open a connection failed; the server closed 24 connections of rest between slices, which \
             the client reopened outside the measured time; 60 of the 960 calls of rest that begin a \
             slice (left out of the figures) failed; 84 of 2,484 calls of rest were due but never begun; calls of rest \
             were sent again 36 times; 24 of 2,484 calls of rest started late because their messages \
             were not built in time."
        );
    }

    #[test]
    fn fewer_calls_in_flight_than_asked_for_are_said() {
        let mut builder = two(2.0);
        builder.specs[0].in_flight = 16;
        builder.specs[1].in_flight = 16;
        assert_eq!(of_first(&builder), None);
        builder.specs[1].most_in_flight = Some(10);
        assert_eq!(
            of_first(&builder).unwrap(),
            "A trial of rest had at most 10 calls in flight, not the requested 16."
        );
    }

    /// A pair that is measured on two cores and on one.
    fn placed() -> Builder {
        let mut builder = two(2.0);
        builder.placements.push(Placement::OneCore);
        for spec in &mut builder.specs {
            spec.everywhere = true;
        }
        builder
    }

    #[test]
    fn what_is_so_under_every_placement_is_said_once_and_as_such() {
        let mut builder = placed();
        builder.specs[0].client_share = 0.9;
        assert_eq!(
            of_first(&builder).unwrap(),
            "Under every placement: the client used more than 80% of its core in 12 of 12 trials of grpc."
        );
    }

    #[test]
    fn a_caution_names_the_placement_that_it_is_about() {
        let mut sample = placed().build();
        sample
            .trials
            .retain(|t| t.trial.placement == Placement::TwoCores || t.trial.invocation < 2);
        assert_eq!(
            of_comparisons(&[&findings(&sample).comparisons[0]]).unwrap(),
            "On one core: rests on 6 of 12 blocks."
        );
    }

    #[test]
    fn blocks_that_are_left_out_are_those_of_a_pair() {
        let mut sample = two(2.0).build();
        sample.trials.truncate(20);
        let comparisons = findings(&sample).comparisons;
        let mut other = comparisons[0].clone();
        other.of = "thrift".to_owned();
        let of_two = of_comparisons(&[&comparisons[0], &other]).unwrap();
        assert!(
            of_two.starts_with(
                "Each of grpc against rest and thrift against rest rests on 6 of 12 blocks."
            ),
            "{of_two}"
        );
        let more = ["avro", "cbor"].map(|of| {
            let mut other = other.clone();
            other.of = of.to_owned();
            other
        });
        let of_four = of_comparisons(&[&comparisons[0], &other, &more[0], &more[1]]).unwrap();
        assert!(
            of_four.starts_with(
                "Each of avro against rest, cbor against rest, grpc against rest and thrift against rest rests on"
            ),
            "{of_four}"
        );
    }

    #[test]
    fn what_is_so_of_several_variants_is_said_once() {
        let mut builder = two(2.0);
        builder.specs[0].unsettled = true;
        builder.specs[1].unsettled = true;
        assert_eq!(
            of_first(&builder).unwrap(),
            "The warm-up of each of grpc and rest reached its limit before latency had settled in 12 of 12 trials."
        );
    }

    #[test]
    fn a_small_letter_is_a_minority() {
        let first = |findings: &Findings| Labels::of(&findings.variants[0].cells[0].cautions);
        let mut builder = two(2.0);
        assert_eq!(first(&findings(&builder.build())).letters, "");
        builder.specs[0].unsettled = true;
        let labels = first(&findings(&builder.build()));
        assert_eq!(labels.letters, "U");
        assert_eq!(
            legend(&labels.letters),
            ["U unsettled: the warm-up reached its limit before latency had settled"]
        );
        let mut some = findings(&builder.build());
        some.variants[0].cells[0].cautions[0].count = 2;
        let labels = first(&some);
        assert_eq!(
            (&*labels.letters, &*labels.names, &*labels.main),
            ("u", "unsettled 2/12", "")
        );
    }

    #[test]
    fn of_an_interrupted_run_the_measured_trials_count() {
        let mut builder = two(2.0);
        builder.specs[0].client_share = 0.95;
        let mut sample = builder.build();
        sample.trials.retain(|trial| trial.trial.invocation == 0);
        let labels = Labels::of(&findings(&sample).variants[0].cells[0].cautions);
        assert_eq!(labels.names, "client-bound 3/3, incomplete 9/12");
        assert_eq!(labels.letters, "CI");
    }
}
