//! Tests of gates.

use rpcgauge_study::record::{Fault, TrialOutcome};

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
    let mut sample = sample.clone();
    sample.plan.margin = allowed.margin();
    Gate::of(&findings(&sample), allowed).verdict
}

#[test]
fn only_what_is_worse_by_more_than_is_allowed_fails() {
    let latency = |share| allowed(&[(Metric::LatencyP50, share)]);
    let cases = [
        (1.2, allowed(&[]), GateVerdict::Failed),
        (1.2, latency(Some(0.5)), GateVerdict::Passed),
        (
            1.2,
            Allowed {
                usual: 0.5,
                ..latency(Some(0.01))
            },
            GateVerdict::Failed,
        ),
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
fn more_failed_calls_than_by_chance_fail_the_gate() {
    let of = |new, old| GatedFailures::of([new, old]).verdict;
    assert_eq!(of([100, 10_000], [0, 10_000]), GateVerdict::Failed);
    assert_eq!(of([100, 10_000], [50, 5_000]), GateVerdict::Passed);
    assert_eq!(of([1, 520], [0, 520]), GateVerdict::Passed, "one timeout");
    assert_eq!(of([5, 10_000], [0, 10_000]), GateVerdict::Passed, "0.05%");
    assert_eq!(of([0, 10], [10, 10]), GateVerdict::Passed);
    assert_eq!(of([520, 520], [0, 520]), GateVerdict::Failed);
}

#[test]
fn a_control_that_cannot_be_measured_leaves_nothing_judged() {
    let mut sample = run(1.0);
    for record in &mut sample.trials {
        if record.variant == "grpc-again" {
            record.outcome = TrialOutcome::Failed {
                reason: "it exited on its own".to_owned(),
                fault: Fault::Subject,
                requests_sent: Some(0),
                log: String::new(),
            };
        }
    }
    let gate = Gate::of(&findings(&sample), &allowed(&[]));
    assert_eq!(gate.verdict, GateVerdict::NotJudged);
    assert_eq!(
        gate.calls[0].not_measured,
        ["grpc-again (12 trials): it exited on its own"]
    );
}

#[test]
fn the_result_is_a_line_per_metric() {
    let findings = findings(&run(1.2));
    let document = Gate::of(&findings, &allowed(&[])).document(&findings);
    insta::assert_snapshot!(document.terminal(Style::new(false, None, Some(100))));
    insta::assert_snapshot!(document.markdown());
}
