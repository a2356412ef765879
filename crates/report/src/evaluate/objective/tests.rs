//! Tests of the outcomes of objectives.

use rpcgauge_study::histogram::{Times, Unit};
use rpcgauge_study::record::{FailureKind, Step, TrialOutcome};

use super::*;
use crate::findings::Findings;
use crate::fixture::{findings, live, quickstart, ramp};

/// The findings of the fixture's load if `percent` of its calls succeeded.
fn answering(percent: u64, objectives: &[&str]) -> Findings {
    let mut sample = live();
    sample.plan.objectives = objectives
        .iter()
        .map(|text| text.parse().unwrap())
        .collect();
    if let TrialOutcome::Measured(measured) = &mut sample.trials[0].outcome {
        let calls = &mut measured.calls;
        calls.started = calls.answered * 100 / percent;
        calls.failed.clear();
        calls.abandoned = calls.started - calls.answered;
        if percent < 100 {
            calls
                .failed
                .insert(FailureKind::HttpStatus(503), calls.abandoned - 1);
            calls.abandoned = 1;
        }
    }
    findings(&sample)
}

#[test]
fn figures_are_in_the_bounds_unit() {
    let objectives = [
        "p50<1s",
        "p99<1s",
        "mean<1s",
        "max<1s",
        "errors<1%",
        "goodput>1",
    ];
    let findings = answering(100, &objectives);
    let figures = findings.variants[0].cells[0].figures.as_deref().unwrap();
    let latency = figures.latency.as_ref().unwrap();
    let found = findings
        .objectives
        .iter()
        .map(|found| found.figure.unwrap());
    assert_eq!(
        found.collect::<Vec<_>>(),
        [
            latency.p50_ns,
            latency.p99_ns.unwrap(),
            latency.mean_ns,
            latency.max_ns,
            0.0,
            figures.goodput
        ]
    );
}

#[test]
fn calls_that_were_never_answered_are_later_than_any_bound() {
    let objectives = [
        "p9<1s",
        "p50<1s",
        "p99<1s",
        "p100<1s",
        "mean<1s",
        "max<1s",
        "errors<89%",
    ];
    let findings = answering(10, &objectives);
    let found = findings.objectives.iter();
    let found: Vec<_> = found
        .map(|o| (o.outcome, o.figure.is_some(), o.unanswered))
        .collect();
    let never = (ObjectiveOutcome::Missed, false, Some(0.9));
    assert_eq!(
        found[0],
        (ObjectiveOutcome::Reached, true, None),
        "9 of the 10% answered"
    );
    assert_eq!(found[1..6], [never; 5]);
    assert_eq!(found[6], (ObjectiveOutcome::Missed, true, None));
    assert_eq!(
        findings.objectives[6].figure,
        Some(0.9),
        "failed or still open"
    );
    let of_none = answering(1, &["p99<1s"]);
    assert_eq!(of_none.objectives[0].outcome, ObjectiveOutcome::Missed);
}

#[test]
fn calls_of_a_stalled_client_are_held_against_no_service() {
    let objectives = ["p99<1s", "max<1s", "errors<0.1%"];
    let mut sample = live();
    sample.plan.objectives = objectives.map(|text| text.parse().unwrap()).to_vec();
    if let TrialOutcome::Measured(measured) = &mut sample.trials[0].outcome {
        let calls = &mut measured.calls;
        calls.abandoned = 0;
        calls.failed = [(FailureKind::ClientStalled, calls.started - calls.answered)].into();
    }
    for found in findings(&sample).objectives {
        assert_eq!(found.outcome, ObjectiveOutcome::Reached, "{found:?}");
    }

    // The client is stalled for half of a step's calls, so for half of the step's time.
    let mut sample = ramp();
    if let TrialOutcome::Measured(measured) = &mut sample.trials[0].outcome {
        let step = &mut measured.steps[0];
        (step.answered, step.failed, step.stalled) = (50, 50, 50);
        step.answered_within = 50;
    }
    let findings = findings(&sample);
    let figures = findings.variants[0].cells[0].figures.as_deref().unwrap();
    let step = &figures.steps[0];
    assert_eq!((step.lasted_ns, step.goodput), (1_000_000_000, 50.0));
    assert_eq!(Evidence::of_step(step).unanswered(), 0.0);
}

#[test]
fn a_percentile_is_that_of_all_calls_that_were_due() {
    let at = |percentile: f64, started: u64| {
        let mut times = Times::new(Unit::Ns);
        (1..=1_000).for_each(|time| times.add_each(time, 1));
        let latency = Distribution::of(times);
        let evidence = Evidence {
            started,
            answered: 1_000,
            goodput: 0.0,
            latency: Some(&latency),
        };
        evidence.latency_at(percentile)
    };
    let table = [
        (0.0, 1_000, 1.0),
        (50.0, 1_000, 500.0),
        (50.0, 1_010, 505.0),
        (99.0, 1_010, 1_000.0),
        (99.0, 1_011, f64::INFINITY),
        (99.9, 1_000, 999.0),
        (99.9, 1_001, 1_000.0),
        (100.0, 1_000, 1_000.0),
        (100.0, 1_001, f64::INFINITY),
    ];
    for (percentile, started, expected) in table {
        assert_eq!(
            at(percentile, started),
            expected,
            "p{percentile} of {started}"
        );
    }
}

