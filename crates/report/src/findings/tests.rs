//! Tests of the findings of runs with known content: which records are used, and that counts add up.

mod decisions;
mod figures;
mod notes;
mod outputs;
mod parts;
mod schema;
mod sweeps;
mod verdicts;

use proptest::prelude::*;
use rpcgauge_stats::SplitMix64;
use rpcgauge_study::plan::TrialSpec;
use rpcgauge_study::record::TrialOutcome;

use super::*;
use crate::evaluate::MAX_REASONS;
use crate::fixture::{Builder, Sample, findings, quickstart, two, versus};
use crate::words;

fn outcome(findings: &Findings, pair: usize) -> verdict::Outcome {
    findings.comparisons[pair].placements[0].outcome
}

fn shuffled<T: Clone>(items: &[T], seed: u64) -> Vec<T> {
    let mut rng = SplitMix64::new(seed);
    let mut items = items.to_vec();
    for last in (1..items.len()).rev() {
        items.swap(last, rng.index(last + 1));
    }
    items
}

#[test]
fn every_kind_of_sentence() {
    let findings = quickstart::findings();
    let verdicts = findings
        .comparisons
        .iter()
        .map(|c| words::comparison(c, 0.03));
    let claims = findings.claims.iter().map(words::claim);
    let sentences: Vec<String> = verdicts.chain(claims).collect();
    insta::assert_snapshot!(sentences.join("\n"));
}

#[test]
fn a_variant_that_cannot_run_is_listed_with_its_reason() {
    let go = quickstart::findings().variant("load-go").unwrap();
    assert_eq!(go.not_run.len(), 1);
    assert!(go.not_run[0].contains("`go` is not on the PATH"));
    assert_eq!(quickstart::findings().failures.len(), 12);
}

#[test]
fn requests_of_failed_trials_and_of_a_twin_are_among_those_of_a_service() {
    let mut sample = versus(1.0, 0.01);
    let twins = sample.plan.variants.iter().filter(|v| v.repeats.is_some());
    assert_eq!((sample.plan.variants.len(), twins.count()), (3, 1));
    let sent = |sample: &Sample| {
        let sent = findings(sample).requests_sent.into_iter();
        sent.map(|one| one.requests).collect::<Vec<u64>>()
    };
    assert_eq!(sent(&sample), [0; 0], "older records");
    let trials = sample.trials.len() as u64;
    for trial in &mut sample.trials {
        if let TrialOutcome::Measured(measured) = &mut trial.outcome {
            measured.requests_sent = Some(1_000);
        }
    }
    let all = sent(&sample);
    assert_eq!(all.iter().sum::<u64>(), 1_000 * trials + 2);
    sample.trials[0].outcome = TrialOutcome::Failed {
        reason: "interrupted".to_owned(),
        fault: rpcgauge_study::record::Fault::User,
        requests_sent: Some(7),
        log: String::new(),
    };
    let with_failed = sent(&sample);
    assert_eq!(
        with_failed.iter().sum::<u64>(),
        1_000 * (trials - 1) + 7 + 2
    );
}

#[test]
fn a_trial_that_failed_and_was_run_again_counts_as_measured() {
    let sample = two(2.0).build();
    let mut trials = sample.trials.clone();
    let mut failed = trials[0].clone();
    failed.started_at_ms += 1;
    failed.outcome = TrialOutcome::Failed {
        reason: "the port was in use".to_owned(),
        fault: rpcgauge_study::record::Fault::Machine,
        requests_sent: None,
        log: String::new(),
    };
    trials.push(failed);
    assert_eq!(
        findings(&Sample {
            trials,
            ..sample.clone()
        }),
        findings(&sample)
    );
}

#[test]
fn records_that_do_not_fit_the_plan_are_refused() {
    let sample = two(2.0).build();
    let new = |sample: &Sample| {
        Findings::new(&sample.plan, None, &sample.trials, &sample.floors)
            .unwrap_err()
            .to_string()
    };
    let mut foreign = sample.clone();
    foreign.trials[0].trial.index = 999;
    assert!(
        new(&foreign).starts_with("trial 999 ("),
        "{}",
        new(&foreign)
    );
    let mut unknown = sample.clone();
    unknown.plan.pairs[0].against = "nobody".to_owned();
    assert!(
        new(&unknown).contains("names the variant \"nobody\""),
        "{}",
        new(&unknown)
    );
    let mut twice = sample;
    twice.plan.trials[1] = TrialSpec {
        index: 1,
        ..twice.plan.trials[0].clone()
    };
    twice.trials.clear();
    assert!(new(&twice).contains("in the same block"), "{}", new(&twice));
}

#[test]
fn an_empty_run_says_that_nothing_was_measured() {
    let sample = two(2.0).build();
    let findings = Findings::new(&sample.plan, None, &[], &[]).unwrap();
    assert_eq!(findings.progress.missing, findings.progress.planned);
    assert!(
        words::comparison(&findings.comparisons[0], 0.03)
            .starts_with("No verdict on grpc against rest")
    );
    assert_eq!(
        findings.variants[0].not_run,
        ["none of its trials was recorded"]
    );
}

#[test]
fn many_reasons_of_one_variant_are_counted() {
    let mut builder = two(2.0);
    builder.specs[1].cannot_run = Some("no");
    let mut sample = builder.build();
    for trial in &mut sample.trials {
        if let TrialOutcome::Failed { reason, .. } = &mut trial.outcome {
            *reason = format!("port {} was in use", trial.trial.index);
        }
    }
    let findings = findings(&sample);
    let not_run = &findings.variant("rest").unwrap().not_run;
    assert_eq!(not_run.len(), MAX_REASONS + 1);
    assert_eq!(not_run[MAX_REASONS], "and 2 other reasons");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn the_order_of_records_does_not_matter(seed: u64) {
        let sample = Builder { calls: 60, invocations: 2, ..two(1.5) }.build();
        let other = Sample {
            trials: shuffled(&sample.trials, seed),
            floors: shuffled(&sample.floors, seed ^ 1),
            ..sample.clone()
        };
        prop_assert_eq!(findings(&sample), findings(&other));
    }

    #[test]
    fn any_part_of_a_run_has_findings_that_add_up(seed: u64, part in 0.0..1.0_f64) {
        let mut sample = Builder { calls: 60, invocations: 3, ..two(1.5) }.build();
        sample.trials = shuffled(&sample.trials, seed);
        sample.trials.truncate((sample.trials.len() as f64 * part) as usize);
        let findings = findings(&sample);
        let progress = &findings.progress;
        prop_assert_eq!(progress.measured as usize, sample.trials.len());
        prop_assert_eq!(progress.planned, progress.measured + progress.failed + progress.missing);
        for comparison in &findings.comparisons {
            let blocks = &comparison.placements[0].blocks;
            let gone = blocks.missing + blocks.no_value + blocks.client_bound;
            prop_assert_eq!(blocks.planned, blocks.used + gone);
        }
        crate::json::render(&findings).unwrap();
    }
}
