//! When there is a verdict, and which.

use rpcgauge_study::plan::Metric;

use super::super::verdict::{ClaimOutcome, Combined, Note, Unresolved, Withheld};
use super::*;

#[test]
fn a_known_ratio_lies_in_its_interval() {
    let findings = findings(&two(2.3).build());
    let verdict = &findings.comparisons[0].placements[0];
    let estimate = verdict.estimate.unwrap();
    let [low, high] = estimate.interval.unwrap();
    assert!(low < 1.0 / 2.3 && 1.0 / 2.3 < high, "{estimate:?}");
    assert_eq!(verdict.outcome, verdict::Outcome::Faster);
    assert_eq!((estimate.invocations, estimate.blocks), (4, 12));
    assert!(verdict.guard.is_some() && verdict.smallest_difference.unwrap() > 1.0);
}

#[test]
fn counted_bytes_are_guarded_by_an_a_a_interval_of_1_alone() {
    let builder = two(2.0).pair("Which is smaller?", "rest", "grpc", Metric::CallBytes);
    let findings = findings(&builder.build());
    let verdict = &findings.comparisons[2].placements[0];
    let guard = verdict.guard.as_ref().unwrap();
    assert_eq!(guard.estimate.interval, Some([1.0, 1.0]));
    assert_eq!(verdict.outcome, verdict::Outcome::Slower);
}

#[test]
fn an_a_a_pair_that_differs_forbids_every_difference() {
    let mut builder = two(1.2);
    builder.specs[2].latency_ns *= 1.2;
    let findings = findings(&builder.build());
    let reason = Unresolved::AaNotOne;
    assert_eq!(
        outcome(&findings, 0),
        verdict::Outcome::NotResolved { reason, more: None }
    );
    let sentence = &findings.comparisons[1].sentence;
    assert!(
        sentence.starts_with("A/A check fails: grpc-again and grpc"),
        "{sentence}"
    );
}

#[test]
fn a_verdict_without_an_a_a_pair_says_so() {
    let mut builder = two(2.0);
    builder.specs.truncate(2);
    builder.pairs.truncate(1);
    let findings = findings(&builder.build());
    assert_eq!(
        findings.comparisons[0].placements[0].notes,
        [Note::Unguarded]
    );
}

#[test]
fn one_invocation_gives_no_interval_and_says_what_would() {
    let findings = findings(
        &Builder {
            invocations: 1,
            ..two(2.0)
        }
        .build(),
    );
    let verdict = &findings.comparisons[0].placements[0];
    assert_eq!(verdict.estimate.unwrap().interval, None);
    assert!(
        findings.comparisons[0]
            .sentence
            .contains("more invocations")
    );
}

#[test]
fn a_verdict_that_flips_depends_on_placement() {
    let findings = quickstart::findings();
    let flips = findings
        .comparisons
        .iter()
        .find(|c| c.of == "unix-socket")
        .unwrap();
    assert_eq!(flips.combined, Combined::DependsOnPlacement);
    assert!(
        flips
            .sentence
            .starts_with("Depends on placement. On two cores: ")
    );
    let claim = findings
        .claims
        .iter()
        .find(|c| c.name == "unix-socket")
        .unwrap();
    assert!(claim.depends_on_placement);
    assert_eq!(claim.outcome, ClaimOutcome::NotResolved);
}

#[test]
fn a_claim_that_one_placement_leaves_open_says_where_it_is_resolved() {
    let mut sample = quickstart::quickstart().build();
    for trial in &mut sample.trials {
        // One core answers in one invocation alone: there is no interval.
        if trial.trial.placement == Placement::OneCore && trial.trial.invocation > 0 {
            trial.outcome = Outcome::Failed {
                reason: "it was in use".to_owned(),
                fault: rpcgauge_study::record::Fault::Machine,
                log: String::new(),
            };
        }
    }
    let findings = findings(&sample);
    let resolved = findings
        .claims
        .iter()
        .filter(|c| c.placements.len() > 1 && c.outcome != ClaimOutcome::NotResolved);
    let resolved: Vec<_> = resolved.collect();
    assert!(!resolved.is_empty());
    for claim in resolved {
        assert_eq!(claim.only_under, [Placement::TwoCores], "{}", claim.name);
        let (said, _) = claim.sentence.split_once(':').unwrap();
        assert!(said.ends_with("ed on two cores only"), "{said}");
    }
    let page = crate::html::render(&findings).unwrap();
    assert!(page.contains("reproduced on two cores only</span>"));
}

#[test]
fn a_variant_whose_calls_all_fail_has_no_verdict() {
    let mut builder = two(2.0);
    builder.specs[1].failing = Some(("refused", "connection refused", 1));
    let findings = findings(&builder.build());
    let reason = Withheld::NotMeasured;
    assert_eq!(
        outcome(&findings, 0),
        verdict::Outcome::NoVerdict { reason }
    );
    assert_eq!(findings.comparisons[0].placements[0].blocks.no_value, 12);
    let figures = findings.figures("rest", Placement::TwoCores).unwrap();
    assert!(figures.latency.is_none() && figures.goodput == 0.0);
}
