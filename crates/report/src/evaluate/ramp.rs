//! Compares the latencies of two live services step by step of their ramp, by the rules for every other comparison.

use rpcgauge_study::plan::{Pair, Plan};
use rpcgauge_study::record::{Calls, FailureKind, Step, TrialFigures, TrialOutcome, TrialRecord};
use rpcgauge_study::settings::RampPart;

use super::compare::Blocks;
use super::{Ended, Recorded, measured};
use crate::error::ReportError;
use crate::findings::trial::TrialRow;
use crate::findings::verdict::RampComparison;
use crate::metric::is_latency;

/// Whether a pair is compared step by step: a single percentile over the rates of a ramp would mean little.
pub(super) fn is_by_step(plan: &Plan, pair: &Pair) -> bool {
    is_latency(pair.metric) && !parts(plan).is_empty()
}

/// The parts of the ramp, which is the same for all variants.
fn parts(plan: &Plan) -> &[RampPart] {
    let options = plan
        .variants
        .first()
        .and_then(|variant| variant.settings.target.options());
    options.map_or(&[], |options| options.schedule.ramp())
}

/// The comparisons of pairs that are compared step by step. An A/A pair is the control of the others.
pub(super) fn comparisons(
    plan: &Plan,
    ended: &Ended<'_>,
) -> Result<Vec<RampComparison>, ReportError> {
    let compared = |pair: &&Pair| is_by_step(plan, pair) && !pair.a_a;
    let pairs: Vec<&Pair> = plan.pairs.iter().filter(compared).collect();
    let mut found: Vec<RampComparison> = pairs.iter().map(|pair| unjudged(pair)).collect();
    let steps = parts(plan).iter().flat_map(RampPart::steps);
    for (index, _) in steps.enumerate().filter(|_| !pairs.is_empty()) {
        let trials: Vec<TrialRecord> = ended.values().map(|trial| within(trial, index)).collect();
        let recorded = Recorded {
            plan,
            ended: &trials.iter().map(|t| (t.trial.index, t)).collect(),
            floors: Vec::new(),
            events: &[],
        };
        let row = |(trial, figures)| TrialRow::of(trial, figures, None);
        let rows: Vec<TrialRow> = measured(recorded.ended).map(row).collect();
        let variants = recorded.variants()?;
        let blocks = Blocks::new(plan, &variants, &rows)?;
        for (one, pair) in found.iter_mut().zip(&pairs) {
            // Live services are measured under one placement.
            let verdicts = blocks.comparison(pair)?.placements;
            one.steps.extend(verdicts.into_iter().take(1));
        }
    }
    Ok(found)
}

fn unjudged(pair: &Pair) -> RampComparison {
    RampComparison {
        pair: pair.name.clone(),
        question: pair.question.clone(),
        of: pair.of.clone(),
        against: pair.against.clone(),
        metric: pair.metric,
        steps: Vec::new(),
    }
}

/// A trial as if it had consisted of one step of its ramp.
fn within(record: &TrialRecord, index: usize) -> TrialRecord {
    TrialRecord {
        trial: record.trial.clone(),
        variant: record.variant.clone(),
        timing: record.timing,
        idle: record.idle,
        started_at_ms: record.started_at_ms,
        rate: record.rate,
        outcome: match &record.outcome {
            TrialOutcome::Measured(whole) => {
                TrialOutcome::Measured(Box::new(figures(whole, index)))
            }
            failed @ TrialOutcome::Failed { .. } => failed.clone(),
        },
    }
}

fn figures(whole: &TrialFigures, index: usize) -> TrialFigures {
    let Some(step) = whole.steps.get(index) else {
        return TrialFigures::default();
    };
    // Records do not have the kinds of a step's failures. Only whether the client was stalled matters for a verdict.
    let others = step.failed.saturating_sub(step.stalled);
    let failed = [
        (FailureKind::ClientStalled, step.stalled),
        (FailureKind::Deadline, others),
    ];
    TrialFigures {
        calls: Calls {
            started: step.started,
            answered: step.answered,
            failed: failed.into_iter().filter(|(_, calls)| *calls > 0).collect(),
            never_sent: step.never_sent,
            ..Calls::default()
        },
        latency: step.latency.clone(),
        send_delay: step.send_delay.clone(),
        client_share: client_share(whole, index, step),
        ..TrialFigures::default()
    }
}

