//! Tests of the result of a search, computed from its records.

use rpcgauge_study::record::FailureKind;
use rpcgauge_study::settings::{HttpVersion, LiveWire};

use super::*;
use crate::Findings;
use crate::fixture::{Sample, capacity, findings};

fn found(sample: &Sample) -> CapacityFindings {
    findings(sample).capacity.expect("a search")
}

/// The fixture's search, with changed figures in the trials at the rates that `which` selects.
fn changed(which: impl Fn(f64) -> bool, change: impl Fn(&mut TrialFigures)) -> Sample {
    let mut sample = capacity();
    for record in &mut sample.trials {
        if let (Some(rate), TrialOutcome::Measured(measured)) = (record.rate, &mut record.outcome)
            && which(rate)
        {
            change(measured);
        }
    }
    sample
}

#[test]
fn the_answer_has_both_ends_and_what_they_rest_on() {
    let found = found(&capacity());
    assert_eq!(found.end, SearchEnd::Found);
    let (held, missed) = (found.held.unwrap(), found.missed.unwrap());
    assert!(held.is_sure && missed.is_sure);
    assert!(held.rate <= 1_000.0 && 1_000.0 < missed.rate, "{found:?}");
    assert!(missed.rate <= held.rate * 1.05, "{found:?}");
    assert_eq!(found.limit, Some(Limit::Service));
    assert!(found.is_reached());
}

#[test]
fn the_figures_are_those_of_the_rate_that_held() {
    let sample = capacity();
    let findings = findings(&sample);
    let held = findings.capacity.as_ref().unwrap().held.unwrap();
    let variant = &findings.variants[0];
    assert_eq!(variant.how.settings["rate"], held.rate.to_string());
    let trials = u64::from(held.holds + held.misses);
    assert_eq!(variant.cells[0].trials.measured, trials);
    assert_eq!(
        findings.progress.missing, 0,
        "what was not needed is not missing"
    );
    assert_eq!(
        findings.trials.len(),
        sample.trials.len(),
        "every trial is a row"
    );
    assert!(findings.objectives.is_empty() && findings.is_reached());
}

#[test]
fn what_stood_in_the_way_is_named() {
    let over = |rate: f64| rate > 1_000.0;
    let busy = changed(over, |measured| measured.client_share = Some(0.95));
    assert_eq!(found(&busy).limit, Some(Limit::ClientCpu));
    let late = changed(over, |measured| {
        measured.send_delay = measured.latency.clone();
        measured.most_in_flight = Some(1);
    });
    assert_eq!(
        found(&late).limit,
        Some(Limit::SendDelay),
        "a connection carries many calls"
    );
    let over_http1 = |mut sample: Sample| {
        if let Target::Live(live) = &mut sample.plan.variants[0].settings.target {
            live.wire = LiveWire::Http(HttpVersion::Http1);
            live.options.connections = 64;
        }
        found(&sample).limit
    };
    assert_eq!(over_http1(late), Some(Limit::SentLate));
    let waiting = changed(over, |measured| {
        measured.send_delay = measured.latency.clone();
        measured.most_in_flight = Some(1_000_000);
    });
    assert_eq!(over_http1(waiting), Some(Limit::Connections));
    let held = changed(
        |rate| rate <= 1_000.0,
        |measured| measured.client_share = Some(0.95),
    );
    assert_eq!(
        found(&held).limit,
        Some(Limit::Service),
        "what held is not a limit"
    );
}

#[test]
fn a_trial_that_was_broken_off_tells_nothing() {
    let mut sample = capacity();
    sample.trials.truncate(2);
    if let TrialOutcome::Measured(measured) = &mut sample.trials[1].outcome {
        measured.ending = Ending::Interrupted;
        measured.calls.answered = 0;
    }
    let found = found(&sample);
    assert_eq!((found.end, found.trials.len()), (SearchEnd::Stopped, 1));
    assert!(found.missed.is_none() && !found.held.unwrap().is_sure);
    assert!(!found.is_reached(), "one trial is not enough");
}

#[test]
fn a_trial_that_missed_while_the_client_stood_still_tells_nothing() {
    let over = |rate: f64| rate > 1_000.0;
    let stalled = changed(over, |measured| measured.stalls.add(0, 2_000_000_000));
    let found = found(&stalled);
    assert_eq!((found.missed, found.limit), (None, None), "{found:?}");
    assert!(found.held.is_some());
}

#[test]
fn a_search_without_a_trial_says_so() {
    let sample = capacity();
    let empty = Findings::new(&sample.plan, None, &[], &[]).unwrap();
    let found = empty.capacity.as_ref().unwrap();
    assert_eq!(
        (found.end, found.held, found.missed),
        (SearchEnd::Stopped, None, None)
    );
    assert!(!empty.is_reached());
    assert_eq!(empty.variants[0].not_run.len(), 1);
}

#[test]
fn calls_without_a_response_that_no_objective_bounds_are_named() {
    let turned_away = changed(
        |_| true,
        |measured| {
            let lost = measured.calls.answered / 4;
            measured.calls.answered -= lost;
            measured.calls.failed = [(FailureKind::HttpStatus(503), lost)].into();
        },
    );
    let expected = |sample: &Sample| crate::words::capacity::sentences(&found(sample)).join(" ");
    let holding = |objectives: &[&str]| {
        let mut sample = turned_away.clone();
        sample.plan.objectives = objectives.iter().map(|o| o.parse().unwrap()).collect();
        sample
    };
    let of_latency = holding(&["p50<20ms"]);
    let lost = "did not succeed, and no objective limits errors";
    assert!(
        expected(&of_latency).contains(lost),
        "{}",
        expected(&of_latency)
    );
    let lenient = holding(&["p50<20ms", "errors<50%"]);
    assert!(
        !expected(&lenient).contains("did not succeed"),
        "{}",
        expected(&lenient)
    );
    assert!(!expected(&capacity()).contains("did not succeed"));
}

#[test]
fn no_rate_holds_a_percentile_that_was_mostly_not_answered() {
    let turned_away = changed(
        |_| true,
        |measured| {
            let calls = &mut measured.calls;
            let lost = calls.started / 10 * 9;
            calls.answered -= lost;
            calls.failed = [(FailureKind::HttpStatus(503), lost)].into();
        },
    );
    let found = found(&turned_away);
    assert!(found.held.is_none(), "{found:?}");
    let expected = crate::words::capacity::outcome(&found.trials[0]);
    assert!(
        expected.starts_with("missed p99<20ms: 90% never succeeded"),
        "{expected}"
    );
}

#[test]
fn the_order_of_the_records_does_not_matter() {
    let mut sample = capacity();
    let expected = findings(&sample);
    sample.trials.reverse();
    assert_eq!(findings(&sample), expected);
}
