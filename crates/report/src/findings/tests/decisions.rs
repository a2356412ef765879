//! Tests of decisions: which variant is chosen, and what is said about it.

use rpcgauge_message::workload::WorkloadSpec;
use rpcgauge_study::plan::Metric;
use rpcgauge_study::record::FailureKind;

use super::*;
use crate::findings::decision::Decision;
use crate::fixture::{Spec, call};

/// The only decision of a sample, and its text.
#[track_caller]
fn decided(sample: &Sample) -> (Decision, String) {
    let findings = findings(sample);
    let [decision] = &findings.decisions[..] else {
        panic!("{:?}", findings.decisions);
    };
    let text = words::decision::decision(decision).join("\n");
    (decision.clone(), text)
}

#[test]
fn the_faster_one_is_chosen_with_what_it_saves() {
    let (decision, text) = decided(&two(2.0).build());
    assert_eq!(decision.placements[0].choice.as_deref(), Some("grpc"));
    insta::assert_snapshot!(text);
}

#[test]
fn the_simplest_is_chosen_of_those_that_are_not_told_apart() {
    let (decision, text) = decided(&two(1.0).build());
    assert_eq!(decision.placements[0].choice.as_deref(), Some("rest"));
    insta::assert_snapshot!(text);
}

#[test]
fn nothing_is_chosen_if_the_faster_one_takes_more_cpu() {
    let (decision, text) = decided(&two(2.0).build().with_server_cpu("grpc", 20));
    assert_eq!(decision.placements[0].choice, None);
    insta::assert_snapshot!(text);
}

#[test]
fn variants_that_are_not_compared_have_no_decision_in_common() {
    let mut builder = two(2.0);
    builder = builder
        .spec(Spec::new("other", 40_000.0))
        .spec(Spec::new("another", 80_000.0))
        .spec(Spec::new("alone", 20_000.0))
        .pair("?", "other", "another", Metric::LatencyP50);
    let decisions = findings(&builder.build()).decisions;
    let sets: Vec<&[String]> = decisions.iter().map(|one| &one.variants[..]).collect();
    assert_eq!(sets, [["grpc", "rest"], ["other", "another"]]);
    assert_eq!(decisions[1].placements[0].choice.as_deref(), Some("other"));
}

#[test]
fn calls_that_differ_have_no_decision_in_common() {
    let mut sample = two(2.0).build();
    for (index, variant) in sample.plan.variants.iter_mut().enumerate() {
        let n = 1 + index as u32;
        call(variant).workload = WorkloadSpec::List { n };
    }
    assert_eq!(findings(&sample).decisions, []);
}

#[test]
fn a_variant_without_figures_is_left_out_and_named() {
    let mut builder = two(2.0).spec(Spec {
        cannot_run: Some("there is no compiler"),
        ..Spec::new("third", 50_000.0)
    });
    builder = builder.pair("?", "third", "rest", Metric::LatencyP50);
    let (decision, text) = decided(&builder.build());
    assert_eq!(decision.variants, ["grpc", "rest"]);
    assert_eq!(decision.left_out, ["third"]);
    assert!(text.contains("Without figures: third."), "{text}");
}

#[test]
fn a_variant_is_not_chosen_because_its_failed_calls_are_not_timed() {
    let mut builder = two(2.0);
    for spec in &mut builder.specs {
        if spec.name.starts_with("grpc") {
            spec.failing = Some((FailureKind::CallFailed, "UNAVAILABLE", 2));
        }
    }
    let (decision, text) = decided(&builder.build());
    let choice = decision.placements[0].choice.as_deref();
    assert_eq!(choice, Some("rest"), "{text}");
}
