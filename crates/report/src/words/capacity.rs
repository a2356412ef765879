//! The highest rate that meets the objectives, in words.

use rpcgauge_study::objective::{Measure, Objective};

use super::joined;
use crate::findings::capacity::{
    CapacityBound, CapacityEnd, CapacityFindings, CapacityTrial, Limit,
};
use crate::findings::objective::MissedObjective;
use crate::units;

/// The findings of a search as sentences: the answer, how sure it is, why the search ended, and what limits the rate.
pub(crate) fn sentences(found: &CapacityFindings) -> Vec<String> {
    let objectives = joined(&found.objectives, " and ");
    let answer = match (&found.held, &found.missed) {
        (Some(held), Some(missed)) => format!(
            "At {} the service {} {objectives} ({}); at {} it {} ({}).",
            rate(held),
            sure(held, "meets", "seems to meet"),
            trials(held),
            rate(missed),
            sure(missed, "does not", "seems not to"),
            trials(missed),
        ),
        (Some(held), None) => {
            let meets = sure(held, "meets", "seems to meet");
            format!(
                "At {} the service {meets} {objectives} ({}).",
                rate(held),
                trials(held)
            )
        }
        (None, Some(missed)) => format!(
            "No rate that was tried meets {objectives}: the lowest was {} ({}).",
            rate(missed),
            trials(missed),
        ),
        (None, None) => format!("No finished trial shows whether the service meets {objectives}."),
    };
    let mut sentences = vec![answer];
    let missed_once = found.held.as_ref().is_some_and(|held| held.misses > 0);
    sentences.extend(missed_once.then(|| WITH_THE_ONE_THAT_MISSED.to_owned()));
    sentences.extend(unanswered(found));
    sentences.extend(median_above(found));
    sentences.extend(end(found).map(str::to_owned));
    sentences.extend(found.limit.map(|limit| limited(limit).to_owned()));
    sentences
}

/// A note that even the median was above the bound of a percentile in every trial: the rate may not be the reason.
fn median_above(found: &CapacityFindings) -> Option<String> {
    let medians = || found.trials.iter().map(|trial| trial.latency_p50_ns);
    let is_above = |objective: &&Objective| {
        let is_tail = matches!(objective.measure, Measure::Percentile(p) if p >= 50.0);
        is_tail && medians().all(|p50| p50.is_some_and(|p50| !objective.is_reached(p50)))
    };
    let objective = found.objectives.iter().find(is_above)?;
    let lowest = medians().flatten().min_by(f64::total_cmp)?;
    Some(format!(
        "At every rate that was tried, even the median latency was too long for {objective}: at least {}.",
        units::time(lowest)
    ))
}

/// A rate that counts as met may have missed in one trial, and then its figures can look like a miss.
const WITH_THE_ONE_THAT_MISSED: &str =
    "The figures of the rate that meets them cover all its trials, including the one that missed.";

/// A note that calls failed at the rate that meets the objectives, if no objective is about errors: a percentile
/// does not reflect the calls beyond it.
fn unanswered(found: &CapacityFindings) -> Option<String> {
    let is_bounded = |objective: &Objective| objective.measure == Measure::Errors;
    let rate = found.held.as_ref()?.rate;
    let held = found.trials.iter().filter(|t| t.rate == rate && t.held);
    let sum = |of: fn(&CapacityTrial) -> u64| held.clone().map(of).fold(0, u64::saturating_add);
    let (started, answered) = (sum(|t| t.started), sum(|t| t.answered));
    let lost = started.saturating_sub(answered);
    (lost > 0 && !found.objectives.iter().any(is_bounded)).then(|| {
        format!(
            "Of {} calls in the trials that met the objectives, {} did not succeed, and no objective limits \
             errors: add one, such as --slo 'errors<0.1%'.",
            units::count(started),
            units::count(lost)
        )
    })
}

fn rate(bound: &CapacityBound) -> String {
    format!("{} calls/s", units::rate(bound.rate))
}

fn sure(bound: &CapacityBound, yes: &'static str, no: &'static str) -> &'static str {
    if bound.is_sure { yes } else { no }
}

fn trials(bound: &CapacityBound) -> String {
    let all = u64::from(bound.holds + bound.misses);
    format!("met in {} of {}", bound.holds, units::counted(all, "trial"))
}

fn end(found: &CapacityFindings) -> Option<&'static str> {
    match found.end {
        CapacityEnd::Found | CapacityEnd::Ceiling => None,
        CapacityEnd::NoneHeld => Some(
            "Trials at lower rates would take more than twelve times --duration to show anything; use a longer \
             --duration or a looser objective.",
        ),
        CapacityEnd::TooUnsteady => Some(
            "Too unsteady: the search ran out of trials before it was sure of both ends of the bracket; \
             longer trials (--duration) are steadier.",
        ),
        CapacityEnd::Stopped => {
            Some("The search was stopped early: this is the result of the trials so far.")
        }
    }
}

fn limited(limit: Limit) -> &'static str {
    match limit {
        Limit::Service => "Limited by the service: its responses missed the objective.",
        Limit::ClientCpu => {
            "Limited by this client, which used more than 80% of its core: the service may sustain more."
        }
        Limit::SendDelay => {
            "Limited before the service: for most of their latency, calls waited for a connection or for this \
             client. With more --connections or on a quieter machine, the service may sustain more."
        }
        Limit::Connections => {
            "Limited before the service: calls waited for a connection for most of their latency. With more \
             --connections the service may sustain more."
        }
        Limit::SentLate => {
            "Limited before the service: this client sent calls late although connections were free, as happens \
             when other programs use its core. The service may sustain more."
        }
        Limit::Ceiling => "Limited by --max-rate: the service may sustain more.",
    }
}

pub(crate) fn outcome(trial: &CapacityTrial) -> String {
    if trial.held {
        return "met".to_owned();
    }
    let missed = joined(trial.checked.missed.iter().map(missed), ", ");
    let by = match trial.limit {
        Some(Limit::ClientCpu) => " (client at its limit)",
        Some(Limit::Connections) => " (no free connection)",
        Some(Limit::SentLate | Limit::SendDelay) => " (sent late)",
        _ => "",
    };
    format!("missed {missed}{by}")
}

fn missed(missed: &MissedObjective) -> String {
    let text = match (missed.figure, missed.unanswered) {
        (Some(figure), _) => super::objective::measured(&missed.objective, figure),
        (None, Some(share)) => format!("{} never succeeded", units::percent(share)),
        (None, None) => "too few calls".to_owned(),
    };
    format!("{}: {text}", missed.objective)
}
