//! Tests of gates.

use super::*;
use crate::fixture::{Sample, findings, two};
use crate::terminal::Style;

/// Allows 5%, except for some metrics.
fn allowed(by_metric: &[(Metric, Option<f64>)]) -> Allowed {
    Allowed {
        usual: 0.05,
        by_metric: by_metric.iter().copied().collect(),
    }
}

/// A run in which the first version takes `factor` times as long as the second.
fn run(factor: f64) -> Sample {
    two(1.0 / factor).build()
}

fn verdict(sample: &Sample, allowed: &Allowed) -> GateVerdict {
    Gate::of(&findings(sample), allowed).verdict
}

#[test]
fn only_what_is_worse_by_more_than_is_allowed_fails() {
    let latency = |share| allowed(&[(Metric::LatencyP50, share)]);
    let cases = [
        (1.2, allowed(&[]), GateVerdict::Failed),
        (1.2, latency(Some(0.5)), GateVerdict::Passed),
        (1.2, latency(None), GateVerdict::Passed),
        (1.0, allowed(&[]), GateVerdict::Passed),
        (0.8, allowed(&[]), GateVerdict::Passed),
    ];
    for (factor, allowed, expected) in cases {
        assert_eq!(
            verdict(&run(factor), &allowed),
            expected,
            "{factor} {allowed:?}"
        );
    }
}

#[test]
fn a_run_without_figures_does_not_pass() {
    let mut sample = run(1.0);
    sample.trials.retain(|record| record.variant != "grpc");
    assert_eq!(verdict(&sample, &allowed(&[])), GateVerdict::NotJudged);
    sample.trials.clear();
    assert_eq!(verdict(&sample, &allowed(&[])), GateVerdict::NotJudged);
}

#[test]
fn an_interrupted_run_does_not_pass() {
    let mut sample = run(1.0);
    sample.trials.truncate(sample.trials.len() - 1);
    assert_eq!(verdict(&sample, &allowed(&[])), GateVerdict::NotJudged);
}

#[test]
fn failed_calls_fail_the_gate() {
    let of = |shares| GatedFailures::of(shares).verdict;
    assert_eq!(of([0.01, 0.0]), GateVerdict::Failed);
    assert_eq!(of([0.01, 0.01]), GateVerdict::Passed);
    assert_eq!(of([0.0005, 0.0]), GateVerdict::Passed);
    assert_eq!(of([0.0, 0.5]), GateVerdict::Passed);
}

#[test]
fn the_result_is_a_line_per_metric() {
    let gate = Gate::of(&findings(&run(1.2)), &allowed(&[]));
    let document = gate.document();
    insta::assert_snapshot!(document.terminal(Style::new(false, None, Some(100))));
    insta::assert_snapshot!(document.markdown());
}