/// The client's share of its core in a step. It is known only for the whole ramp, but each call takes about the same
/// CPU time at every rate.
fn client_share(whole: &TrialFigures, index: usize, step: &Step) -> Option<f64> {
    let earlier = whole.steps[..index].iter().map(|step| step.time_ns);
    let from_ns = earlier.fold(0, u64::saturating_add);
    let lasted_ns = step.time_ns.min(whole.elapsed_ns.saturating_sub(from_ns));
    let rate = |calls: u64, ns: u64| calls as f64 / ns.max(1) as f64;
    let more = rate(step.started, lasted_ns) / rate(whole.calls.started, whole.elapsed_ns);
    let share = whole.client_share? * more;
    Some(share)
        .filter(|share| share.is_finite())
        .map(|share| share.min(1.0))
}

#[cfg(test)]
mod tests {
    use rpcgauge_study::settings::Placement;

    use super::*;
    use crate::findings::verdict::{Outcome, Withheld};
    use crate::fixture::{findings, versus_ramp};

    /// The outcome of each step of the first comparison.
    fn outcomes(sample: &crate::fixture::Sample) -> Vec<Outcome> {
        let ramps = findings(sample).ramps;
        ramps[0].steps.iter().map(|step| step.outcome).collect()
    }

    #[test]
    fn each_step_has_a_verdict_of_its_own() {
        let sample = versus_ramp();
        let findings = findings(&sample);
        assert!(findings.comparisons.is_empty(), "none over all rates");
        let [p50] = &findings.ramps[..] else {
            panic!("one pair besides the A/A pair");
        };
        let [first, pause, last] = &p50.steps[..] else {
            panic!("one verdict for each step: {}", p50.steps.len());
        };
        assert_eq!(first.outcome, Outcome::NoDifference);
        assert_eq!(last.outcome, Outcome::Slower);
        let reason = Withheld::NotMeasured;
        assert_eq!(pause.outcome, Outcome::NoVerdict { reason });
        assert_eq!(last.placement, Placement::Free);
        let estimate = last.estimate.expect("every block has both");
        assert_eq!((estimate.invocations, estimate.blocks), (1, 3));
        assert!(last.control.is_some(), "the A/A pair of the same step");
        let step = &findings.variants[0].cells[0]
            .figures
            .as_ref()
            .unwrap()
            .steps[2];
        assert_eq!(
            last.of_value,
            step.latency.as_ref().map(|times| times.p50_ns)
        );
    }

    #[test]
    fn a_client_at_its_limit_in_one_step_gives_no_verdict_on_that_step() {
        let mut sample = versus_ramp();
        for record in &mut sample.trials {
            if let TrialOutcome::Measured(whole) = &mut record.outcome {
                whole.client_share = Some(0.5);
            }
        }
        let reason = Withheld::ClientBound;
        let outcomes = outcomes(&sample);
        assert_eq!(
            outcomes[0],
            Outcome::NoDifference,
            "at 100 calls per second"
        );
        assert_eq!(outcomes[2], Outcome::NoVerdict { reason }, "at 400");
    }

    #[test]
    fn calls_that_did_not_succeed_in_a_step_can_withhold_its_verdict_only() {
        let mut sample = versus_ramp();
        for record in sample.trials.iter_mut().filter(|t| t.trial.variant == 0) {
            if let TrialOutcome::Measured(whole) = &mut record.outcome {
                whole.steps[0].started *= 3;
            }
        }
        let reason = Withheld::Unanswered;
        let outcomes = outcomes(&sample);
        assert_eq!(outcomes[0], Outcome::NoVerdict { reason });
        assert_eq!(outcomes[2], Outcome::Slower);
    }
}