#[test]
fn an_objective_is_reached_missed_or_not_shown() {
    let findings = answering(100, &["max<1s", "max<1ns", "p99.9<1s"]);
    let outcomes = findings.objectives.iter().map(|found| found.outcome);
    let too_few = ObjectiveOutcome::TooFewCalls {
        calls: 200,
        needed: 1_000,
    };
    assert_eq!(
        outcomes.collect::<Vec<_>>(),
        [ObjectiveOutcome::Reached, ObjectiveOutcome::Missed, too_few]
    );
    assert!(!findings.is_reached() && findings.objectives[2].figure.is_none());
}

#[test]
fn a_ramp_must_reach_an_objective_in_every_step() {
    let findings = findings(&ramp());
    let found: Vec<_> = findings
        .objectives
        .iter()
        .map(|found| (found.step, found.outcome))
        .collect();
    // Pauses are left out. For an objective that is met, the step nearest to missing it is shown.
    assert_eq!(
        found,
        [
            (Some(3), ObjectiveOutcome::Missed),
            (Some(3), ObjectiveOutcome::Missed),
            (Some(0), ObjectiveOutcome::Reached),
        ]
    );
    let figures = findings.variants[0].cells[0].figures.as_deref().unwrap();
    let missed = figures.steps.iter().map(|step| step.checked.missed.len());
    assert_eq!(missed.collect::<Vec<_>>(), [0, 0, 0, 2]);
    let met = figures.steps.iter().map(|step| step.checked.met.len());
    assert_eq!(met.collect::<Vec<_>>(), [3, 3, 0, 1], "none in the pause");
    let last = &figures.steps[3].checked;
    assert_eq!(last.met[0].figure, 250.0);
    assert!(
        last.missed[0].figure.is_some(),
        "half of the calls succeeded"
    );
    assert_eq!(last.missed[1].unanswered, Some(0.375));
    let mut scarce = ramp();
    scarce.plan.objectives = vec!["p99.9<10s".parse().unwrap()];
    let too_few = ObjectiveOutcome::TooFewCalls {
        calls: 100,
        needed: 1_000,
    };
    let found = &crate::fixture::findings(&scarce).objectives[0];
    assert_eq!((found.step, found.outcome), (Some(0), too_few));
}

/// The findings of the fixture's ramp if it ends early, as with --calls or Ctrl-C.
fn cut_off_after(elapsed_ns: u64, change: impl FnOnce(&mut Step)) -> Findings {
    let mut sample = ramp();
    sample.plan.objectives = vec!["goodput>49".parse().unwrap()];
    if let TrialOutcome::Measured(measured) = &mut sample.trials[0].outcome {
        measured.elapsed_ns = elapsed_ns;
        change(&mut measured.steps[3]);
    }
    findings(&sample)
}

#[test]
fn a_step_in_which_the_load_ended_counts_by_the_time_it_lasted() {
    let findings = cut_off_after(7_000_000_000, |_| {});
    let figures = findings.variants[0].cells[0].figures.as_deref().unwrap();
    let lasted = figures.steps.iter().map(|step| step.lasted_ns / 1_000_000);
    assert_eq!(lasted.collect::<Vec<_>>(), [2_000, 2_000, 2_000, 1_000]);
    assert_eq!(figures.steps[3].goodput, 500.0, "500 answers in a second");
    let text = crate::markdown::render(&findings);
    let row = "| 4 | 6 s | 400 | 800 | 500 | 300 |";
    assert!(text.contains(row), "{text}");
}

#[test]
fn a_step_that_the_load_ended_before_has_not_reached_anything() {
    let findings = cut_off_after(5_000_000_000, |last| {
        (last.started, last.answered, last.failed) = (0, 0, 0);
    });
    let found = &findings.objectives[0];
    let too_few = ObjectiveOutcome::TooFewCalls {
        calls: 0,
        needed: 1,
    };
    assert_eq!((found.step, found.outcome), (Some(3), too_few));
    assert!(!findings.is_reached());
}

#[test]
fn without_objectives_a_live_service_must_answer_at_all() {
    let mut sample = live();
    sample.plan.objectives.clear();
    assert!(findings(&sample).is_reached());
    sample.trials.clear();
    assert!(!findings(&sample).is_reached());
    assert!(
        quickstart::findings().is_reached(),
        "a study has nothing to reach"
    );
}
